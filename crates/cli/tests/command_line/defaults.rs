//! Options that are given twice, and options from the environment.

use super::{Folder, example};

fn folder(test: &str) -> Folder {
    let folder = Folder::new(test);
    folder.file("assertion.trace", &example("assertion.trace"));
    folder
}

/// What the command prints with these defaults, and its status.
fn run(folder: &Folder, defaults: Option<&str>, line: &str) -> (String, String, i32) {
    let mut command = folder.command(line);
    match defaults {
        Some(defaults) => command.env("FORETRACE_OPTIONS", defaults),
        None => command.env_remove("FORETRACE_OPTIONS"),
    };
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap())
}

#[test]
fn the_last_one_of_an_option_wins() {
    let folder = folder("repeated");
    let once = run(&folder, None, "predict assertion.trace --model values");
    let twice = run(&folder, None, "predict --model symbolic assertion.trace --model values");
    assert_eq!(once, twice);
    assert_ne!(once, run(&folder, None, "predict assertion.trace --model symbolic"));
    let flags = "predict --no-prune --no-prune assertion.trace --json a --json -";
    let (out, log, status) = run(&folder, None, flags);
    assert!(out.starts_with('{') && out.contains(r#""no_prune": true"#), "{out}{log}");
    assert_eq!((status, &folder.names()[..]), (1, &["assertion.trace".to_string()][..]));
}

#[test]
fn the_lists_of_an_option_add_up() {
    let folder = folder("lists");
    let both = run(&folder, None, "predict assertion.trace --check race,lock --verbose");
    let twice = run(&folder, None, "predict --check lock assertion.trace --verbose --check race");
    assert_eq!(both, twice);
    assert!(
        both.0.contains("\nrace ") && both.0.contains("\nlock ") && !both.0.contains("\ndeadlock ")
    );
}

#[test]
fn the_command_line_wins_over_the_environment() {
    let folder = folder("wins");
    let values = run(&folder, None, "predict assertion.trace --model values --check race");
    let defaults = Some("--model 'values' --check=race");
    assert_eq!(run(&folder, defaults, "predict assertion.trace"), values);
    let defaults = Some("--model symbolic --check race");
    assert_eq!(run(&folder, defaults, "predict assertion.trace --model values"), values);
    assert_eq!(
        run(&folder, Some(""), "predict assertion.trace --model values --check race"),
        values
    );
}

#[test]
fn options_of_other_commands_are_passed_over() {
    let folder = folder("passed-over");
    let plain = run(&folder, None, "predict assertion.trace");
    let defaults = Some("--seed 3 --schedule pct --replays 2 --expect-status 1 --gdb");
    assert_eq!(run(&folder, defaults, "predict assertion.trace"), plain);
    for line in ["trace show assertion.trace", "encode assertion.trace --list", "--version"] {
        // Not even looked at.
        assert_eq!(run(&folder, Some("'"), line), run(&folder, None, line), "{line}");
    }
}

#[test]
fn defaults_that_cannot_be_are_refused() {
    let folder = folder("refused-defaults");
    for (defaults, why) in [
        ("--model 'values", "FORETRACE_OPTIONS: a quote is not closed"),
        ("--modell values", "FORETRACE_OPTIONS: no command has the option `--modell`"),
        ("values", "FORETRACE_OPTIONS: `values` is not a long option"),
        ("--model", "FORETRACE_OPTIONS: `--model` needs a value"),
        ("--model wrong", "FORETRACE_OPTIONS: invalid value 'wrong' for '--model <MODEL>'"),
        ("--iterate-bound --context-bound 3", "FORETRACE_OPTIONS: the argument '--"),
    ] {
        for line in ["predict assertion.trace", "test -- ./program"] {
            let (out, log, status) = run(&folder, Some(defaults), line);
            assert_eq!((out.as_str(), status), ("", 2), "{defaults}, {line}: {log}");
            assert!(log.starts_with(&format!("error: {why}")), "{defaults}, {line}: {log}");
        }
    }
    // What is wrong without them is not their fault.
    let (_, log, status) = run(&folder, Some("--model values"), "predict assertion.trace --modell");
    assert_eq!(status, 2);
    assert!(!log.contains("FORETRACE_OPTIONS"), "{log}");
}
