//! Disks that are full, folders that cannot be written to, and very many events.

use std::fs;
use std::path::Path;

use crate::harness::{Run, SCHEDULES, command, compile};

/// The program went on to its end, and what was recorded is a prefix of the run.
#[track_caller]
fn is_cut_off(run: &Run) {
    assert_eq!(run.done.status, 0, "{}", run.done.log);
    let log = &run.done.log;
    assert!(
        log.contains("the recording reached --max-size: the trace has only the first"),
        "{log}"
    );
    assert!(!log.contains("disk"), "{log}");
    assert!(run.done.out.contains("KiB before"), "the program goes on: {}", run.done.out);
    run.predicted();
}

#[test]
fn a_limit_of_size() {
    let program = compile("limit", &["stream.c"]);
    for schedule in SCHEDULES {
        for limit in ["0", "300000", "600000"] {
            let options = ["--schedule", schedule, "--max-size", limit];
            let run = program.run(&options, &["200"]);
            is_cut_off(&run);
            let events = run.shown().lines().count();
            assert!(limit != "600000" || events > 100, "{schedule}: {events} lines");
        }
    }
}

#[test]
fn a_full_disk() {
    let program = compile("full", &["stream.c"]);
    let mount = program.folder.join("disk");
    fs::create_dir(&mount).unwrap();
    let at = mount.to_str().unwrap();
    let options = ["-t", "tmpfs", "-o", "size=640k", "tmpfs", at];
    if command(Path::new("mount"), &options, "").status != 0 {
        foretrace_testing::skip("a full disk", "mounting is forbidden here");
        return;
    }
    let mut runs = Vec::new();
    for schedule in SCHEDULES {
        let recording = mount.join("run.ftrec");
        let options = ["run", "--schedule", schedule, "-o", recording.to_str().unwrap()];
        let done = program.with(&options, &["300"]);
        let shown = crate::harness::foretrace(&["predict", recording.to_str().unwrap()]);
        let status = program.with(&["run", "-o", &format!("{at}/no/run.ftb")], &["100"]).status;
        runs.push((done, shown.status, status));
        fs::remove_file(recording).unwrap();
    }
    command(Path::new("umount"), &[at], "").ended_with(0);
    for (done, predicted, nowhere) in runs {
        assert!(done.out.contains("KiB before"), "the program goes on: {}", done.log);
        done.ended_with(0)
            .says("the disk was full: the trace has only the first part")
            .says_not("--max-size");
        assert!(matches!(predicted, 0 | 1 | 3), "{predicted}");
        assert_eq!(nowhere, 125);
    }
}

#[test]
fn a_folder_that_cannot_be_written_to() {
    let program = compile("unwritable", &["endings.c"]);
    for place in ["/proc/run.ftb", "/nowhere/at/all/run.ftb"] {
        program.with(&["run", "-o", place], &["alone"]).ended_with(125).says("cannot write");
    }
    assert!(!Path::new("/nowhere").exists());
}

#[test]
fn very_many_events_need_little_memory() {
    let program = compile("stream", &["stream.c"]);
    for schedule in ["random", "free"] {
        let recording = program.folder.join("run.ftrec");
        let path = recording.to_str().unwrap();
        let done = program.with(&["run", "--schedule", schedule, "-o", path], &["2000"]);
        let done = done.ended_with(0);
        // 2,000 times 500 events in each of three threads; the first thread before the others. If
        // one thread runs at a time, they are packed.
        let size = fs::metadata(&recording).unwrap().len();
        let expected = match schedule {
            "free" => 20_000_000..u64::MAX,
            _ => 1_000_000..4_000_000,
        };
        assert!(expected.contains(&size), "{schedule}: {size} bytes");
        let numbers: Vec<u64> =
            done.out.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect();
        let [before, after] = numbers[..] else { panic!("{}", done.out) };
        assert!(before < 32_000 && after < before + 4_000, "{schedule}: {}", done.out);
    }
}
