//! Several runs of one program together: what no run alone shows is found, and happens; what cannot
//! happen is not; and what is not known is said.

use crate::harness::{Done, Program, compile, foretrace};

fn program(source: &str, twin: bool) -> Program {
    let name =
        format!("merging-{}{}", source.trim_end_matches(".c"), if twin { "-twin" } else { "" });
    let defined = if twin { "-DTWIN" } else { "-DBUG" };
    compile(&name, &[source, defined])
}

/// `foretrace test --runs 4`, and what it says of all runs together.
fn test(program: &Program, options: &[&str]) -> (Done, String) {
    let mut words = vec!["test", "--runs", "4", "--timeout", "30s"];
    words.extend(options);
    let done = program.with(&words, &[]);
    let together = done.out.split(", all runs: ").nth(1).unwrap_or_default().to_string();
    (done, together)
}

/// Neither run alone shows it; all together do, and a replay confirms it. The twin has nothing.
#[track_caller]
fn only_together(source: &str, what: &str) {
    let (done, together) = test(&program(source, false), &[]);
    let done = done.ended_with(1).says("1 of the bugs appear in no single run");
    let alone = done.out.matches("verdict: no bug in any schedule").count();
    assert_eq!(alone, 4, "no run alone shows it:\n{}", done.out);
    let head = format!("(real, confirmed by replay): {what}");
    assert!(together.contains(&head), "{head} is not in:\n{together}");
    twin(source);
}

#[track_caller]
fn twin(source: &str) {
    let (_, together) = test(&program(source, true), &[]);
    assert!(together.contains("verdict: no bug in any mixture of these runs"), "{together}");
}

#[test]
fn paper_000_figure_11() {
    only_together("figure_11.c", "an assertion fails");
}

#[test]
fn memory_that_each_run_gives_to_another_thread() {
    only_together("entrance.c", "data race on inside");
}

#[test]
fn blocks_of_memory() {
    only_together("meeting.c", "an assertion fails");
}

#[test]
fn a_structure_on_the_stack() {
    only_together("arguments.c", "an assertion fails");
}

/// Threads have other numbers in other runs.
#[test]
fn threads_of_threads() {
    let (done, together) = test(&program("families.c", false), &[]);
    done.ended_with(1).says("data race on inside");
    // A run has it too, and is told first.
    assert!(together.contains("1 repeated"), "{together}");
    twin("families.c");
}

/// Runs that differ for a reason that they do not show are not mixed.
#[test]
fn unseen_choices() {
    let (done, together) = test(&program("unseen.c", false), &[]);
    done.ended_with(3);
    assert!(together.contains("goes on differently without a branch at "), "{together}");
    assert!(together.contains("verdict: 2 undecided"), "{together}");
}

/// What is not supported hides nothing that a run alone shows.
#[test]
fn waits() {
    let (done, together) = test(&program("waiting.c", false), &[]);
    done.ended_with(1).says("race-1 (real, confirmed by replay): data race on racy");
    assert!(together.contains("a wait for a condition at "), "{together}");
}

/// A recording of another program.
fn program_of(source: &str) -> String {
    let program = compile("merging-other", &[source]);
    let file = program.beside("run.ftrec");
    program.with(&["run", "-o", &file], &[]).ended_with(0);
    file
}

/// Races that are declared to be harmless are so in mixtures, too.
#[test]
fn benign_races() {
    let (done, together) = test(&program("harmless.c", false), &[]);
    done.ended_with(0);
    assert!(together.contains("declared harmless are not reported"), "{together}");
}

/// Traces lack what only one thread touched; recordings are read together.
#[test]
fn traces_and_recordings() {
    let program = program("entrance.c", false);
    let run = |seed: &str, ending: &str| {
        let file = program.beside(&format!("{seed}.{ending}"));
        let options = ["run", "--seed", seed, "-o", &file];
        program.with(&options, &[]).ended_with(0);
        file
    };
    let seeds = ["1", "2", "3", "4"];
    let recordings = seeds.map(|seed| run(seed, "ftrec"));
    let mut words = vec!["predict"];
    words.extend(recordings.iter().map(String::as_str));
    foretrace(&words).ended_with(3).says("race-1 (possible): data race on inside");
    let other = program_of("figure_11.c");
    foretrace(&["predict", &recordings[0], &other])
        .ended_with(2)
        .says("recordings of different programs together");
    let traces = seeds.map(|seed| run(seed, "ftb"));
    let mut words = vec!["predict"];
    words.extend(traces.iter().map(String::as_str));
    foretrace(&words).ended_with(3).says("left out: the traces lack accesses to memory");
}

/// Each report, and each trace, has a file of its own.
#[test]
fn reports_in_files() {
    let program = program("figure_11.c", false);
    let json = program.beside("report.json");
    test(&program, &["--json", &json]).0.ended_with(1);
    for name in ["report.1.json", "report.4.json", "report.merged.json", "report.1.ftb"] {
        assert!(program.folder.join(name).exists(), "{name}");
    }
    program
        .with(&["replay", &program.beside("report.merged.json")], &[])
        .ended_with(2)
        .says("replayed only where they are found");
}
