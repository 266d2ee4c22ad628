//! `foretrace trace`, and how files are written.

use std::fs;
use std::process::Stdio;

use expect_test::expect;

use super::{Folder, SMALL};

#[test]
fn show_prints_the_text_form() {
    let folder = Folder::new("show");
    folder.file("small.trace", SMALL);
    folder.session(expect![[r#"
        $ trace show small.trace
        foretrace-trace 1
        t1: acquire m @ a.c:1
        t1: write x = 1 @ a.c:2
        t1: release m @ a.c:3
        t2: read x : 1 @ a.c:9
        status: 0
    "#]]);
}

#[test]
fn stats_count() {
    let folder = Folder::new("stats");
    folder.file("small.trace", SMALL);
    folder.session(expect![[r#"
        $ trace stats small.trace
        events                        4
        threads                       2
        objects                       1
        locks                         1
        condition variables           0
        semaphores                    0
        barriers                      0
        source locations              4
          acquire                     1
          read                        1
          release                     1
          write                       1
        status: 0
    "#]]);
}

#[test]
fn convert_writes_the_file_and_nothing_else() {
    let folder = Folder::new("convert");
    folder.file("small.trace", SMALL);
    folder.session(expect![[r#"
        $ trace convert small.trace again.trace
        status: 0
        $ trace convert again.trace -
        foretrace-trace 1
        t1: acquire m @ a.c:1
        t1: write x = 1 @ a.c:2
        t1: release m @ a.c:3
        t2: read x : 1 @ a.c:9
        status: 0
    "#]]);
    assert_eq!(folder.names(), ["again.trace", "small.trace"]);
    assert!(folder.read("again.trace").starts_with("foretrace-trace 1\n"));
}

#[test]
fn a_failed_write_leaves_the_old_file_alone() {
    let folder = Folder::new("failed-write");
    folder.file("small.trace", SMALL);
    folder.session(expect![[r#"
        $ trace convert small.trace no/such/folder.trace
        stderr: error: cannot write no/such/folder.trace: No such file or directory (os error 2)
        status: 2
    "#]]);
    assert_eq!(folder.names(), ["small.trace"]);
}

#[test]
fn a_device_is_written_to_and_not_replaced() {
    let folder = Folder::new("device");
    folder.file("small.trace", SMALL);
    folder.session(expect![[r#"
        $ trace convert small.trace /dev/null
        status: 0
    "#]]);
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    folder.session(expect![[r#"
        $ trace convert small.trace /dev/full
        stderr: error: cannot write /dev/full: No space left on device (os error 28)
        status: 2
    "#]]);
}

#[test]
fn a_link_stays_a_link() {
    let folder = Folder::new("link");
    folder.file("small.trace", SMALL).file("target.trace", "old");
    std::os::unix::fs::symlink("target.trace", folder.0.join("link.trace")).unwrap();
    folder.session(expect![[r#"
        $ trace convert small.trace link.trace
        status: 0
    "#]]);
    assert!(fs::symlink_metadata(folder.0.join("link.trace")).unwrap().is_symlink());
    assert!(folder.read("target.trace").starts_with("foretrace-trace 1\n"));
}

#[test]
fn a_closed_pipe_is_no_error() {
    let folder = Folder::new("pipe");
    folder.file("long.trace", &SMALL.repeat(20_000));
    let mut command = folder.command("trace show long.trace");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn formats_survive_the_way_there_and_back() {
    let folder = Folder::new("formats");
    folder.file("small.trace", SMALL);
    folder.session(expect![[r#"
        $ trace convert small.trace small.ftb
        status: 0
        $ trace convert small.ftb -
        foretrace-trace 1
        t1: acquire m @ a.c:1
        t1: write x = 1 @ a.c:2
        t1: release m @ a.c:3
        t2: read x : 1 @ a.c:9
        status: 0
        $ trace convert small.ftb - --to std
        t1|acq(m)|a.c:1
        t1|w(x)|a.c:2
        t1|rel(m)|a.c:3
        t2|r(x)|a.c:9
        status: 0
    "#]]);
    folder.file("signal.trace", "t1: signal c\n");
    folder.session(expect![[r#"
        $ trace convert signal.trace signal.std
        stderr: error: cannot write signal.std: event 0: STD cannot say a condition variable
        status: 2
    "#]]);
    assert_eq!(folder.names(), ["signal.trace", "small.ftb", "small.trace"]);
}
