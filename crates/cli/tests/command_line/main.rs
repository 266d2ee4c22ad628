//! The program as a user meets it: standard output, standard error and exit status.

mod calls;
mod commands;
mod compare;
mod defaults;
mod encode;
mod explain;
mod explain_named;
mod facts;
mod formats;
mod interrupt;
mod merged;
mod models;
mod orders;
mod outputs;
mod predict;
mod programs;
mod project;
mod solver;
mod surroundings;
mod traces;
mod what_if;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use expect_test::{Expect, expect};

/// A folder of its own for each test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("foretrace-{}-{test}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, content: &str) -> &Self {
        fs::write(self.0.join(name), content).unwrap();
        self
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foretrace"));
        command.args(arguments.split_whitespace()).current_dir(&self.0);
        command.env_remove("COLUMNS").env_remove("NO_COLOR").env_remove("RUST_BACKTRACE");
        command.env_remove("FORETRACE_OPTIONS");
        command
    }

    /// Runs each command of a transcript (`$ predict a.trace`) and compares all that they say; of
    /// a report in JSON only the fields that `| findings notes` behind the command names.
    fn session(&self, expected: Expect) {
        let mut said = String::new();
        for line in expected.data().lines().map(str::trim_start) {
            if line.starts_with(['$', '#']) {
                said.push_str(&format!("{line}\n"));
            }
            let Some(command) = line.strip_prefix("$ ") else { continue };
            let (arguments, fields) = command.split_once(" | ").unwrap_or((command, ""));
            let says = says(&mut self.command(arguments));
            said.push_str(&if fields.is_empty() { says } else { only(fields, &says) });
        }
        expected.assert_eq(&said);
    }

    fn check(&self, arguments: &str, expected: Expect) {
        expected.assert_eq(&says(&mut self.command(arguments)));
    }

    fn check_same(&self, one: &str, other: &str) {
        assert_eq!(says(&mut self.command(one)), says(&mut self.command(other)));
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What a command writes, and its status.
fn says(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let mut said = String::from_utf8(output.stdout).unwrap();
    for line in String::from_utf8(output.stderr).unwrap().lines() {
        said.push_str(&format!("stderr: {line}\n"));
    }
    said + &format!("status: {}\n", output.status.code().unwrap())
}

/// The lines of some fields of a report in JSON, and those that are not JSON.
fn only(fields: &str, said: &str) -> String {
    let mut is_kept = false;
    let lines = said.lines().filter(|line| {
        if let Some(name) = line.strip_prefix(" \"").and_then(|line| line.split('"').next()) {
            is_kept = fields.split(' ').any(|field| field == name);
        } else if !line.starts_with(' ') {
            is_kept = !line.starts_with(['{', '}']);
        }
        is_kept
    });
    lines.map(|line| format!("{line}\n")).collect()
}

const SMALL: &str = "\
t1: acquire m @ a.c:1
t1: write x = 1 @ a.c:2
t1: release m @ a.c:3
t2: read x : 1 @ a.c:9
";

#[test]
fn a_file_that_is_not_there() {
    let folder = Folder::new("not-there");
    folder.session(expect![[r#"
        $ predict missing.trace
        stderr: error: missing.trace: No such file or directory (os error 2)
        stderr: hint: give the path of a recorded trace
        status: 2
    "#]]);
}

#[test]
fn a_file_that_is_no_trace() {
    let folder = Folder::new("no-trace");
    folder.file("bad.trace", "t1: acquire m\nt1: jump\n");
    folder.file("program", "\u{7f}ELF\u{2}\u{1}").file("bytes", "ab\0\u{1}");
    folder.file("bank.c", "int balance;\n");
    folder.session(expect![[r#"
        $ trace show bad.trace
        stderr: error: bad.trace:2:5: unknown event `jump`
        status: 2
        $ predict program
        stderr: error: program: a compiled program, not a trace
        stderr: hint: record it first: foretrace test -- program
        status: 2
        $ predict bytes
        stderr: error: bytes: not a trace of a known format
        stderr: hint: docs/trace-format.md lists the formats that can be read
        status: 2
        $ predict bank.c
        stderr: error: bank.c:1:1: expected `:` after the thread `int`, or a declaration
        stderr: hint: this looks like source: compile it with `foretrace cc`, then `foretrace test -- ./program`; `foretrace verify` takes C files as they are
        status: 2
    "#]]);
}

#[test]
fn wrong_usage() {
    let folder = Folder::new("usage");
    folder.session(expect![[r#"
        $ predict
        stderr: error: the following required arguments were not provided:
        stderr:   <TRACE>...
        stderr: 
        stderr: Usage: foretrace predict <TRACE>...
        stderr: 
        stderr: For more information, try '--help'.
        status: 2
        $ predict x --check races
        stderr: error: invalid value 'races' for '--check <PROPERTY,...>'
        stderr:   [possible values: race, atomicity, deadlock, lock, assertion]
        stderr: 
        stderr:   tip: a similar value exists: 'race'
        stderr: 
        stderr: For more information, try '--help'.
        status: 2
        $ predict x --budget soon
        stderr: error: invalid value 'soon' for '--budget <TIME>': unknown unit `soon`; use ms, s, m or h
        stderr: 
        stderr: For more information, try '--help'.
        status: 2
        $ predict x --jobs 0
        stderr: error: invalid value '0' for '--jobs <N>': 0 is not in 1..=1024
        stderr: 
        stderr: For more information, try '--help'.
        status: 2
    "#]]);
}

#[test]
fn version() {
    Folder::new("version").check(
        "--version",
        expect![[r#"
        foretrace 0.1.0
        status: 0
    "#]],
    );
}

/// A trace of the folder `examples`.
fn example(name: &str) -> String {
    let path = format!("{}/../../examples/{name}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(path).unwrap()
}
