//! `foretrace encode`.

use std::process::Command;

use expect_test::expect;

use super::{Folder, SMALL, example};

#[test]
fn candidates_and_their_formula() {
    let folder = Folder::new("encode");
    folder.file("small.trace", SMALL).file("assertion.trace", &example("assertion.trace"));
    folder.session(expect![[r#"
        $ encode small.trace --list
           1  race 1  t1: write x : 1 @ a.c:2 | t2: read x : 1 @ a.c:9
        status: 0
    "#]]);
    let output = folder.command("encode small.trace").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("; race of events 1 and 3, model symbolic"), "{text}");
    assert!(text.contains("(check-sat)"), "{text}");
    folder.session(expect![[r#"
        $ encode assertion.trace --list
           1  race 1  anna: read balance : 100 @ bank.c:5 | main: write balance : 70 @ bank.c:23
           2  race 2  anna: read balance : 100 @ bank.c:5 | bert: write balance : 10 @ bank.c:12
           3  race 3  anna: read balance : 100 @ bank.c:6 | main: write balance : 70 @ bank.c:23
           4  race 4  anna: read balance : 100 @ bank.c:6 | bert: write balance : 10 @ bank.c:12
           5  race 5  anna: write balance : 20 @ bank.c:6 | main: read balance : 20 @ bank.c:23
           6  race 6  anna: write balance : 20 @ bank.c:6 | main: write balance : 70 @ bank.c:23
           7  race 7  anna: write balance : 20 @ bank.c:6 | bert: read balance : 70 @ bank.c:10
           8  race 8  anna: write balance : 20 @ bank.c:6 | bert: read balance : 70 @ bank.c:12
           9  race 9  anna: write balance : 20 @ bank.c:6 | bert: write balance : 10 @ bank.c:12
          10  race 10  anna: write balance : 20 @ bank.c:6 | bert: read balance : 10 @ bank.c:13
          11  race 11  anna: read balance : 20 @ bank.c:7 | main: write balance : 70 @ bank.c:23
          12  race 12  anna: read balance : 20 @ bank.c:7 | bert: write balance : 10 @ bank.c:12
          13  race 13  main: read balance : 20 @ bank.c:23 | bert: write balance : 10 @ bank.c:12
          14  race 14  main: write balance : 70 @ bank.c:23 | bert: read balance : 70 @ bank.c:10
          15  race 15  main: write balance : 70 @ bank.c:23 | bert: read balance : 70 @ bank.c:12
          16  race 16  main: write balance : 70 @ bank.c:23 | bert: write balance : 10 @ bank.c:12
          17  race 17  main: write balance : 70 @ bank.c:23 | bert: read balance : 10 @ bank.c:13
          18  assertion 1  anna: assert now >= 0 : true @ bank.c:7
          19  assertion 2  bert: assert now >= 0 : true @ bank.c:13
        status: 0
    "#]]);
}

/// What z3 says of the formula.
fn z3(folder: &Folder, name: &str) -> String {
    let output = Command::new("z3").arg(folder.0.join(name)).output();
    let output = output.expect("these tests need z3: apt-get install z3");
    String::from_utf8(output.stdout).unwrap().lines().next().unwrap_or_default().to_string()
}

#[test]
fn a_solver_decides_it() {
    let folder = Folder::new("encode-solver");
    folder.file("assertion.trace", &example("assertion.trace"));
    let encode = |arguments: &str| {
        let output = folder.command(&format!("encode {arguments}")).output().unwrap();
        assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    };
    encode("assertion.trace --property assertion --index 2 -o two.smt2");
    assert_eq!(z3(&folder, "two.smt2"), "sat");
    encode("assertion.trace --finding 19 --model values -o pinned.smt2");
    assert_eq!(z3(&folder, "pinned.smt2"), "unsat");
    encode("assertion.trace --finding 19 --context-bound 1 -o one.smt2");
    assert_eq!(z3(&folder, "one.smt2"), "unsat");
}

#[test]
fn what_cannot_be_encoded() {
    let folder = Folder::new("encode-wrong");
    folder.file("small.trace", SMALL).file("assertion.trace", &example("assertion.trace"));
    folder.session(expect![[r#"
        $ encode assertion.trace
        stderr: error: the trace has 19 candidates
        stderr: hint: choose one with --finding N, or with --property and --index; --list shows them
        status: 2
        $ encode small.trace --finding 2
        stderr: error: there is no candidate 2: the trace has 1
        stderr: hint: --list shows them with their numbers, from 1
        status: 2
        $ encode small.trace --property assertion
        stderr: error: there is no candidate of assertion with index 1: the trace has 0
        stderr: hint: --list shows them with their numbers, from 1
        status: 2
        $ encode small.trace --property lock
        stderr: error: candidates of lock are not listed
        stderr: hint: --property race, atomicity or assertion
        status: 2
        $ encode small.trace --model control
        stderr: error: the reference encoding does not support the model `control`
        status: 3
        $ encode small.trace --format smt3
        stderr: error: invalid value 'smt3' for '--format <FORMAT>'
        stderr:   [possible values: smt2]
        stderr: 
        stderr:   tip: a similar value exists: 'smt2'
        stderr: 
        stderr: For more information, try '--help'.
        status: 2
    "#]]);
}
