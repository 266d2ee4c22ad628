//! One accepted and at least one refuted schedule for every row of the table in section 3.

use expect_test::{Expect, expect};
use foretrace_trace::EventId;
use foretrace_verdict::{Model, Violation};

use super::{verdict_under, violations::lines};

/// Two threads race behind the trace whatever happens in it, so only the steps decide.
pub(super) fn steps_under(model: Model, text: &str, numbers: &str, expected: Expect) {
    let race = format!("{}\nleft: write raced\nright: write raced", lines(text));
    let events = race.lines().filter(|line| line.contains(':')).count();
    let is_declared = |line: &&str| line.starts_with("init") && line.contains(':');
    let events = events - race.lines().filter(is_declared).count();
    let violation = Violation::Race(EventId::from(events - 2), EventId::from(events - 1));
    verdict_under(model, &race, &violation, numbers, &expected);
}

pub(super) fn steps(text: &str, numbers: &str, expected: Expect) {
    steps_under(Model::Values, text, numbers, expected);
}

#[test]
fn a_schedule_is_made_of_prefixes() {
    let text = "a: branch : true; a: external; b: fork c; c: begin";
    steps(text, "0 1 2 3", expect!["Real"]);
    steps(text, "", expect!["Real"]);
    steps(text, "0 0", expect!["step 1: event 0 runs a second time"]);
    steps(text, "1", expect!["step 0: event 1 runs, but the next event of thread 0 is 0"]);
    steps(text, "9", expect!["step 0: the trace has no event 9"]);
    steps(text, "3", expect!["step 0: event 3 runs, but thread 2 is not started"]);
}

#[test]
fn a_read_expects_its_recorded_value() {
    let text = "a: write x = 5; a: write x = 6; b: write x = 6; c: read x : 6";
    steps(text, "0 2 3", expect!["Real"]);
    steps(text, "0 1 3", expect!["Real"]);
    steps(
        text,
        "0 3",
        expect![
            "step 1: event 3 reads what event 0 left in object 0 at 0, but expects what event 2 left"
        ],
    );
    steps(
        text,
        "3",
        expect![
            "step 0: event 3 reads what the initial state left in object 0 at 0, but expects what event 2 left"
        ],
    );
}

#[test]
fn under_reads_from_a_read_expects_its_recorded_writer() {
    let text = "a: write x = 5; a: write x = 6; b: write x = 6; c: read x : 6";
    steps_under(Model::ReadsFrom, text, "0 2 3", expect!["Real"]);
    steps_under(
        Model::ReadsFrom,
        text,
        "2 0 1 3",
        expect![
            "step 3: event 3 reads what event 1 left in object 0 at 0, but expects what event 2 left"
        ],
    );
}

#[test]
fn initial_bytes_are_declared_or_what_the_first_read_saw() {
    steps(
        "init x = 5; a: write x = 5; a: write x = 7; b: read x : 7; c: read x : 7",
        "0 1 2 3",
        expect!["Real"],
    );
    steps("init x = 5; a: write x = 7; a: write x = 5; b: read x : 5", "2", expect!["Real"]);
    steps(
        "a: read x : 5; b: write x = 7; b: write x = 5; a: read x : 5",
        "1 2 0 3",
        expect!["Real"],
    );
    steps("a: read x : 5; b: write x = 7; b: write x = 5; a: read x : 5", "0 3", expect!["Real"]);
    // Written before it was read: nobody knows what it held.
    steps(
        "b: write x = 5; a: read x : 5",
        "1",
        expect![
            "step 0: event 1 reads what the initial state left in object 0 at 0, but expects what event 0 left"
        ],
    );
}

#[test]
fn unvalued_bytes_are_identified_by_their_writer() {
    let text = "a: write x; b: write x; c: read x : 3; c: read x";
    steps(text, "0 1 2 3", expect!["Real"]);
    steps(
        text,
        "1 0 2",
        expect![
            "step 2: event 2 reads what event 0 left in object 0 at 0, but expects what event 1 left"
        ],
    );
    let wide = "a: write x[0:16] : 1; b: write x[0:16] : 1; c: read x[8:4] : 0";
    steps(wide, "1 2", expect!["Real"]);
    steps(
        wide,
        "1 0 2",
        expect![
            "step 2: event 2 reads what event 0 left in object 0 at 8, but expects what event 1 left"
        ],
    );
}

