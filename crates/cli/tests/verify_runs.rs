//! `foretrace verify -- PROGRAM`: from one run to a verdict on all schedules with its input. The
//! plugin must lie beside the command line: `cargo build --workspace` puts it there.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder with the source of a program, from the root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compiles a program, and verifies a run of it: what is said, and the status. An argument `<` says
/// that the next one names what is read on standard input.
fn verify(source: &str, flags: &str, arguments: &str) -> (String, i32) {
    let (arguments, input) = arguments.split_once('<').unwrap_or((arguments, "/dev/null"));
    let input = File::open(root().join(input.trim())).expect("the file can be read");
    let name: String = format!("{source}{flags}")
        .chars()
        .map(|letter| if letter.is_alphanumeric() { letter } else { '-' })
        .collect();
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("verify-{name}"));
    let compiled = Command::new(env!("CARGO_BIN_EXE_foretrace"))
        .args([if source.ends_with(".cpp") { "c++" } else { "cc" }, "-pthread"])
        .args(flags.split_whitespace())
        .args(source.split(' '))
        .arg("-o")
        .arg(&program)
        .current_dir(root())
        .output()
        .expect("foretrace can be started");
    let said = String::from_utf8_lossy(&compiled.stderr).into_owned();
    assert!(compiled.status.success(), "{source}: {said}");
    let output = Command::new(env!("CARGO_BIN_EXE_foretrace"))
        .args(["verify", "--"])
        .arg(&program)
        .args(arguments.split_whitespace())
        .stdin(input)
        .current_dir(root())
        .output()
        .expect("foretrace can be started");
    let said = [output.stdout, output.stderr].concat();
    (String::from_utf8_lossy(&said).into_owned(), output.status.code().unwrap_or(-1))
}

fn check(source: &str, flags: &str, arguments: &str, status: i32, begins: &str) {
    let (said, found) = verify(source, flags, arguments);
    let is_replayed = status != 1 || said.contains("\nreplayed on the compiled program");
    assert!(
        found == status && said.starts_with(begins) && is_replayed,
        "{source} {flags} {arguments}: status {found}\n{said}"
    );
}

const PROVED: &str = "proved: no schedule of this program with this input";

#[test]
fn figures_of_paper_001() {
    let figure = "examples/runs/paper-001-fig1.c";
    check(figure, "", "", 1, "bug: assertion violated: foo");
    check(figure, "-DFIXED", "", 0, PROVED);
    let figure = "examples/runs/paper-001-fig4.c";
    for threads in [5, 20] {
        let flags = format!("-DTHREADS={threads}");
        check(figure, &flags, "", 1, "bug: assertion violated: foo");
        check(figure, &format!("{flags} -DFIXED"), "", 0, PROVED);
    }
}

#[test]
fn the_file_system_idiom() {
    for threads in [2, 3] {
        let flags = format!("-DTHREADS={threads}");
        check("examples/runs/file-system.c", &flags, "", 0, PROVED);
    }
    check("examples/runs/file-system.c", "-DWRONG", "", 1, "bug: ");
}

#[test]
fn threads_that_count_under_a_lock() {
    for threads in [2, 4, 8, 16] {
        check("examples/runs/count.c", &format!("-DTHREADS={threads}"), "", 0, PROVED);
    }
}

#[test]
fn what_the_program_is_given_is_known() {
    check("examples/runs/arguments.c", "", "3", 0, PROVED);
    check("examples/runs/arguments.c", "", "4", 1, "bug: assertion violated: main");
}

#[test]
fn code_beside_main_is_not_forgotten() {
    check("examples/runs/before-main.c", "", "", 0, PROVED);
    check("examples/runs/before-main.c", "-DWRONG", "", 1, "bug: assertion violated: main");
    check("examples/runs/at-exit.c", "", "", 0, PROVED);
    check("examples/runs/at-exit.c", "-DWRONG", "", 1, "bug: assertion violated: last");
}

/// Files that arguments and constants name, and standard input, are part of what is given.
#[test]
fn files_are_known() {
    let file = "examples/runs/numbers.txt";
    for arguments in [format!("{file} 2"), format!("- 3 < {file}")] {
        check("examples/runs/numbers.c", "", &arguments, 0, PROVED);
        check("examples/runs/numbers.c", "-DWRONG", &arguments, 1, "bug: ");
    }
    check("examples/runs/numbers.c", "", "- 2", 1, "bug: assertion violated: main");
    check("examples/runs/numbers.c", "", "no-such-file 2", 3, "inconclusive:");
    check("examples/runs/one-stream.c", "", "", 0, PROVED);
    check("examples/runs/one-stream.c", "-DWRONG", file, 1, "bug: assertion violated: take");
    for arguments in [file.to_string(), format!("< {file}")] {
        check("examples/runs/whole-file.c", "", &arguments, 0, PROVED);
    }
    check("examples/runs/whole-file.c", "-DWRONG", file, 1, "bug: assertion violated: main");
    check("examples/runs/closed-number.c", "", "", 3, "inconclusive:");
}

