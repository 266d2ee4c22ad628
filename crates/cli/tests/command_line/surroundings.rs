//! What the program makes of the environment and the terminal that it runs in.

use std::process::Command;

use super::{Folder, example};

/// A folder with a trace for which the solver is asked.
fn folder(test: &str) -> Folder {
    let folder = Folder::new(test);
    folder.file("lost-signal.trace", &example("lost-signal.trace"));
    folder
}

#[test]
fn settings_of_the_solver_in_the_environment_have_no_influence() {
    let folder = folder("environment");
    let output = |variables: &[(&str, &str)]| {
        let mut command = folder.command("predict lost-signal.trace --json -");
        command.envs(variables.iter().copied()).output().unwrap()
    };
    let plain = output(&[]);
    assert_eq!(plain.status.code(), Some(1));
    let with_options =
        output(&[("CADICAL_VERBOSE", "3"), ("CADICAL_CHRONO", "1"), ("CADICAL_SEED", "99")]);
    assert_eq!(with_options, plain);
    let with_files = output(&[
        ("CADICAL_API_TRACE", "calls"),
        ("CADICALAPITRACE", "calls"),
        ("CADICAL_LIDRUP_TRACE", "proof"),
        ("CADICALLIDRUPTRACE", "proof"),
    ]);
    assert_eq!(with_files, plain);
    assert_eq!(folder.names(), ["lost-signal.trace"]);
}

/// Runs a shell command in a terminal of its own, and returns what the terminal got.
fn in_terminal(folder: &Folder, shell: &str, variables: &[(&str, &str)]) -> String {
    let program = env!("CARGO_BIN_EXE_foretrace");
    let mut command = Command::new("script");
    command.args(["--quiet", "--return", "--command"]).arg(format!("{program} {shell}"));
    command.arg("/dev/null").current_dir(&folder.0);
    command.env_remove("NO_COLOR").env_remove("COLUMNS").envs(variables.iter().copied());
    let output = command.output().expect("`script` of util-linux runs");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

const RED: &str = "\x1b[1;31mreal\x1b[0m";

#[test]
fn a_terminal_gets_colours_unless_it_wants_none() {
    let folder = folder("colours");
    let seen = in_terminal(&folder, "predict lost-signal.trace 2>messages", &[]);
    assert!(seen.contains(RED), "{seen:?}");
    assert_eq!(folder.read("messages"), "");
    let seen = in_terminal(&folder, "predict lost-signal.trace 2>messages", &[("NO_COLOR", "1")]);
    assert!(seen.contains("stuck-1 (real)") && !seen.contains('\x1b'), "{seen:?}");
    let seen = in_terminal(&folder, "predict lost-signal.trace 2>messages", &[("NO_COLOR", "")]);
    assert!(seen.contains(RED), "an empty NO_COLOR counts as none: {seen:?}");
    in_terminal(&folder, "predict lost-signal.trace >report", &[]);
    assert!(!folder.read("report").contains('\x1b'));
}

#[test]
fn a_terminal_is_told_how_far_it_is_and_left_clean() {
    let folder = folder("progress");
    let seen = in_terminal(&folder, "predict lost-signal.trace >report", &[]);
    let (line, rest) = seen.rsplit_once("\r\x1b[K").expect("the line is taken away");
    assert!(line.starts_with("\r\x1b[Kpreparing, 0."), "{seen:?}");
    assert_eq!(rest, "");
    assert!(folder.read("report").contains("\nverdict: 1 bug that can happen"));
}

#[test]
#[cfg(feature = "seeded-faults")]
fn a_schedule_that_the_checker_refuses_ends_with_status_70_and_no_verdict() {
    let folder = Folder::new("refused");
    folder.file(
        "guarded.trace",
        "t1: acquire m @ 1\nt1: write f = 1 @ 2\nt1: write z = 1 @ 3\nt1: release m @ 4\n\
         t2: acquire m @ 5\nt2: read f : 1 @ 6\nt2: release m @ 7\nt2: write z = 2 @ 8\n",
    );
    let command = "predict guarded.trace --check race --json report.json";
    let seeded = |fault: &str| {
        folder.command(command).env("FORETRACE_SEEDED_FAULT", fault).output().unwrap()
    };
    let output = seeded("ClosureKeepsHolds");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(70), "{said}");
    assert!(said.contains("is refused by the checker"), "{said}");
    assert!(said.contains("no verdict of this run counts"), "{said}");
    assert!(output.stdout.is_empty());
    assert_eq!(folder.names(), ["guarded.trace"]);
    assert_eq!(folder.command(command).output().unwrap().status.code(), Some(0));
}

#[test]
fn the_mode_of_the_supervisor_is_not_for_people() {
    let folder = Folder::new("supervisor");
    for arguments in ["supervise-program -1 ls", "supervise-program 77 ls", "supervise-program ls"]
    {
        let output = folder.command(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert!(output.stdout.is_empty(), "{arguments}: nothing was started");
    }
}
