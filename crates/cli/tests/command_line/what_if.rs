//! `whatif` and `fix`.

use std::path::Path;
use std::process::Command;

/// Runs a command on an example, and returns its status and what it says.
fn ask(arguments: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_foretrace"))
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(said).unwrap())
}

#[track_caller]
fn check(arguments: &[&str], status: i32, says: &[&str]) {
    let (seen, said) = ask(arguments);
    assert_eq!(seen, status, "{said}");
    says.iter().for_each(|text| assert!(said.contains(text), "`{text}` is not in:\n{said}"));
}

const BANK: &str = "examples/bank.trace";
const ASSERTION: &str = "examples/assertion.trace";

#[test]
fn orders_of_events() {
    let before = |a, b, status, says: &[&str]| {
        check(&["whatif", BANK, "--before", a, b], status, says);
    };
    before("teller2@bank.c:12", "teller1@bank.c:13", 1, &["yes, in this execution"]);
    // The second has to wait for the lock that the first takes.
    before("teller2@bank.c:21", "teller1@bank.c:22", 1, &["yes, in this execution"]);
    before("teller1@bank.c:12", "teller2@bank.c:12", 1, &["in the recorded run itself"]);
    before(
        "teller2@bank.c:12",
        "main@bank.c:42",
        0,
        &["no, in no reordering", "creation of threads"],
    );
    before("teller1@bank.c:13", "teller1@bank.c:12", 0, &["The order of the program"]);
    let chain = |places: &[&str], status, says: &[&str]| {
        check(&[&["whatif", BANK, "--before"], places].concat(), status, says);
    };
    let between = ["teller1@bank.c:12", "teller2@bank.c:12", "teller1@bank.c:13"];
    chain(&between, 1, &["yes, in this execution", "comes before `write alice"]);
    // The first holds the lock that the second wants, until after the third.
    let nested = ["teller2@bank.c:21", "teller1@bank.c:22", "teller2@bank.c:22"];
    chain(&nested, 0, &["no, in no reordering", "are never at once"]);
    before("teller3@bank.c:13", "teller1@bank.c:12", 2, &["there is no thread `teller3`"]);
}

/// Only values exclude it.
#[test]
fn orders_that_values_exclude() {
    let trace = concat!(env!("CARGO_TARGET_TMPDIR"), "/flag.trace");
    std::fs::write(trace, FLAG).unwrap();
    let before = |a, b, status, says: &[&str]| {
        check(&["whatif", trace, "--before", a, b], status, says);
    };
    before("b@f.c:5", "a@f.c:2", 0, &["no, in no reordering", "what a has left at f.c:2"]);
    before("b@f.c:3", "a@f.c:2", 1, &["yes, in this execution"]);
}

/// One thread goes on only if it has seen what the other one writes.
const FLAG: &str = "\
init ready = 0
a: write data = 1 : 1 @ f.c:1
a: write ready = 1 : 1 @ f.c:2
b: seen = read ready : 1 @ f.c:3
b: branch seen == 1 : true @ f.c:4
b: external @ f.c:5
";

#[test]
fn values_of_reads() {
    let sees = |place, value, status, says: &[&str]| {
        check(&["whatif", ASSERTION, "--sees", place, value], status, says);
    };
    sees("bert@bank.c:10", "100", 1, &["yes, in this execution", "sees 100"]);
    sees("bert@bank.c:13", "-40", 1, &["yes, in this execution", "sees -40"]);
    sees("bert@bank.c:10", "70", 1, &["in the recorded run itself"]);
    sees("bert@bank.c:13", "33", 0, &["no, in no reordering of this trace under model symbolic"]);
    sees("bert@bank.c:9", "33", 2, &["nothing at bert@bank.c:9 is a read"]);
}

#[test]
fn changes_that_mend() {
    let fix = |finding: &str, status, says: &[&str]| {
        check(&["fix", "--all", finding], status, says);
    };
    fix(
        "examples/bank.trace#lock-cycle-1",
        0,
        &["take `carol.lock` before `bob.lock`", "removes: lock-cycle", "cannot deadlock"],
    );
    fix(
        "examples/bank.trace#race-1",
        0,
        &["hold a new lock around bank.c:12, bank.c:13", "remains: lock-cycle", "as before"],
    );
    fix(
        "examples/assertion.trace#assertion-1",
        0,
        &["1 change mends assertion-1", "from bank.c:10 to bank.c:13", "does not mend"],
    );
    let most = ["1 change mends assertion-1", "more changes do not mend it"];
    check(&["fix", "examples/assertion.trace#assertion-1"], 0, &most);
    fix("examples/bank.trace#race-9", 2, &["there is no finding race-9"]);
}
