//! Recordings of which there is time for a part only.

use std::time::{Duration, Instant};

use foretrace_recording::record::kind;
use foretrace_testing::Random;
use foretrace_trace::provenance::Provenance;
use foretrace_trace::{Deadline, Op};

use super::writer::{M, Writer, X};
use super::*;
use crate::records::Limit;
use crate::{chunks, emit, order, parse_until, survey, tables};

/// The trace of the first records, of which a survey knows more.
fn import_part(bytes: &[u8], surveyed: u64, emitted: u64) -> Trace {
    let recording = chunks::Recording::parse(bytes, Deadline::NEVER).unwrap();
    let tables = tables::Tables::parse(&recording).unwrap();
    let order = order::Order::find(&recording, Deadline::NEVER).unwrap();
    let limit = |records: u64| Limit { records, deadline: Deadline::NEVER };
    let survey = survey::Survey::of(&recording, &tables, &order, limit(surveyed)).unwrap();
    let emit = emit::Emit::new(&recording, &tables, &survey, None);
    let (trace, _) = emit.trace(&order, limit(emitted)).unwrap();
    check_trace(&trace);
    trace
}

fn is_cut(trace: &Trace) -> bool {
    let is_cut = |(fact, _): &(_, u64)| matches!(fact, Provenance::CutByBudget { .. });
    trace.provenance().iter().any(is_cut)
}

#[test]
fn a_part_is_a_prefix() {
    for seed in 1..200 {
        let mut random = Random::new(seed);
        let bytes = super::free::run(&mut random, 3, 20).bytes();
        assert!(!is_cut(&import(&bytes)));
        let surveyed = random.below(150) as u64;
        let all = import_part(&bytes, surveyed, u64::MAX);
        let part = import_part(&bytes, surveyed, random.below(100) as u64);
        assert!(part.len() <= all.len() && (is_cut(&part) || part.len() == all.len()));
        for ((_, one), (_, other)) in part.events().zip(all.events()) {
            let shown = |trace: &Trace, event: foretrace_trace::Event| {
                (trace.name(event.thread).to_string(), event.op)
            };
            // The last wait of a thread may end without a signal.
            if !matches!(one.op, Op::Wait { .. }) {
                assert_eq!(shown(&part, one), shown(&all, other), "seed {seed}");
            }
        }
    }
}

#[test]
fn nobody_is_stuck_where_the_recording_was_cut() {
    let mut writer = Writer::scheduled();
    writer.threads(2);
    writer.push(1, kind::ACQUIRE, 0, 0, &[M]).push(1, kind::WAIT, 0, 0, &[X, M]);
    writer.push(0, kind::SIGNAL, 0, 0, &[X]).push(1, kind::WAKE, 0, 0, &[X, M]);
    let bytes = writer.bytes();
    let all = import(&bytes);
    let is_wait = |(event, _): &(_, Op)| matches!(all.op(*event), Op::Wait { .. });
    let (wait, _) = all.ops().find(is_wait).unwrap();
    assert!(matches!(all.op(wait), Op::Wait { timed: false, .. }));
    let part = import_part(&bytes, u64::MAX, 6);
    assert!(is_cut(&part) && matches!(part.op(wait), Op::Wait { timed: true, .. }));
}

#[test]
fn a_deadline_that_has_passed_leaves_a_trace() {
    for mut writer in [Writer::scheduled(), Writer::free()] {
        writer.threads(2);
        for value in 0..200_000 {
            let thread = (value / 100 % 2) as u32;
            writer.store(thread, 0, X, value).push(thread, kind::ACQUIRE, 0, 0, &[M]);
            writer.push(thread, kind::RELEASE, 0, 0, &[M]);
        }
        let bytes = writer.bytes();
        let begin = Instant::now();
        let part = parse_until(&bytes, None, Deadline::at(begin)).unwrap();
        let took = begin.elapsed();
        check_trace(&part);
        assert!(is_cut(&part) && part.len() < 100_000, "{} events", part.len());
        assert!(took < Duration::from_secs(5), "{took:?}");
    }
}
