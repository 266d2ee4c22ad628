//! Free-running recordings: small programs run in random interleavings, and only what each thread
//! knows is recorded.

use foretrace_recording::record::{head, kind};
use foretrace_testing::Random;
use foretrace_trace::provenance::{Private, Provenance, Taken};
use foretrace_trace::{Deadline, Op, ThreadId};

use super::writer::{M, Writer, X};
use super::*;
use crate::chunks;
use crate::order::Order;
use crate::records::{Limit, for_each};

/// What a thread of a small program does: on variables 0 to 2, or the lock.
#[derive(Clone, Copy)]
enum Do {
    Load(u64, u8),
    Store(u64, u8, u64),
    Add(u64),
    Lock,
    Unlock,
}

fn program(random: &mut Random, length: usize) -> Vec<Do> {
    let mut program = Vec::new();
    let mut locked = false;
    for _ in 0..length {
        let address = X + 4 * random.below(3) as u64;
        let size = random.pick(&[1, 4, 4, 4]);
        program.push(match random.below(12) {
            0 if locked => {
                locked = false;
                Do::Unlock
            }
            0 => {
                locked = true;
                Do::Lock
            }
            1 => Do::Add(address),
            2..7 => Do::Load(address, size),
            _ => Do::Store(address, size, random.below(3) as u64),
        });
    }
    if locked {
        program.push(Do::Unlock);
    }
    program
}

/// Runs the threads in a random interleaving; returns the recording.
pub(super) fn run(random: &mut Random, threads: usize, length: usize) -> Writer {
    let mut writer = Writer::free();
    writer.threads(threads as u32);
    let programs: Vec<Vec<Do>> = (0..threads).map(|_| program(random, length)).collect();
    let mut at = vec![0; threads];
    let mut memory = [0u8; 16];
    let mut holder = None;
    loop {
        let able = |&thread: &usize| match programs[thread].get(at[thread]) {
            None => false,
            Some(Do::Lock) => holder.is_none(),
            Some(_) => true,
        };
        let able: Vec<usize> = (0..threads).filter(able).collect();
        if able.is_empty() {
            break;
        }
        let thread = random.pick(&able);
        let number = thread as u32;
        let bytes = |address: u64, size: u8| {
            (address - X) as usize..(address - X) as usize + usize::from(size)
        };
        let value =
            |memory: &[u8]| memory.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        match programs[thread][at[thread]] {
            Do::Load(address, size) => {
                let seen = value(&memory[bytes(address, size)]);
                writer.push(number, kind::LOAD, size, 0, &[address, seen]);
            }
            Do::Store(address, size, stored) => {
                memory[bytes(address, size)]
                    .copy_from_slice(&stored.to_le_bytes()[..usize::from(size)]);
                writer.push(number, kind::STORE, size, 0, &[address, stored]);
            }
            Do::Add(address) => {
                let seen = value(&memory[bytes(address, 4)]);
                let stored = (seen + 1) & 0xffff_ffff;
                memory[bytes(address, 4)].copy_from_slice(&stored.to_le_bytes()[..4]);
                writer.push(number, kind::RMW, 4 | 5 << 4, 0, &[address, seen, stored]);
            }
            Do::Lock => {
                holder = Some(thread);
                writer.push(number, kind::ACQUIRE, 0, 0, &[M]);
            }
            Do::Unlock => {
                holder = None;
                writer.push(number, kind::RELEASE, 0, 0, &[M]);
            }
        }
        at[thread] += 1;
    }
    writer
}

fn unexplained(trace: &Trace) -> u64 {
    let is_read = |fact: &Provenance| matches!(fact, Provenance::UnknownWriter { .. });
    let reads = trace.provenance().iter().filter(|(fact, _)| is_read(fact));
    reads.map(|(_, count)| count).sum()
}

/// Every event is there, in program order; atomics and locks follow each other as they did.
fn check_order(trace: &Trace) {
    check_trace(trace);
    for thread in trace.thread_ids() {
        let ordinals: Vec<u32> = trace
            .thread_events(thread)
            .iter()
            .map(|&event| trace.ordinal(event).unwrap())
            .collect();
        assert!(ordinals.is_sorted_by(|one, next| one < next));
    }
    let is_left_out = |fact: &Provenance| match fact {
        Provenance::LeftOut(_) => true,
        Provenance::Private(what) => *what == Private::Block,
        Provenance::Taken(what) => *what == Taken::ThreadLostInWait,
        _ => false,
    };
    let facts = trace.provenance();
    assert!(!facts.iter().any(|(fact, _)| is_left_out(fact)), "{facts:?}");
}

