//! Small traces, with the number of states that they need.

use std::fmt::Write;

use foretrace_model::Skeleton;
use foretrace_trace::{EventId, Op, Trace, text};
use foretrace_verdict::{Model, Violation};

use crate::{Answer, Limits, Options, Question, Reason, Report, Slices, explore};

/// Asks whether plain accesses race at all.
fn races(trace: &Trace, model: Model, options: &Options) -> Report {
    let is_plain = |event: &EventId| trace.access(*event).is_some_and(|access| !access.atomic);
    let mut groups: Vec<Vec<EventId>> = Vec::new();
    for thread in trace.thread_ids() {
        groups.push(trace.thread_events(thread).iter().copied().filter(is_plain).collect());
    }
    groups.retain(|group| !group.is_empty());
    let mut parts = Vec::new();
    for (at, one) in groups.iter().enumerate() {
        parts.extend(groups[at + 1..].iter().map(|other| (&one[..], &other[..])));
    }
    explore(&Skeleton::new(trace, model), &[Question::Race(parts)], options)
}

/// Threads that take tickets, wait for their turn, and increment a counter.
fn ticket_lock(threads: usize, rounds: u32) -> Trace {
    let mut out = String::from("init next = 0\ninit serving = 0\ninit x = 0\n");
    for ticket in 0..threads as u32 * rounds {
        let thread = ticket as usize % threads;
        let after = ticket + 1;
        writeln!(
            out,
            "t{thread}: a{ticket} = rmw next : {ticket} -> a{ticket} + 1 : {after}\n\
             t{thread}: b{ticket} = read serving : {ticket} atomic\n\
             t{thread}: branch a{ticket} == b{ticket} : true\n\
             t{thread}: c{ticket} = read x : {ticket}\n\
             t{thread}: write x = c{ticket} + 1 : {after}\n\
             t{thread}: write serving = a{ticket} + 1 : {after} atomic"
        )
        .unwrap();
    }
    text::parse(&out).unwrap_or_else(|error| panic!("{error}\n{out}"))
}

#[test]
fn a_ticket_lock_excludes() {
    let trace = ticket_lock(3, 4);
    let report = races(&trace, Model::Symbolic, &Options::default());
    assert_eq!(report.answers, [Answer::Impossible]);
    assert!(report.states < 60_000, "{}", report.states);
}

#[test]
fn what_is_cut_off_is_not_impossible() {
    let trace = ticket_lock(3, 4);
    let limits = Limits { states: 100, ..Limits::default() };
    let report = races(&trace, Model::Symbolic, &Options { limits, ..Options::default() });
    assert_eq!(report.answers, [Answer::GaveUp(Reason::States)]);
}

#[test]
fn critical_sections_are_one_step() {
    let mut out = String::from("init x = 0\ninit y = 0\n");
    for round in 0..40 {
        let thread = round % 2;
        writeln!(
            out,
            "t{thread}: acquire m\nt{thread}: a{round} = read x : {round}\n\
             t{thread}: write x = a{round} + 1 : {}\nt{thread}: release m",
            round + 1
        )
        .unwrap();
    }
    out.push_str("t0: write y = 1\nt1: read y : 1\n");
    let trace = text::parse(&out).unwrap();
    let options = Options { slices: Slices::Never, ..Options::default() };
    let report = races(&trace, Model::Symbolic, &options);
    assert!(matches!(report.answers[..], [Answer::Found { .. }]));
    // 21 places to be for each of the two threads, and who has the lock.
    assert!(report.states < 1_500, "{}", report.states);
}

#[test]
fn what_nobody_needs_is_not_explored() {
    let trace = ticket_lock(2, 3);
    let mut more = text::print(&trace);
    for thread in ["u", "v"] {
        for round in 0..10 {
            writeln!(more, "{thread}: k{round} = read serving : 6 atomic").unwrap();
            writeln!(more, "{thread}: branch k{round} >= 0 : true").unwrap();
        }
    }
    let watched = text::parse(&more).unwrap_or_else(|error| panic!("{error}\n{more}"));
    let options = Options { slices: Slices::Never, ..Options::default() };
    let [alone, watched] = [&trace, &watched].map(|trace| races(trace, Model::Symbolic, &options));
    assert_eq!(watched.answers, [Answer::Impossible]);
    assert_eq!(watched.states, alone.states);
}

#[test]
fn pairs_that_do_not_meet_are_explored_one_by_one() {
    let mut out = String::from("w: begin\np: begin\np: sempost s\nw: semwait s\nw: end\np: end\n");
    for pair in 0..4 {
        for thread in ["a", "b"] {
            for _ in 0..5 {
                let text =
                    format!("{thread}{pair}: acquire m{pair}\n{thread}{pair}: release m{pair}\n");
                out.push_str(&text);
            }
            writeln!(out, "{thread}{pair}: end").unwrap();
        }
    }
    let trace = text::parse(&out).unwrap_or_else(|error| panic!("{error}\n{out}"));
    let skeleton = Skeleton::new(&trace, Model::Symbolic);
    let wait = [EventId(3)];
    let report = explore(&skeleton, &[Question::Stuck(&wait)], &Options::default());
    assert_eq!(report.answers, [Answer::Impossible]);
    // Of each pair, 6 places to be for each of the two threads, and who has the lock.
    assert!(report.states < 4 * 120, "{}", report.states);
}

#[test]
fn a_failed_wait_comes_before_the_post() {
    let trace = "a: begin\nb: begin\nb: trysemwait s : fail\nb: write x = 1\n\
                 a: sempost s\na: write x = 2\n";
    let trace = text::parse(trace).unwrap_or_else(|error| panic!("{error}"));
    assert!(trace.ops().any(|(_, op)| matches!(op, Op::SemWaitFailed { .. })));
    for slices in [Slices::Never, Slices::WhenLarge, Slices::Always] {
        let options = Options { slices, ..Options::default() };
        let report = races(&trace, Model::Values, &options);
        let Answer::Found { violation, schedule } = &report.answers[0] else {
            panic!("{report:?}")
        };
        assert_eq!(*violation, Violation::Race(EventId(3), EventId(5)));
        assert!(schedule.contains(&EventId(2)) && schedule.contains(&EventId(4)));
    }
}

#[test]
fn free_values_are_refused() {
    let trace = text::parse("a: write x = 1\nb: write x = 2\n").unwrap();
    let report = races(&trace, Model::Control, &Options::default());
    assert_eq!(report.answers, [Answer::GaveUp(Reason::FreeValues)]);
}

#[test]
fn what_feeds_another_call_is_no_reason_to_leave_at_once() {
    let text = "t1: enter-call waits-for p piece p1\nt2: acquire n\nt2: enter-call >p1\n\
        t1: leave-call\nt2: release n\nt0: acquire n\nt0: enter-call >p2\n\
        t0: enter-call waits-for p piece p2\nt0: leave-call\nt0: request acquire n\n";
    let trace = text::parse(text).unwrap();
    let skeleton = Skeleton::new(&trace, Model::ReadsFrom);
    let leave = [EventId(3)];
    let report = explore(&skeleton, &[Question::Stuck(&leave)], &Options::default());
    assert!(matches!(report.answers[..], [Answer::Found { .. }]), "{report:?}");
}
