//! Scheduled recordings: every kind of record, names, filtering, program errors.

use expect_test::expect;
use foretrace_recording::file::{ending, flags, table};
use foretrace_recording::record::{acquire, kind, lock, release, unseen};
use foretrace_trace::provenance::Private;
use foretrace_trace::{Op, Place, ThreadId};

use super::writer::{FUNCTION, M, STATICS, Writer, X, site};
use super::*;

#[test]
fn every_kind_of_record_becomes_its_event() {
    let mut writer = Writer::scheduled();
    let (cond, sem, barrier) = (M + 8, M + 16, M + 24);
    writer.threads(2);
    writer.push(0, kind::LOCK_INIT, lock::RECURSIVE, site(10), &[M]);
    writer.push(0, kind::ACQUIRE, 0, site(10), &[M]);
    writer.push(1, kind::REQUEST_ACQUIRE, 0, site(20), &[M]);
    writer.push(1, kind::ACQUIRE_FAILED, acquire::TRY, 0, &[M]);
    writer.push(0, kind::ACQUIRE, acquire::TRY, 0, &[M]).push(0, kind::RELEASE, 0, 0, &[M]);
    writer.push(0, kind::WAIT, 1, 0, &[cond, M]);
    writer.push(1, kind::ACQUIRE, acquire::TIMED, 0, &[M]);
    writer.push(1, kind::SIGNAL, 0, 0, &[cond]).push(1, kind::BROADCAST, 0, 0, &[cond]);
    writer.push(1, kind::RELEASE, 0, 0, &[M]);
    writer.push(0, kind::WAKE, 0, 0, &[cond, M]).push(0, kind::RELEASE, 0, 0, &[M]);
    writer.push(0, kind::SEM_INIT, 0, 0, &[sem, 1]).push(0, kind::SEM_WAIT, 0, 0, &[sem]);
    writer.push(1, kind::REQUEST_SEM_WAIT, 0, 0, &[sem]);
    writer.push(1, kind::SEM_WAIT_FAILED, 2, 0, &[sem]).push(0, kind::SEM_POST, 0, 0, &[sem]);
    writer.push(0, kind::BARRIER_INIT, 0, 0, &[barrier, 2]);
    writer.push(0, kind::ARRIVE, 0, 0, &[barrier]).push(1, kind::ARRIVE, 0, 0, &[barrier]);
    writer.push(1, kind::LEAVE, 0, 0, &[barrier]).push(0, kind::LEAVE, 0, 0, &[barrier]);
    writer.push(0, kind::COND_DESTROY, 0, 0, &[cond]).push(0, kind::SEM_DESTROY, 0, 0, &[sem]);
    writer.push(0, kind::BARRIER_DESTROY, 0, 0, &[barrier]);
    writer.push(0, kind::LOCK_DESTROY, 0, 0, &[M]);
    writer.store(0, site(30), X, 5).load(1, site(40), X, 5);
    writer.push(0, kind::ATOMIC_STORE, 4 | 3 << 4, 0, &[X + 8, 1]);
    writer.push(1, kind::ATOMIC_LOAD, 4 | 2 << 4, 0, &[X + 8, 1]);
    writer.push(1, kind::RMW, 4 | 5 << 4, 0, &[X + 8, 1, 2]);
    writer.push(0, kind::FENCE, 5, 0, &[]).push(0, kind::REGION_BEGIN, 0, 0, &[]);
    writer.push(0, kind::REGION_END, 0, 0, &[]).push(0, kind::ASSERT, 1, 0, &[]);
    writer.push(0, kind::ALLOC, 0, site(50), &[0x1000, 16]);
    writer.store(0, 0, 0x1008, 1).store(1, 0, 0x1008, 2);
    writer.push(1, kind::FREE, 0, 0, &[0x1000]);
    writer.push(0, kind::PATH, 3, 5, &[]).push(0, kind::SWITCH, 0, 0, &[3]);
    writer.push(0, kind::CALL, 0, 0, &[FUNCTION]).push(0, kind::CALL, 0, 0, &[9]);
    writer.push(0, kind::RETURN, 0, 0, &[0]).push(0, kind::ENTER, 0, FUNCTION, &[]);
    writer.push(0, kind::LAND, 0, site(10), &[FUNCTION, 2]);
    writer.push(0, kind::REQUEST_JOIN, 0, 0, &[1]).push(1, kind::END, 0, 0, &[]);
    writer.push(0, kind::JOIN, 0, 0, &[1]).push(0, kind::EXIT, 0, 0, &[0]);
    check(
        &writer.bytes(),
        expect![[r#"
            lock m recursive
            semaphore m+16 = 1
            barrier m+24 = 2
            dependences unknown
            T0: begin
            T0: fork T1
            T1: begin
            T0: acquire m @ bank.c:10:5 (main)
            T1: request acquire m @ bank.c:20:5 (main)
            T1: tryacquire m : fail
            T0: tryacquire m : ok
            T0: release m
            T0: timedwait m+8 m
            T1: timedacquire m : ok
            T1: signal m+8
            T1: broadcast m+8
            T1: release m
            T0: wake m+8 m
            T0: release m
            T0: semwait m+16
            T1: request semwait m+16
            T1: trysemwait m+16 : fail
            T0: sempost m+16
            T0: arrive m+24
            T1: arrive m+24
            T1: leave m+24
            T0: leave m+24
            T0: destroy m
            T0: write x : 5 @ bank.c:30:5 (main)
            T1: read x : 5 @ bank.c:40:5 (main)
            T0: write x[8:4] : 1 atomic release
            T1: read x[8:4] : 1 atomic acquire
            T1: rmw x[8:4] : 1 -> 2
            T0: fence seq_cst
            T0: region begin
            T0: region end
            T0: assert : true
            T0: alloc "heap#1@bank.c:50" size 16 at 0x1000 @ bank.c:50:5 (main)
            T0: write "heap#1@bank.c:50"[8:8] : 1
            T1: write "heap#1@bank.c:50"[8:8] : 2
            T1: free "heap#1@bank.c:50"
            T0: request join T1
            T1: end
            T0: join T1
            T0: exit
        "#]],
    );
}

#[test]
fn ordinals_count_what_is_visible() {
    let mut writer = Writer::scheduled();
    writer.threads(2);
    // The stack is private, so these have ordinals 2 and 3 and no events.
    let stack = 0x7f00_0000_0000;
    writer.store(0, 0, stack, 1).push(0, kind::PATH, 1, 1, &[]).load(0, 0, stack, 1);
    writer.store(0, 0, X, 1).load(1, 0, X, 1);
    let trace = import(&writer.bytes());
    assert_eq!(ordinals(&trace), [Some(0), Some(1), Some(0), Some(4), Some(1)]);
    let kinds: Vec<_> = trace.events().map(|(id, _)| trace.record_kind(id).unwrap()).collect();
    assert_eq!(kinds, [kind::BEGIN, kind::FORK, kind::BEGIN, kind::STORE, kind::LOAD]);
    assert_eq!(trace.lineage(ThreadId(1)), Some((ThreadId(0), 0)));
    assert_eq!(trace.provenance(), [(Private::Access.into(), 2)]);
}

#[test]
fn a_request_has_the_ordinal_of_what_it_announces() {
    let mut writer = Writer::scheduled();
    writer.threads(2);
    writer.push(0, kind::ACQUIRE, 0, 0, &[M]).push(1, kind::REQUEST_ACQUIRE, 0, 0, &[M]);
    writer.push(0, kind::RELEASE, 0, 0, &[M]).push(1, kind::ACQUIRE, 0, 0, &[M]);
    let trace = import(&writer.bytes());
    assert_eq!(ordinals(&trace), [Some(0), Some(1), Some(0), Some(2), Some(1), Some(3), Some(1)]);
    assert_eq!(trace.record_kind(EventId(4)), Some(kind::REQUEST_ACQUIRE));
}

#[test]
fn only_shared_bytes_are_kept() {
    let mut writer = Writer::scheduled();
    writer.threads(2);
    let block = 0x5000;
    writer.push(0, kind::ALLOC, 0, 0, &[0x4000, 64]).store(0, 0, 0x4000, 1);
    writer.push(0, kind::FREE, 0, 0, &[0x4000]);
    // Other memory in the same place is another object: still private.
    writer.push(0, kind::ALLOC, 0, 0, &[0x4000, 64]).store(0, 0, 0x4000, 1);
    writer.push(0, kind::ALLOC, 0, site(10), &[block, 128]);
    writer.range(0, kind::STORE_RANGE, block, &[7; 100]);
    writer.push(1, kind::LOAD, 4, 0, &[block + 20, 0x0707_0707]);
    writer.push(1, kind::LOAD, 4, 0, &[block + 92, 0x0707_0707]);
    writer.range(1, kind::LOAD_RANGE, block + 16, &[7; 8]);
    check(
        &writer.bytes(),
        expect![[r#"
            dependences unknown
            fact private-access-left-out = 2
            fact private-block-left-out = 2
            T0: begin
            T0: fork T1
            T1: begin
            T0: alloc "heap#3@bank.c:10" size 128 at 0x5000 @ bank.c:10:5 (main)
            T0: write "heap#3@bank.c:10"[16:8]
            T0: write "heap#3@bank.c:10"[88:8]
            T1: read "heap#3@bank.c:10"[20:4] : 117901063
            T1: read "heap#3@bank.c:10"[92:4] : 117901063
            T1: read "heap#3@bank.c:10"[16:8]
        "#]],
    );
}

/// Otherwise a schedule could have both blocks alive at one address.
#[test]
fn the_life_of_memory_that_another_thread_gets_later_is_kept() {
    let mut writer = Writer::scheduled();
    writer.threads(2);
    writer.push(0, kind::ALLOC, 0, 0, &[0x4000, 64]).store(0, 0, 0x4000, 1);
    writer.push(0, kind::FREE, 0, 0, &[0x4000]);
    // The same thread gets a part of it again; another one gets a part of the rest.
    writer.push(0, kind::ALLOC, 0, 0, &[0x4000, 16]).push(0, kind::FREE, 0, 0, &[0x4000]);
    writer.push(1, kind::ALLOC, 0, 0, &[0x4020, 16]).store(1, 0, 0x4020, 1);
    check(
        &writer.bytes(),
        expect![[r#"
            dependences unknown
            fact private-access-left-out = 2
            T0: begin
            T0: fork T1
            T1: begin
            T0: alloc heap#1 size 64 at 0x4000
            T0: free heap#1
            T0: alloc heap#2 size 16 at 0x4000
            T0: free heap#2
            T1: alloc heap#3 size 16 at 0x4020
        "#]],
    );
}

#[test]
fn memory_that_another_thread_frees_is_shared() {
    let mut writer = Writer::scheduled();
    writer.threads(2);
    writer.push(0, kind::ALLOC, 0, 0, &[0x4000, 64]).push(0, kind::ALLOC, 0, 0, &[0x5000, 64]);
    writer.store(1, 0, 0x4000, 1).store(1, 0, 0x5008, 1);
    writer.push(0, kind::FREE, 0, 0, &[0x4000]);
    // The thread that has touched this one is over.
    writer.push(1, kind::END, 0, 0, &[]).push(0, kind::JOIN, 0, 0, &[1]);
    writer.push(0, kind::FREE, 0, 0, &[0x5000]);
    check(
        &writer.bytes(),
        expect![[r#"
            dependences unknown
            fact private-access-left-out = 1
            fact private-block-left-out = 1
            T0: begin
            T0: fork T1
            T1: begin
            T0: alloc heap#1 size 64 at 0x4000
            T1: write heap#1 : 1
            T0: free heap#1
            T1: end
            T0: join T1
        "#]],
    );
}

#[test]
fn memory_that_is_given_out_again_is_another_object() {
    let mut writer = Writer::scheduled();
    writer.threads(3);
    for round in 0..2 {
        writer.push(0, kind::ALLOC, 0, site(10), &[0x5000, 40]);
        writer.push(0, kind::ACQUIRE, 0, 0, &[0x5008]);
        writer.store(0, 0, 0x5000, round).load(1, 0, 0x5000, round);
        writer.push(0, kind::RELEASE, 0, 0, &[0x5008]).push(0, kind::FREE, 0, 0, &[0x5000]);
    }
    // Use after free.
    writer.store(1, 0, 0x5000, 9).load(2, 0, 0x5000, 9);
    check(
        &writer.bytes(),
        expect![[r#"
            lock "heap#1@bank.c:10+8" plain
            lock "heap#2@bank.c:10+8" plain
            dependences unknown
            fact access-to-freed-memory = 2
            T0: begin
            T0: fork T1
            T1: begin
            T0: fork T2
            T2: begin
            T0: alloc "heap#1@bank.c:10" size 40 at 0x5000 @ bank.c:10:5 (main)
            T0: acquire "heap#1@bank.c:10+8"
            T0: write "heap#1@bank.c:10" : 0
            T1: read "heap#1@bank.c:10" : 0
            T0: release "heap#1@bank.c:10+8"
            T0: free "heap#1@bank.c:10"
            T0: alloc "heap#2@bank.c:10" size 40 at 0x5000 @ bank.c:10:5 (main)
            T0: acquire "heap#2@bank.c:10+8"
            T0: write "heap#2@bank.c:10" : 1
            T1: read "heap#2@bank.c:10" : 1
            T0: release "heap#2@bank.c:10+8"
            T0: free "heap#2@bank.c:10"
            T1: write mem@0x0[20480:8] : 9
            T2: read mem@0x0[20480:8] : 9
        "#]],
    );
}

#[test]
fn locks_are_named_and_have_generations() {
    let mut writer = Writer::scheduled();
    writer.text(table::LOCK_NAME, &[0x9000], "the queue's lock");
    writer.threads(1);
    let stack = 0x7f00_0000_0010;
    for address in [M, M + 8, STATICS[0], STATICS[1], 0x9000, 0x9100, stack] {
        writer.push(0, kind::ACQUIRE, 0, 0, &[address]).push(0, kind::RELEASE, 0, 0, &[address]);
    }
    for _ in 0..2 {
        writer.push(0, kind::LOCK_DESTROY, 0, 0, &[M]).push(0, kind::LOCK_INIT, 0, 0, &[M]);
        writer.push(0, kind::ACQUIRE, 0, 0, &[M]).push(0, kind::RELEASE, 0, 0, &[M]);
    }
    let trace = import(&writer.bytes());
    let names: Vec<&str> = trace.locks().iter().collect();
    assert_eq!(
        names,
        [
            "m",
            "m+8",
            "static@bank.c",
            "static@other.c",
            "the queue's lock",
            "0x9100",
            "stack of T0+16",
            "m#2",
            "m#3",
        ]
    );
}

#[test]
fn errors_of_the_program_do_not_break_the_import() {
    let mut writer = Writer::scheduled();
    writer.threads(3);
    writer.push(0, kind::ACQUIRE, acquire::SHARED, 0, &[M]).push(1, kind::RELEASE, 1, 0, &[M]);
    writer.push(1, kind::ACQUIRE, 0, 0, &[M]).push(1, kind::RELEASE, 0, 0, &[M]);
    writer.push(0, kind::LOCK_DESTROY, 0, 0, &[M]).push(0, kind::RELEASE, 1, 0, &[M]);
    writer.push(0, kind::RELEASE, 0, 0, &[M]);
    writer.push(0, kind::WAIT, 0, 0, &[M + 8, M]).push(0, kind::WAKE, 0, 0, &[M + 8, M]);
    writer.push(0, kind::ACQUIRE, 0, 0, &[M]).push(0, kind::ACQUIRE, 0, 0, &[M]);
    writer.push(0, kind::ACQUIRE_FAILED, 0, 0, &[M]);
    writer.push(0, kind::WAIT, 0, 0, &[M + 8, M]).push(0, kind::WAKE, 0, 0, &[M + 8, M]);
    writer.push(0, kind::WAIT, 0, 0, &[M + 8, M]).push(0, kind::WAKE, 1, 0, &[M + 8, M]);
    // A wait whose end is not recorded, once with the lock free and once not.
    writer.push(0, kind::WAIT, 0, 0, &[M + 8, M]).push(0, kind::RELEASE, 0, 0, &[M]);
    writer.push(0, kind::WAIT, 0, 0, &[M + 8, M]).push(1, kind::ACQUIRE, 0, 0, &[M]);
    writer.push(0, kind::WAKE, 0, 0, &[M + 8, M]).push(0, kind::FENCE, 5, 0, &[]);
    writer.push(2, kind::SEM_WAIT, 0, 0, &[M + 16]).push(2, kind::SEM_WAIT_FAILED, 0, 0, &[M + 16]);
    writer.push(2, kind::SEM_WAIT, 0, 0, &[M + 16]).push(2, kind::SEM_POST, 0, 0, &[M + 16]);
    writer.push(2, kind::SEM_WAIT_FAILED, 2, 0, &[M + 16]);
    writer.push(2, kind::ARRIVE, 0, 0, &[M + 24]).push(2, kind::BARRIER_INIT, 0, 0, &[M + 24, 2]);
    writer.push(2, kind::LEAVE, 0, 0, &[M + 24]);
    writer.push(2, kind::FREE, 0, 0, &[0x1234]).push(2, kind::FORK, 0, 0, &[1]);
    writer.push(2, kind::JOIN, 0, 0, &[1]).push(1, kind::BEGIN, 0, 0, &[1, 2]);
    writer.push(1, kind::END, 0, 0, &[]).push(1, kind::FENCE, 5, 0, &[]);
    writer.push(4, kind::BEGIN, 0, 0, &[0, 0]);
    writer.push(2, kind::EXIT, 0, 0, &[0]).push(2, kind::FENCE, 5, 0, &[]);
    let trace = import(&writer.bytes());
    let facts = trace.provenance().iter();
    let facts: String = facts.map(|(fact, count)| format!("{count} {}\n", fact.code())).collect();
    expect![[r#"
        1 release-of-foreign-hold-left-out
        1 acquire-of-held-lock-left-out
        1 destroy-of-held-lock-left-out
        1 wait-without-lock-left-out
        1 lock-acquired-again
        1 failed-acquire-as-try
        2 wait-end-as-spurious
        1 end-of-wait-added
        1 thread-lost-in-wait
        1 failed-semaphore-wait-as-try
        1 semaphore-wait-at-zero-left-out
        1 failed-semaphore-wait-left-out
        1 barrier-arrival-left-out
        1 barrier-departure-left-out
        1 free-of-unknown-block
        1 repeated-fork-left-out
        1 early-join-left-out
        1 late-begin-left-out
        1 early-end-left-out
        1 unknown-stack
        1 thread-without-fork
        1 record-after-exit-left-out
        1 record-of-lost-thread-left-out
    "#]]
    .assert_eq(&facts);
}

#[test]
fn unknown_writers_are_counted_and_shown() {
    let mut writer = Writer::scheduled();
    writer.threads(2);
    writer.store(0, site(10), X, 1).load(1, site(20), X, 2).load(1, site(20), X, 2);
    // After a store of many bytes the trace does not say which value each has: a pin does.
    writer.push(0, kind::ALLOC, 0, 0, &[0x5000, 80]);
    writer.range(0, kind::STORE_RANGE, 0x5000, &[1; 80]);
    writer.range(1, kind::LOAD_RANGE, 0x5000, &[1; 80]).range(
        1,
        kind::LOAD_RANGE,
        0x5000,
        &[2; 80],
    );
    writer.load(1, site(30), 0x5000, 7);
    check(
        &writer.bytes(),
        expect![[r#"
            object x
            object heap#1
            object unexplained
            init unexplained = 0
            dependences unknown
            fact unknown-writer "bank.c:20:5 (main)" = 2
            fact unknown-writer = 1
            fact unknown-writer "bank.c:30:5 (main)" = 1
            T0: begin
            T0: fork T1
            T1: begin
            T0: write x : 1 @ bank.c:10:5 (main)
            T1: read x : 2 @ bank.c:20:5 (main)
            T1: read x : 2 @ bank.c:20:5 (main)
            T0: alloc heap#1 size 80 at 0x5000
            T0: write heap#1[0:80]
            T1: read heap#1[0:80]
            T1: read unexplained : 1
            T1: read heap#1[0:80]
            T1: read unexplained : 1 @ bank.c:30:5 (main)
            T1: read heap#1 : 7 @ bank.c:30:5 (main)
        "#]],
    );
}

#[test]
fn what_nobody_saw_keeps_everything_before_it() {
    let mut writer = Writer::scheduled();
    writer.threads(2);
    writer.store(0, site(10), X, 1);
    writer.push(1, kind::UNSEEN, unseen::ASSEMBLY, site(20), &[]);
    writer.push(1, kind::UNSEEN, unseen::WIDE_ATOMIC, site(30), &[]);
    writer.store(1, site(40), X, 2);
    check(
        &writer.bytes(),
        expect![[r#"
            object x
            object unexplained
            init unexplained = 0
            dependences unknown
            fact unseen inline-assembly "bank.c:20:5 (main)" = 1
            fact unseen wide-atomic "bank.c:30:5 (main)" = 1
            T0: begin
            T0: fork T1
            T1: begin
            T0: write x : 1 @ bank.c:10:5 (main)
            T1: read unexplained : 1 @ bank.c:20:5 (main)
            T1: read unexplained : 1 @ bank.c:30:5 (main)
            T1: write x : 2 @ bank.c:40:5 (main)
        "#]],
    );
}

#[test]
fn from_the_end_of_an_owner_on_a_robust_mutex_keeps_its_order() {
    let mut writer = Writer::scheduled();
    writer.threads(2);
    writer.push(0, kind::ACQUIRE, 0, 0, &[M]).push(0, kind::RELEASE, 0, 0, &[M]);
    writer.push(1, kind::ACQUIRE, 0, 0, &[M]);
    writer.push(1, kind::RELEASE, release::OWNER_DIED, 0, &[M]);
    writer.push(0, kind::ACQUIRE, 0, 0, &[M]).push(0, kind::RELEASE, 0, 0, &[M]);
    let detail = acquire::TRY | acquire::NOT_RECOVERABLE;
    writer.push(0, kind::ACQUIRE_FAILED, detail, 0, &[M]);
    check(
        &writer.bytes(),
        expect![[r#"
            lock m plain
            init unexplained = 0
            dependences unknown
            fact robust-mutex-order-kept = 1
            fact acquire-of-unrecoverable-lock-left-out = 1
            T0: begin
            T0: fork T1
            T1: begin
            T0: acquire m
            T0: release m
            T1: acquire m
            T1: read unexplained : 1
            T1: release m
            T0: read unexplained : 1
            T0: acquire m
            T0: release m
            T0: read unexplained : 1
        "#]],
    );
}

#[test]
fn accesses_across_objects_are_split() {
    let mut writer = Writer::scheduled();
    writer.threads(2);
    for thread in 0..2 {
        writer.push(thread, kind::STORE, 8, 0, &[STATICS[0] + 4, 0x0807_0605_0403_0201]);
    }
    let trace = import(&writer.bytes());
    let places: Vec<(Place, Option<u64>)> = trace
        .ops()
        .filter_map(|(_, op)| match op {
            Op::Write { at, value, .. } => Some((at, value)),
            _ => None,
        })
        .collect();
    assert_eq!(places[0].0, Place { offset: 4, size: 4, ..places[0].0 });
    assert_eq!(places[0].1, Some(0x0403_0201));
    assert_eq!(places[1].0, Place { offset: 0, size: 4, ..places[1].0 });
    assert_eq!(places[1].1, Some(0x0807_0605));
    assert_ne!(places[0].0.object, places[1].0.object);
    let last = (0..trace.len()).rev().map(EventId::from);
    assert_eq!(
        last.take(2).map(|event| trace.ordinal(event)).collect::<Vec<_>>(),
        [Some(1), Some(1)]
    );
}

#[test]
fn what_the_tables_and_the_header_say_is_kept() {
    let mut writer = Writer::scheduled();
    writer.text(table::BENIGN, &[X, 4], "a counter");
    writer.text(table::BENIGN, &[0x5004, 100], "a buffer");
    writer.text(table::BENIGN, &[0x6000, 4], "nothing touches this");
    writer.text(table::ASSERTION, &[], "bank.c:3: main: x == 1");
    writer.table(table::COMMAND, b"a.out\0-v\0");
    writer.table(table::THREAD, &[1u64, 0, 7].map(u64::to_le_bytes).concat());
    writer.ending = (ending::SIGNAL, 6);
    writer.flags = flags::TRUNCATED | flags::FORKED | flags::WATCHDOG;
    writer.threads(2);
    writer.push(0, kind::ALLOC, 0, 0, &[0x5000, 16]);
    writer.store(0, 0, X, 1).store(1, 0, X, 2).store(0, 0, 0x5008, 1).store(1, 0, 0x5008, 1);
    check(
        &writer.bytes(),
        expect![[r#"
            benign heap#1[4:12] "a buffer"
            benign x[0:4] "a counter"
            dependences unknown
            fact recording-cut-off disk-full = 1
            fact thread-blocked-unseen = 1
            fact process-forked = 1
            fact ended-by-signal 6 = 1
            fact assertion-failed "bank.c:3: main: x == 1" = 1
            fact forks-counted-differently = 1
            T0: begin
            T0: fork T1
            T1: begin
            T0: alloc heap#1 size 16 at 0x5000
            T0: write x : 1
            T1: write x : 2
            T0: write heap#1[8:8] : 1
            T1: write heap#1[8:8] : 1
        "#]],
    );
}

#[test]
fn what_variables_held_at_first_is_known_where_nobody_read_it() {
    let mut writer = Writer::scheduled();
    // 7 and zeros; the second word was read first, and something else had been written there.
    let contents = [X, 16, 1, 7].map(u64::to_le_bytes);
    writer.table(table::CONTENTS, contents.as_flattened());
    writer.threads(2);
    writer.store(0, 0, X, 5).load(1, 0, X, 5);
    writer.load(0, 0, X + 8, 3).store(1, 0, X + 8, 4).load(0, 0, X + 8, 4);
    check(
        &writer.bytes(),
        expect![[r#"
        init x = 7
        dependences unknown
        T0: begin
        T0: fork T1
        T1: begin
        T0: write x : 5
        T1: read x : 5
        T0: read x[8:8] : 3
        T1: write x[8:8] : 4
        T0: read x[8:8] : 4
    "#]],
    );
}

#[test]
fn contents_that_are_cut_off_are_an_error() {
    let mut writer = Writer::scheduled();
    let contents = [X, 16, 40, 7].map(u64::to_le_bytes);
    writer.table(table::CONTENTS, contents.as_flattened());
    let error = parse(&writer.bytes(), None).unwrap_err().to_string();
    assert!(error.ends_with("a table with 8 bytes left; expected 40 bytes"), "{error}");
}
