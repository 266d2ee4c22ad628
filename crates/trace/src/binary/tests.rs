//! There and back, and every way to damage a small file.

use foretrace_testing::Random;

use super::bytes::Cursor;
use super::sections::{MAX_CONTENT, Tag, header, section_header};
use super::tables::take_expression;
use super::{BinaryError, decode, encode};
use crate::expr::nodes::{UNARY, encode as put_node};
use crate::expr::{BinaryOp, Expr, UnaryOp};
use crate::provenance::Taken;
use crate::*;

/// Events of every kind, with every table in use.
fn full_trace() -> Trace {
    let mut builder = Trace::builder();
    let thread = builder.thread("main");
    let child = builder.thread("worker");
    let object = builder.object("x");
    let lock = builder.lock("m");
    let cond = builder.cond("c");
    let sem = builder.semaphore("s");
    let barrier = builder.barrier("b");
    let name = builder.name("r1");
    let places = [builder.location("a.c:1"), builder.location("a.c:2")];
    let at = Place { object, offset: 4, size: 4 };
    let (mode, patience) = (Mode::Exclusive, Patience::Blocking);
    let order = MemoryOrder::SeqCst;
    let ops = [
        Op::Begin,
        Op::Alloc { object, size: 8, address: Some(0x7fff_0000_1000) },
        Op::Read { at, value: Some(7), order: MemoryOrder::Plain },
        Op::Write { at, value: None, order: MemoryOrder::Release },
        Op::Rmw { at, read: Some(1), written: Some(u64::MAX), order },
        Op::Rmw { at, read: None, written: None, order },
        Op::Branch { taken: true },
        Op::Assert { holds: false },
        Op::Assume { holds: true },
        Op::Acquire { lock, mode: Mode::Shared, patience: Patience::Timed },
        Op::AcquireFailed { lock, mode, patience: Patience::Try },
        Op::Release { lock, mode: Mode::Shared },
        Op::Acquire { lock, mode, patience },
        Op::Wait { cond, lock, timed: true },
        Op::Wake { cond, lock, reason: WakeReason::TimedOut },
        Op::Signal { cond },
        Op::Broadcast { cond },
        Op::SemPost { sem },
        Op::SemWait { sem, patience },
        Op::SemWaitFailed { sem, patience: Patience::Try },
        Op::Arrive { barrier },
        Op::Leave { barrier },
        Op::Request(Request::Acquire(lock, mode)),
        Op::Request(Request::SemWait(sem)),
        Op::Request(Request::Join(child)),
        Op::Fork { child },
        Op::Join { child },
        Op::RegionBegin,
        Op::RegionEnd,
        Op::Fence { order },
        Op::External,
        Op::Let,
        Op::Free { object },
        Op::Destroy { lock },
        Op::End,
        Op::Exit,
    ];
    for (number, op) in ops.into_iter().enumerate() {
        let location = (number % 3 > 0).then(|| places[number % 2]);
        builder.push(Event { thread, op, location });
    }
    builder.bind(EventId(2), name);
    let sum = Expr::Binary(BinaryOp::Add, Expr::Name(name).into(), Expr::Literal(300).into());
    let negated = Expr::Unary(UnaryOp::Not, sum.clone().into());
    builder.express(EventId(3), sum.clone());
    builder
        .express(EventId(6), Expr::IfThenElse(negated.into(), sum.into(), Expr::Literal(0).into()));
    let all = BinaryOp::ALL[..18]
        .iter()
        .fold(Expr::Literal(1), |left, &op| Expr::Binary(op, left.into(), Expr::Name(name).into()));
    let all = UNARY.iter().fold(all, |operand, &op| Expr::Unary(op, operand.into()));
    builder.express(EventId(7), all);
    builder.assume(EventId(7), Expr::Name(name));
    builder.set_dependences(Dependences::Unknown);
    builder.set_initial(at, 12);
    builder.set_lock_kind(lock, LockKind::Recursive);
    let plain = builder.lock("n");
    builder.set_lock_kind(plain, LockKind::Plain);
    builder.set_semaphore(sem, 3);
    builder.set_barrier(barrier, 2);
    builder.tell(Provenance::Other("repaired".to_string()), 5);
    builder.tell(Taken::BlockAsRegion, 2);
    builder.tell(Provenance::UnknownWriter { at: Some("a.c:1".to_string()) }, 300);
    builder.finish()
}

