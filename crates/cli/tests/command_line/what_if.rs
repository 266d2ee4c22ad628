//! `whatif` and `fix`.

use std::path::Path;
use std::process::Command;

/// Runs a command on an example, and returns its status and what it says.
fn ask(arguments: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_foretrace"))
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(said).unwrap())
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check(arguments: &[&str], status: i32, says: &[&str]) {
    let (seen, said) = ask(arguments);
    assert_eq!(seen, status, "{said}");
    // Wherever lines are broken.
    let words = in_one_line(&said);
    says.iter().for_each(|text| assert!(words.contains(text), "`{text}` is not in:\n{said}"));
}

const BANK: &str = "examples/bank.trace";
const ASSERTION: &str = "examples/assertion.trace";

#[test]
fn orders_of_events() {
    let before = |a, b, status, says: &[&str]| {
        check(&["whatif", BANK, "--before", a, b], status, says);
    };
    before("teller2@bank.c:12", "teller1@bank.c:13", 1, &["yes, in this execution"]);
    // The second has to wait for the lock that the first takes.
    before("teller2@bank.c:21", "teller1@bank.c:22", 1, &["yes, in this execution"]);
    before("teller1@bank.c:12", "teller2@bank.c:12", 1, &["in the recorded run itself"]);
    before(
        "teller2@bank.c:12",
        "main@bank.c:42",
        0,
        &["no, in no reordering", "creation of threads"],
    );
    before("teller1@bank.c:13", "teller1@bank.c:12", 0, &["The order of the program"]);
    let chain = |places: &[&str], status, says: &[&str]| {
        check(&[&["whatif", BANK, "--before"], places].concat(), status, says);
    };
    let between = ["teller1@bank.c:12", "teller2@bank.c:12", "teller1@bank.c:13"];
    chain(&between, 1, &["yes, in this execution", "comes before `write alice"]);
    // The first holds the lock that the second wants, until after the third.
    let nested = ["teller2@bank.c:21", "teller1@bank.c:22", "teller2@bank.c:22"];
    chain(&nested, 0, &["no, in no reordering", "are never at once"]);
    before("teller3@bank.c:13", "teller1@bank.c:12", 2, &["there is no thread `teller3`"]);
    let near = ["no event is at `bank.c:14`", "the nearest events are at bank.c:13, bank.c:12"];
    before("bank.c:14", "bank.c:12", 2, &near);
}

/// Reports are next to traces, and have similar names.
#[test]
fn a_report_is_no_trace() {
    let report = concat!(env!("CARGO_TARGET_TMPDIR"), "/bank-report.json");
    ask(&["predict", BANK, "--json", report]);
    check(&["predict", report], 2, &["is a report, not a trace", "bank-report.ftb"]);
}

/// `begin` is the first event of a thread and `end` its last: nothing can be put beside them.
#[test]
fn begins_and_ends_of_threads() {
    let chain = |places: &[&str], status, says: &[&str]| {
        check(&[&["whatif", BANK, "--before"], places].concat(), status, says);
    };
    chain(&["teller2@begin", "teller1@begin"], 1, &["yes, in this execution", "begin"]);
    chain(&["teller2@end", "teller1@begin"], 1, &["yes, in this execution"]);
    chain(&["teller2@begin", "teller1@end"], 1, &["in the recorded run itself"]);
    let around = ["teller1@begin", "teller2@end", "teller1@bank.c:12", "teller1@end"];
    chain(&around, 1, &["yes, in this execution"]);
    chain(&["teller1@end", "teller2@end", "main@end"], 1, &["in the recorded run itself"]);
    chain(&["main@bank.c:43", "teller1@end"], 0, &["no, in no reordering", "joins"]);
    // The one holds the lock that the other takes before it ends.
    let nested = ["teller1@bank.c:21", "teller2@bank.c:22", "teller2@end", "teller1@bank.c:26"];
    chain(&nested, 0, &["no, in no reordering"]);
    chain(&["teller3@end", "main@end"], 2, &["there is no thread `teller3`"]);
    let trace = concat!(env!("CARGO_TARGET_TMPDIR"), "/flag-ends.trace");
    std::fs::write(trace, FLAG).unwrap();
    check(&["whatif", trace, "--before", "b@end", "a@f.c:2"], 2, &["b has no `end` in the trace"]);
    std::fs::write(trace, format!("{FLAG}b: end @ f.c:6\n")).unwrap();
    check(&["whatif", trace, "--before", "b@end", "a@f.c:2"], 0, &["no, in no reordering"]);
}

