//! The rules of `ARCHITECTURE.md` that a program can check: what each crate does not know.

use std::fs;
use std::path::{Path, PathBuf};

use crate::metadata::Package;

/// Every crate of the workspace, and the crates of the workspace that it may be built with.
const MAY_USE: [(&str, &[&str]); 29] = [
    // For tests only.
    ("foretrace-testing", &[]),
    ("foretrace-recording", &[]),
    ("foretrace-words", &[]),
    ("foretrace-faults", &[]),
    // What runs inside the compiler and inside the user's program knows only the layouts.
    ("foretrace-llvm", &["foretrace-recording"]),
    ("foretrace-runtime", &["foretrace-recording"]),
    ("foretrace-trace", &["foretrace-recording"]),
    ("foretrace-verdict", &["foretrace-recording", "foretrace-trace"]),
    ("foretrace-image", &["foretrace-recording", "foretrace-words"]),
    (
        "foretrace-rewalk",
        &["foretrace-recording", "foretrace-image", "foretrace-trace", "foretrace-words"],
    ),
    ("foretrace-importer", &["foretrace-recording", "foretrace-trace", "foretrace-rewalk"]),
    ("foretrace-program", &["foretrace-trace", "foretrace-words"]),
    (
        "foretrace-lift",
        &[
            "foretrace-recording",
            "foretrace-words",
            "foretrace-image",
            "foretrace-trace",
            "foretrace-program",
        ],
    ),
    ("foretrace-model", &["foretrace-trace", "foretrace-verdict", "foretrace-words"]),
    ("foretrace-summarise", &["foretrace-trace", "foretrace-program", "foretrace-model"]),
    ("foretrace-causality", &["foretrace-trace", "foretrace-verdict", "foretrace-model"]),
    // Its rules are its own: it shares no code with checker and oracle.
    (
        "foretrace-explore",
        &[
            "foretrace-faults",
            "foretrace-words",
            "foretrace-trace",
            "foretrace-verdict",
            "foretrace-model",
            "foretrace-causality",
        ],
    ),
    ("foretrace-solve", &[]),
    // Only its witnesses meet the interpreter, which decides whether they count.
    (
        "foretrace-verify",
        &[
            "foretrace-faults",
            "foretrace-words",
            "foretrace-trace",
            "foretrace-program",
            "foretrace-solve",
        ],
    ),
    // The checker shares no code with what it checks.
    ("foretrace-witness", &["foretrace-trace", "foretrace-verdict"]),
    (
        "foretrace-predict",
        &[
            "foretrace-faults",
            "foretrace-trace",
            "foretrace-verdict",
            "foretrace-program",
            "foretrace-model",
            "foretrace-summarise",
            "foretrace-causality",
            "foretrace-explore",
            "foretrace-solve",
            "foretrace-witness",
        ],
    ),
    // A second opinion.
    ("foretrace-reference", &["foretrace-trace", "foretrace-verdict"]),
    (
        "foretrace-replay",
        &["foretrace-recording", "foretrace-trace", "foretrace-verdict", "foretrace-witness"],
    ),
    // It makes English of what is known of a trace.
    ("foretrace-report", &["foretrace-trace", "foretrace-verdict"]),
    // It tells what others have decided, and knows neither encoder nor solver.
    (
        "foretrace-findings",
        &[
            "foretrace-trace",
            "foretrace-verdict",
            "foretrace-program",
            "foretrace-summarise",
            "foretrace-witness",
            "foretrace-predict",
            "foretrace-reference",
            "foretrace-replay",
            "foretrace-report",
        ],
    ),
    // Compares the prediction with its own enumeration, and shares no code with model and encoder.
    // Its tests hold the second opinion and the refutations against it as well.
    (
        "foretrace-oracle",
        &[
            "foretrace-testing",
            "foretrace-trace",
            "foretrace-verdict",
            "foretrace-witness",
            "foretrace-predict",
            "foretrace-explore",
            "foretrace-reference",
            "foretrace-model",
            "foretrace-causality",
            "foretrace-importer",
        ],
    ),
    (
        "foretrace",
        &[
            "foretrace-recording",
            "foretrace-trace",
            "foretrace-verdict",
            "foretrace-importer",
            "foretrace-program",
            "foretrace-lift",
            "foretrace-verify",
            "foretrace-reference",
            "foretrace-predict",
            "foretrace-replay",
            "foretrace-report",
            "foretrace-findings",
        ],
    ),
    // Measures one crate after the other.
    (
        "foretrace-bench",
        &[
            "foretrace-testing",
            "foretrace-trace",
            "foretrace-verdict",
            "foretrace-rewalk",
            "foretrace-importer",
            "foretrace-model",
            "foretrace-causality",
            "foretrace-solve",
            "foretrace-predict",
            "foretrace-reference",
        ],
    ),
    ("xtask", &[]),
];

