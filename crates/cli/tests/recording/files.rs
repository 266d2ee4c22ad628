//! Replays change no files of the user's, and each one finds what the recorded run found.

use std::fs;
use std::path::{Path, PathBuf};

use crate::harness::{Done, Program, SCHEDULES, command, compile};

/// A folder with a file and an empty folder.
fn fresh(program: &Program) -> PathBuf {
    let folder = program.folder.join("files");
    // Most often there is one, of the last time.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("empty")).unwrap();
    fs::write(folder.join("old"), "abc").unwrap();
    folder
}

fn run(arguments: &[&str], program: &Program, way: &str, folder: &Path) -> Done {
    let own = Path::new(env!("CARGO_BIN_EXE_foretrace"));
    let of_program = ["--", program.path.to_str().unwrap(), way, folder.to_str().unwrap()];
    command(own, &[arguments, &of_program].concat(), "")
}

/// The names in a folder, and what files hold.
fn contents(folder: &Path) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        match path.is_dir() {
            true => all.extend(contents(&path).into_iter().chain([(name, "folder".into())])),
            // A socket cannot be read.
            false => all.push((name, fs::read_to_string(path).unwrap_or_default())),
        }
    }
    all.sort();
    all
}

#[test]
fn files_that_the_program_changes_are_the_replays_own() {
    let program = compile("files", &["files.c"]);
    let report = program.beside("report.json");
    for way in ["append", "make", "move", "temporary"] {
        let folder = fresh(&program);
        run(&["run", "-o", &program.beside("alone.ftb")], &program, way, &folder).ended_with(0);
        let once = contents(&folder);
        let folder = fresh(&program);
        run(&["test", "--json", &report], &program, way, &folder)
            .ended_with(1)
            .says("race-1 (real, confirmed ")
            .says_not("not so:");
        assert_eq!(contents(&folder), once, "{way}: as the recorded run left them");
        for _ in 0..2 {
            run(&["replay", &report], &program, way, &folder)
                .ended_with(1)
                .says("race-1: confirmed");
            assert_eq!(contents(&folder), once, "{way}");
        }
    }
}

#[test]
fn so_are_those_that_the_cxx_library_changes_and_sockets() {
    let program = compile("cxx-files", &["files.cpp"]);
    let folder = fresh(&program);
    run(&["run", "-o", &program.beside("alone.ftb")], &program, "", &folder).ended_with(0);
    let once = contents(&folder);
    let folder = fresh(&program);
    run(&["test"], &program, "", &folder)
        .ended_with(1)
        .says("race-1 (real, confirmed with recorded inputs): data race on total")
        .says("| drawn 7");
    assert_eq!(contents(&folder), once);
}

#[test]
fn a_file_that_has_changed_since_ends_the_replay() {
    let program = compile("changed-file", &["files.c"]);
    let (report, folder) = (program.beside("report.json"), fresh(&program));
    run(&["test", "--json", &report], &program, "read", &folder)
        .ended_with(1)
        .says("race-1 (real, confirmed by replay)");
    run(&["replay", &report], &program, "read", &folder).ended_with(1).says("race-1: confirmed");
    fs::write(folder.join("old"), "xyz").unwrap();
    run(&["replay", &report], &program, "read", &folder)
        .ended_with(3)
        .says("the file has changed since the recorded run");
}

#[test]
fn a_file_that_is_too_large_to_be_kept_is_named_as_the_reason() {
    let program = compile("large-file", &["files.c"]);
    let folder = fresh(&program);
    let large = fs::File::options().write(true).open(folder.join("old")).unwrap();
    large.set_len(33 << 20).unwrap();
    run(&["test"], &program, "append", &folder)
        .ended_with(3)
        .says("race-1 (possible, not confirmed by replay)")
        .says("too large to be kept");
    assert_eq!(fs::metadata(folder.join("old")).unwrap().len(), (33 << 20) + 4);
}

#[test]
fn programs_that_change_files_run_under_every_schedule() {
    let program = compile("scheduled-files", &["files.c"]);
    for way in ["append", "make", "move", "temporary", "read"] {
        for schedule in SCHEDULES {
            let folder = fresh(&program);
            let trace = program.beside("run.ftb");
            run(&["run", "--schedule", schedule, "-o", &trace], &program, way, &folder)
                .ended_with(0);
        }
    }
}
