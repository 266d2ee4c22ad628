//! `foretrace verify` on C programs: verdict and exit status. The plugin must lie beside the
//! command line: `cargo build --workspace` puts it there.

mod examples;

use std::path::Path;
use std::process::Command;

/// Programs that use `__VERIFIER_*` functions are only about assertions otherwise.
const ALL: &str = "--check race,lock,assertion";

/// Verifies a program; the first words of the answer and the status.
fn verify(arguments: &str) -> (String, i32) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verify/programs");
    let output = Command::new(env!("CARGO_BIN_EXE_foretrace"))
        .arg("verify")
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .output()
        .expect("foretrace can be started");
    let said = [output.stdout, output.stderr].concat();
    (String::from_utf8_lossy(&said).into_owned(), output.status.code().unwrap_or(-1))
}

fn check(arguments: &str, status: i32, begins: &str) {
    let (said, found) = verify(arguments);
    assert!(found == status && said.starts_with(begins), "{arguments}: status {found}\n{said}");
}

#[test]
fn correct_programs_are_proved() {
    for program in ["--check assertion fibonacci.c", "peterson.c", "queue.c", "list.c", "input.c"] {
        check(program, 0, "proved");
    }
}

#[test]
fn races_are_found_in_all_memory() {
    for case in [1, 3, 4, 7, 9, 10, 12, 13, 14] {
        replayed(&format!("{ALL} races.c -- -DCASE={case}"), "bug: race: first: ");
    }
    for case in [2, 5, 6, 8, 11, 15] {
        check(
            &format!("{ALL} races.c -- -DCASE={case}"),
            0,
            "proved: no schedule and no input leads to",
        );
    }
}

#[test]
fn stuck_states_are_found() {
    for case in [1, 3, 5, 7, 11] {
        replayed(&format!("stuck.c -- -DCASE={case}"), "bug: deadlock: main: ");
    }
    for case in [2, 4, 6, 8, 10] {
        let arguments = format!("--check race,deadlock stuck.c -- -DCASE={case}");
        check(&arguments, 0, "proved: no schedule and no input leads to");
    }
    check("--check deadlock stuck.c -- -DCASE=9", 1, "bug: deadlock: first: ");
    check(
        "buffer.c",
        0,
        "proved: no schedule and no input leads to a data race, or leads to a dead",
    );
    replayed("buffer.c -- -DONE_CONDITION", "bug: deadlock: main: ");
    // A task asks only what it names.
    let property = "--property ../tasks/unreach-call.prp";
    check(&format!("{property} stuck.c -- -DCASE=1"), 0, "proved");
}

#[test]
fn beside_a_race_proofs_are_for_sequential_consistency() {
    let (said, status) = verify("fibonacci.c");
    assert_eq!(status, 1, "{said}");
    assert!(said.starts_with("bug: race: add_to_i: "), "{said}");
    assert!(
        said.contains("\nbesides, for sequentially consistent executions only: proved"),
        "{said}"
    );
    let (said, status) = verify("--check race races.c -- -DCASE=5");
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("\nnot checked: atomicity, deadlock, lock, assertion\n"), "{said}");
    assert!(said.contains("weaker orders"), "{said}");
}

#[test]
fn bugs_are_replayed() {
    for program in ["fibonacci.c", "peterson.c", "queue.c", "list.c", "input.c"] {
        replayed(&format!("{program} -- -DBUG"), "bug: assertion violated");
    }
    for (fault, what) in [
        ("NULL_POINTER", "bug: undefined behaviour"),
        ("FREED", "bug: undefined behaviour"),
        ("FREED_TWICE", "bug: undefined behaviour"),
        ("BOUNDS", "bug: undefined behaviour"),
        ("DIVISION", "bug: assertion violated"),
        ("QUOTIENT", "bug: signed overflow"),
        ("UNLOCK", "bug: lock error"),
        ("INPUTS", "bug: assertion violated"),
    ] {
        replayed(&format!("{ALL} faults.c -- -D{fault}"), what);
    }
    check("uninitialised.c", 1, "bug: assertion violated");
}

#[test]
fn what_cannot_be_replayed_has_a_reason() {
    let (said, status) = verify(&format!("{ALL} faults.c -- -DSHIFT"));
    let reason = "not replayed (the processor does not fail at such a shift)";
    assert!(status == 1 && said.contains(reason), "status {status}\n{said}");
    let (said, _) = verify("--no-replay peterson.c -- -DBUG");
    assert!(said.contains("not replayed (--no-replay)"), "{said}");
}