/// External packages that only some crates may know.
const KNOWN_ONLY_TO: [(&str, &[&str]); 6] = [
    ("llvm-sys", &["foretrace-llvm"]),
    ("libc", &["foretrace-runtime", "foretrace-reference", "foretrace-bench", "foretrace"]),
    ("cadical-sys", &["foretrace-solve"]),
    ("clap", &["foretrace"]),
    ("serde", &["foretrace-report", "foretrace-verdict", "xtask"]),
    ("serde_json", &["foretrace-report", "xtask"]),
];

/// What only the command line does.
const PRINTING: [&str; 6] = ["println!", "eprintln!", "print!", "eprint!", "dbg!", "process::exit"];

/// Sources that may print: the command line, the plugin (to the user of the compiler), and tools of
/// the developers.
const MAY_PRINT: [&str; 5] = [
    "crates/testing/",
    "crates/cli/",
    "crates/llvm/src/lib.rs",
    "crates/oracle/src/main.rs",
    "xtask/",
];

/// What breaks the rules between crates.
pub(crate) fn check_dependencies(packages: &[Package]) -> Vec<String> {
    let mut errors = Vec::new();
    let ours = packages.iter().filter(|package| package.source.is_none());
    for package in ours.clone() {
        let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| *name == package.name) else {
            errors.push(format!("{}: ARCHITECTURE.md and its rules do not know it", package.name));
            continue;
        };
        for used in &package.dependencies {
            let is_ours = ours.clone().any(|other| other.name == *used);
            if is_ours && !allowed.contains(&used.as_str()) {
                errors.push(format!("{} must not know {used}", package.name));
            }
            let reserved = KNOWN_ONLY_TO.iter().find(|(name, _)| name == used);
            if reserved.is_some_and(|(_, users)| !users.contains(&package.name.as_str())) {
                errors.push(format!("{} must not know {used}", package.name));
            }
        }
    }
    errors
}

/// Lines of the sources that print or exit where they must not.
pub(crate) fn check_printing(root: &Path) -> Vec<String> {
    let mut errors = Vec::new();
    let mut folders = vec![root.join("crates")];
    while let Some(folder) = folders.pop() {
        for path in sorted_entries(&folder) {
            let relative = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            let is_test = relative.contains("/tests/") || relative.ends_with("tests.rs");
            let is_source = relative.contains("/src/") && relative.ends_with(".rs") && !is_test;
            if path.is_dir() {
                folders.push(path);
            } else if is_source && !MAY_PRINT.iter().any(|start| relative.starts_with(start)) {
                let source = fs::read_to_string(&path).unwrap_or_default();
                errors.extend(printing_lines(&source).map(|line| format!("{relative}:{line}")));
            }
        }
    }
    errors.sort();
    errors
}

/// The numbers and words of lines that print, without comments and tests.
fn printing_lines(source: &str) -> impl Iterator<Item = String> {
    let code = source.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
    code.enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")).filter_map(
        |(index, line)| {
            let word = PRINTING.iter().find(|word| line.contains(*word))?;
            Some(format!("{}: only the command line uses {word}", index + 1))
        },
    )
}

fn sorted_entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata;

    fn errors(name: &str, dependency: &str) -> Vec<String> {
        let package = |name: &str, dependencies: serde_json::Value| {
            let version = "0.1.0";
            serde_json::json!({"name": name, "version": version, "dependencies": dependencies})
        };
        let metadata = serde_json::json!({"packages": [
            package(name, serde_json::json!([{"name": dependency, "kind": null}])),
            package("foretrace-solve", serde_json::json!([])),
        ]});
        check_dependencies(&metadata::parse(&metadata))
    }

    #[test]
    fn the_checker_knows_no_solver() {
        let error = "foretrace-witness must not know foretrace-solve";
        assert_eq!(errors("foretrace-witness", "foretrace-solve"), [error]);
        assert_eq!(errors("foretrace-predict", "foretrace-solve"), [""; 0]);
        assert_eq!(
            errors("foretrace-predict", "cadical-sys"),
            ["foretrace-predict must not know cadical-sys"]
        );
        assert_eq!(
            errors("foretrace-new", "x"),
            ["foretrace-new: ARCHITECTURE.md and its rules do not know it"]
        );
    }

    #[test]
    fn comments_and_tests_may_print() {
        let source = "// println!\nfn f() {\n  println!();\n}\n#[cfg(test)]\nmod t { dbg!() }";
        let lines: Vec<String> = printing_lines(source).collect();
        assert_eq!(lines, ["3: only the command line uses println!"]);
    }
}