/// Every record once, and stamped ones in the order of their stamps.
fn check_stamps(bytes: &[u8]) {
    let recording = chunks::Recording::parse(bytes, Deadline::NEVER).unwrap();
    let order = Order::find(&recording, Deadline::NEVER).unwrap();
    let mut stamps = Vec::new();
    for_each(&recording, &order, Limit::ALL, |_, record| {
        stamps.extend(record.stamp());
        Ok(())
    })
    .unwrap();
    assert_eq!(stamps, (1..=stamps.len() as u64).collect::<Vec<_>>());
}

fn share(threads: usize, length: usize, seeds: u64) -> (u64, u64) {
    let (mut explained, mut all) = (0, 0);
    for seed in 1..=seeds {
        let mut random = Random::new(seed * 0x9e37_79b9 + length as u64);
        let bytes = run(&mut random, threads, length).bytes();
        check_stamps(&bytes);
        let trace = import(&bytes);
        check_order(&trace);
        all += 1;
        explained += u64::from(unexplained(&trace) == 0);
    }
    (explained, all)
}

#[test]
fn small_runs_are_explained() {
    for (threads, length) in [(2, 4), (2, 8), (3, 6), (2, 16), (4, 5), (3, 12)] {
        let (explained, all) = share(threads, length, 600);
        println!("{threads} threads, {length} operations: {explained} of {all}");
        assert!(explained * 100 >= all * 99, "{threads} × {length}: {explained} of {all}");
    }
}

#[test]
fn long_runs_are_valid_and_mostly_explained() {
    let (explained, all) = share(3, 60, 40);
    println!("3 threads, 60 operations: {explained} of {all}");
    for seed in 1..8 {
        let trace = import(&run(&mut Random::new(seed), 4, 400).bytes());
        check_order(&trace);
        let reads = trace.ops().filter(|(_, op)| matches!(op, Op::Read { .. })).count() as u64;
        println!("seed {seed}: {} of {reads} reads unexplained", unexplained(&trace));
        assert!(unexplained(&trace) * 10 < reads);
    }
}

#[test]
fn a_load_pulls_the_store_that_it_saw() {
    let mut writer = Writer::free();
    writer.threads(2);
    // Thread 1 stored before thread 0 loaded, but its window ends later.
    writer.store(1, 0, X, 7);
    writer.load(0, 0, X, 7);
    writer.push(0, kind::ACQUIRE, 0, 0, &[M]).push(0, kind::RELEASE, 0, 0, &[M]);
    writer.push(1, kind::ACQUIRE, 0, 0, &[M]).push(1, kind::RELEASE, 0, 0, &[M]);
    let trace = import(&writer.bytes());
    assert_eq!(unexplained(&trace), 0);
    let accesses: Vec<ThreadId> =
        trace.accesses().map(|(event, _)| trace.thread_of(event)).collect();
    let name = |thread: ThreadId| trace.name(thread);
    assert_eq!(accesses.into_iter().map(name).collect::<Vec<_>>(), ["T1", "T0"]);
}

#[test]
fn a_value_that_nobody_stored_stays_unexplained() {
    let mut writer = Writer::free();
    writer.threads(2);
    writer.store(0, 0, X, 1).push(0, kind::ACQUIRE, 0, 0, &[M]).push(0, kind::RELEASE, 0, 0, &[M]);
    writer.push(1, kind::ACQUIRE, 0, 0, &[M]).push(1, kind::RELEASE, 0, 0, &[M]).load(1, 0, X, 9);
    let trace = import(&writer.bytes());
    assert_eq!(unexplained(&trace), 1);
    check_order(&trace);
}

#[test]
fn what_threads_did_before_the_exit_is_kept() {
    let mut writer = Writer::free();
    writer.threads(2);
    writer.store(0, 0, X, 1).store(1, 0, X, 2).load(1, 0, X, 2);
    writer.push(0, kind::EXIT, 0, 0, &[0]);
    let trace = import(&writer.bytes());
    assert_eq!(unexplained(&trace), 0);
    assert_eq!(trace.accesses().count(), 3);
    assert_eq!(trace.op(EventId::from(trace.len() - 1)), Op::Exit);
}

#[test]
fn stamps_that_do_not_grow_are_an_error() {
    let mut writer = Writer::free();
    writer.threads(1);
    writer.record(0, &[head(kind::END, 0, 0), 1]);
    let error = parse(&writer.bytes(), None).unwrap_err().to_string();
    assert!(error.contains("stamp 1 after 1; expected stamps that grow"), "{error}");
}
