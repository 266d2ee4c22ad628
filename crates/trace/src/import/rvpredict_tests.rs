//! Small traces of RV-Predict, record by record.

use super::{Record, Texts, merge, parse_records};
use crate::provenance::{Provenance, Repair};
use crate::{MemoryOrder, Mode, Op, Patience, Request, Trace};

/// Threads, types, addresses and values, in the order of their ids.
fn import(records: &[(i64, u8, u64, u64)]) -> Result<Trace, String> {
    let records = records.iter().enumerate().map(|(id, &(thread, kind, address, value))| Record {
        id: id as i64,
        thread,
        location: 1,
        address,
        value,
        kind,
    });
    let mut locations = 1i64.to_le_bytes().to_vec();
    locations.extend(b"fn:main;file:a.c;line:3\0");
    let locations = Texts::parse(&locations).unwrap();
    merge(records.collect(), &Texts::parse(&[]).unwrap(), &locations)
        .map_err(|error| error.to_string())
}

fn ops(trace: &Trace) -> Vec<Op> {
    trace.events().map(|(_, event)| event.op).collect()
}

#[test]
fn values_are_kept_and_sizes_follow_from_them() {
    let trace = import(&[(1, 1, 7, 5), (1, 0, 7, 5), (1, 15, 0, 0), (1, 2, 8, 1)]).unwrap();
    let ops_of_trace = ops(&trace);
    let Op::Write { at, value: Some(5), order: MemoryOrder::Plain } = ops_of_trace[0] else {
        panic!("{ops_of_trace:?}")
    };
    assert_eq!((at.offset, at.size), (0, 1));
    assert!(matches!(ops_of_trace[2], Op::Read { order: MemoryOrder::SeqCst, .. }));
    assert_eq!(trace.objects().iter().collect::<Vec<_>>(), ["0x7", "0x8"]);
    assert_eq!(trace.locations().iter().collect::<Vec<_>>(), ["fn:main;file:a.c;line:3"]);
    assert!(trace.provenance().is_empty());

    let wide = import(&[(1, 1, 7, 256), (1, 4, 7, 9)]).unwrap();
    assert!(matches!(wide.op(0usize.into()), Op::Write { at, .. } if at.size == 8));
    assert!(matches!(wide.op(1usize.into()), Op::Rmw { read: None, written: None, .. }));
    assert_eq!(wide.provenance(), [(Repair::AccessWithoutSize.into(), 2)]);
}

#[test]
fn requests_take_the_mode_of_what_follows() {
    let of = |records: &[(i64, u8, u64, u64)]| ops(&import(records).unwrap())[0];
    let request = |mode| Op::Request(Request::Acquire(crate::LockId(0), mode));
    assert_eq!(of(&[(1, 17, 7, 0), (1, 5, 7, 0)]), request(Mode::Exclusive));
    assert_eq!(of(&[(1, 17, 7, 0), (2, 0, 1, 0), (1, 7, 7, 0)]), request(Mode::Shared));
    assert_eq!(of(&[(1, 17, 7, 0)]), request(Mode::Exclusive));
    assert_eq!(of(&[(1, 17, 7, 0), (2, 7, 7, 0)]), Op::External);
}

#[test]
fn a_return_behind_a_request_shows_that_the_thread_went_on() {
    let trace = import(&[(1, 15, 0, 0), (1, 17, 7, 0), (1, 16, 0, 0), (1, 16, 0, 0)]).unwrap();
    assert_eq!(ops(&trace).len(), 2);
    assert_eq!(ops(&trace)[1], Op::External);
}

#[test]
fn a_wait_stays_behind_everything_before_it() {
    let trace = import(&[
        (1, 5, 7, 0),
        (1, 5, 7, 0),
        (1, 9, 7, 0),
        (2, 5, 7, 0),
        (2, 6, 7, 0),
        (1, 10, 7, 0),
        (1, 6, 7, 0),
        (1, 6, 7, 0),
    ])
    .unwrap();
    let ops = ops(&trace);
    let lock = crate::LockId(0);
    let release = Op::Release { lock, mode: Mode::Exclusive };
    let acquire = Op::Acquire { lock, mode: Mode::Exclusive, patience: Patience::Blocking };
    assert_eq!(ops[2..4], [release, release]);
    assert_eq!(ops[4..6], [acquire, release]);
    let Op::Read { at, value: Some(1), .. } = ops[6] else { panic!("{ops:?}") };
    assert_eq!(trace.initial(), [(at, 0)]);
    assert_eq!(ops[7..9], [acquire, acquire]);
}

