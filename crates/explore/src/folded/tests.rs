//! Small programs that repeat themselves.

use std::fmt::Write;

use foretrace_model::Skeleton;
use foretrace_trace::{EventId, Op, Trace, text};
use foretrace_verdict::Model;

use super::fold;
use crate::{Limits, Question};

/// Which questions are impossible: whether any assertion fails, and whether plain accesses race.
fn refuted(text: &str) -> [bool; 2] {
    let trace: Trace = text::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let skeleton = Skeleton::new(&trace, Model::Symbolic);
    let is_plain = |event: &EventId| trace.access(*event).is_some_and(|access| !access.atomic);
    let mut groups: Vec<Vec<EventId>> = Vec::new();
    let mut assertions = Vec::new();
    for thread in trace.thread_ids() {
        let events = trace.thread_events(thread).iter().copied();
        assertions.extend(events.clone().filter(|&e| matches!(trace.op(e), Op::Assert { .. })));
        groups.push(events.filter(is_plain).collect());
    }
    groups.retain(|group| !group.is_empty());
    let mut parts = Vec::new();
    for (at, one) in groups.iter().enumerate() {
        parts.extend(groups[at + 1..].iter().map(|other| (&one[..], &other[..])));
    }
    let questions = [Question::Assertion(&assertions), Question::Race(parts)];
    let folded = fold(&skeleton, &questions, &Limits::default(), true);
    [folded.impossible[0], folded.impossible[1]]
}

/// Two producers and two consumers around a buffer with two places, in so many rounds. `guard`: the
/// semaphore that consumers wait for.
fn buffer(rounds: usize, guard: &str) -> String {
    let mut out = String::from("init in = 0\ninit out = 0\ninit b0 = 0\ninit b1 = 0\n");
    out.push_str("semaphore empty = 2\nsemaphore full = 0\nsemaphore other = 99\n");
    for turn in 0..2 * rounds {
        let (thread, at) = (turn % 2, turn % 2);
        let (item, next) = (turn + 1, (turn + 1) % 2);
        write!(
            out,
            "p{thread}: semwait empty @p:1\np{thread}: acquire m @p:2\n\
             p{thread}: i = read in : {at} @p:3\np{thread}: branch i == {at} : true @p:4\n\
             p{thread}: write b{at} = {item} @p:5\np{thread}: write in = 1 - i : {next} @p:6\n\
             p{thread}: release m @p:7\np{thread}: sempost full @p:8\n\
             c{thread}: semwait {guard} @c:1\nc{thread}: acquire m @c:2\n\
             c{thread}: o = read out : {at} @c:3\nc{thread}: branch o == {at} : true @c:4\n\
             c{thread}: v = read b{at} : {item} @c:5\nc{thread}: assert v != 0 : true @c:6\n\
             c{thread}: write b{at} = 0 @c:7\nc{thread}: write out = 1 - o : {next} @c:8\n\
             c{thread}: release m @c:9\nc{thread}: sempost empty @c:10\n"
        )
        .unwrap();
    }
    out
}

#[test]
fn a_buffer_is_safe_however_often_it_is_used() {
    assert_eq!(refuted(&buffer(40, "full")), [true, true]);
    assert_eq!(refuted(&buffer(40, "other")), [false, true]);
}

/// Threads that take an exchanged flag as a lock, and count under it.
fn counted(rounds: usize, looks: bool) -> String {
    let mut out = String::from("init lock = 0\ninit x = 0\ninit y = 0\n");
    for turn in 0..2 * rounds {
        let (thread, after) = (turn % 2, turn + 1);
        writeln!(out, "t{thread}: a = rmw lock : 0 -> 1 : 1 @t:1").unwrap();
        if looks {
            writeln!(out, "t{thread}: branch a == 0 : true @t:2").unwrap();
        }
        writeln!(
            out,
            "t{thread}: b = read x : {turn} @t:3\nt{thread}: c = read y : {turn} @t:4\n\
             t{thread}: assert b == c : true @t:5\n\
             t{thread}: write x = b + 1 : {after} @t:6\n\
             t{thread}: write y = c + 1 : {after} @t:7\nt{thread}: write lock = 0 atomic @t:8"
        )
        .unwrap();
    }
    out
}

#[test]
fn who_counts_is_unfolded() {
    assert_eq!(refuted(&counted(10, true)), [true, true]);
    assert_eq!(refuted(&counted(10, false)), [false, false]);
    // Too many numbers to prove the assertion, but not the lock.
    assert_eq!(refuted(&counted(600, true)), [false, true]);
}
