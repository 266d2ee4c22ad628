//! Recordings made in memory, and what becomes of them.

mod code;
mod cut;
mod damage;
mod feeds;
mod free;
mod handed;
mod scheduled;
mod writer;

use expect_test::Expect;
use foretrace_trace::validate::validate;
use foretrace_trace::{EventId, Trace, binary, text};

use crate::parse;

/// Imports, and checks what holds for every import.
fn import(bytes: &[u8]) -> Trace {
    let trace = parse(bytes, None).unwrap_or_else(|error| panic!("{error}"));
    check_trace(&trace);
    trace
}

fn check_trace(trace: &Trace) {
    if let Err(invalid) = validate(trace) {
        panic!("{invalid}\n{}", text::print(trace));
    }
    assert_eq!(&binary::decode(&binary::encode(trace).unwrap()).unwrap(), trace);
    for thread in trace.thread_ids() {
        let ordinals = trace.thread_events(thread).iter().filter_map(|&event| trace.ordinal(event));
        assert!(ordinals.is_sorted(), "ordinals of {thread:?}");
    }
}

fn check(bytes: &[u8], expected: Expect) {
    let trace = import(bytes);
    let text = text::print(&trace);
    expected.assert_eq(text.strip_prefix("foretrace-trace 1\n").unwrap());
}

fn ordinals(trace: &Trace) -> Vec<Option<u32>> {
    (0..trace.len()).map(|event| trace.ordinal(EventId::from(event))).collect()
}
