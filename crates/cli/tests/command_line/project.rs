//! What a project knows already: suppressions and a baseline.

use super::*;

/// Races on `x` and `y`; the accesses to `x` are guarded or not.
fn trace(guarded: bool) -> String {
    let guarded_by = |line: &str, thread: &str, at: u32| match guarded {
        true => format!(
            "{thread}: acquire m @ a.c:{at} (f)\n{line}{thread}: release m @ a.c:{at} (f)\n"
        ),
        false => line.to_string(),
    };
    let mut trace = guarded_by("t1: write x = 1 @ a.c:4:4 (f)\n", "t1", 3);
    trace += "t1: write y = 2 @ a.c:5:4 (f)\n";
    trace += &guarded_by("t2: read x : 1 @ a.c:7:22 (g)\n", "t2", 7);
    trace + "t2: read y : 2 @ a.c:7:26 (g)\n"
}

const SOURCE: &str =
    "int x, y;\nvoid f(void)\n{\n\tx = 1;\n\ty = 2;\n}\nint g(void) { return x + y; }\n";

fn project(test: &str) -> Folder {
    let folder = Folder::new(test);
    folder.file("a.c", SOURCE).file("t.trace", &trace(false));
    folder
}

/// The ids of the findings with their standing, what is said on standard error, and the status.
fn standing(folder: &Folder, arguments: &str) -> String {
    let output = folder.command(&format!("predict {arguments} --output json")).output().unwrap();
    let json = String::from_utf8(output.stdout).unwrap();
    let mut said = String::new();
    for line in json.lines().filter(|line| line.trim_start().starts_with("{\"id\":\"race")) {
        let field = |name: &str| {
            let rest = line.split(&format!("\"{name}\":\"")).nth(1)?;
            rest.split('"').next()
        };
        let (object, standing) = (field("object").unwrap(), field("standing").unwrap_or("-"));
        said += &format!("{object}: {standing} {}\n", field("by").unwrap_or(""));
    }
    said += &String::from_utf8(output.stderr).unwrap();
    said + &format!("status: {}\n", output.status.code().unwrap())
}

