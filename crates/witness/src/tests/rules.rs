//! One accepted and at least one refuted schedule for every row of the table in section 3.

use expect_test::expect;
use foretrace_verdict::Model;

use super::{on, under};

#[test]
fn a_schedule_is_made_of_prefixes() {
    let text = "a: branch : true; a: external; b: fork c; c: begin";
    on(text).gives(expect![[r#"
        0 1 2 3 => Real
        => Real
        0 0 => step 1: event 0 runs a second time
        1 => step 0: event 1 runs, but the next event of thread 0 is 0
        9 => step 0: the trace has no event 9
        3 => step 0: event 3 runs, but thread 2 is not started
    "#]]);
}

#[test]
fn a_read_expects_its_recorded_value() {
    let text = "a: write x = 5; a: write x = 6; b: write x = 6; c: read x : 6";
    on(text).gives(expect![[r#"
        0 2 3 => Real
        0 1 3 => Real
        0 3 => step 1: event 3 reads what event 0 left in object 0 at 0, but expects what event 2 left
        3 => step 0: event 3 reads what the initial state left in object 0 at 0, but expects what event 2 left
    "#]]);
}

#[test]
fn under_reads_from_a_read_expects_its_recorded_writer() {
    let text = "a: write x = 5; a: write x = 6; b: write x = 6; c: read x : 6";
    under(Model::ReadsFrom, text).gives(expect![[r#"
        0 2 3 => Real
        2 0 1 3 => step 3: event 3 reads what event 1 left in object 0 at 0, but expects what event 2 left
    "#]]);
}

#[test]
fn initial_bytes_are_declared_or_what_the_first_read_saw() {
    on("init x = 5; a: write x = 5; a: write x = 7; b: read x : 7; c: read x : 7")
        .gives(expect!["0 1 2 3 => Real"]);
    on("init x = 5; a: write x = 7; a: write x = 5; b: read x : 5").gives(expect!["2 => Real"]);
    on("a: read x : 5; b: write x = 7; b: write x = 5; a: read x : 5").gives(expect![[r#"
        1 2 0 3 => Real
        0 3 => Real
    "#]]);
    // Written before it was read: nobody knows what it held.
    on("b: write x = 5; a: read x : 5").gives(expect!["1 => step 0: event 1 reads what the initial state left in object 0 at 0, but expects what event 0 left"]);
}

#[test]
fn unvalued_bytes_are_identified_by_their_writer() {
    let text = "a: write x; b: write x; c: read x : 3; c: read x";
    on(text).gives(expect![[r#"
        0 1 2 3 => Real
        1 0 2 => step 2: event 2 reads what event 0 left in object 0 at 0, but expects what event 1 left
    "#]]);
    let wide = "a: write x[0:16] : 1; b: write x[0:16] : 1; c: read x[8:4] : 0";
    on(wide).gives(expect![[r#"
        1 2 => Real
        1 0 2 => step 2: event 2 reads what event 0 left in object 0 at 8, but expects what event 1 left
    "#]]);
}

#[test]
fn a_read_expects_byte_by_byte() {
    let text = "a: write x[0:4] = 0x01020304; b: write x[2:4] = 0x01020506; c: read x[1:2] : 0x0603; d: write x[2:1] = 6";
    on(text).gives(expect![[r#"
        0 1 2 => Real
        0 3 2 => Real
        0 2 => step 1: event 2 reads what event 0 left in object 0 at 2, but expects what event 1 left
        1 2 => step 1: event 2 reads what the initial state left in object 0 at 1, but expects what event 0 left
    "#]]);
}

#[test]
fn an_unknown_writer_needs_all_that_was_recorded_before() {
    let text = "a: write x = 5; b: branch : true; c: read x : 7; d: external";
    on(text).gives(expect![[r#"
        0 1 2 => Possible
        3 1 0 2 => Possible
        0 1 => Real
        0 2 => step 1: event 2 has an unknown writer, and event 1 was recorded before it
    "#]]);
    on("init x = 1; a: rmw x : 2 -> 3").gives(expect!["0 => Possible"]);
}

#[test]
fn a_read_modify_write_reads_and_writes() {
    let text = "init x = 0; a: rmw x : 0 -> 1; b: rmw x : 1 -> 2";
    on(text).gives(expect![[r#"
        0 1 => Real
        1 0 => step 0: event 1 reads what the initial state left in object 0 at 0, but expects what event 0 left
    "#]]);
}

#[test]
fn accesses_need_a_live_object() {
    let text = "a: alloc x size 8; a: write x = 1; b: write x = 2; b: read x : 2; a: free x";
    on(text).gives(expect![[r#"
        0 2 3 1 4 => Real
        2 => step 0: event 2 uses object 0, which is not live
        0 1 4 2 => step 3: event 2 uses object 0, which is not live
    "#]]);
    on("a: write x = 1; a: free x; b: free y").gives(expect!["2 0 1 => Real"]);
    on("a: alloc x size 8; b: free x")
        .gives(expect!["1 => step 0: event 1 uses object 0, which is not live"]);
}

#[test]
fn an_address_is_used_again_after_its_free() {
    let text = "a: alloc x size 8 at 100; a: free x; b: alloc y size 16 at 96; b: free y; c: alloc z size 4 at 108; d: alloc w size 4 at 104";
    on(text).gives(expect![[r#"
        0 1 2 3 4 5 => Real
        0 2 => step 1: event 2 allocates memory that is free only after event 1
        0 1 2 4 => step 3: event 4 allocates memory that is free only after event 3
    "#]]);
    on("a: alloc x size 8 at 100; a: free x; b: alloc y size 8 at 108").gives(expect!["2 => Real"]);
    // Both ranges were live at once, so neither free implies the other.
    let both = "a: alloc x size 8 at 100; b: alloc y size 8 at 104; a: free x; b: free y; c: alloc z size 1 at 105";
    on(both).gives(expect![[r#"
        1 3 4 => step 2: event 4 allocates memory that is free only after event 2
        0 2 4 => step 2: event 4 allocates memory that is free only after event 3
    "#]]);
}

#[test]
fn an_acquire_opens_a_hold_that_nobody_is_in_the_way_of() {
    let text = "a: acquire m; a: release m; b: acquire m; b: release m";
    on(text).gives(expect![[r#"
        2 3 0 1 => Real
        0 2 => step 1: event 2 acquires lock 0, which thread 0 still holds
    "#]]);
    let shared = "a: acquire shared m; b: acquire shared m; a: release shared m; b: release shared m; c: acquire m";
    on(shared).gives(expect![[r#"
        1 0 2 3 4 => Real
        1 0 2 4 => step 3: event 4 acquires lock 0, which thread 1 still holds
    "#]]);
    on("a: acquire shared m; a: acquire m").gives(expect!["0 1 => Real"]);
    // Its own hold is in the way if another thread released it in the recorded run.
    on("a: acquire m; b: release m; a: acquire m")
        .gives(expect!["0 2 => step 1: event 2 acquires lock 0, which thread 0 still holds"]);
}

#[test]
fn recursive_holds_deepen_and_lower() {
    let text = "a: acquire m; a: acquire m; a: release m; a: release m; b: acquire m; b: release m";
    on(text).gives(expect![[r#"
        0 1 2 3 4 => Real
        0 1 2 4 => step 3: event 4 acquires lock 0, which thread 0 still holds
    "#]]);
}

#[test]
fn a_failed_acquire_needs_a_hold_in_its_way() {
    let text = "a: acquire m; b: tryacquire m : fail; a: release m";
    on(text).gives(expect![[r#"
        0 1 2 => Real
        1 => step 0: event 1 fails to acquire lock 0, but nothing is in its way
    "#]]);
    on("a: acquire shared m; a: timedacquire m : fail").gives(expect!["0 1 => Real"]);
    on("a: acquire m; b: tryacquire shared m : fail; c: acquire shared m").gives(expect![
        "2 1 => step 1: event 1 fails to acquire lock 0, but nothing is in its way"
    ]);
}

#[test]
fn a_foreign_release_closes_the_hold_that_it_closed() {
    let text = "a: acquire m; b: release m; c: acquire m";
    on(text).gives(expect![[r#"
        0 1 2 => Real
        1 => step 0: event 1 needs its recorded hold on lock 0, which is not open
        2 1 => step 1: event 1 needs its recorded hold on lock 0, which is not open
    "#]]);
    let deep = "a: acquire m; a: acquire m; a: release m; b: release m";
    on(deep).gives(expect![[r#"
        0 1 2 3 => Real
        0 1 3 => step 2: event 3 closes a hold on lock 0 that is not yet as recorded
        0 3 => step 1: event 3 closes a hold on lock 0 that is not yet as recorded
    "#]]);
    on("a: acquire m; b: release m; a: release m").gives(expect!["0 1 2 => Real"]);
}

#[test]
fn an_unheld_release_needs_a_free_lock() {
    let text = "a: release m; b: acquire m; b: release m";
    on(text).gives(expect![[r#"
        1 2 0 => Real
        1 0 => step 1: event 0 needs lock 0 free, but thread 1 holds it
    "#]]);
    on("b: acquire m; a: release shared m")
        .gives(expect!["0 1 => step 1: event 1 breaks the rules in the recorded run itself"]);
}

#[test]
fn a_destroyed_lock_is_of_no_use() {
    let text = "a: acquire m; a: release m; b: destroy m";
    on(text).gives(expect![[r#"
        0 1 2 => Real
        2 0 => step 1: event 0 uses lock 0, which is destroyed
        0 2 => step 1: event 2 needs lock 0 free, but thread 0 holds it
    "#]]);
}

const WAIT: &str =
    "a: acquire m; a: wait c m; b: acquire m; b: signal c; b: release m; a: wake c m; a: release m";

#[test]
fn a_wait_gives_the_lock_back_and_is_notified() {
    on(WAIT).gives(expect![[r#"
        0 1 2 3 4 5 6 => Real
        0 1 2 3 5 => step 4: event 5 acquires lock 0, which thread 1 still holds
        2 3 4 0 1 5 => step 5: event 5 wakes, but nothing has notified it through condition variable 0
    "#]]);
    let foreign = "a: acquire m; a: wait c m; b: acquire n; b: release n";
    on(foreign).gives(expect!["2 3 0 1 => Real"]);
    on("a: wait c m")
        .gives(expect!["0 => step 0: event 0 breaks the rules in the recorded run itself"]);
    on("a: acquire m; a: release m; a: wake c m")
        .gives(expect!["0 1 2 => step 2: event 2 breaks the rules in the recorded run itself"]);
}

#[test]
fn a_wake_takes_back_the_depth() {
    let text = "a: acquire m; a: acquire m; a: wait c m; b: broadcast c; a: wake c m; a: release m; a: release m; b: acquire m";
    on(text).gives(expect![[r#"
        0 1 2 3 4 5 6 7 => Real
        0 1 2 3 7 => Real
        0 1 2 3 4 5 7 => step 6: event 7 acquires lock 0, which thread 0 still holds
    "#]]);
}

#[test]
fn a_wake_may_time_out_or_be_spurious() {
    let text = "a: acquire m; a: timedwait c m; a: wake c m timeout; b: signal c";
    on(text).gives(expect![[r#"
        0 1 2 => Real
        0 1 3 2 => Real
    "#]]);
    on("a: acquire m; a: wait c m; a: wake c m spurious; b: broadcast c")
        .gives(expect!["0 1 3 2 => Real"]);
}

#[test]
fn a_signal_wakes_one_and_a_broadcast_all() {
    let two = "a: acquire m; a: wait c m; b: acquire n; b: wait c n; d: signal c; d: signal c; e: broadcast c; a: wake c m; b: wake c n";
    on(two).gives(expect![[r#"
        0 1 2 3 4 8 => Real
        0 1 2 3 4 7 => Real
        0 1 2 3 4 7 8 => step 6: event 8 wakes, but nothing has notified it through condition variable 0
        0 1 2 3 4 8 7 => step 6: event 7 wakes, but nothing has notified it through condition variable 0
        0 1 2 3 4 5 8 7 => Real
        0 1 2 3 6 8 7 => Real
        0 1 4 2 3 5 8 7 => Real
    "#]]);
}

#[test]
fn semaphores_count() {
    let text = "semaphore s = 0; a: sempost s; b: semwait s; c: trysemwait s : fail";
    on(text).gives(expect![[r#"
        0 1 2 => Real
        1 => step 0: event 1 takes semaphore 0 at count 0
        0 2 => step 1: event 2 fails to take semaphore 0, whose count is 1
    "#]]);
    // The least initial count with which the recorded run is feasible.
    on("a: semwait s; b: semwait s; a: sempost s").gives(expect!["1 0 => Real"]);
    on("a: semwait s; a: sempost s; b: semwait s").gives(expect![[r#"
        2 => Real
        2 0 => step 1: event 0 takes semaphore 0 at count 0
    "#]]);
    on("a: sempost s; a: sempost s; b: semwait s; b: semwait s; c: trysemwait s : fail")
        .gives(expect!["4 => Real"]);
}

#[test]
fn barriers_keep_their_rounds() {
    let text = "a: arrive r; b: arrive r; a: leave r; b: leave r; a: arrive r; b: arrive r";
    on(text).gives(expect![[r#"
        1 0 3 5 2 4 => Real
        0 2 => step 1: event 2 needs a round of barrier 0 complete, which has 1 of 2
    "#]]);
    let three = "barrier r = 2; a: arrive r; b: arrive r; c: arrive r; a: leave r; c: leave r";
    on(three).gives(expect![[r#"
        0 1 2 3 => Real
        0 2 => step 1: event 2 needs a round of barrier 0 complete, which has 1 of 2
        0 1 2 4 => step 3: event 4 needs a round of barrier 0 complete, which has 1 of 2
    "#]]);
    on("a: leave r")
        .gives(expect!["0 => step 0: event 0 breaks the rules in the recorded run itself"]);
}

#[test]
fn a_join_waits_for_its_child() {
    let text = "a: fork b; b: begin; b: end; a: join b";
    on(text).gives(expect![[r#"
        0 1 2 3 => Real
        0 1 3 => step 2: event 3 joins thread 1, which has not run all its events
    "#]]);
    on("a: fork b; c: join b")
        .gives(expect!["1 => step 0: event 1 joins thread 1, which has not run all its events"]);
}

#[test]
fn nothing_follows_an_exit() {
    let text = "a: write x = 1; b: exit";
    on(text).gives(expect![[r#"
        0 => Real
        1 0 => step 1: event 0 runs after the process has exited
        0 1 => at the end: the process has exited
    "#]]);
}

#[test]
fn the_rest_is_always_enabled() {
    let text = "a: begin; a: branch : true; a: assert : false; a: assume : true; a: region begin; a: region end; a: fence seq_cst; a: request acquire m; a: external; a: end";
    on(text).gives(expect![[r#"
        0 1 2 3 4 5 6 7 8 9 => Real
        0 2 => step 1: event 2 runs, but the next event of thread 0 is 1
    "#]]);
}