/// Only values exclude it.
#[test]
fn orders_that_values_exclude() {
    let trace = concat!(env!("CARGO_TARGET_TMPDIR"), "/flag.trace");
    std::fs::write(trace, FLAG).unwrap();
    let before = |a, b, status, says: &[&str]| {
        check(&["whatif", trace, "--before", a, b], status, says);
    };
    before("b@f.c:5", "a@f.c:2", 0, &["no, in no reordering", "what a has left at f.c:2"]);
    before("b@f.c:3", "a@f.c:2", 1, &["yes, in this execution"]);
}

/// One thread goes on only if it has seen what the other one writes.
const FLAG: &str = "\
init ready = 0
a: write data = 1 : 1 @ f.c:1
a: write ready = 1 : 1 @ f.c:2
b: seen = read ready : 1 @ f.c:3
b: branch seen == 1 : true @ f.c:4
b: external @ f.c:5
";

#[test]
fn values_of_reads() {
    let sees = |place, value, status, says: &[&str]| {
        check(&["whatif", ASSERTION, "--sees", place, value], status, says);
    };
    sees("bert@bank.c:10", "100", 1, &["yes, in this execution", "sees 100"]);
    sees("bert@bank.c:13", "-40", 1, &["yes, in this execution", "sees -40"]);
    sees("bert@bank.c:10", "70", 1, &["in the recorded run itself"]);
    sees("bert@bank.c:13", "33", 0, &["no, in no reordering of this trace under model symbolic"]);
    sees("bert@bank.c:9", "33", 2, &["nothing at bert@bank.c:9 is a read"]);
}

#[test]
fn changes_that_mend() {
    let fix = |finding: &str, status, says: &[&str]| {
        check(&["fix", "--all", finding], status, says);
    };
    fix(
        "examples/bank.trace#lock-cycle-1",
        0,
        &["take `carol.lock` and `bob.lock` in the same order", "removes: lock-cycle", "cannot"],
    );
    fix(
        "examples/bank.trace#race-1",
        0,
        &["hold a new lock around bank.c:12, bank.c:13", "remains: lock-cycle", "as before"],
    );
    fix(
        "examples/assertion.trace#assertion-1",
        0,
        &[
            "2 changes mend assertion-1",
            "hold `m` from bank.c:10 to bank.c:13 without giving it back in between",
            "does not mend",
        ],
    );
    let most = ["2 changes mend assertion-1", "more changes do not mend it"];
    check(&["fix", "examples/assertion.trace#assertion-1"], 0, &most);
    fix("examples/bank.trace#race-9", 2, &["there is no finding race-9"]);
}

/// Two threads add to a total, each in two critical sections; between those of one of them, a third
/// thread has the lock.
const ADDS: &str = "\
init total = 0
main: fork a @ s.c:30 (main)
main: fork b @ s.c:31 (main)
main: fork c @ s.c:32 (main)
a: acquire m @ s.c:1 (add)
a: x = read total : 0 @ s.c:2 (add)
a: release m @ s.c:3 (add)
c: acquire m @ s.c:10 (look)
c: read other : 0 @ s.c:11 (look)
c: release m @ s.c:12 (look)
a: acquire m @ s.c:4 (add)
a: write total = x + 5 : 5 @ s.c:5 (add)
a: release m @ s.c:6 (add)
b: acquire m @ s.c:1 (add)
b: x = read total : 5 @ s.c:2 (add)
b: release m @ s.c:3 (add)
b: acquire m @ s.c:4 (add)
b: write total = x + 10 : 15 @ s.c:5 (add)
b: release m @ s.c:6 (add)
main: join a @ s.c:33 (main)
main: join b @ s.c:34 (main)
main: t = read total : 15 @ s.c:35 (main)
main: assert t == 15 : true @ s.c:35 (main)
";