#[test]
fn suppressions_of_threadsanitizer() {
    let folder = project("suppressions");
    folder.file("mine.supp", "# an estimate\nrace:^y$\n\nrace_top:nobody\ncalled_from_lib:libz\n");
    let expected = expect![[r#"
        x: - 
        y: suppressed mine.supp:2
        foretrace: unused suppression: mine.supp:4: race_top:nobody: it suppresses nothing
        foretrace: unused suppression: mine.supp:5: called_from_lib:libz: foretrace reports nothing of this type
        status: 1
    "#]];
    expected.assert_eq(&standing(&folder, "t.trace --suppressions mine.supp"));
    folder.file("foretrace.supp", "race:a.c\n");
    let expected = expect![[r#"
        x: suppressed foretrace.supp:1
        y: suppressed foretrace.supp:1
        status: 0
    "#]];
    expected.assert_eq(&standing(&folder, "t.trace"));
    folder.session(expect![[r#"
        $ predict t.trace --output lines
        status: 0
    "#]]);
    folder.file("foretrace.supp", "race\n");
    folder.session(expect![[r#"
        $ predict t.trace
        stderr: error: foretrace.supp:1: `race` is not TYPE:PATTERN, with one of race, race_top, deadlock, mutex, lock, atomicity, assertion, id, thread, signal, called_from_lib
        status: 2
    "#]]);
}

#[test]
fn nothing_suppressed_is_called_a_proof() {
    let folder = project("suppressed-verdict");
    folder.file("foretrace.supp", "race:*\n");
    let output = folder.command("predict t.trace").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("2 suppressed") && !text.contains("no bug"), "{text}");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn benign_races_are_marked_in_the_source() {
    let folder = project("benign");
    folder.file("a.c", &SOURCE.replace("x = 1;", "x = 1; // foretrace: benign only a hint"));
    let expected = expect![[r#"
        x: suppressed a.c:4
        y: - 
        status: 1
    "#]];
    expected.assert_eq(&standing(&folder, "t.trace"));

    folder.file("a.c", &SOURCE.replace("x = 1;", "x = 1; // foretrace: benign"));
    let output = folder.command("predict t.trace").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let note = "note: a.c:4: `foretrace: benign` suppresses nothing without a reason behind it\n";
    assert!(text.contains(note) && !text.contains("suppressed"), "{text}");
}

#[test]
fn a_finding_is_suppressed_by_its_id() {
    let folder = project("suppress");
    folder.command("predict t.trace --output json=r.json").output().unwrap();
    folder.session(expect![[r#"
        $ suppress r.json#race-1 --reason harmless
        stderr: foretrace: foretrace.supp has id:b0936ab118c66565 now
        status: 0
        $ suppress r.json#race-1
        stderr: foretrace: foretrace.supp has id:b0936ab118c66565 already
        status: 0
        $ suppress r.json#race-9
        stderr: error: r.json: it has no finding race-9
        status: 2
        $ suppress here
        stderr: error: `here` is neither REPORT#FINDING nor a fingerprint
        stderr: hint: the JSON report of a finding has its stable_fingerprint
        status: 2
    "#]]);
    expect![[r#"
        # race at a.c:4:4 (f), a.c:7:22 (g)
        # harmless
        id:b0936ab118c66565
    "#]]
    .assert_eq(&folder.read("foretrace.supp"));
    let expected = expect![[r#"
        x: suppressed foretrace.supp:3
        y: - 
        status: 1
    "#]];
    expected.assert_eq(&standing(&folder, "t.trace"));
}

#[test]
fn a_baseline_tells_new_from_known_and_fixed_from_not_seen() {
    let folder = project("baseline");
    let written = standing(&folder, "t.trace --write-baseline known.json");
    assert!(written.ends_with("status: 1\n"), "{written}");
    let known = folder.read("known.json");
    expect![[r#"
        {
         "schema": "foretrace-baseline/1",
         "findings": [
          {"stable_fingerprint":"677e5df4eaac69fa","kind":"race","title":"data race on y","locations":["a.c:5:4 (f)","a.c:7:26 (g)"]},
          {"stable_fingerprint":"b0936ab118c66565","kind":"race","title":"data race on x","locations":["a.c:4:4 (f)","a.c:7:22 (g)"]}
         ]
        }
    "#]].assert_eq(&known);
    // The same again, fifty lines below: nothing new.
    let moved = trace(false).replace("a.c:4", "a.c:54").replace("a.c:5:", "a.c:55:");
    folder.file("t.trace", &moved.replace("a.c:7", "a.c:57"));
    folder.file("a.c", &("\n".repeat(50) + SOURCE));
    let expected = expect![[r#"
        x: known 
        y: known 
        foretrace: baseline: 0 new, 2 known, 0 fixed, 0 not seen
        status: 0
    "#]];
    expected.assert_eq(&standing(&folder, "t.trace --baseline known.json"));
    // `x` is guarded now, so that its race is fixed.
    folder.file("a.c", SOURCE).file("t.trace", &trace(true));
    let expected = expect![[r#"
        y: known 
        foretrace: baseline: 0 new, 1 known, 1 fixed, 0 not seen
        foretrace: fixed: data race on x at a.c:4:4 (f), a.c:7:22 (g) [b0936ab118c66565]
        status: 0
    "#]];
    expected.assert_eq(&standing(&folder, "t.trace --baseline known.json --write-baseline k.json"));
    assert_eq!(folder.read("k.json").matches("fingerprint").count(), 1);
    // Another run does not come to these places: that proves nothing.
    folder.file("t.trace", "t1: write x = 1 @ a.c:4:4 (f)\nt2: read z : 0 @ a.c:6:4 (g)\n");
    let expected = expect![[r#"
        foretrace: baseline: 0 new, 0 known, 0 fixed, 2 not seen
        status: 0
    "#]];
    expected.assert_eq(&standing(&folder, "t.trace --baseline known.json --write-baseline k.json"));
    assert_eq!(folder.read("k.json"), known, "what was not seen stays");
    // A new one fails; an ordinary report is a baseline too.
    folder.file("t.trace", &trace(true));
    folder.command("predict t.trace --output json=old.json").output().unwrap();
    folder.file("t.trace", &trace(false));
    let expected = expect![[r#"
        x: new 
        y: known 
        foretrace: baseline: 1 new, 1 known, 0 fixed, 0 not seen
        status: 1
    "#]];
    expected.assert_eq(&standing(&folder, "t.trace --baseline old.json"));
}
