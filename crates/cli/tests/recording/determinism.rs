//! The same seed gives the same run, and everything that follows from it.

use std::fs;

use crate::harness::{ONE_AT_A_TIME, compile};

#[test]
fn the_same_seed_gives_the_same_trace() {
    for source in ["racy.c", "conditions.c", "c11.c", "many.c"] {
        let name = format!("same-{}", source.trim_end_matches(".c"));
        let program = compile(&name, &[source]);
        for schedule in ONE_AT_A_TIME {
            let options = ["--schedule", schedule, "--seed", "7"];
            let first = program.run(&options, &[]).shown();
            for _ in 0..3 {
                let again = program.run(&options, &[]).shown();
                assert_eq!(first, again, "{source}, {schedule}");
            }
        }
    }
}

#[test]
fn other_seeds_give_other_schedules() {
    let program = compile("other-seeds", &["racy.c"]);
    for schedule in ["random", "pct"] {
        let mut shown: Vec<String> = (0..10)
            .map(|seed| {
                let seed = seed.to_string();
                program.run(&["--schedule", schedule, "--seed", &seed], &[]).ended_with(0).shown()
            })
            .collect();
        shown.sort();
        shown.dedup();
        assert!(shown.len() >= 5, "{schedule}: {} different runs of 10", shown.len());
    }
}

#[test]
fn the_same_seed_gives_the_same_report() {
    let program = compile("same-report", &["racy.c"]);
    let json = || {
        let path = program.beside("report.json");
        program.with(&["test", "--seed", "3", "--json", &path], &[]).ended_with(1);
        fs::read(path).unwrap()
    };
    assert!(json() == json(), "two reports of the same run differ");
}