#[test]
fn a_read_expects_byte_by_byte() {
    let text = "a: write x[0:4] = 0x01020304; b: write x[2:4] = 0x01020506; c: read x[1:2] : 0x0603; d: write x[2:1] = 6";
    steps(text, "0 1 2", expect!["Real"]);
    steps(text, "0 3 2", expect!["Real"]);
    steps(
        text,
        "0 2",
        expect![
            "step 1: event 2 reads what event 0 left in object 0 at 2, but expects what event 1 left"
        ],
    );
    steps(
        text,
        "1 2",
        expect![
            "step 1: event 2 reads what the initial state left in object 0 at 1, but expects what event 0 left"
        ],
    );
}

#[test]
fn an_unknown_writer_needs_all_that_was_recorded_before() {
    let text = "a: write x = 5; b: branch : true; c: read x : 7; d: external";
    steps(text, "0 1 2", expect!["Possible"]);
    steps(text, "3 1 0 2", expect!["Possible"]);
    steps(text, "0 1", expect!["Real"]);
    steps(
        text,
        "0 2",
        expect!["step 1: event 2 has an unknown writer, and event 1 was recorded before it"],
    );
    steps("init x = 1; a: rmw x : 2 -> 3", "0", expect!["Possible"]);
}

#[test]
fn a_read_modify_write_reads_and_writes() {
    let text = "init x = 0; a: rmw x : 0 -> 1; b: rmw x : 1 -> 2";
    steps(text, "0 1", expect!["Real"]);
    steps(
        text,
        "1 0",
        expect![
            "step 0: event 1 reads what the initial state left in object 0 at 0, but expects what event 0 left"
        ],
    );
}

#[test]
fn accesses_need_a_live_object() {
    let text = "a: alloc x size 8; a: write x = 1; b: write x = 2; b: read x : 2; a: free x";
    steps(text, "0 2 3 1 4", expect!["Real"]);
    steps(text, "2", expect!["step 0: event 2 uses object 0, which is not live"]);
    steps(text, "0 1 4 2", expect!["step 3: event 2 uses object 0, which is not live"]);
    steps("a: write x = 1; a: free x; b: free y", "2 0 1", expect!["Real"]);
    steps(
        "a: alloc x size 8; b: free x",
        "1",
        expect!["step 0: event 1 uses object 0, which is not live"],
    );
}

#[test]
fn an_address_is_used_again_after_its_free() {
    let text = "a: alloc x size 8 at 100; a: free x; b: alloc y size 16 at 96; b: free y; c: alloc z size 4 at 108; d: alloc w size 4 at 104";
    steps(text, "0 1 2 3 4 5", expect!["Real"]);
    steps(text, "0 2", expect!["step 1: event 2 allocates memory that is free only after event 1"]);
    steps(
        text,
        "0 1 2 4",
        expect!["step 3: event 4 allocates memory that is free only after event 3"],
    );
    steps("a: alloc x size 8 at 100; a: free x; b: alloc y size 8 at 108", "2", expect!["Real"]);
    // Both ranges were live at once, so neither free implies the other.
    let both = "a: alloc x size 8 at 100; b: alloc y size 8 at 104; a: free x; b: free y; c: alloc z size 1 at 105";
    steps(
        both,
        "1 3 4",
        expect!["step 2: event 4 allocates memory that is free only after event 2"],
    );
    steps(
        both,
        "0 2 4",
        expect!["step 2: event 4 allocates memory that is free only after event 3"],
    );
}

#[test]
fn an_acquire_opens_a_hold_that_nobody_is_in_the_way_of() {
    let text = "a: acquire m; a: release m; b: acquire m; b: release m";
    steps(text, "2 3 0 1", expect!["Real"]);
    steps(text, "0 2", expect!["step 1: event 2 acquires lock 0, which thread 0 still holds"]);
    let shared = "a: acquire shared m; b: acquire shared m; a: release shared m; b: release shared m; c: acquire m";
    steps(shared, "1 0 2 3 4", expect!["Real"]);
    steps(
        shared,
        "1 0 2 4",
        expect!["step 3: event 4 acquires lock 0, which thread 1 still holds"],
    );
    steps("a: acquire shared m; a: acquire m", "0 1", expect!["Real"]);
    // Its own hold is in the way if another thread released it in the recorded run.
    steps(
        "a: acquire m; b: release m; a: acquire m",
        "0 2",
        expect!["step 1: event 2 acquires lock 0, which thread 0 still holds"],
    );
}