#[test]
fn a_read_that_missed_a_racing_write_is_put_before_it() {
    let repair = Provenance::from(Repair::RacingAccesses);
    let trace = import(&[(1, 1, 7, 2), (1, 1, 7, 0), (1, 15, 0, 0), (2, 0, 7, 2)]).unwrap();
    let values = ops(&trace).into_iter().map(|op| match op {
        Op::Read { value, .. } => ("read", value),
        Op::Write { value, .. } => ("write", value),
        op => panic!("{op:?}"),
    });
    let expected = [("write", Some(2)), ("read", Some(2)), ("write", Some(0))];
    assert_eq!(values.collect::<Vec<_>>(), expected);
    assert_eq!(trace.provenance(), [(repair.clone(), 1)]);

    // Behind the end of a wait everything stays, and a lock's own memory explains nothing.
    let wait =
        [(3, 5, 9, 0), (3, 9, 9, 0), (1, 1, 7, 2), (1, 1, 7, 0), (3, 10, 9, 0), (2, 0, 7, 2)];
    let lock = [(1, 1, 7, 2), (1, 1, 7, 0), (2, 0, 7, 2), (2, 5, 7, 0)];
    for records in [&wait[..], &lock] {
        let trace = import(records).unwrap();
        let facts = trace.provenance();
        assert!(facts.iter().all(|(fact, _)| *fact != repair), "{facts:?}");
    }
}

#[test]
fn defects_are_errors() {
    for (records, message) in [
        (&[(1, 5, 7, 0), (2, 5, 7, 0)][..], "at event 1, T2 acquires 0x7, which T1 holds, but"),
        (&[(1, 7, 7, 0), (2, 7, 7, 0), (3, 5, 7, 0)], "at event 2, T3 acquires 0x7, which T"),
        (&[(1, 6, 7, 0)], "at event 0, T1 gives up 0x7, which it does not hold, but"),
        (&[(1, 5, 7, 0), (2, 6, 7, 0)], "at event 1, T2 gives up 0x7"),
        (&[(1, 9, 7, 0)], "at event 0, T1 gives up 0x7"),
        (&[(1, 10, 7, 0)], "at event 0, T1 ends a wait, but it has not begun one"),
        (&[(1, 5, 7, 0), (1, 9, 7, 0), (1, 0, 1, 0)], "at event 2, T1 goes on, but it waits"),
        (&[(2, 0, 1, 0), (1, 11, 2, 0)], "at event 1, T1 starts T2, which is known already"),
        (&[(1, 11, 2, 0), (1, 11, 2, 0)], "at event 1, T1 starts T2, which is known already"),
        (&[(1, 11, 2, 0), (1, 12, 2, 0), (2, 0, 1, 0)], "at event 1, T1 joins T2, which goes on"),
        (&[(1, 13, 2, 0)], "event 0: class initialisation (type 13) is Java's"),
        (&[(1, 18, 2, 0)], "event 0 of type 18; expected a type from 0 to 17"),
    ] {
        let error = import(records).unwrap_err();
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn lost_and_doubled_events_are_errors() {
    let record = |id: i64| Record { id, thread: 1, location: 0, address: 1, value: 0, kind: 0 };
    let none = || Texts::parse(&[]).unwrap();
    assert!(merge(vec![record(1), record(2)], &none(), &none()).is_ok());
    assert!(merge(vec![record(1), record(3)], &none(), &none()).is_err());
    assert!(merge(vec![record(1), record(1)], &none(), &none()).is_err());
    assert!(merge(vec![record(i64::MAX), record(i64::MIN)], &none(), &none()).is_err());

    let bytes = |id: i64| {
        let mut bytes = id.to_le_bytes().to_vec();
        bytes.resize(37, 0);
        bytes
    };
    let mut records = Vec::new();
    assert!(parse_records(&[bytes(1), bytes(2)].concat(), &mut records).is_ok());
    let backwards = parse_records(&[bytes(2), bytes(1)].concat(), &mut records).unwrap_err();
    assert!(backwards.to_string().starts_with("byte 37: event 1 follows event 2"));
    for length in 1..37 {
        assert!(parse_records(&bytes(1)[..length], &mut records).is_err());
    }
}
