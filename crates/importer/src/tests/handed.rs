//! Memory that code which is not instrumented uses, and that `realloc` moves.

use expect_test::expect;
use foretrace_recording::file::flags;
use foretrace_recording::record::{alloc, free, handed, kind};

use super::writer::{Writer, X, site};
use super::*;

const HEAP: u64 = 0x5000;

/// Code that is not instrumented reads what another thread has written; and a thread reads what
/// such code may have written for another one.
#[test]
fn memory_that_is_handed_over_keeps_its_order() {
    let mut writer = Writer::scheduled();
    writer.flags = flags::HANDED;
    writer.threads(2);
    writer.push(0, kind::HANDED, handed::WRITTEN, site(10), &[X]);
    writer.push(0, kind::ALLOC, 0, 0, &[HEAP, 16]);
    writer.store(0, site(20), HEAP, 1);
    writer.push(1, kind::HANDED, handed::UNKNOWN, site(30), &[HEAP]);
    writer.load(1, site(40), X, 7);
    check(
        &writer.bytes(),
        expect![[r#"
            init unexplained = 0
            dependences unknown
            fact unseen memory-call "bank.c:10:5 (main)" = 1
            fact unseen memory-call "bank.c:30:5 (main)" = 1
            fact handed-memory = 1
            T0: begin
            T0: fork T1
            T1: begin
            T0: read unexplained : 1 @ bank.c:10:5 (main)
            T0: alloc heap#1 size 16 at 0x5000
            T0: write heap#1 : 1 @ bank.c:20:5 (main)
            T1: read unexplained : 1 @ bank.c:30:5 (main)
            T1: read x : 7 @ bank.c:40:5 (main)
            T1: read unexplained : 1 @ bank.c:40:5 (main)
        "#]],
    );
}

/// What one thread has stored is moved by another one.
#[test]
fn a_block_that_is_moved_keeps_its_order() {
    let mut writer = Writer::scheduled();
    writer.threads(2);
    writer.push(0, kind::ALLOC, 0, 0, &[HEAP, 16]);
    writer.store(0, site(20), HEAP, 1);
    writer.push(1, kind::FREE, free::MOVES, site(30), &[HEAP]);
    writer.push(1, kind::ALLOC, alloc::MOVED, site(30), &[HEAP + 64, 32]);
    writer.load(1, site(40), HEAP + 64, 1);
    check(
        &writer.bytes(),
        expect![[r#"
        object heap#1
        object unexplained
        object "heap#2@bank.c:30"
        init unexplained = 0
        dependences unknown
        fact moved-block = 1
        fact private-access-left-out = 1
        T0: begin
        T0: fork T1
        T1: begin
        T0: alloc heap#1 size 16 at 0x5000
        T0: write heap#1 : 1 @ bank.c:20:5 (main)
        T1: free heap#1 @ bank.c:30:5 (main)
        T1: read unexplained : 1 @ bank.c:30:5 (main)
        T1: alloc "heap#2@bank.c:30" size 32 at 0x5040 @ bank.c:30:5 (main)
    "#]],
    );
}
