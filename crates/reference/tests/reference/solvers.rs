//! Solvers that are not there, hang, crash, give up, or talk nonsense.

use std::time::{Duration, Instant};

use foretrace_reference::{Answer, Limits, SolverCommand, decide};
use foretrace_trace::EventId;
use foretrace_verdict::{Model, Violation};

use super::parse;

const TWO_WRITES: &str = "t1: write x = 1\nt2: write x = 2\n";

/// What is said about a solver that is this command line.
fn verdict(input: &str, command: &str, seconds: f64) -> String {
    let command = match SolverCommand::parse(command) {
        Ok(command) => command,
        Err(error) => return error.to_string(),
    };
    let race = Violation::Race(EventId(0), EventId(1));
    let limits = Limits { time: Duration::from_secs_f64(seconds) };
    match decide(&parse(input), Model::Values, &race, &command, limits) {
        Answer::Unknown(reason) => reason.to_string(),
        answer => format!("{answer:?}"),
    }
}

/// A script as a solver.
fn shell(script: &str) -> String {
    verdict(TWO_WRITES, &format!("sh -c '{script}'"), 20.0)
}

#[test]
fn each_failure_says_what_to_do() {
    for (said, expected) in [
        (
            verdict(TWO_WRITES, " ", 1.0),
            "the command of the solver is empty: name one, such as `z3 -in` or `cvc5`",
        ),
        (
            verdict(TWO_WRITES, "no-such-solver -x", 1.0),
            "no-such-solver was not found: see that it is installed and in the PATH, or name another solver with --solver",
        ),
        (
            verdict(TWO_WRITES, "/", 1.0),
            "/ cannot be started: Permission denied (os error 13); see whether it runs by itself, or name another solver with --solver",
        ),
        (shell("echo unknown"), "sh answered `unknown`: it has given up; try another solver"),
        (
            shell("echo oh dear >&2; exit 3"),
            "sh ended without an answer, with status 3: does it read SMT-LIB 2 from its standard input (z3 needs -in)? It said: oh dear",
        ),
        (
            shell("kill -SEGV $$"),
            "sh was ended by signal 11 before it answered: it has crashed, or was out of memory",
        ),
        (
            shell("echo \"(error \\\"line 3: no such logic\\\")\""),
            "sh does not accept the formula: line 3: no such logic; try another solver, and please report this",
        ),
        (
            shell("echo Hello."),
            "what sh answered cannot be read (it says `Hello.`): is it a solver of SMT-LIB 2?",
        ),
        (
            shell("echo \"sat ((X\""),
            "what sh answered cannot be read (byte 8: a `)` is missing at the end): is it a solver of SMT-LIB 2?",
        ),
        (
            shell("echo \"sat ((X 1))\""),
            "what sh answered cannot be read (no value of O0): is it a solver of SMT-LIB 2?",
        ),
        (shell("echo unsat; echo \"(error \\\"no model\\\")\""), "Infeasible"),
        (shell("echo sat; echo \"((X 1) (O0 (- 2)) (O1 1))\""), "Feasible([EventId(0)])"),
    ] {
        assert_eq!(said, expected);
    }
}

#[test]
fn a_missing_solver_is_offered() {
    assert_eq!(
        foretrace_reference::SolverError::NotFound { program: "z3".into() }.to_string(),
        "z3 was not found: install it with apt-get install z3, or name another solver with --solver"
    );
}

#[test]
fn time_runs_out_and_nobody_is_left() {
    let mark = std::env::temp_dir().join(format!("foretrace-reference-{}", std::process::id()));
    let start = Instant::now();
    // The sleeping grandchild has the pipes too.
    let script = format!("sh -c 'sleep 300 & echo $! > {}; wait'", mark.display());
    let said = verdict(TWO_WRITES, &script, 0.5);
    assert_eq!(
        said,
        "sh gave no answer in 0.5 s: allow it more time, or ask for less (fewer events, a smaller bound)"
    );
    assert!(start.elapsed() < Duration::from_secs(20));
    let grandchild = std::fs::read_to_string(&mark).expect("the script has begun");
    _ = std::fs::remove_file(&mark);
    let stat = std::path::Path::new("/proc").join(grandchild.trim()).join("stat");
    let has_ended = || match std::fs::read_to_string(&stat) {
        Ok(stat) => stat.contains(") Z ") || !stat.contains("(sleep)"),
        Err(_) => true,
    };
    let deadline = Instant::now() + Duration::from_secs(10);
    while !has_ended() {
        assert!(Instant::now() < deadline, "the grandchild still sleeps");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn large_inputs_and_outputs_block_nobody() {
    let many = "t1: write x = 1\nt2: write x = 2\n".repeat(2000);
    // Reads nothing, and says more than a pipe holds.
    let flood = "sh -c 'i=0; while [ $i -lt 20000 ]; do echo \"; nothing to see here\"; i=$((i+1)); done; echo unsat'";
    assert_eq!(verdict(&many, flood, 60.0), "Infeasible");
    // Says it all again before it has read everything.
    assert_eq!(verdict(&many, "sh -c 'sed \"s/^/; /\"; echo unsat'", 60.0), "Infeasible");
}

#[test]
fn command_lines_are_taken_apart() {
    let same = |a: &str, b: &str| assert_eq!(SolverCommand::parse(a), SolverCommand::parse(b));
    same("z3", "z3 -in");
    same("cvc5  --lang smt2 -", "cvc5 '--lang' \"smt2\" -");
    assert_ne!(SolverCommand::parse("a 'b c'"), SolverCommand::parse("a b c"));
}