#[test]
fn recursive_holds_deepen_and_lower() {
    let text = "a: acquire m; a: acquire m; a: release m; a: release m; b: acquire m; b: release m";
    steps(text, "0 1 2 3 4", expect!["Real"]);
    steps(text, "0 1 2 4", expect!["step 3: event 4 acquires lock 0, which thread 0 still holds"]);
}

#[test]
fn a_failed_acquire_needs_a_hold_in_its_way() {
    let text = "a: acquire m; b: tryacquire m : fail; a: release m";
    steps(text, "0 1 2", expect!["Real"]);
    steps(text, "1", expect!["step 0: event 1 fails to acquire lock 0, but nothing is in its way"]);
    steps("a: acquire shared m; a: timedacquire m : fail", "0 1", expect!["Real"]);
    steps(
        "a: acquire m; b: tryacquire shared m : fail; c: acquire shared m",
        "2 1",
        expect!["step 1: event 1 fails to acquire lock 0, but nothing is in its way"],
    );
}

#[test]
fn a_foreign_release_closes_the_hold_that_it_closed() {
    let text = "a: acquire m; b: release m; c: acquire m";
    steps(text, "0 1 2", expect!["Real"]);
    steps(
        text,
        "1",
        expect!["step 0: event 1 needs its recorded hold on lock 0, which is not open"],
    );
    steps(
        text,
        "2 1",
        expect!["step 1: event 1 needs its recorded hold on lock 0, which is not open"],
    );
    let deep = "a: acquire m; a: acquire m; a: release m; b: release m";
    steps(deep, "0 1 2 3", expect!["Real"]);
    steps(
        deep,
        "0 1 3",
        expect!["step 2: event 3 closes a hold on lock 0 that is not yet as recorded"],
    );
    steps(
        deep,
        "0 3",
        expect!["step 1: event 3 closes a hold on lock 0 that is not yet as recorded"],
    );
    steps("a: acquire m; b: release m; a: release m", "0 1 2", expect!["Real"]);
}

#[test]
fn an_unheld_release_needs_a_free_lock() {
    let text = "a: release m; b: acquire m; b: release m";
    steps(text, "1 2 0", expect!["Real"]);
    steps(text, "1 0", expect!["step 1: event 0 needs lock 0 free, but thread 1 holds it"]);
    steps(
        "b: acquire m; a: release shared m",
        "0 1",
        expect!["step 1: event 1 breaks the rules in the recorded run itself"],
    );
}

#[test]
fn a_destroyed_lock_is_of_no_use() {
    let text = "a: acquire m; a: release m; b: destroy m";
    steps(text, "0 1 2", expect!["Real"]);
    steps(text, "2 0", expect!["step 1: event 0 uses lock 0, which is destroyed"]);
    steps(text, "0 2", expect!["step 1: event 2 needs lock 0 free, but thread 0 holds it"]);
}

const WAIT: &str =
    "a: acquire m; a: wait c m; b: acquire m; b: signal c; b: release m; a: wake c m; a: release m";

#[test]
fn a_wait_gives_the_lock_back_and_is_notified() {
    steps(WAIT, "0 1 2 3 4 5 6", expect!["Real"]);
    steps(
        WAIT,
        "0 1 2 3 5",
        expect!["step 4: event 5 acquires lock 0, which thread 1 still holds"],
    );
    steps(
        WAIT,
        "2 3 4 0 1 5",
        expect!["step 5: event 5 wakes, but nothing has notified it through condition variable 0"],
    );
    let foreign = "a: acquire m; a: wait c m; b: acquire n; b: release n";
    steps(foreign, "2 3 0 1", expect!["Real"]);
    steps(
        "a: wait c m",
        "0",
        expect!["step 0: event 0 breaks the rules in the recorded run itself"],
    );
    steps(
        "a: acquire m; a: release m; a: wake c m",
        "0 1 2",
        expect!["step 2: event 2 breaks the rules in the recorded run itself"],
    );
}

#[test]
fn a_wake_takes_back_the_depth() {
    let text = "a: acquire m; a: acquire m; a: wait c m; b: broadcast c; a: wake c m; a: release m; a: release m; b: acquire m";
    steps(text, "0 1 2 3 4 5 6 7", expect!["Real"]);
    steps(text, "0 1 2 3 7", expect!["Real"]);
    steps(
        text,
        "0 1 2 3 4 5 7",
        expect!["step 6: event 7 acquires lock 0, which thread 0 still holds"],
    );
}

