//! How processes end, multiply and are put together.

use std::fs;
use std::path::Path;

use crate::harness::{Program, SCHEDULES, build, compile, folder, foretrace};

#[test]
fn endings() {
    let program = compile("endings", &["endings.c"]);
    let endings = [
        ("return", 9),
        ("exit", 3),
        ("_exit", 4),
        ("quick_exit", 5),
        ("abort", 134),
        ("assert", 134),
        ("segfault", 139),
        ("raise", 143),
        ("pthread_exit", 0),
        ("longjmp", 0),
        ("alone", 6),
    ];
    for (way, status) in endings {
        program.everywhere(&[way], status, |_, run| {
            let shown = run.shown();
            let killed = status > 128;
            let says = |text: &str| run.done.log.contains(text);
            let asserts = says("an assertion of the program failed; the trace has everything");
            assert_eq!(asserts, way == "assert", "{way}: {}", run.done.log);
            let says_so = says("the program was killed or crashed");
            assert_eq!(killed && !asserts, says_so, "{way}: {}", run.done.log);
            if !matches!(way, "alone" | "longjmp") {
                // Everything up to the end is there.
                assert!(shown.contains(": write shared"), "{way}: {shown}");
                assert!(shown.contains(": release lock"), "{way}: {shown}");
            }
            if way == "assert" {
                assert!(shown.contains("shared == 2"), "{way}: {shown}");
            }
        });
    }
}

#[test]
fn a_program_that_hangs_is_killed_and_its_trace_is_kept() {
    let program = compile("hang", &["endings.c"]);
    for schedule in SCHEDULES {
        let run = program.run(&["--timeout", "300ms", "--schedule", schedule], &["hang"]);
        let run = run.ended_with(137).says("the program was killed or crashed");
        assert!(run.done.took.as_secs() < 10, "{:?}", run.done.took);
        assert!(run.shown().contains(": write shared"));
        run.predicted();
    }
    // What it has not done yet is not known to be right.
    program
        .with(&["test", "--timeout", "300ms"], &["hang"])
        .ended_with(3)
        .says("no bug in any schedule of these events, which are not all");
}

#[test]
fn a_deadlock_in_the_run_itself_is_seen_at_once() {
    let folder = folder("deadlock");
    let source = folder.join("deadlock.c");
    let text = "#include <pthread.h>\n\
        static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
        int main(void) { pthread_mutex_lock(&m); pthread_mutex_lock(&m); return 0; }\n";
    fs::write(&source, text).unwrap();
    let path = folder.join("program");
    let arguments = ["cc", "-g", source.to_str().unwrap(), "-o", path.to_str().unwrap()];
    foretrace(&arguments).ended_with(0);
    let program = Program { path, folder };
    for schedule in SCHEDULES {
        let run = program.run(&["--schedule", schedule], &[]).ended_with(124).says("deadlocked");
        run.predicted().ended_with(1).says("double-lock-1");
    }
}

#[test]
fn forks() {
    let program = compile("fork", &["fork.c"]);
    program.everywhere(&[], 0, |_, run| {
        assert!(run.done.log.contains("the program forked"), "{}", run.done.log);
        assert_eq!(run.count(": write shared"), 10, "{}", run.shown());
    });
}

#[test]
fn started_programs_have_traces_of_their_own() {
    let program = compile("exec", &["fork.c"]);
    for schedule in SCHEDULES {
        let run = program.run(&["--schedule", schedule], &["exec"]).ended_with(0);
        let mut others = Vec::new();
        for entry in fs::read_dir(&program.folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_string();
            assert!(!name.contains("ftrec"), "{name} is left behind");
            if name.starts_with("run.") && name != "run.ftb" {
                others.push(path);
            }
        }
        assert_eq!(others.len(), 2, "{others:?}\n{}", run.done.log);
        for other in others {
            let pid = other.file_stem().unwrap().to_str().unwrap().trim_start_matches("run.");
            assert!(pid.parse::<u32>().is_ok(), "{}", other.display());
            let shown = foretrace(&["trace", "show", other.to_str().unwrap()]).ended_with(0).out;
            assert_eq!(shown.matches(": write shared").count(), 10, "{shown}");
            fs::remove_file(other).unwrap();
        }
    }
}

#[test]
fn libraries() {
    let folder = folder("libraries");
    let at = |name: &str| folder.join(name);
    let text = |path: &Path| path.to_str().unwrap().to_string();
    build(&["-fPIC", "-shared", "library.c"], &at("liblibrary.so"));
    build(&["-c", "library.c"], &at("library.o"));
    build(&["loads.c", "-ldl"], &at("loads"));
    build(&["-DLINKED", "loads.c", &text(&at("library.o"))], &at("static"));
    let rpath = format!("-Wl,-rpath,{}", folder.display());
    let shared = text(&at("liblibrary.so"));
    build(&["-DLINKED", "loads.c", &shared, &rpath], &at("shared"));
    for (name, argument) in [("loads", Some(shared.as_str())), ("static", None), ("shared", None)] {
        let program = Program { path: at(name), folder: folder.clone() };
        let arguments: Vec<&str> = argument.into_iter().collect();
        program.everywhere(&arguments, 0, |_, run| {
            assert_eq!(run.count(": write library_calls"), 7, "{name}: {}", run.shown());
        });
        let command = ["test", "--check", "race"];
        program
            .with(&command, &arguments)
            .ended_with(1)
            .says("race-1 (real, confirmed by replay): data race on library_calls")
            .says("library.c:17");
    }
}

#[test]
fn clear_words_when_there_is_nothing_to_record() {
    let folder = folder("nothing");
    let plain = folder.join("plain");
    let source = crate::harness::source("endings.c");
    let arguments = [source.as_str(), "-pthread", "-o", plain.to_str().unwrap()];
    crate::harness::command(Path::new("clang-19"), &arguments, "").ended_with(0);
    let program = Program { path: plain, folder: folder.clone() };
    program.run(&[], &["alone"]).ended_with(125).says("is not linked with foretrace's runtime");
    program.run(&[], &["alone"]).says("compile and link it with `foretrace cc`");
    let missing = Program { path: folder.join("missing"), folder: folder.clone() };
    missing.run(&[], &[]).ended_with(125).says("cannot start").says("give the path of the program");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing is left behind");
}

#[test]
fn what_cannot_be_recorded_is_refused() {
    let program = compile("unsupported", &["unsupported.c"]);
    let reason = "shared between processes";
    for argument in ["semaphore", "mutex", "condition", "lock", "barrier"] {
        program.alone(&[argument], "").ended_with(0);
        program.run(&[], &[argument]).ended_with(125).says(reason).says("cannot be recorded");
        program.with(&["test"], &[argument]).ended_with(2).says(reason).says_not("deadlock");
    }
    program.run(&[], &["alone"]).ended_with(0);
}