/// Events with ordinals and without, and benign places.
fn recorded_trace() -> Trace {
    let mut builder = Trace::builder();
    let threads = [builder.thread("T0"), builder.thread("T1")];
    let object = builder.object("x");
    for number in 0..60u32 {
        let thread = threads[number as usize / 7 % 2];
        let event = Event { thread, op: Op::RegionBegin, location: None };
        match number % 5 {
            0 => builder.push(event),
            1 => builder.push_recorded(event, u32::MAX - 1 - number, 255),
            _ => builder.push_recorded(event, 3 * number, 13),
        };
    }
    builder.declare_benign(Place { object, offset: 4, size: 4 }, "a counter: \"approximate\"");
    builder.declare_benign(Place { object, offset: 0, size: 1 }, "");
    builder.set_inputs((0..50).collect());
    builder.finish()
}

/// Calls on some channels, on none and on every one; with a function, and without.
fn calling_trace() -> Trace {
    let mut builder = Trace::builder();
    let thread = builder.thread("T0");
    let channels = ["pipe#1", "log", "clock"].map(|name| builder.channel(name));
    let functions = ["read", "write"].map(|name| builder.function(name));
    let directions = [Direction::Both, Direction::Gives, Direction::Takes];
    builder.set_delayed(channels[2]);
    builder.set_delayed(channels[1]);
    let all: Vec<_> = channels.into_iter().zip(directions).collect();
    let lists = [builder.channels(&all), builder.every_channel(), builder.channels(&[])];
    let last = builder.channels(&all[2..]);
    let by = [None, Some(functions[1]), None, Some(functions[0])];
    for (on, by) in lists.into_iter().chain([last]).zip(by) {
        for op in [Op::EnterCall { on, by }, Op::LeaveCall] {
            builder.push(Event { thread, op, location: None });
        }
    }
    builder.finish()
}

/// Calls that wait for something, with a piece of it and without, and one on the same channels that
/// does not.
fn waiting_trace() -> Trace {
    let mut builder = Trace::builder();
    let thread = builder.thread("T0");
    let [pipe, data, byte] = ["pipe", "data", "byte"].map(|name| builder.channel(name));
    let awaited = [None, Some(None), Some(Some(byte)), Some(Some(pipe))];
    for piece in awaited {
        let awaited = piece.map(|piece| Awaited { source: data, piece });
        let on = builder.channels_awaiting(&[(pipe, Direction::Both)], awaited);
        builder.push(Event { thread, op: Op::EnterCall { on, by: None }, location: None });
    }
    builder.finish()
}

/// Branches that must go as they went, for every reason, and with all that is known of them.
fn guarded_trace() -> Trace {
    let mut builder = Trace::builder();
    let thread = builder.thread("T0");
    for (number, fault) in ImplicitFault::ALL.into_iter().cycle().take(9).enumerate() {
        let op = Op::Branch { taken: true };
        let event = builder.push(Event { thread, op, location: None });
        let operation = (number % 3 > 0).then_some(u32::MAX - number as u32);
        let object = (number % 2 > 0).then_some((0x7fff_0000_0000 + number as u64, 1 << number));
        builder.fails_otherwise(event, Otherwise { fault, operation, object });
    }
    builder.finish()
}

/// Many events of a few threads, as a recorder would write them.
pub(super) fn long_trace(events: u32) -> Trace {
    let mut builder = Trace::builder();
    let threads: Vec<ThreadId> = (0..8).map(|at| builder.thread(&format!("t{at}"))).collect();
    let objects: Vec<ObjectId> = (0..5000).map(|at| builder.object(&format!("o{at}"))).collect();
    let places: Vec<LocationId> =
        (0..900).map(|at| builder.location(&format!("a.c:{at}"))).collect();
    let mut random = Random::new(1);
    for number in 0..events {
        let bits = (random.number() >> 33) as usize;
        let at =
            Place { object: objects[bits % 5000], offset: (bits as u32 >> 8 & 7) * 8, size: 8 };
        let value = Some(random.below_u64(1 << 16));
        let op = match bits % 3 {
            0 => Op::Write { at, value, order: MemoryOrder::Plain },
            _ => Op::Read { at, value, order: MemoryOrder::Plain },
        };
        let thread = threads[(number as usize / 50 + bits % 2) % 8];
        builder.push(Event { thread, op, location: Some(places[bits % 900]) });
    }
    builder.finish()
}

