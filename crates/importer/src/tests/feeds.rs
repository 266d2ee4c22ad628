//! Which calls wait, and who feeds them.

use expect_test::{Expect, expect};
use foretrace_recording::channel::{EVERY, FIRST_OBJECT, direction};
use foretrace_recording::file::{flags, table};
use foretrace_recording::record::kind;
use foretrace_recording::record::stream::*;
use foretrace_trace::{ChannelId, Channels, EventId, Op, Trace};

use super::import;
use super::writer::Writer;

/// The lists of channels: a write that found room, anything else, two channels at once; and what is
/// looked at, the pipe or either.
const SURE: u64 = 1;
const ANY: u64 = 2;
const TWO: u64 = 3;
const PIPE: u64 = 4;
const EITHER: u64 = 5;

/// A recording of two threads beside the main one, and a pipe.
fn recording() -> Writer {
    let mut writer = Writer::scheduled();
    let (pipe, other) = (u64::from(FIRST_OBJECT), u64::from(FIRST_OBJECT) + 1);
    writer.text(table::CHANNEL, &[pipe], "pipe");
    writer.text(table::CHANNEL, &[other], "other");
    let on = |channel: u64, how: u32| channel | u64::from(how) << 32;
    let [gives, both] = [direction::GIVES, direction::BOTH].map(|how| on(pipe, how));
    writer.text(table::CHANNELS, &[SURE, gives], "");
    writer.text(table::CHANNELS, &[ANY, both], "");
    writer.text(table::CHANNELS, &[TWO, both, on(other, direction::BOTH)], "");
    let [pipe, other] = [pipe, other].map(|channel| on(channel, direction::TAKES));
    writer.text(table::CHANNELS, &[PIPE, pipe], "");
    writer.text(table::CHANNELS, &[EITHER, pipe, other], "");
    writer.threads(3);
    writer
}

/// A call that comes back at once.
fn call(writer: &mut Writer, thread: u32, list: u64, detail: u8, size: u64, returned: i64) {
    enter(writer, thread, list, detail, size);
    leave(writer, thread, returned);
}

fn enter(writer: &mut Writer, thread: u32, list: u64, detail: u8, size: u64) {
    writer.push(thread, kind::ENTER_CALL, detail, 0, &[list, size]);
}

fn leave(writer: &mut Writer, thread: u32, returned: i64) {
    writer.push(thread, kind::LEAVE_CALL, 0, 0, &[returned as u64]);
}

/// The calls of a trace, each with what it waits for and what it feeds:
/// `T1 waits data/1; T2 feeds 1 all`.
fn shown(trace: &Trace) -> String {
    let name = |channel: ChannelId| trace.name(channel);
    let short = |channel: ChannelId| {
        let rest = name(channel).strip_prefix("data in pipe")?;
        let rest = rest.strip_prefix(" or other").unwrap_or(rest);
        let rest = rest.strip_prefix(" (the other way)").unwrap_or(rest);
        Some(rest.strip_prefix(": piece ").unwrap_or("all").to_string())
    };
    let mut all = Vec::new();
    for event in (0..trace.len()).map(EventId::from) {
        let Op::EnterCall { on, .. } = trace.op(event) else { continue };
        let Channels::Only(list) = trace.channels_of(on) else { continue };
        let mut words = Vec::new();
        if let Some(awaited) = trace.awaited(on) {
            words.push(format!("waits {}", awaited.piece.and_then(short).unwrap_or("-".into())));
        }
        let feeds: Vec<String> = list.iter().filter_map(|(channel, _)| short(*channel)).collect();
        if !feeds.is_empty() {
            words.push(format!("feeds {}", feeds.join(" ")));
        }
        if !words.is_empty() {
            let thread = trace.name(trace.thread_of(event));
            all.push(format!("{thread} {}", words.join(" ")));
        }
    }
    all.join("; ")
}

fn check(work: impl FnOnce(&mut Writer), expected: Expect) {
    let mut writer = recording();
    work(&mut writer);
    expected.assert_eq(&shown(&import(&writer.bytes())));
}

#[test]
fn a_read_waits_for_the_writes_of_its_bytes() {
    let expected = expect!["T1 feeds 1; T1 feeds 1 2; T2 waits 1; T2 waits 2"];
    check(
        |writer| {
            call(writer, 1, SURE, WRITE, 2, 2);
            call(writer, 1, SURE, WRITE, 2, 2);
            call(writer, 2, ANY, READ | WAITS, 3, 3);
            call(writer, 2, ANY, READ | WAITS, 3, 1);
        },
        expected,
    );
}

