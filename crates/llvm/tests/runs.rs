//! Instrumented programs do what they did before: each file of `programs` prints the same with and
//! without the plugin, at several levels of optimisation.

mod common;

use std::path::Path;
use std::process::Command;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");

fn check(program: &str) {
    let directory = common::directory(&format!("run-{program}"));
    let compiler = if program.ends_with(".cpp") { "clang++-19" } else { "clang-19" };
    let standard = if program.ends_with(".cpp") { "-std=c++20" } else { "-std=gnu23" };
    let source = format!("{FOLDER}/programs/{program}");
    let compile = |level: &str, name: &str, more: &[&str]| {
        let mut command = Command::new(compiler);
        command.current_dir(&directory).args(["-w", standard, level, "-pthread", "-o", name]);
        common::succeed(command.args(more).arg(&source));
        common::succeed(&mut Command::new(directory.join(name))).stdout
    };
    build_runtime(&directory);
    let plugin = format!("-fpass-plugin={}", common::plugin().display());
    let instrumented = [
        "-gline-tables-only",
        "-Xclang",
        "-disable-O0-optnone",
        &plugin,
        "-L.",
        "-lruntime",
        "-Wl,-rpath,$ORIGIN",
    ];
    let plain = compile("-O1", "plain", &[]);
    for level in ["-O0", "-O2"] {
        let ours = compile(level, "instrumented", &instrumented);
        assert_eq!(
            String::from_utf8_lossy(&plain),
            String::from_utf8_lossy(&ours),
            "{program} {level}"
        );
    }
}

fn build_runtime(directory: &Path) {
    let mut clang = Command::new("clang-19");
    clang.current_dir(directory).args(["-O1", "-fPIC", "-shared", "-o", "libruntime.so"]);
    clang.arg(format!("-DABI={}u", foretrace_recording::site::ABI));
    common::succeed(clang.arg(format!("{FOLDER}/runtime.c")));
}

#[test]
fn values() {
    check("values.c");
}

#[test]
fn atomics() {
    check("atomics.c");
}

#[test]
fn control() {
    check("control.c");
}

#[test]
fn copies() {
    check("copies.c");
}

#[test]
fn objects() {
    check("objects.cpp");
}

#[test]
fn threads() {
    check("threads.cpp");
}

#[test]
fn assembly() {
    check("assembly.c");
}