#[test]
fn every_kind_of_event_survives() {
    let trace = full_trace();
    assert_eq!(decode(&encode(&trace).unwrap()).unwrap(), trace);
    let recorded = recorded_trace();
    assert_eq!(decode(&encode(&recorded).unwrap()).unwrap(), recorded);
    let guarded = guarded_trace();
    assert_eq!(decode(&encode(&guarded).unwrap()).unwrap(), guarded);
    let calling = calling_trace();
    assert_eq!(decode(&encode(&calling).unwrap()).unwrap(), calling);
    let waiting = waiting_trace();
    assert_eq!(decode(&encode(&waiting).unwrap()).unwrap(), waiting);
    let empty = Trace::builder().finish();
    assert_eq!(decode(&encode(&empty).unwrap()).unwrap(), empty);
}

#[test]
fn branches_that_nobody_wrote_survive() {
    let text = "t: i = read n : 2\nt: branch i != 0 : true else null\nt: branch i == 2 : true else address 4294967294\nt: write a : 1\n";
    let trace = crate::text::parse(text).unwrap();
    let again = decode(&encode(&trace).unwrap()).unwrap();
    assert_eq!(again, trace);
    assert_eq!(again.guards_address(EventId(2)), Some(4294967294));
    assert_eq!(
        (
            again.guards_address(EventId(1)),
            again.otherwise(EventId(2)).and_then(|otherwise| otherwise.operation)
        ),
        (None, None)
    );
}

#[test]
fn several_blocks_survive() {
    for events in [1, 65_535, 65_536, 65_537, 200_000] {
        let trace = long_trace(events);
        assert_eq!(decode(&encode(&trace).unwrap()).unwrap(), trace);
    }
}

#[test]
fn long_tables_are_cut_into_pieces() {
    let mut builder = Trace::builder();
    for number in 0..30_000u64 {
        // Not repetitive, so that it does not shrink to nothing.
        builder.location(&format!("{:x}", u128::from(number).pow(7).wrapping_mul(0x9e37_79b9)));
        builder.object(&"x".repeat(number as usize / 100));
    }
    let trace = builder.finish();
    assert_eq!(decode(&encode(&trace).unwrap()).unwrap(), trace);
}

#[test]
fn equal_traces_are_equal_files() {
    assert_eq!(encode(&full_trace()).unwrap(), encode(&full_trace()).unwrap());
}

/// Kinds, details, operators and tags are numbers in files: if this checksum changes, old files are
/// read wrongly, and `VERSION` must change too.
#[test]
fn the_numbers_in_files_are_fixed() {
    let fixed = [
        (full_trace(), 440_221_229),
        (calling_trace(), 1_033_862_146),
        (waiting_trace(), 1_075_652_424),
    ];
    for (trace, expected) in fixed {
        let mut checksum = crc32fast::Hasher::new();
        for (tag, flags, content, stored) in take_apart(&encode(&trace).unwrap()) {
            checksum.update(&tag);
            match flags & 2 {
                0 => checksum.update(&stored),
                _ => checksum.update(&zstd::bulk::decompress(&stored, content).unwrap()),
            }
        }
        assert_eq!(checksum.finalize(), expected);
    }
}

