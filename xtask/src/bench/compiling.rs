//! `bench compiling`: what `foretrace cc` costs over clang, and what of that is debug information.
//!
//! **Computes.** For programs of our own, compiled to objects with `-O2`: the time and the size of
//! the object with clang, with clang and `-g`, with `foretrace cc` and line tables only
//! (`-gline-tables-only`, so that reports have places but no names of memory), and with `foretrace
//! cc` as it is. They take turns, so that whatever else the machine does meets all of them; the
//! shortest time of each counts.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::recording::{cannot, time};
use crate::shell::{Stop, release_build, root};
use crate::tools;

const SOURCES: [&str; 5] = [
    "benches/programs/indexer.c",
    "benches/programs/calls.c",
    "examples/programs/bank-transfer/bug.c",
    "crates/cli/tests/recording/programs/learned.c",
    "crates/cli/tests/recording/programs/called.cpp",
];

const ROUNDS: usize = 15;

pub(super) fn compiling(quick: bool) -> Result<(), Stop> {
    tools::ensure_for_benchmarks()?;
    let foretrace = release_build()?;
    let folder = root().join(".bench").join("compiling");
    fs::create_dir_all(&folder).map_err(|error| cannot(&folder, &error))?;
    println!(
        "\n{:<16}{:>8}{:>12}{:>16}{:>12}   {:>8}{:>12}{:>16}{:>12}",
        "seconds",
        "clang",
        "clang -g",
        "lines / clang",
        "cc / lines",
        "bytes",
        "clang -g",
        "lines",
        "cc"
    );
    for source in SOURCES {
        row(&foretrace, &folder, Path::new(source), if quick { 3 } else { ROUNDS })?;
    }
    Ok(())
}

fn row(foretrace: &Path, folder: &Path, source: &Path, rounds: usize) -> Result<(), Stop> {
    let is_cpp = source.extension().is_some_and(|ending| ending == "cpp");
    let object = folder.join("object.o");
    let (clang, ours) = if is_cpp { ("clang++-19", "c++") } else { ("clang-19", "cc") };
    let ways: [(&Path, &[&str]); 4] = [
        (Path::new(clang), &[]),
        (Path::new(clang), &["-g"]),
        (foretrace, &[ours, "-gline-tables-only"]),
        (foretrace, &[ours]),
    ];
    let (mut shortest, mut sizes) = ([f64::INFINITY; 4], [0; 4]);
    for _ in 0..rounds {
        for (at, (compiler, flags)) in ways.iter().enumerate() {
            let mut command = Command::new(compiler);
            command.args(*flags).args(["-O2", "-c", "-o"]).arg(&object).arg(root().join(source));
            shortest[at] = shortest[at].min(time(&mut command)?);
            sizes[at] = fs::metadata(&object).map_err(|error| cannot(&object, &error))?.len();
        }
    }
    let [plain, debug, lines, all] = shortest;
    let name = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name = if name == "bug.c" { "bank-transfer" } else { &name };
    println!(
        "{name:<16}{plain:>8.3}{debug:>12.3}{:>16.2}{:>12.2}   {:>8}{:>12}{:>16}{:>12}",
        lines / plain,
        all / lines,
        sizes[0],
        sizes[1],
        sizes[2],
        sizes[3],
    );
    Ok(())
}
