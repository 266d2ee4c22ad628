//! Reports say where things are and what they are called: stacks, origins, names of the source.

use crate::harness::compile;

#[test]
fn memory_is_called_as_in_the_source() {
    let program = compile("called", &["called.c"]);
    program
        .with(&["test", "--json", "-"], &[])
        .ended_with(1)
        .says("\"place\":\"connection.state\"")
        .says("\"place\":\"queue.cells[1].ready\"")
        .says("\"place\":\"done\"");
    let run = program.run(&[], &[]).ended_with(0);
    assert!(run.shown().contains("acquire connection.lock"), "{}", run.shown());
}

/// Blocks are called by the pointers for which they were allocated, where no access says more.
#[test]
fn blocks_that_no_access_names() {
    let program = compile("called-blocks", &["blocks.c"]);
    let done = program
        .with(&["test", "--json", "-"], &[])
        .ended_with(1)
        .says("\"place\":\"results[2]\"")
        .says("\"place\":\"*count\"")
        .says("\"place\":\"flags.length|stop\"");
    assert!(done.out.contains("\"place\":\"message"), "{}", done.out);
    // With optimisation the pointers are in no memory.
    let program = compile("called-blocks-fast", &["-O2", "blocks.c"]);
    program.with(&["test", "--json", "-"], &[]).ended_with(1).says("\"place\":\"*count\"");
}

#[test]
fn members_of_classes_too() {
    let program = compile("called-cpp", &["called.cpp"]);
    program
        .with(&["test", "--json", "-"], &[])
        .ended_with(1)
        .says("\"place\":\"store::Cache::misses\"")
        .says("\"place\":\"store::Cache::uses\"");
    let run = program.run(&[], &[]).ended_with(0);
    assert!(run.shown().contains("acquire store::Cache::mutex"), "{}", run.shown());
    assert!(run.shown().contains("signal store::Cache::filled"), "{}", run.shown());
    assert!(!run.shown().contains(" lock"), "{}", run.shown());
}

#[test]
fn calls_lead_to_an_event() {
    let program = compile("called-calls", &["called.c"]);
    let done = program.with(&["test", "--json", "-"], &[]).ended_with(1);
    let report: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let finding = findings.iter().find(|one| one["place"] == "connection.state").unwrap();
    let function = |frame: &serde_json::Value| {
        let frame = &report["frames"][frame.as_u64().unwrap() as usize];
        format!("{}:{}", frame["function"].as_str().unwrap(), frame["line"])
    };
    let stack = |number: &serde_json::Value| {
        let stack = &report["stacks"][number.as_u64().unwrap() as usize];
        stack.as_array().unwrap().iter().map(function).collect::<Vec<_>>()
    };
    for side in finding["events"].as_array().unwrap() {
        assert_eq!(stack(&side["stack"]), ["set_state:27", "finish:30", "work:39"]);
    }
    assert_eq!(stack(&finding["allocated"]["stack"]), ["main:46"]);
    assert_eq!(stack(&report["threads"][1]["created"]["stack"]), ["main:51"]);
    // Merged runs have those of a run.
    let json = program.beside("merged.json");
    program.with(&["test", "--runs", "2", "--json", &json], &[]).ended_with(1);
    let text = std::fs::read_to_string(program.beside("merged.merged.json")).unwrap();
    let merged: serde_json::Value = serde_json::from_str(&text).unwrap();
    let side = &merged["findings"][0]["events"][0];
    let stack = merged["stacks"][side["stack"].as_u64().unwrap() as usize].as_array().unwrap();
    let outermost = &merged["frames"][stack.last().unwrap().as_u64().unwrap() as usize];
    assert_eq!(outermost["function"], "work", "{merged}");
    assert!(merged["threads"][1]["created"]["stack"].is_u64(), "{}", merged["threads"]);
    // Without the way of the threads there are none.
    let done = program.with(&["test", "--no-control-flow", "--json", "-"], &[]).ended_with(1);
    let report: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    assert!(report["stacks"].is_null() && report["findings"][0]["events"][0]["stack"].is_null());
}