/// Operators that came after the first version have numbers that it refuses.
#[test]
fn later_operators_have_numbers_of_their_own() {
    let read = |code: &[u8]| {
        let mut nodes = Vec::new();
        take_expression(Cursor::new(code, 0), code.len() as u64, 0, &mut nodes).map(|()| nodes)
    };
    let all = BinaryOp::ALL[18..]
        .iter()
        .fold(Expr::Literal(1), |left, &op| Expr::Binary(op, left.into(), Expr::Literal(2).into()));
    let all = all.zero_extended(1).sign_extended(63).zero_extended(63).sign_extended(32);
    let mut code = Vec::new();
    all.for_each_node(|node| put_node(&mut code, node));
    let expected = [
        &[0, 1, 0, 2, 50, 0, 2, 51, 0, 2, 52, 0, 2, 53, 0, 2, 54, 0, 2, 55, 0, 2, 56][..],
        &[24, 1, 25, 63, 24, 63, 25, 32],
    ];
    assert_eq!(code, expected.concat());
    assert_eq!(read(&code).unwrap(), all.nodes());
    for bits in [0, 64, 255] {
        assert!(read(&[0, 1, 24, bits]).unwrap_err().to_string().contains("a cast to"));
    }
    assert!(read(&[0, 1, 24]).is_err() && read(&[24, 8]).is_err() && read(&[0, 1, 26]).is_err());
}

#[test]
fn every_flipped_bit_is_noticed() {
    for trace in [full_trace(), recorded_trace(), calling_trace(), waiting_trace()] {
        let good = encode(&trace).unwrap();
        for at in 0..good.len() {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                assert!(decode(&bad).is_err(), "bit {bit} of byte {at}");
            }
        }
    }
}

#[test]
fn every_truncation_and_extension_is_noticed() {
    let good = encode(&full_trace()).unwrap();
    for length in 0..good.len() {
        assert!(decode(&good[..length]).is_err(), "length {length}");
    }
    assert!(decode(&[&good[..], &[0]].concat()).is_err());
    assert!(decode(&[&good[..], &good[16..]].concat()).is_err());
}

/// The sections of a file: tag, flags, and the stored bytes.
fn take_apart(file: &[u8]) -> Vec<([u8; 4], u8, usize, Vec<u8>)> {
    let mut sections = Vec::new();
    let mut at = 16;
    while at < file.len() {
        let long = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize;
        let (stored, content) = (long(at + 8), long(at + 16));
        let tag = file[at..at + 4].try_into().unwrap();
        sections.push((tag, file[at + 4], content, file[at + 32..at + 32 + stored].to_vec()));
        at += 32 + stored.next_multiple_of(8);
    }
    sections
}

fn put_together(sections: &[([u8; 4], u8, usize, Vec<u8>)]) -> Vec<u8> {
    let mut file = header().to_vec();
    for (tag, flags, content, stored) in sections {
        file.extend(section_header(Tag(*tag), *flags, stored, *content));
        file.extend(stored);
        file.resize(file.len().next_multiple_of(8), 0);
    }
    file
}

/// With correct checksums around it, the content itself must hold against any change: an error, or
/// a trace whose every event can be looked at.
#[test]
fn every_changed_byte_under_a_correct_checksum_is_handled() {
    let (errors, traces) = change_bytes(&full_trace());
    assert!(errors > 1000 && traces > 500, "{errors} errors, {traces} traces");
    let (errors, traces) = change_bytes(&recorded_trace());
    assert!(errors > 100 && traces > 100, "{errors} errors, {traces} traces");
    let (errors, traces) = change_bytes(&guarded_trace());
    assert!(errors > 100 && traces > 100, "{errors} errors, {traces} traces");
    let (errors, traces) = change_bytes(&calling_trace());
    assert!(errors > 100 && traces > 100, "{errors} errors, {traces} traces");
    let (errors, traces) = change_bytes(&waiting_trace());
    assert!(errors > 100 && traces > 50, "{errors} errors, {traces} traces");
}

fn change_bytes(trace: &Trace) -> (u32, u32) {
    let good = take_apart(&encode(trace).unwrap());
    assert!(good.iter().any(|section| section.0 == *b"EVTS"));
    let (mut errors, mut traces) = (0u32, 0u32);
    for number in 0..good.len() {
        // The content itself, so that the change is not one of zstd's frame.
        let mut plain = good.clone();
        let section = &mut plain[number];
        if section.1 & 2 != 0 {
            section.3 = zstd::bulk::decompress(&section.3, section.2).unwrap();
            section.1 &= !2;
        }
        assert!(decode(&put_together(&plain)).is_ok());
        for sections in [&good, &plain] {
            for at in 0..sections[number].3.len() {
                for change in [1, 2, 0x10, 0x80, 0xff] {
                    let mut bad = sections.clone();
                    bad[number].3[at] ^= change;
                    match decode(&put_together(&bad)) {
                        Ok(trace) => {
                            traces += 1;
                            look_at(&trace);
                        }
                        Err(_) => errors += 1,
                    }
                }
            }
        }
    }
    (errors, traces)
}