/// Of an array, each thread may have a part, and all may write through one pointer.
#[test]
fn parts_of_arrays_may_belong_to_threads() {
    check("examples/runs/cursor.c", "", "", 0, PROVED);
    check("examples/runs/cursor.c", "-DWRONG", "", 1, "bug: undefined behaviour: work");
    let words = "examples/runs/words.txt";
    check("examples/runs/words.c", "", words, 0, PROVED);
    check("examples/runs/words.c", "-DWRONG", words, 1, "bug: ");
}

/// Constants may lie inside of each other.
#[test]
fn texts_may_end_the_same_way() {
    check("examples/runs/text-in-text.c", "-O1", "", 0, PROVED);
    check("examples/runs/text-in-text.c", "-O1 -Wl,-O2", "", 0, PROVED);
    check(
        "examples/runs/text-in-text.c",
        "-DWRONG -Wl,-O2",
        "",
        1,
        "bug: assertion violated: main",
    );
}

/// What functions of the C library do that programs ask for numbers, texts and the time.
#[test]
fn functions_of_the_library_are_known() {
    let flags = "-D_GNU_SOURCE";
    check("examples/runs/library.c", flags, "2 three", 0, PROVED);
    let wrong = format!("{flags} -DWRONG");
    check("examples/runs/library.c", &wrong, "2 three", 1, "bug: assertion violated: add");
}

#[test]
fn threads_of_cpp_are_understood() {
    for source in ["condition.cpp", "threads.cpp", "once.cpp"] {
        let source = format!("examples/runs/{source}");
        check(&source, "", "", 0, PROVED);
        check(&source, "-DWRONG", "", 1, "bug: ");
    }
}

#[test]
fn each_thread_has_variables_of_its_own() {
    check("examples/runs/thread-local.c", "", "", 0, PROVED);
    check("examples/runs/thread-local.c", "-DWRONG", "", 1, "bug: assertion violated: work");
}

/// Locks that a thread takes by exchanging a word again and again.
#[test]
fn spinning_by_exchanges_is_waiting() {
    check("examples/runs/exchange-lock.c", "", "", 0, PROVED);
    check("examples/runs/exchange-lock.c", "-DWRONG", "", 1, "bug: ");
}

/// A function of the program that has the name of one of the C library is not that one.
#[test]
fn names_of_the_library_may_be_the_programs_own() {
    let both = "examples/runs/own-yield.c examples/runs/own-yield-main.c";
    check(both, "", "", 0, PROVED);
    check(both, "-DWRONG", "", 1, "bug: assertion violated: main");
}

/// Programs of `examples/programs` that get no verdict, and of which twin.
const UNDECIDED: [(&str, &str); 7] = [
    ("asm-spinlock", "fixed"),
    ("child-echo", "both"),
    ("latest-time", "both"),
    ("lock-order-cpp", "fixed"),
    ("loopback-request", "both"),
    ("signal-handoff", "both"),
    // Of OpenMP.
    ("omp-", "both"),
];

/// Programs whose bug is in what a function of the C library finds, or a number that it gives: the
/// steps inside of such functions are not forced on the compiled program.
const NOT_REPLAYED: [&str; 2] = ["descriptor-slots", "destroy-held"];

/// Every program of `examples/programs` has a verdict, or is known not to have one: the bug, or a
/// proof for the corrected twin.
#[test]
fn examples_are_decided() {
    let folder = root().join("examples/programs");
    let names = fs::read_dir(folder).expect("the examples are there").flatten();
    let names = names.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> =
        names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    for name in names {
        let undecided = UNDECIDED.iter().find(|(start, _)| name.starts_with(start));
        let source = |twin: &str| {
            let c = format!("examples/programs/{name}/{twin}.c");
            if root().join(&c).is_file() { c } else { format!("{c}pp") }
        };
        let has = |twin: &str| undecided.is_none_or(|&(_, which)| which != twin && which != "both");
        if has("bug") {
            let (said, status) = verify(&source("bug"), "", "");
            let is_replayed = NOT_REPLAYED.contains(&name.as_str())
                || said.contains("\nreplayed on the compiled program");
            assert!(status == 1 && is_replayed, "{name}: status {status}\n{said}");
        }
        if has("fixed") {
            check(&source("fixed"), "", "", 0, PROVED);
        }
    }
}

/// What C programs include.
const INCLUDED: &str = "#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
";

/// Small programs in which a proof would be wrong, and others that are right.
#[test]
fn small_programs_have_their_verdicts() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("verify-small");
    fs::create_dir_all(&folder).expect("it can be made");
    let mut wrong = Vec::new();
    for part in include_str!("verify_runs/programs.txt").split("=== ").skip(1) {
        let (head, text) = part.split_once('\n').expect("a head");
        let (name, expected) = head.split_once(": ").expect("a name");
        let (expected, flags) = expected.split_once(" with ").unwrap_or((expected, ""));
        let source = folder.join(name);
        let included = if name.ends_with(".c") { INCLUDED } else { "" };
        fs::write(&source, format!("{included}{text}")).expect("it can be written");
        let (said, status) = verify(&source.to_string_lossy(), &format!("-w {flags}"), "");
        let wanted = ["proved", "bug", "", "inconclusive"].iter().position(|one| *one == expected);
        if wanted != usize::try_from(status).ok() {
            wrong.push(format!("{name} is {expected}, not {status}:\n{said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
