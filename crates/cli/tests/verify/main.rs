//! `foretrace verify` on C programs: verdict and exit status. The plugin must lie beside the
//! command line: `cargo build --workspace` puts it there.

use std::path::Path;
use std::process::Command;

/// Verifies a program; the first words of the answer and the status.
fn verify(arguments: &str) -> (String, i32) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verify/programs");
    let output = Command::new(env!("CARGO_BIN_EXE_foretrace"))
        .arg("verify")
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .output()
        .expect("foretrace can be started");
    let said = [output.stdout, output.stderr].concat();
    (String::from_utf8_lossy(&said).into_owned(), output.status.code().unwrap_or(-1))
}

fn check(arguments: &str, status: i32, begins: &str) {
    let (said, found) = verify(arguments);
    assert!(found == status && said.starts_with(begins), "{arguments}: status {found}\n{said}");
}

#[test]
fn correct_programs_are_proved() {
    for program in ["fibonacci.c", "peterson.c", "list.c", "input.c"] {
        check(program, 0, "proved");
    }
}

#[test]
fn bugs_have_a_schedule() {
    for program in ["fibonacci.c", "peterson.c", "queue.c", "list.c", "input.c"] {
        check(&format!("{program} -- -DBUG"), 1, "bug: assertion violated");
    }
}

#[test]
fn what_is_not_known_is_said() {
    check("open.c", 3, "unknown:\n  open.c:15: not supported: a call of mystery");
    check("--unwind 4 open.c -- -DLOOP", 3, "no bug up to bound 4");
    check("uninitialised.c", 3, "unknown:\n  a variable may be read before it is initialised");
    // A wait may wake up spuriously as often as it likes.
    check("--unwind 3 queue.c", 3, "no bug up to bound 3");
}

#[test]
fn bad_input_is_refused() {
    check("nowhere.c", 2, "error: nowhere.c: no such file");
    check("input.c -- -Dmain=other", 2, "error: input.c: no file defines `main`");
    check("input.c -- -include missing.h", 2, "error: input.c cannot be compiled");
}