/// What is between two critical sections of one lock becomes a part of them; where another thread
/// had the lock then, that one comes earlier or later.
#[test]
fn critical_sections_become_wider() {
    let trace = concat!(env!("CARGO_TARGET_TMPDIR"), "/adds.trace");
    std::fs::write(trace, ADDS).unwrap();
    let finding = format!("{trace}#assertion-1");
    let wider = "from s.c:2 (add) to s.c:5 (add) without giving it back in between";
    let reordered = "tried on another order of the run, since the recorded one excludes it";
    check(&["fix", &finding], 0, &["2 changes mend", wider, reordered, "cannot deadlock"]);
    let before_c = ADDS.replace("c: acquire m @ s.c:10 (look)\n", "");
    let before_c = before_c.replace("c: release m @ s.c:12 (look)\n", "");
    std::fs::write(trace, before_c).unwrap();
    let (status, said) = ask(&["fix", &finding]);
    let said = in_one_line(&said);
    assert!(status == 0 && said.contains(wider) && !said.contains(reordered), "{said}");
}

/// A read and a write of one line become one step.
#[test]
fn updates_become_atomic() {
    let mut counter = "init n = 0\nmain: fork a @ n.c:9\nmain: fork b @ n.c:9\n".to_string();
    for (thread, before) in [("a", 0), ("b", 1)] {
        let after = before + 1;
        counter += &format!(
            "{thread}: x = read n : {before} @ n.c:1 (count)\n\
             {thread}: write n = x + 1 : {after} @ n.c:1 (count)\n"
        );
    }
    counter += "main: join a @ n.c:10\nmain: join b @ n.c:10\n";
    counter += "main: t = read n : 2 @ n.c:11\nmain: assert t == 2 : true @ n.c:11\n";
    let trace = concat!(env!("CARGO_TARGET_TMPDIR"), "/counter.trace");
    std::fs::write(trace, counter).unwrap();
    let one_step = "make `n` atomic, and update it in one step at n.c:1 (count)";
    let alone = "make all accesses to `n` atomic (each access by itself";
    for finding in ["assertion-1", "race-1"] {
        check(&["fix", &format!("{trace}#{finding}")], 0, &[one_step, "removes: "]);
    }
    // The update that gets lost remains where the accesses alone are atomic.
    let said = in_one_line(&ask(&["fix", &format!("{trace}#race-1")]).1);
    let kept = said.split(alone).nth(1).unwrap();
    assert!(kept.contains("remains: assertion"), "{said}");
    let mended = said.split(one_step).nth(1).unwrap().split("cannot deadlock").next().unwrap();
    assert!(!mended.contains("remains"), "{said}");
}

/// The same lines of code take two locks either way round.
#[test]
fn one_order_for_all_callers() {
    let mut both = String::new();
    for (thread, first, second) in [("a", "p", "q"), ("b", "q", "p")] {
        both += &format!(
            "{thread}: acquire {first} @ t.c:1 (transfer)\n\
             {thread}: acquire {second} @ t.c:2 (transfer)\n\
             {thread}: release {second} @ t.c:3 (transfer)\n\
             {thread}: release {first} @ t.c:4 (transfer)\n"
        );
    }
    let trace = concat!(env!("CARGO_TARGET_TMPDIR"), "/transfer.trace");
    std::fs::write(trace, both).unwrap();
    let says = ["in the same order whoever calls t.c:2 (transfer)", "2 changes mend"];
    check(&["fix", &format!("{trace}#lock-cycle-1")], 0, &says);
}
