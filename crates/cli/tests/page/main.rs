//! The page of a report in a real browser: `browse.py` drives Chromium over what the command line
//! writes here.
//!
//! `cargo xtask test` installs the browser, and what checks the page (`xtask/src/tools.rs`). Where
//! something of that is missing, the test says so and is skipped.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where `cargo xtask test` puts what is not a Debian package.
fn tools() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("page-tools")
}

fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn the_scripts_have_the_right_types() {
    let tsc = tools().join("typescript/lib/tsc");
    if !tsc.exists() {
        return foretrace_testing::skip("types of the page", "TypeScript is not installed");
    }
    let project = root().join("crates/report/src/html/tsconfig.json");
    let output = Command::new(tsc).arg("-p").arg(project).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn pages_in_a_browser() {
    let is_there = |path: &str| Path::new(path).exists();
    let axe = tools().join("axe-core/axe.min.js");
    let python = Path::new("/usr/bin/python3");
    let selenium = Command::new(python).args(["-c", "import selenium"]).output();
    let has_selenium = selenium.is_ok_and(|output| output.status.success());
    if !is_there("/usr/bin/chromium") || !is_there("/usr/bin/chromedriver") || !has_selenium {
        return foretrace_testing::skip("the page in a browser", "Chromium is not installed");
    }
    if !axe.exists() {
        return foretrace_testing::skip("the page in a browser", "axe-core is not installed");
    }
    let folder = folder();
    predict(&folder, "bank", &fs::read_to_string(root().join("examples/bank.trace")).unwrap());
    predict(&folder, "assertion", include_str!("../../../../examples/assertion.trace"));
    predict(&folder, "hostile", HOSTILE);
    predict(&folder, "many", &many(1000));
    predict(&folder, "long", &long(50_000));
    record(&folder, "deadlock", "lock-order-3/bug.c");
    against_baseline(&folder);
    predict_file(&folder, "withdraw", &root().join("examples/withdraw.ftp"));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/page/browse.py");
    let output = Command::new(python).arg(script).arg(&folder).arg(&axe).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{errors}");
    // Nothing may be left out without notice.
    assert!(said.contains("all checks passed"), "{said}\n{errors}");
}

/// Writes the page of a trace.
fn predict(folder: &Path, name: &str, trace: &str) {
    let input = folder.join(format!("{name}.trace"));
    fs::write(&input, trace).unwrap();
    predict_file(folder, name, &input);
}

fn predict_file(folder: &Path, name: &str, input: &Path) {
    let page = folder.join(format!("{name}.html"));
    let output = Command::new(env!("CARGO_BIN_EXE_foretrace"))
        .arg("predict")
        .arg(input)
        .arg("--output")
        .arg(format!("html={}", page.display()))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Writes the page of an example program.
fn record(folder: &Path, name: &str, source: &str) {
    let program = folder.join(name);
    let source = root().join("examples/programs").join(source);
    let foretrace = || Command::new(env!("CARGO_BIN_EXE_foretrace"));
    let compiled =
        foretrace().args(["cc", "-g"]).arg(source).arg("-o").arg(&program).output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let page = folder.join(format!("{name}.html"));
    let mut test = foretrace();
    test.arg("test").arg("--output").arg(format!("html={}", page.display())).arg("--json");
    let output = test.arg(folder.join(format!("{name}.json"))).arg(program).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Writes the page of a trace of which a baseline knows one race; one more is fixed, one is not
/// seen, and one is new.
fn against_baseline(folder: &Path) {
    let race = |name: &str, line: u32| {
        format!(
            "a: write {name} : 1 @ w.c:{line} (one)\nb: write {name} : 2 @ w.c:{} (two)\n",
            line + 50
        )
    };
    let locked = |name: &str, line: u32| {
        let other = line + 50;
        format!(
            "a: acquire m\na: write {name} : 1 @ w.c:{line} (one)\na: release m\n\
             b: acquire m\nb: write {name} : 2 @ w.c:{other} (two)\nb: release m\n"
        )
    };
    let path = |name: &str| folder.join(name).display().to_string();
    let before = race("kept", 1) + &race("mended", 2) + &race("gone", 3);
    let now = race("kept", 1) + &locked("mended", 2) + &race("fresh", 4);
    fs::write(path("before.trace"), before).unwrap();
    fs::write(path("now.trace"), now).unwrap();
    let page = format!("html={}", path("baseline.html"));
    for arguments in [
        ["predict", &path("before.trace"), "--write-baseline", &path("known.json"), "--quiet"],
        [
            "predict",
            &path("now.trace"),
            "--baseline",
            &path("known.json"),
            &format!("--output={page}"),
        ],
    ] {
        let output =
            Command::new(env!("CARGO_BIN_EXE_foretrace")).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Names that would be markup, if they were not text.
const HOSTILE: &str = r#"
a: write "</script><script>window.broken=1</script>" : 1 @ "<img src=x onerror=window.broken=2>:1"
b: write "</script><script>window.broken=1</script>" : 2 @ "x.c:2 (<!-- operator<</script>)"
"#;

/// So many races, each on a variable of its own.
fn many(races: usize) -> String {
    let mut trace = String::new();
    for number in 0..races {
        writeln!(trace, "a: write shared_{number} : 1 @ src/worker.c:{} (produce)", 10 + number)
            .unwrap();
    }
    for number in 0..races {
        writeln!(trace, "b: write shared_{number} : 2 @ src/worker.c:{} (consume)", 5000 + number)
            .unwrap();
    }
    trace
}

/// A race behind so many steps of each of two threads.
fn long(steps: usize) -> String {
    let mut trace = String::new();
    for step in 0..steps {
        writeln!(trace, "a: write left : {step} @ long.c:10 (left)").unwrap();
        writeln!(trace, "b: write right : {step} @ long.c:20 (right)").unwrap();
    }
    trace.push_str("a: write shared : 1 @ long.c:12 (left)\n");
    trace.push_str("b: write shared : 2 @ long.c:22 (right)\n");
    trace
}
