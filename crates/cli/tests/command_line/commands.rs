//! Commands around the analysis: help, settings of a project, recipes for CI, what packages need.

use super::*;

#[test]
fn bugs_are_explained() {
    let folder = Folder::new("help");
    folder.session(expect![[r#"
        $ help unlock-not-held
        Unlock of a free lock (unlock-not-held)

        A thread unlocks a lock that nobody holds.

        Why it hurts. The behaviour is undefined: later critical sections may overlap.

        How to mend it. Unlock exactly once on each path; let a scope do it
        (`std::lock_guard`, `__attribute__((cleanup))`).

        status: 0
    "#]]);
    for (topic, count) in [("race", 1), ("deadlock", 2), ("lock", 4), ("assertion", 1), ("bugs", 9)]
    {
        let output = folder.command(&format!("help {topic}")).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(said.matches("How to mend it.").count(), count, "{topic}");
        assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
    }
    let output = folder.command("help predict").output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains("--baseline <FILE>"));
}

#[test]
fn a_project_has_settings() {
    let folder = Folder::new("settings");
    folder.file("small.trace", SMALL);
    folder.file("foretrace.toml", "output = 'lines'\ntiming = false\n[run]\nseed = 3\n");
    let expected = expect![[r#"
        a.c:2: error: data race on x: t1 is about to write x : 1 at a.c:2; t2 is about to read x at a.c:9 [race-1, real]
        status: 1
    "#]];
    folder.check("predict small.trace", expected);
    // In a folder below as well; the environment wins, and the command line over both.
    fs::create_dir(folder.0.join("below")).unwrap();
    folder.file("foretrace.toml", "check = 'deadlock'\nsuppressions = 'none.supp'\n");
    folder.file("none.supp", "race:nothing\n");
    let mut below = folder.command("predict ../small.trace --output lines");
    let expected = expect![[r#"
        stderr: foretrace: unused suppression: FOLDER/none.supp:1: race:nothing: it suppresses nothing
        status: 0
    "#]];
    let output = below.current_dir(folder.0.join("below")).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let said = said.replace(&folder.0.canonicalize().unwrap().display().to_string(), "FOLDER");
    let said: String = said.lines().map(|line| format!("stderr: {line}\n")).collect();
    expected.assert_eq(&format!("{said}status: {}\n", output.status.code().unwrap()));

    folder.file("foretrace.toml", "buget = '3s'\n");
    folder.session(expect![[r#"
        $ predict small.trace
        stderr: error: foretrace.toml: no command has the option `--buget`
        stderr: hint: it has options of test, run, predict, explain, replay
        status: 2
    "#]]);
    folder.file("foretrace.toml", "budget = 'soon'\n");
    let output = folder.command("predict small.trace").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("error: foretrace.toml: invalid value 'soon'"), "{said}");
}

#[test]
fn recipes_are_written_once() {
    let folder = Folder::new("recipes");
    folder.session(expect![[r#"
        $ ci init
        stderr: foretrace: wrote ./.github/workflows/foretrace.yml
        stderr: foretrace: wrote ./.gitlab/foretrace.yml
        stderr: foretrace: wrote ./CMakePresets.json
        stderr: foretrace: wrote ./ci/foretrace.sh
        stderr: foretrace: wrote ./cmake/Foretrace.cmake
        stderr: foretrace: change what is marked with CHANGE, and commit the files; docs/ci.md says more
        status: 0
    "#]]);
    folder.file("ci/foretrace.sh", "mine");
    folder.session(expect![[r#"
        $ ci init gitlab
        stderr: foretrace: ./.gitlab/foretrace.yml exists and is left alone (--force replaces it)
        stderr: foretrace: ./ci/foretrace.sh exists and is left alone (--force replaces it)
        stderr: foretrace: change what is marked with CHANGE, and commit the files; docs/ci.md says more
        status: 0
    "#]]);
    assert_eq!(folder.read("ci/foretrace.sh"), "mine");
}

#[test]
fn packages_get_manuals_and_completions() {
    let folder = Folder::new("generated");
    folder.check("generate here", expect![["status: 0\n"]]);
    let page = folder.read("here/man/foretrace-test.1");
    assert!(page.contains("replay each finding"), "{page}");
    for file in ["foretrace.bash", "_foretrace", "foretrace.fish"] {
        assert!(folder.read(&format!("here/completions/{file}")).contains("predict"), "{file}");
    }
}
