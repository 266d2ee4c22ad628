//! OpenMP: directives do what they should under every schedule, nothing false is reported, and what
//! is not supported is refused.

use std::path::Path;

use crate::harness::{ONE_AT_A_TIME, SCHEDULES, command, compile, folder, foretrace, source};

#[test]
fn directives_work_and_nothing_is_found() {
    for (source, level) in ["openmp.c", "openmp_tasks.c"]
        .into_iter()
        .flat_map(|source| ["-O0", "-O1", "-O2"].map(|level| (source, level)))
    {
        let program = compile(&format!("{source}{level}"), &[source, "-fopenmp", level]);
        program.everywhere(&[], 0, |_, run| {
            let predicted = run.predicted().ended_with(0);
            predicted.says_not("blind spots").says_not("lost");
        });
    }
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    for source in ["openmp.c", "openmp_tasks.c"] {
        let program = compile(&format!("same-{source}"), &[source, "-fopenmp"]);
        for schedule in ONE_AT_A_TIME {
            let options = ["--schedule", schedule, "--seed", "7"];
            let first = program.run(&options, &[]).shown();
            let again = program.run(&options, &[]).shown();
            assert!(first == again, "{source}, {schedule}: two runs differ");
        }
    }
}

/// What directives synchronise with has names that a reader of the report understands.
#[test]
fn locks_and_barriers_have_names() {
    let program = compile("openmp-names", &["openmp.c", "-fopenmp"]);
    let shown = program.run(&[], &[]).ended_with(0).shown();
    for event in ["acquire \"critical named\"", "acquire reduction", "arrive team", "arrive team#2"]
    {
        assert!(shown.contains(event), "{event}");
    }
}

/// Threads that the program creates itself begin regions of their own.
#[test]
fn regions_of_several_threads() {
    let program = compile("openmp-threads", &["openmp_threads.c", "-fopenmp"]);
    program.everywhere(&[], 0, |_, run| _ = run.predicted().ended_with(0));
}

#[test]
fn classes_exceptions_and_copies_of_objects() {
    for level in ["-O0", "-O2"] {
        let program = compile(&format!("objects{level}"), &["openmp.cpp", "-fopenmp", level]);
        program.everywhere(&[], 0, |_, run| {
            run.predicted().ended_with(0).says_not("blind spots");
        });
    }
}

/// The body of a region knows what it is called with, in the thread that begins the region and in
/// the others; the bounds of a loop are kept as recorded.
#[test]
fn what_a_region_is_called_with() {
    let program = compile("openmp-terms", &["openmp_terms.c", "-fopenmp"]);
    for seed in ["2", "3", "4"] {
        let run = program.run(&["--seed", seed], &[]);
        if run.done.status != 0 {
            continue;
        }
        assert_eq!(run.count(" + 5) : "), 2, "{}", run.shown());
        assert!(run.count("fact read-kept loop-bounds = ") == 1);
        let done = program.with(&["test", "--seed", seed], &[]).ended_with(1);
        done.says("assertion-1 (real, confirmed by replay)").says_not("race-1");
        return;
    }
    panic!("the assertion fails in every run");
}

/// The environment says how many threads there are, and how loops with `schedule(runtime)` are
/// shared out.
#[test]
fn the_environment_is_heard() {
    let program = compile("openmp-environment", &["openmp_environment.c", "-fopenmp"]);
    let under = |settings: &[&str]| {
        let mut words: Vec<&str> = settings.to_vec();
        let trace = program.beside("run.ftb");
        let tool = env!("CARGO_BIN_EXE_foretrace");
        words.extend([tool, "run", "-o", &trace, "--", program.path.to_str().unwrap()]);
        command(Path::new("env"), &words, "").ended_with(0).out
    };
    assert_eq!(under(&[]), "4 threads, 1 level, schedule 1 0, 1 inside\n", "the same everywhere");
    assert_eq!(
        under(&["OMP_NUM_THREADS=3", "OMP_SCHEDULE=dynamic,5"]),
        "3 threads, 1 level, schedule 2 5, 1 inside\n"
    );
    assert_eq!(
        under(&["OMP_NUM_THREADS=2,3", "OMP_MAX_ACTIVE_LEVELS=2", "OMP_SCHEDULE=Guided"]),
        "2 threads, 2 levels, schedule 3 1, 3 inside\n"
    );
    assert_eq!(
        under(&["OMP_NUM_THREADS=8", "OMP_THREAD_LIMIT=2"]),
        "2 threads, 1 level, schedule 1 0, 1 inside\n"
    );
}

/// What gcc has compiled is not instrumented, but it shares threads and locks with the rest.
#[test]
fn what_gcc_compiled_runs_on_our_threads() {
    let folder = folder("gnu");
    for level in ["-O0", "-O2"] {
        let object = folder.join(format!("gnu{level}.o"));
        let object = object.to_str().unwrap();
        let arguments = [level, "-fopenmp", "-c", &source("openmp_gnu.c"), "-o", object];
        command(Path::new("gcc"), &arguments, "").ended_with(0);
        let program = compile(&format!("with-gnu{level}"), &["openmp_gnu_main.c", object]);
        program.everywhere(&[], 0, |_, run| {
            assert!(run.count(": fork ") >= 10 && run.count(": acquire ") >= 6);
            run.predicted().ended_with(0);
        });
    }
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    for (define, name) in [("REDUCED", "__kmpc_taskred_init"), ("SINK", "__kmpc_doacross_init")] {
        let define = format!("-D{define}");
        let program = compile("openmp-refused", &["openmp_refused.c", "-fopenmp", &define]);
        for schedule in SCHEDULES {
            program.run(&["--schedule", schedule], &[]).ended_with(125).says(name);
        }
        program.with(&["test"], &[]).ended_with(2).says(name).says("cannot be recorded");
    }
}

/// Without `OMP_CANCELLATION`, `cancel` does nothing, as OpenMP says; with it, it is refused.
#[test]
fn cancellation_is_refused_where_it_is_on() {
    let program = compile("openmp-cancel", &["openmp_refused.c", "-fopenmp", "-DCANCEL"]);
    program.everywhere(&[], 0, |_, run| _ = run.predicted().ended_with(0));
    let program = program.path.to_str().unwrap();
    let on = command(Path::new("env"), &["OMP_CANCELLATION=true", program], "");
    on.ended_with(125).says("__kmpc_cancel");
}

/// An option of clang that says which library is to be linked: none is.
#[test]
fn no_library_is_linked() {
    for option in ["-fopenmp", "-fopenmp=libomp", "-fopenmp=libgomp"] {
        let program = compile("openmp-library", &["openmp_environment.c", option]);
        let needed = command(Path::new("ldd"), &[&program.path], "").ended_with(0);
        needed.says("libforetrace_rt.so").says_not("libomp").says_not("libgomp");
    }
    // Nor does one matter that the user links.
    let library = command(Path::new("gcc"), &["-print-file-name=libgomp.so"], "").ended_with(0).out;
    let arguments = ["openmp.c", "-fopenmp", "-Wl,--no-as-needed", library.trim()];
    let program = compile("openmp-both", &arguments);
    command(Path::new("ldd"), &[&program.path], "").ended_with(0).says("libgomp");
    program.everywhere(&[], 0, |_, run| _ = run.predicted().ended_with(0));
    let asked = foretrace(&["cc", "-fopenmp", "-E", "-dM", "-x", "c", "/dev/null"]);
    asked.ended_with(0).says("#define _OPENMP ");
}
