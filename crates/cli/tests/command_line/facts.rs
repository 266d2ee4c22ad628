//! What is known of a trace decides what may be asked of it; free text decides nothing.

use std::process::Output;

use crate::Folder;

/// The second thread may read the block after it was freed.
const EVENTS: &str = "t1: alloc p size 8 at 0x1000\nt1: fork t2\nt2: read p : 0\nt1: free p\n";

/// What is said of use after free in a trace with this fact.
fn freed(test: &str, fact: &str) -> (Option<i32>, String) {
    let folder = Folder::new(test);
    folder.file("t.trace", &format!("foretrace-trace 1\n{fact}\n{EVENTS}"));
    let options = "predict t.trace --check assertion --implicit freed";
    let Output { status, stdout, .. } = folder.command(options).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap())
}

#[test]
fn use_after_free_is_asked_unless_a_fact_forbids_it() {
    let found = "use after free of p";
    let undecided = "the recorded run itself uses freed memory";
    let not_asked = "not checked: assertion: use after free: a block is too large";
    for (number, (fact, status, says)) in [
        ("", 1, found),
        ("fact private-access-left-out = 2", 1, found),
        ("fact access-to-freed-memory = 2", 3, undecided),
        ("fact block-as-region = 1", 0, not_asked),
        // This is free text.
        ("note \"an access to freed memory\" = 2", 1, found),
        ("note \"block too large\" = 2", 1, found),
    ]
    .into_iter()
    .enumerate()
    {
        let (code, text) = freed(&format!("facts-{number}"), fact);
        assert_eq!(code, Some(status), "{fact}\n{text}");
        assert!(text.contains(says), "{fact}\n{text}");
    }
}

/// A fact of a later version may decide something that this one knows nothing of.
#[test]
fn a_fact_that_is_not_known_is_refused() {
    let folder = Folder::new("facts-unknown");
    folder.file("t.trace", "foretrace-trace 1\nfact read-by-nobody = 1\nt1: begin\n");
    let output = folder.command("predict t.trace").output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("no fact is called `read-by-nobody`"), "{message}");
}