#[test]
fn overlapping_reads_take_what_they_return_in_the_order_in_which_they_come_back() {
    check(
        |writer| {
            enter(writer, 2, ANY, READ | WAITS, 1);
            enter(writer, 0, ANY, READ | WAITS, 1);
            call(writer, 1, SURE, WRITE, 1, 1);
            leave(writer, 0, 1);
            call(writer, 1, SURE, WRITE, 1, 1);
            leave(writer, 2, 1);
        },
        expect!["T2 waits 2; T0 waits 1; T1 feeds 1; T1 feeds 2"],
    );
}

#[test]
fn what_no_waiting_read_takes_feeds_everybody() {
    // A write that nobody reads; then one that a call reads which does not wait.
    check(
        |writer| {
            call(writer, 1, SURE, WRITE, 1, 1);
            call(writer, 2, ANY, READ | WAITS, 1, 1);
            call(writer, 1, SURE, WRITE, 1, 1);
        },
        expect!["T1 feeds 1; T2 waits 1; T1 feeds all"],
    );
    check(
        |writer| {
            call(writer, 1, SURE, WRITE, 1, 1);
            call(writer, 2, ANY, READ, 1, 1);
            call(writer, 1, SURE, WRITE, 1, 1);
            call(writer, 2, ANY, READ | WAITS, 1, 1);
        },
        expect!["T1 feeds all; T1 feeds 1; T2 waits 1"],
    );
}

#[test]
fn the_end_of_a_stream_comes_from_who_closes_it() {
    check(
        |writer| {
            enter(writer, 2, ANY, READ | WAITS, 1);
            call(writer, 1, ANY, QUIET, 0, 0);
            leave(writer, 2, 0);
        },
        expect!["T2 waits -; T1 feeds all"],
    );
    // Nobody is seen who closes it.
    check(
        |writer| {
            call(writer, 1, ANY, WRITE, 1, 1);
            call(writer, 2, ANY, READ | WAITS, 1, 1);
            call(writer, 2, ANY, READ | WAITS, 1, 0);
        },
        expect![""],
    );
}

#[test]
fn counters_count() {
    check(
        |writer| {
            call(writer, 1, ANY, WRITE | COUNTER, 5, 8);
            call(writer, 1, ANY, WRITE | COUNTER, 2, 0);
            call(writer, 2, ANY, READ | WAITS | COUNTER, 8, 7);
            call(writer, 1, ANY, WRITE | COUNTER, 3, 8);
            call(writer, 2, ANY, READ | WAITS | COUNTER, 8, 3);
        },
        expect!["T1 feeds 1; T1 feeds 1; T2 waits 1; T1 feeds 2; T2 waits 2"],
    );
}

#[test]
fn where_something_is_not_known_nobody_waits() {
    let pair = |writer: &mut Writer| {
        call(writer, 1, SURE, WRITE, 1, 1);
        call(writer, 2, ANY, READ | WAITS, 1, 1);
    };
    check(pair, expect!["T1 feeds 1; T2 waits 1"]);
    let nobody = || expect![""];
    // Something else may have put bytes in.
    check(|writer| (pair(writer), call(writer, 1, ANY, 0, 0, 0)).1, nobody());
    check(|writer| (pair(writer), call(writer, 1, TWO, READ | WAITS, 1, 1)).1, nobody());
    check(|writer| (pair(writer), call(writer, 1, EVERY, 0, 0, 0)).1, nobody());
    // A thread was cancelled.
    check(|writer| (pair(writer), call(writer, 1, EVERY, CANCELS, 0, 0)).1, nobody());
    // A write that has not come back, and a read of more than was written.
    check(|writer| (pair(writer), enter(writer, 1, ANY, WRITE, 1)).1, nobody());
    check(|writer| (pair(writer), call(writer, 2, ANY, READ | WAITS, 1, 1)).1, nobody());
    // Handlers of signals, other processes.
    check(|writer| (pair(writer), writer.flags |= flags::WAITS_END).1, nobody());
    // It does not wait.
    check(
        |writer| {
            call(writer, 1, SURE, WRITE, 1, 1);
            call(writer, 2, ANY, READ, 1, 1);
            call(writer, 2, ANY, READ | WAITS, 0, 0);
        },
        nobody(),
    );
}