/// Uses every id and number of a trace.
fn look_at(trace: &Trace) {
    for (id, event) in trace.events() {
        trace.name(event.thread);
        if let Some(access) = event.op.access() {
            trace.name(access.at.object);
            assert!(access.at.end() >= access.at.offset);
        }
        if let Op::EnterCall { on, by } = event.op {
            if let Channels::Only(list) = trace.channels_of(on) {
                assert!(list.iter().all(|(channel, _)| channel.index() < trace.channels().len()));
            }
            if let Some(awaited) = trace.awaited(on) {
                let both = awaited.piece.into_iter().chain([awaited.source]);
                both.for_each(|channel| _ = trace.name(channel));
            }
            by.map(|by| trace.name(by));
        }
        trace.next(id);
        trace.previous(id);
        trace.binding(id).map(|name| trace.name(name));
        event.location.map(|location| trace.name(location));
    }
    assert_eq!(decode(&encode(trace).unwrap()).unwrap(), *trace);
    let _ = crate::validate::validate(trace);
}

/// Before facts had codes, files had sentences, which nothing here understands.
#[test]
fn sentences_of_old_files_are_refused() {
    let mut sections = take_apart(&encode(&Trace::builder().finish()).unwrap());
    let old = sections.iter_mut().find(|section| section.0 == *b"NOTE").unwrap();
    (old.2, old.3) = (9, b"\x01\x06mended\x04".to_vec());
    let error = decode(&put_together(&sections)).unwrap_err().to_string();
    assert!(error.contains("record the run again"), "{error}");
}

#[test]
fn unknown_sections_are_skipped_unless_critical() {
    let mut sections = take_apart(&encode(&full_trace()).unwrap());
    let end = sections.len() - 1;
    sections.insert(end, (*b"PROG", 0, 3, vec![1, 2, 3]));
    // The last section counts those before it.
    let count = sections[end + 1].3[8];
    sections[end + 1].3[8] = count + 1;
    assert_eq!(decode(&put_together(&sections)).unwrap(), full_trace());
    sections[end].1 = 1;
    let error = decode(&put_together(&sections)).unwrap_err();
    assert!(matches!(error, BinaryError::UnknownSection { tag, .. } if tag == "PROG"));
}

#[test]
fn absurd_numbers_allocate_nothing() {
    let good = take_apart(&encode(&full_trace()).unwrap());
    let end = good.len() - 1;
    let mut many = good.clone();
    many[end].3[..8].copy_from_slice(&(u64::MAX / 2).to_le_bytes());
    assert!(decode(&put_together(&many)).unwrap_err().to_string().contains("events announced"));
    let mut long = good.clone();
    long[0].2 = MAX_CONTENT + 1;
    assert!(decode(&put_together(&long)).unwrap_err().to_string().contains("the most is"));
    let mut stored = good;
    stored[0].2 = MAX_CONTENT;
    assert!(decode(&put_together(&stored)).is_err());
}

#[test]
fn other_files_are_told_apart() {
    assert!(matches!(decode(b""), Err(BinaryError::NotATrace)));
    assert!(matches!(decode(b"t1: read x"), Err(BinaryError::NotATrace)));
}

#[test]
fn a_deep_expression_is_refused_when_written() {
    let mut builder = Trace::builder();
    let thread = builder.thread("t");
    let event = builder.push(Event { thread, op: Op::Branch { taken: true }, location: None });
    let mut deep = Expr::Literal(1);
    for _ in 0..=crate::text::MAX_DEPTH {
        deep = Expr::Unary(UnaryOp::Neg, deep.into());
    }
    builder.express(event, deep);
    assert!(encode(&builder.finish()).is_err());
}
