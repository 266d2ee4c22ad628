//! Robust mutexes, and locks that other processes could use.

use crate::harness::compile;

const OWNER_ENDED: &str = "fact robust-mutex-order-kept = ";
const OTHER_PROCESSES: &str = "locks or similar objects shared with other processes";

#[test]
fn robust_mutexes_do_what_posix_says() {
    let program = compile("rules", &["robust.c"]);
    program.everywhere(&[], 0, |_, run| {
        assert!(run.shown().contains(OWNER_ENDED), "{}", run.shown());
        run.predicted().says(OTHER_PROCESSES).says_not("(real");
    });
}

/// Who is told that the owner ended depends on the schedule, and so does what he does then.
#[test]
fn whoever_is_told_of_the_end_of_an_owner_comes_after_it() {
    let program = compile("race", &["robust.c"]);
    let mut told = 0;
    for seed in 1..=12 {
        let run = program.run(&["--seed", &seed.to_string()], &["race"]).ended_with(0);
        told += usize::from(run.count("read notes") > 0);
        run.predicted().says_not("(real").says_not("data race");
    }
    assert!(told > 2, "{told}");
}