#[test]
fn reads_that_might_not_have_waited_earlier_do_not_wait() {
    let read = |writer: &mut Writer, back: u8| {
        call(writer, 1, SURE, WRITE | back, 1, 1);
        call(writer, 2, ANY, READ | WAITS | back, 1, 1);
    };
    // The flags of the descriptor were changed by another thread.
    check(|writer| (call(writer, 1, ANY, QUIET | WAITS, 0, 0), read(writer, 0)).1, expect![""]);
    // The socket was connected by another thread, or by the same.
    let connect = |writer: &mut Writer, by: u32| call(writer, by, ANY, QUIET | CONNECTS, 0, 0);
    check(|writer| (connect(writer, 1), read(writer, BACK)).1, expect![""]);
    check(|writer| (connect(writer, 2), read(writer, BACK)).1, expect!["T1 feeds 1; T2 waits 1"]);
    // The other end comes from `accept`.
    check(|writer| (connect(writer, 1), read(writer, 0)).1, expect!["T1 feeds 1; T2 waits 1"]);
}

#[test]
fn what_is_done_before_there_are_threads_closes_nothing() {
    let mut writer = Writer::scheduled();
    let pipe = u64::from(FIRST_OBJECT);
    writer.text(table::CHANNEL, &[pipe], "pipe");
    writer.text(table::CHANNELS, &[ANY, pipe | u64::from(direction::BOTH) << 32], "");
    writer.push(0, kind::BEGIN, 0, 0, &[0x7f00_0000_0000, 0x7f00_0010_0000]);
    call(&mut writer, 0, ANY, QUIET, 0, 0);
    writer.push(0, kind::FORK, 0, 0, &[1]);
    writer.push(1, kind::BEGIN, 0, 0, &[0x7f00_0020_0000, 0x7f00_0030_0000]);
    call(&mut writer, 0, ANY, QUIET | CONNECTS, 0, 0);
    call(&mut writer, 0, ANY, WRITE, 1, 1);
    call(&mut writer, 1, ANY, READ | WAITS, 1, 1);
    expect!["T0 feeds 1; T1 waits 1"].assert_eq(&shown(&import(&writer.bytes())));
    call(&mut writer, 0, ANY, QUIET, 0, 0);
    expect!["T0 feeds 1; T1 waits 1; T0 feeds all"].assert_eq(&shown(&import(&writer.bytes())));
}

#[test]
fn who_looks_waits_for_what_it_finds() {
    // The first byte is taken before it looks.
    check(
        |writer| {
            call(writer, 1, SURE, WRITE, 1, 1);
            call(writer, 2, ANY, READ | WAITS, 1, 1);
            call(writer, 1, SURE, WRITE, 1, 1);
            call(writer, 2, PIPE, LOOKS | WAITS, PIPE, 1);
            call(writer, 2, ANY, READ | WAITS, 1, 1);
        },
        expect!["T1 feeds 1; T2 waits 1; T1 feeds 2 3; T2 waits 3; T2 waits 2"],
    );
    // The end of the stream, a wait that never ends, and one that fails.
    check(
        |writer| {
            enter(writer, 0, PIPE, LOOKS | WAITS, PIPE);
            enter(writer, 2, PIPE, LOOKS | WAITS, PIPE);
            call(writer, 1, ANY, QUIET, 0, 0);
            leave(writer, 2, 1);
            call(writer, 2, PIPE, LOOKS | WAITS, PIPE, -1);
            call(writer, 2, PIPE, LOOKS, PIPE, 0);
        },
        expect!["T0 waits -; T2 waits -; T1 feeds all"],
    );
    // Nothing explains why it came back.
    check(|writer| call(writer, 2, PIPE, LOOKS | WAITS, PIPE, 1), expect![""]);
}

#[test]
fn who_looks_at_several_waits_for_all_that_is_ever_put_in() {
    check(
        |writer| {
            call(writer, 1, SURE, WRITE, 1, 1);
            call(writer, 2, TWO, LOOKS | WAITS, EITHER, 1);
            call(writer, 2, ANY, READ | WAITS, 1, 1);
        },
        expect!["T1 feeds 1 all; T2 waits -; T2 waits 1"],
    );
    // Something else may have put bytes into one of them.
    check(
        |writer| {
            call(writer, 1, SURE, WRITE, 1, 1);
            call(writer, 2, TWO, LOOKS | WAITS, EITHER, 1);
            call(writer, 1, TWO, 0, 0, 0);
        },
        expect![""],
    );
}
