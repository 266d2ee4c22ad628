//! Runs that cannot be merged, and what is said of them.

use expect_test::expect;

use super::statements::refused;

#[test]
fn runs_of_different_programs_are_refused() {
    let one = "t: write x = 1 @ a\nt: end";
    refused(
        &[one, "t: write x = 2 @ a"],
        expect![
            "run 1, event 0 (a) and run 2, event 0 (a): thread t goes on differently without a branch; these are not runs of one program"
        ],
    );
    refused(
        &[one, "t: write x = 1 @ b"],
        expect![
            "run 1, event 0 (a) and run 2, event 0 (b): thread t goes on differently without a branch; these are not runs of one program"
        ],
    );
    refused(
        &[one, "t: write x = 1 @ a\nt: write x = 1 @ c"],
        expect![
            "run 1, event 1 and run 2, event 1 (c): thread t goes on differently without a branch; these are not runs of one program"
        ],
    );
    refused(
        &["init x = 1", "init x = 2"],
        expect![
            "run 1 and run 2: byte 0 of x has other contents at the start; these are not runs of one program"
        ],
    );
    refused(
        &["init x = 1", "t: read x : 2"],
        expect![
            "run 1 and run 2, event 0: byte 0 of x has other contents at the start; these are not runs of one program"
        ],
    );
    refused(
        &["lock m plain", "t: acquire m\nt: acquire m"],
        expect![
            "run 1 and run 2, event 1: lock m is of another kind; these are not runs of one program"
        ],
    );
    refused(
        &["semaphore s = 1", "semaphore s = 2"],
        expect![
            "run 1 and run 2: semaphore s has another count; these are not runs of one program"
        ],
    );
    refused(
        &["barrier b = 1", "barrier b = 2"],
        expect!["run 1 and run 2: barrier b has other parties; these are not runs of one program"],
    );
    refused(
        &["main: fork t\nt: begin", "t: begin"],
        expect![
            "run 1, event 0 and run 2, event 0: thread t begins otherwise; these are not runs of one program"
        ],
    );
    refused(
        &["main: fork t\nt: begin", "other: fork t\nt: begin"],
        expect![
            "run 1, event 0 and run 2, event 0: thread t begins otherwise; these are not runs of one program"
        ],
    );
}

#[test]
fn what_a_program_cannot_say_is_refused() {
    refused(
        &["t: end", "dependences unknown"],
        expect!["run 2: not supported: the trace does not record what depends on what was read"],
    );
    refused(
        &["t: alloc p size 8"],
        expect!["run 1, event 0: not supported: memory that is allocated"],
    );
    refused(
        &["t: destroy m @ a.c:3"],
        expect!["run 1, event 0 (a.c:3): not supported: a lock that is destroyed"],
    );
    refused(
        &["t: read x[0:16]"],
        expect!["run 1, event 0: not supported: an access to more than 8 bytes"],
    );
    refused(
        &["t: write x[2000000:1] = 1"],
        expect!["run 1, event 0: not supported: an object of more than 1048576 bytes"],
    );
    refused(
        &["t: write x = 1\nt: read x : 2"],
        expect!["run 1, event 1: not supported: a read of something that no recorded write left"],
    );
    refused(
        &["t: write x[0:2] = 1\nt: read x[1:1] : 0"],
        expect!["run 1, event 1: not supported: no run shows what x has in byte 1 at the start"],
    );
    refused(
        &["t: write x"],
        expect!["run 1, event 0: not supported: a write of what is not recorded"],
    );
    refused(
        &["t: r = read x\nt: write y = r"],
        expect!["run 1, event 0: not supported: no run shows what x has in byte 0 at the start"],
    );
    refused(
        &["init x = 1\nt: read x\nt: write y : 1"],
        expect![
            "run 1, event 1: not supported: an event that depends on a read whose value is not recorded"
        ],
    );
    refused(
        &["t: rmw x : 1 -> 2"],
        expect![
            "run 1, event 0: not supported: a read-modify-write that does not say what it does"
        ],
    );
    refused(
        &["t: r = rmw x : 1 -> r * 2"],
        expect![
            "run 1, event 0: not supported: a read-modify-write that no single instruction does"
        ],
    );
    refused(
        &["t: r = rmw x : 1 -> 2 - r"],
        expect![
            "run 1, event 0: not supported: a read-modify-write that no single instruction does"
        ],
    );
    refused(
        &["t: r = rmw x[0:1] : 1 -> r == 257 ? 3 : r"],
        expect![
            "run 1, event 0: not supported: a read-modify-write that no single instruction does"
        ],
    );
    refused(
        &["t: r = rmw x : 1 -> 2 : 2 assuming r > 0"],
        expect![
            "run 1, event 0: not supported: a read-modify-write that no single instruction does"
        ],
    );
    refused(
        &["t: sempost s"],
        expect!["run 1, event 0: not supported: no run declares the count of s"],
    );
    refused(
        &["t: arrive b"],
        expect!["run 1, event 0: not supported: no run declares the parties of b"],
    );
    refused(
        &["barrier b = 1\nt: arrive b\nt: begin"],
        expect![
            "run 1: event 1 (t): begin, but the first event of its thread is event 0 [begin-not-first]"
        ],
    );
    refused(
        &["barrier b = 1\nt: arrive b\nt: write x = 1\nt: leave b"],
        expect![
            "run 1, event 0: not supported: a thread that does something else inside a barrier"
        ],
    );
    refused(
        &["t: acquire m\nt: wait c m\nt: wake c m spurious"],
        expect!["run 1, event 1: not supported: a wait that ends without a signal"],
    );
    refused(
        &["main: fork t\nmain: fork u\nu: join t"],
        expect!["run 1, event 2: not supported: a join of a thread that another one forked"],
    );
}

#[test]
fn calls_whose_results_may_depend_on_others_are_refused() {
    let run = "t: enter-call pipe#1 by read\nt: leave-call @ c";
    refused(
        &[run, run],
        expect![
            "run 1, event 1 (c): not supported: a call whose result may depend on other threads"
        ],
    );
}
