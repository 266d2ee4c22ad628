//! Ctrl-C: what is known by then is reported.

use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::Folder;

/// A race that is found at once, and an assertion about which the solver thinks for ever: the
/// result of eleven updates, in any order.
fn endless() -> String {
    let threads = 0..11;
    let mut text = "init x = 1\n".to_string();
    threads.clone().for_each(|number| text += &format!("main: fork t{number}\n"));
    text += "main: write y : 1 @ h.c:1\n";
    let mut value: u64 = 1;
    for number in threads.clone() {
        text += &format!("t{number}: acquire m\nt{number}: a = read x : {value}\n");
        let added = number * number + 1;
        value = value * 7 + added;
        text += &format!("t{number}: write x = a * 7 + {added} : {value}\nt{number}: release m\n");
    }
    text += "t0: read y : 1 @ h.c:2\n";
    threads.for_each(|number| text += &format!("main: join t{number}\n"));
    text + &format!("main: r = read x : {value}\nmain: assert r != 12345 : true @ h.c:9\n")
}

/// How long a process has computed.
fn computed(process: &Child) -> Duration {
    let text = fs::read_to_string(format!("/proc/{}/stat", process.id())).unwrap();
    let fields: Vec<&str> = text[text.rfind(')').unwrap()..].split(' ').collect();
    // SAFETY: a call without pointers.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as u64;
    Duration::from_millis(fields[12].parse::<u64>().unwrap() * 1000 / per_second)
}

#[test]
fn what_is_known_is_reported() {
    let folder = Folder::new("interrupted");
    folder.file("endless.trace", &endless());
    let mut command = folder.command("predict endless.trace --output text --json report.json");
    let process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Until then it has found what can be found; a busy machine only makes this later.
    let start = Instant::now();
    while computed(&process) < Duration::from_secs(1) {
        assert!(start.elapsed() < Duration::from_secs(120), "it does not compute");
        std::thread::sleep(Duration::from_millis(20));
    }
    // SAFETY: a system call without pointers, about a child that nobody has waited for.
    assert_eq!(unsafe { libc::kill(process.id() as i32, libc::SIGINT) }, 0);
    let output = process.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    for expected in [
        "race-1 (real): data race on y",
        "undecided: 1 candidate (assertion): interrupted before it was decided",
        "verdict: interrupted, 1 bug that can happen, 1 undecided",
    ] {
        assert!(text.contains(expected), "{expected} is not in:\n{text}");
    }
    let report: serde_json::Value = serde_json::from_str(&folder.read("report.json")).unwrap();
    assert_eq!(report["interrupted"], true);
    assert_eq!(report["undecided"][0]["code"], "interrupted", "{}", report["undecided"]);
}

#[test]
fn an_interrupt_that_the_caller_ignores_stays_ignored() {
    let folder = Folder::new("ignored");
    folder.file("small.trace", super::SMALL);
    let ignoring = format!(
        "trap '' INT; kill -INT $$; {} predict small.trace",
        env!("CARGO_BIN_EXE_foretrace")
    );
    let output = std::process::Command::new("sh")
        .args(["-c", &ignoring])
        .current_dir(&folder.0)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}
