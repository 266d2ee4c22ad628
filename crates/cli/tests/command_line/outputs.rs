//! `--output`: which report goes where.

use super::*;

#[test]
fn the_text_goes_to_the_terminal_beside_files() {
    let folder = Folder::new("output-files");
    folder.file("small.trace", SMALL);
    let output = folder
        .command("predict small.trace --output json=a.json --output text=b.txt --json c.json")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "", "the text has a file");
    assert!(folder.read("b.txt").contains("race-1 (real): data race on x"));
    assert_eq!(folder.read("a.json"), folder.read("c.json"));

    let output = folder.command("predict small.trace --output json=d.json").output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), folder.read("b.txt"));
    assert_eq!(folder.read("a.json"), folder.read("d.json"));

    let output = folder.command("predict small.trace --output json").output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), folder.read("a.json"));
}

#[test]
fn outputs_that_would_overwrite_each_other() {
    let folder = Folder::new("output-refused");
    folder.file("small.trace", SMALL);
    folder.session(expect![[r#"
        $ predict small.trace --output json --output text
        stderr: error: nothing else can go to standard output beside json
        stderr: hint: name a file: --output json=FILE
        status: 2
        $ predict small.trace --output json=x --output text=x
        stderr: error: x is to be written twice
        status: 2
    "#]]);
    let output = folder.command("predict small.trace --output yaml=x").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("there is no format `yaml`; use text, json"), "{said}");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(folder.names(), ["small.trace"]);
}

/// The values of a field in a JSON report.
fn fields(json: &str, field: &str) -> Vec<String> {
    let start = format!("\"{field}\":\"");
    let values = json.match_indices(&start).map(|(at, _)| &json[at + start.len()..]);
    values.map(|rest| rest[..rest.find('"').unwrap()].to_string()).collect()
}

#[test]
fn a_stable_fingerprint_survives_lines_above() {
    let folder = Folder::new("stable-fingerprint");
    let source = |above: usize| {
        let code =
            "int x, y;\nvoid f(void)\n{\n\tx = 1;\n\ty = 2;\n}\nint g(void) { return x + y; }\n";
        "// unrelated\n".repeat(above) + code
    };
    let trace = |above: usize| {
        let line = |line: usize| line + above;
        format!(
            "t1: write x = 1 @ a.c:{}:4 (f)\nt1: write y = 2 @ a.c:{}:4 (f)\n\
             t2: read x : 1 @ a.c:{}:22 (g)\nt2: read y : 2 @ a.c:{}:26 (g)\n",
            line(4),
            line(5),
            line(7),
            line(7),
        )
    };
    let mut stable = Vec::new();
    for above in [0, 50] {
        folder.file("a.c", &source(above)).file("t.trace", &trace(above));
        let output = folder.command("predict t.trace --output json").output().unwrap();
        let json = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(1));
        stable.push(fields(&json, "stable_fingerprint"));
        stable.push(fields(&json, "fingerprint"));
    }
    assert_eq!(stable[0], stable[2]);
    assert_eq!(stable[0].len(), 2);
    assert_ne!(stable[0][0], stable[0][1]);
    assert_ne!(stable[1], stable[3], "the other one has line numbers in it");
}