fn replayed(arguments: &str, begins: &str) {
    let (said, status) = verify(arguments);
    assert!(status == 1 && said.starts_with(begins), "{arguments}: status {status}\n{said}");
    assert!(said.contains("\nreplayed on the compiled program"), "{arguments}:\n{said}");
}

#[test]
fn what_is_not_known_is_said() {
    check("open.c", 3, "unknown:\n  open.c:15:41: not supported: a call of mystery");
    check("--unwind 4 open.c -- -DLOOP", 3, "no bug up to bound 4");
    check("unseen.c -- -DCASE=0", 0, "proved");
    check("unseen.c -- -DCASE=1", 3, "unknown:\n  code runs before or after main");
    check("unseen.c -- -DCASE=2", 1, "bug: race: ");
    check("unseen.c -- -DCASE=3", 1, "bug: race: ");
}

#[test]
fn bad_input_is_refused() {
    check("nowhere.c", 2, "error: nowhere.c: no such file");
    check("../main.rs", 2, "error: ../main.rs cannot be compiled");
    check("input.c -- -Dmain=other", 2, "error: input.c: no file defines `main`");
    check("input.c -- -include missing.h", 2, "error: input.c cannot be compiled");
}

/// Small programs in the styles of public verification tasks. Each begins with lines that say how
/// it is verified, and what the first word of the answer is: `// -DBUG: bug`.
#[test]
fn tasks_have_their_verdicts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verify/tasks");
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(&folder).expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        let text = std::fs::read_to_string(&path).expect("it is text");
        let name = path.file_name().expect("it has a name").to_string_lossy().into_owned();
        let heads = text.lines().map_while(|line| line.strip_prefix("// ")?.split_once(": "));
        cases.extend(heads.map(|(flags, verdict)| {
            (format!("../tasks/{name}"), flags.to_string(), verdict.to_string())
        }));
    }
    cases.sort();
    assert!(cases.len() >= 100, "only {} cases", cases.len());
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let halves = [0, 1].map(|half| {
            let cases = &cases;
            scope.spawn(move || {
                cases.iter().skip(half).step_by(2).filter_map(wrong_answer).collect()
            })
        });
        halves
            .into_iter()
            .flat_map(|half: std::thread::ScopedJoinHandle<'_, Vec<String>>| {
                half.join().expect("no panic")
            })
            .collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is said instead of the expected verdict.
fn wrong_answer((file, flags, verdict): &(String, String, String)) -> Option<String> {
    // Options of verify come first, those of the compiler begin with -D.
    let (own, compiler): (Vec<&str>, Vec<&str>) =
        flags.split_whitespace().partition(|flag| !flag.starts_with("-D"));
    let arguments = format!("{} {file} -- {}", own.join(" "), compiler.join(" "));
    let (said, status) = verify(&arguments);
    let expected = match verdict.split_whitespace().next() {
        Some("proved") => 0,
        Some("bug" | "bug:") => 1,
        _ => 3,
    };
    let is_right = status == expected && said.starts_with(verdict.as_str());
    (!is_right).then(|| format!("{arguments}: {verdict} expected, status {status}\n{said}"))
}

#[test]
fn answers_for_other_programs() {
    let property = "--property ../tasks/unreach-call.prp";
    let (said, _) = verify(&format!("{property} ../tasks/mutex_counter.c -- -DBUG"));
    assert!(said.ends_with("\nresult: false (unreach-call)\n"), "{said}");
    let (said, _) = verify(&format!("{property} ../tasks/mutex_counter.c"));
    assert!(said.ends_with("\nresult: true\n"), "{said}");
    let (said, status) = verify("--json ../tasks/mutex_counter.c -- -DBUG");
    let answer: serde_json::Value = serde_json::from_str(&said).expect("it is JSON");
    assert_eq!((answer["verdict"].as_str(), status), (Some("bug"), 1), "{said}");
    let steps = answer["schedule"].as_array().expect("there is a schedule");
    assert!(steps.iter().any(|step| step["thread"] != "main"), "{said}");
    let file = std::env::temp_dir().join(format!("witness-{}.graphml", std::process::id()));
    verify(&format!("--witness {} ../tasks/mutex_counter.c -- -DBUG", file.display()));
    let witness = std::fs::read_to_string(&file).expect("there is a witness");
    std::fs::remove_file(&file).expect("it is ours");
    assert!(witness.contains("violation_witness") && witness.contains("createThread"), "{witness}");
    check("--property nowhere.prp input.c", 2, "error: nowhere.prp: ");
    check("--property input.c input.c", 2, "error: input.c: this is not a property");
}
