//! The rules of `ARCHITECTURE.md` that a program can check: what each crate does not know.

use std::fs;
use std::path::{Path, PathBuf};

use crate::metadata::Package;

/// Every crate of the workspace, and the crates of the workspace that it may be built with; without
/// `foretrace-` before their names.
const MAY_USE: &str = "
    # For tests only.
    testing:
    recording:
    words:
    faults:
    # What runs inside the compiler and inside the user's program knows only the layouts.
    llvm: recording
    runtime: recording
    trace: recording
    verdict: recording trace
    image: recording words
    rewalk: recording image trace words
    importer: recording image trace rewalk
    program: trace words
    lift: recording words image trace program
    model: trace verdict words
    summarise: trace program model
    causality: trace verdict model
    # Its rules are its own: it shares no code with checker and oracle.
    explore: faults words trace verdict model causality
    solve:
    # Only its witnesses meet the interpreter, which decides whether they count.
    verify: faults words trace program solve
    # The checker shares no code with what it checks.
    witness: trace verdict
    predict: faults trace verdict program model summarise causality explore solve witness
    # A second opinion.
    reference: trace verdict
    replay: recording trace verdict witness program lift verify
    # It makes English of what is known of a trace.
    report: trace verdict
    # It tells what others have decided, and knows neither encoder nor solver.
    findings: trace verdict program summarise witness predict reference replay verify report
    # Compares the prediction with its own enumeration, and shares no code with model and encoder.
    # Its tests hold the second opinion and the refutations against it as well.
    oracle: testing trace verdict witness predict explore reference model causality importer
    foretrace: recording trace verdict importer program lift verify reference predict replay report findings
    # Measures one crate after the other.
    bench: testing trace program verify verdict rewalk importer model causality solve predict reference
    xtask:
";

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
        let Some(allowed) = may_use(short(&package.name)) else {
            errors.push(format!("{}: ARCHITECTURE.md and its rules do not know it", package.name));
            continue;
        };
        for used in &package.dependencies {
            let is_ours = ours.clone().any(|other| other.name == *used);
            if is_ours && !allowed.split(' ').any(|name| name == short(used)) {
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

fn may_use(package: &str) -> Option<&'static str> {
    let mut rows = MAY_USE.lines().filter_map(|row| row.trim().split_once(':'));
    rows.find(|(name, _)| *name == package).map(|(_, used)| used)
}

fn short(package: &str) -> &str {
    package.strip_prefix("foretrace-").unwrap_or(package)
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