#[test]
fn a_wake_may_time_out_or_be_spurious() {
    let text = "a: acquire m; a: timedwait c m; a: wake c m timeout; b: signal c";
    steps(text, "0 1 2", expect!["Real"]);
    steps(text, "0 1 3 2", expect!["Real"]);
    steps(
        "a: acquire m; a: wait c m; a: wake c m spurious; b: broadcast c",
        "0 1 3 2",
        expect!["Real"],
    );
}

#[test]
fn a_signal_wakes_one_and_a_broadcast_all() {
    let two = "a: acquire m; a: wait c m; b: acquire n; b: wait c n; d: signal c; d: signal c; e: broadcast c; a: wake c m; b: wake c n";
    steps(two, "0 1 2 3 4 8", expect!["Real"]);
    steps(two, "0 1 2 3 4 7", expect!["Real"]);
    steps(
        two,
        "0 1 2 3 4 7 8",
        expect!["step 6: event 8 wakes, but nothing has notified it through condition variable 0"],
    );
    steps(
        two,
        "0 1 2 3 4 8 7",
        expect!["step 6: event 7 wakes, but nothing has notified it through condition variable 0"],
    );
    steps(two, "0 1 2 3 4 5 8 7", expect!["Real"]);
    steps(two, "0 1 2 3 6 8 7", expect!["Real"]);
    steps(two, "0 1 4 2 3 5 8 7", expect!["Real"]);
}

#[test]
fn semaphores_count() {
    let text = "semaphore s = 0; a: sempost s; b: semwait s; c: trysemwait s : fail";
    steps(text, "0 1 2", expect!["Real"]);
    steps(text, "1", expect!["step 0: event 1 takes semaphore 0 at count 0"]);
    steps(text, "0 2", expect!["step 1: event 2 fails to take semaphore 0, whose count is 1"]);
    // The least initial count with which the recorded run is feasible.
    steps("a: semwait s; b: semwait s; a: sempost s", "1 0", expect!["Real"]);
    steps("a: semwait s; a: sempost s; b: semwait s", "2", expect!["Real"]);
    steps(
        "a: semwait s; a: sempost s; b: semwait s",
        "2 0",
        expect!["step 1: event 0 takes semaphore 0 at count 0"],
    );
    steps(
        "a: sempost s; a: sempost s; b: semwait s; b: semwait s; c: trysemwait s : fail",
        "4",
        expect!["Real"],
    );
}

#[test]
fn barriers_keep_their_rounds() {
    let text = "a: arrive r; b: arrive r; a: leave r; b: leave r; a: arrive r; b: arrive r";
    steps(text, "1 0 3 5 2 4", expect!["Real"]);
    steps(
        text,
        "0 2",
        expect!["step 1: event 2 needs a round of barrier 0 complete, which has 1 of 2"],
    );
    let three = "barrier r = 2; a: arrive r; b: arrive r; c: arrive r; a: leave r; c: leave r";
    steps(three, "0 1 2 3", expect!["Real"]);
    steps(
        three,
        "0 2",
        expect!["step 1: event 2 needs a round of barrier 0 complete, which has 1 of 2"],
    );
    steps(
        three,
        "0 1 2 4",
        expect!["step 3: event 4 needs a round of barrier 0 complete, which has 1 of 2"],
    );
    steps(
        "a: leave r",
        "0",
        expect!["step 0: event 0 breaks the rules in the recorded run itself"],
    );
}

#[test]
fn a_join_waits_for_its_child() {
    let text = "a: fork b; b: begin; b: end; a: join b";
    steps(text, "0 1 2 3", expect!["Real"]);
    steps(
        text,
        "0 1 3",
        expect!["step 2: event 3 joins thread 1, which has not run all its events"],
    );
    steps(
        "a: fork b; c: join b",
        "1",
        expect!["step 0: event 1 joins thread 1, which has not run all its events"],
    );
}

#[test]
fn nothing_follows_an_exit() {
    let text = "a: write x = 1; b: exit";
    steps(text, "0", expect!["Real"]);
    steps(text, "1 0", expect!["step 1: event 0 runs after the process has exited"]);
    steps(text, "0 1", expect!["at the end: the process has exited"]);
}

#[test]
fn the_rest_is_always_enabled() {
    let text = "a: begin; a: branch : true; a: assert : false; a: assume : true; a: region begin; a: region end; a: fence seq_cst; a: request acquire m; a: external; a: end";
    steps(text, "0 1 2 3 4 5 6 7 8 9", expect!["Real"]);
    steps(text, "0 2", expect!["step 1: event 2 runs, but the next event of thread 0 is 1"]);
}
