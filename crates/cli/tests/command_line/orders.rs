//! Accesses with memory orders that are weaker than sequential consistency.

use expect_test::expect;

use super::Folder;

const MESSAGE: &str = "\
main: fork t1 @ m.c:1
main: fork t2 @ m.c:2
t1: write data = 1 @ m.c:5
t1: write flag = 1 atomic ORDER @ m.c:6
t2: read flag : 1 atomic ORDER @ m.c:8
t2: branch : true @ m.c:8
t2: read data : 1 @ m.c:9
";

fn folder(test: &str, order: &str) -> Folder {
    let folder = Folder::new(test);
    folder.file("message.trace", &MESSAGE.replace("ORDER", order));
    folder
}

fn verdict(folder: &Folder, line: &str) -> String {
    let output = folder.command(line).output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().last().unwrap_or_default().to_string()
}

#[test]
fn they_are_counted_and_a_no_says_what_it_is_about() {
    let line = "predict message.trace --check race";
    for order in ["relaxed", "acquire", "release", "acq_rel"] {
        let folder = folder(order, order);
        assert_eq!(
            verdict(&folder, line),
            "verdict: no bug in any schedule of these events, for sequentially consistent executions \
             (2 accesses of weaker memory order; checked: race; model symbolic)",
        );
        let output = folder.command("predict message.trace --json -").output().unwrap();
        let json = String::from_utf8(output.stdout).unwrap();
        assert!(json.contains(r#""weak_accesses": 2"#), "{json}");
    }
    let strong = folder("strong", "seq_cst");
    let plain = "verdict: no bug in any schedule of these events (checked: race; model symbolic)";
    assert_eq!(verdict(&strong, line), plain);
}

#[test]
fn an_explanation_says_so() {
    let folder = folder("explained", "relaxed");
    folder.session(expect![[r#"
        $ explain message.trace race m.c:5 m.c:9
        data race on data at m.c:5, m.c:9: cannot happen, refuted by the solver
          For this race, t1 is about to write `data` (m.c:5), and t2 is about to read `data` (m.c:9).
          (1) t2 reads what is in `flag` (m.c:8): what t1 has left at m.c:6.
          But this leaves no schedule for it: so this race cannot happen.
        note: this holds for sequentially consistent executions; 2 relaxed, acquire or release accesses were taken as sequentially consistent
        status: 0
    "#]]);
}

#[test]
fn a_finding_stays_what_it_is() {
    let folder = Folder::new("weak-finding");
    folder.file(
        "racy.trace",
        "t1: write x = 1 @ 1\nt1: write f = 1 atomic relaxed @ 2\nt2: write x = 2 @ 3\n",
    );
    assert_eq!(
        verdict(&folder, "predict racy.trace"),
        "verdict: 1 bug that can happen (not checked: atomicity, assertion)"
    );
}

#[test]
fn so_it_is_with_programs() {
    let folder = Folder::new("weak-program");
    let program = "foretrace-program 1\nglobal x = 0\n\
        thread main {\n  a := fork adds()\n  rmw add ORDER x, 1\n  join a\n  assert load x == 2\n}\n\
        func adds() {\n  rmw add ORDER x, 1\n}\n";
    let line = "predict adds.ftp";
    let no = "verdict: no bug in any execution of this program";
    folder.file("adds.ftp", &program.replace("ORDER", "atomic relaxed"));
    let weak = verdict(&folder, line);
    let only = ", for sequentially consistent executions (2 accesses of weaker memory order; ";
    assert!(weak.starts_with(&format!("{no}{only}")), "{weak}");
    folder.file("adds.ftp", &program.replace("ORDER", "atomic seq_cst"));
    let strong = verdict(&folder, line);
    assert!(strong.starts_with(&format!("{no} (")), "{strong}");
}
