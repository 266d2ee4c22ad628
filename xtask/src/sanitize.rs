//! `sanitize`: recorded programs under valgrind, which watches what the runtime reads, writes and
//! gives to the kernel.
//!
//! Valgrind knows nothing of the runtime's own memory and of the blocks that the C library gives
//! out through it. It sees memory that is not mapped, values that nobody has set, and arguments of
//! system calls.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::shell::{Stop, cannot_run, cargo, root, run, step, target_folder};
use crate::tools;

/// Corrected programs of `examples/programs`, so that each part of the runtime has one.
///
/// Tasks of OpenMP are missing: valgrind does not let them reserve their addresses.
const PROGRAMS: [&str; 13] = [
    "lost-update/fixed.c",
    "rw-cache/fixed.c",
    "semaphore-handoff/fixed.c",
    "barrier-phases/fixed.c",
    "thread-pool/fixed.c",
    "missed-signal-cpp/fixed.cpp",
    "pipe-handoff/fixed.c",
    "nonblocking-poll/fixed.c",
    "eventfd-mailbox/fixed.c",
    "loopback-request/fixed.c",
    "file-journal/fixed.c",
    "signal-handoff/fixed.c",
    "omp-sum/fixed.c",
];

/// Valgrind must find that this one gives the kernel an address where nothing is: else it would
/// find nothing at all.
const WRONG: &str = "#include <sys/stat.h>\nint main(void) { return !stat(\"/\", (void *)8); }\n";

/// The status by which valgrind says that it has found something.
const FOUND: i32 = 99;

/// Records each program once under valgrind; says how many there were.
pub(crate) fn sanitize() -> Result<u64, Stop> {
    tools::ensure_for_sanitizing()?;
    let build = "build --locked -p foretrace -p foretrace-llvm -p foretrace-runtime";
    run("build", &mut cargo(build))?;
    step("sanitize", || {
        let folder = target_folder().join("sanitize");
        let _ = fs::remove_dir_all(&folder);
        let make = fs::create_dir_all(&folder);
        make.map_err(|error| Stop::usage(format!("{}: {error}", folder.display())))?;
        for source in PROGRAMS {
            let source = root().join("examples/programs").join(source);
            let (code, words) = record(&source, &folder)?;
            if code != Some(0) {
                let source = source.display();
                return Err(Stop::failed(format!("sanitize FAILED: {source}: {code:?}\n{words}")));
            }
        }
        let wrong = folder.join("wrong.c");
        let written = fs::write(&wrong, WRONG);
        written.map_err(|error| Stop::usage(format!("{}: {error}", wrong.display())))?;
        match record(&wrong, &folder)? {
            (Some(FOUND), _) => Ok(PROGRAMS.len() as u64 + 1),
            (code, _) => Err(Stop::failed(format!(
                "sanitize FAILED: valgrind did not find a mistake that is there: {code:?}"
            ))),
        }
    })
}

/// Compiles a program and records it under valgrind; its status, and what valgrind says.
fn record(source: &Path, folder: &Path) -> Result<(Option<i32>, String), Stop> {
    let (program, report) = (folder.join("program"), folder.join("report"));
    let recording = folder.join("recording.ftrec");
    let _ = fs::remove_file(&recording);
    let is_cxx = source.extension().is_some_and(|end| end == "cpp");
    let mut compile = Command::new(foretrace());
    // Valgrind of Debian 12 cannot read what clang writes by default.
    compile.args([if is_cxx { "c++" } else { "cc" }, "-O1", "-gdwarf-4", "-pthread", "-fopenmp"]);
    compile.arg(source).arg("-o").arg(&program);
    let compiled = compile.status().map_err(|error| cannot_run(&compile, &error))?;
    if !compiled.success() {
        return Err(Stop::failed(format!("sanitize FAILED: {}: {compiled}", source.display())));
    }
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--quiet", &format!("--error-exitcode={FOUND}")]);
    valgrind.arg(format!("--log-file={}", report.display())).arg(&program);
    valgrind.env("FORETRACE_RECORDING", &recording).env("FORETRACE_SEED", "1");
    valgrind.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null());
    let status = valgrind.status().map_err(|error| cannot_run(&valgrind, &error))?;
    if !recording.is_file() {
        let source = source.display();
        return Err(Stop::failed(format!("sanitize FAILED: {source}: nothing was recorded")));
    }
    Ok((status.code(), fs::read_to_string(report).unwrap_or_default()))
}

fn foretrace() -> PathBuf {
    target_folder().join("debug/foretrace")
}
