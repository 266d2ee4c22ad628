//! The rows about memory and expressions once more, byte by byte and name by name, without cells
//! and without anything resolved beforehand; compared with the checker on random traces.

use foretrace_trace::expr::{Expr, ExprRef};
use foretrace_trace::text::eval::evaluate;
use foretrace_trace::{Dependences, EventId, NameId, Op, Place, ThreadId, Trace};
use foretrace_verdict::{Model, Violation};
use std::collections::{BTreeMap, BTreeSet};

use super::random_programs::random_program;
use super::{feasible, next_of_each};
use crate::checker::{CheckOptions, Checker};
use foretrace_testing::Random;

/// What is in a byte: a value, or the unvalued contents of a writer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    Value(u8),
    Of(Option<EventId>),
}

/// What a name means.
#[derive(Clone, Default)]
struct Meaning {
    value: Option<u64>,
    is_known: bool,
    uses: BTreeSet<EventId>,
}

fn byte(value: Option<u64>, at: Place, offset: u32) -> Option<u8> {
    value.filter(|_| at.size <= 8).map(|value| (value >> (8 * (offset - at.offset))) as u8)
}

fn bytes(at: Place) -> impl Iterator<Item = (u32, u32)> {
    (at.offset..at.end()).map(move |offset| (at.object.0, offset))
}

/// Where an event reads or writes, and what.
type Half = Option<(Place, Option<u64>)>;

/// What the event reads and writes.
fn halves(op: Op) -> (Half, Half) {
    match op {
        Op::Read { at, value, .. } => (Some((at, value)), None),
        Op::Write { at, value, .. } => (None, Some((at, value))),
        Op::Rmw { at, read, written, .. } => (Some((at, read)), Some((at, written))),
        _ => (None, None),
    }
}

struct Naive<'a> {
    trace: &'a Trace,
    initial: BTreeMap<(u32, u32), Left>,
    /// What the bytes of each read held in the recorded run.
    expected: BTreeMap<EventId, Vec<Left>>,
    unknown: BTreeSet<EventId>,
    private: BTreeSet<EventId>,
}

impl<'a> Naive<'a> {
    fn new(trace: &'a Trace) -> Self {
        let mut initial: BTreeMap<(u32, u32), Left> = BTreeMap::new();
        let mut declared = BTreeSet::new();
        for &(at, value) in trace.initial() {
            for place in bytes(at) {
                initial.insert(place, Left::Value(byte(Some(value), at, place.1).unwrap()));
                declared.insert(place);
            }
        }
        let mut written = BTreeSet::new();
        for (_, op) in trace.ops() {
            let (read, write) = halves(op);
            for (at, value) in read.into_iter().filter(|(_, value)| value.is_some()) {
                for place in bytes(at).filter(|place| !written.contains(place)) {
                    initial.entry(place).or_insert(Left::Value(byte(value, at, place.1).unwrap()));
                }
            }
            written.extend(write.into_iter().flat_map(|(at, _)| bytes(at)));
        }
        let mut naive = Naive {
            trace,
            initial,
            expected: BTreeMap::new(),
            unknown: BTreeSet::new(),
            private: BTreeSet::new(),
        };
        let mut memory = naive.initial.clone();
        for (event, op) in trace.ops() {
            let (read, write) = halves(op);
            if let Some((at, value)) = read {
                let held: Vec<Left> =
                    bytes(at).map(|p| *memory.get(&p).unwrap_or(&Left::Of(None))).collect();
                let differs = bytes(at).zip(&held).any(|(place, held)| match held {
                    Left::Value(held) => byte(value, at, place.1).is_some_and(|seen| seen != *held),
                    Left::Of(_) => false,
                });
                let others = trace.events().any(|(_, other)| {
                    let is_other = other.thread != trace.thread_of(event);
                    is_other && other.op.access().is_some_and(|access| access.at.overlaps(at))
                });
                if differs {
                    naive.unknown.insert(event);
                    if !others && bytes(at).all(|place| !declared.contains(&place)) {
                        naive.private.insert(event);
                    }
                }
                naive.expected.insert(event, held);
            }
            if let Some((at, value)) = write {
                for place in bytes(at) {
                    let left = byte(value, at, place.1).map_or(Left::Of(Some(event)), Left::Value);
                    memory.insert(place, left);
                }
            }
        }
        naive
    }
}

/// A run of some events.
#[derive(Clone)]
struct Run<'a> {
    naive: &'a Naive<'a>,
    model: Model,
    released: BTreeSet<EventId>,
    memory: BTreeMap<(u32, u32), Left>,
    names: BTreeMap<(ThreadId, NameId), Meaning>,
    strayed: BTreeSet<ThreadId>,
    done: BTreeSet<EventId>,
    holder: Option<ThreadId>,
}

impl<'a> Run<'a> {
    fn new(naive: &'a Naive<'a>, model: Model, released: BTreeSet<EventId>) -> Self {
        Run {
            naive,
            model,
            released,
            memory: naive.initial.clone(),
            names: BTreeMap::new(),
            strayed: BTreeSet::new(),
            done: BTreeSet::new(),
            holder: None,
        }
    }

    fn value(&self, thread: ThreadId, expr: Option<ExprRef>) -> Meaning {
        let Some(expr) = expr.map(ExprRef::tree) else { return Meaning::default() };
        let mut meaning = Meaning { is_known: true, ..Meaning::default() };
        let mut left = vec![&expr];
        while let Some(part) = left.pop() {
            match part {
                Expr::Literal(_) => {}
                Expr::Name(name) => {
                    let named = &self.names[&(thread, *name)];
                    meaning.is_known &= named.is_known;
                    meaning.uses.extend(&named.uses);
                }
                Expr::Unary(_, a) => left.push(a),
                Expr::Binary(_, a, b) => left.extend([&**a, &**b]),
                Expr::IfThenElse(a, b, c) => left.extend([&**a, &**b, &**c]),
            }
        }
        let worth = evaluate(&expr, &|name| self.names[&(thread, name)].value);
        meaning.value = worth.filter(|_| meaning.is_known);
        meaning
    }

    /// Whether the event is enabled; executes it if so.
    fn step(&mut self, event: EventId) -> bool {
        let trace = self.naive.trace;
        let thread = trace.thread_of(event);
        let op = trace.op(event);
        let (read, write) = halves(op);
        if let Some((at, recorded)) = read
            && !self.read(event, at, recorded)
        {
            return false;
        }
        let mut own = self.value(thread, trace.expression(event));
        if trace.assumption(event).is_some() {
            let assumed = self.value(thread, trace.assumption(event));
            own.is_known &= assumed.is_known;
            if assumed.is_known && assumed.value == Some(0) {
                return false;
            }
        }
        own.is_known &= write.is_none_or(|(at, value)| value.is_some() && at.size <= 8);
        let may_be_opaque = write.is_some()
            || matches!(op, Op::Branch { .. } | Op::Assert { .. } | Op::Assume { .. });
        let is_opaque = op == Op::External || may_be_opaque && !own.is_known;
        if is_opaque && self.model == Model::Symbolic && self.strayed.contains(&thread) {
            return false;
        }
        let holds = own.value != Some(0);
        match op {
            Op::Branch { taken: outcome } | Op::Assume { holds: outcome }
                if own.is_known && holds != outcome =>
            {
                return false;
            }
            Op::Assert { holds: true } if own.is_known && !holds => return false,
            Op::Acquire { .. } if self.holder.is_some() => return false,
            Op::Acquire { .. } => self.holder = Some(thread),
            Op::Release { .. } if self.holder != Some(thread) => return false,
            Op::Release { .. } => self.holder = None,
            Op::Let => {
                self.names.insert((thread, trace.binding(event).unwrap()), own.clone());
            }
            _ => {}
        }
        if let Some((at, recorded)) = write {
            let stored = if own.is_known { own.value } else { recorded };
            for place in bytes(at) {
                let left = byte(stored, at, place.1).map_or(Left::Of(Some(event)), Left::Value);
                self.memory.insert(place, left);
            }
        }
        self.done.insert(event);
        true
    }

    fn read(&mut self, event: EventId, at: Place, recorded: Option<u64>) -> bool {
        let thread = self.naive.trace.thread_of(event);
        let is_unknown = self.naive.unknown.contains(&event);
        let is_pinned =
            is_unknown || self.model == Model::Values && !self.released.contains(&event);
        let expected = &self.naive.expected[&event];
        let held: Vec<Left> =
            bytes(at).map(|place| *self.memory.get(&place).unwrap_or(&Left::Of(None))).collect();
        let mut value = recorded;
        if is_unknown {
            let is_private = self.naive.private.contains(&event);
            if !is_private && (0..event.0).any(|before| !self.done.contains(&EventId(before))) {
                return false;
            }
        } else if is_pinned {
            if held != *expected {
                return false;
            }
        } else {
            value = Some(0);
            for ((place, held), expected) in bytes(at).zip(&held).zip(expected) {
                let seen = match held {
                    Left::Value(seen) => Some(*seen),
                    Left::Of(_) if held == expected => byte(recorded, at, place.1),
                    Left::Of(_) => return false,
                };
                let shift = 8 * (place.1 - at.offset);
                value = value.zip(seen).map(|(value, seen)| value | u64::from(seen) << shift);
            }
            if held != *expected {
                self.strayed.insert(thread);
            }
        }
        if let Some(name) = self.naive.trace.binding(event) {
            let is_known = recorded.is_some() && at.size <= 8;
            let uses = BTreeSet::from([event]);
            self.names.insert((thread, name), Meaning { value, is_known, uses });
        }
        true
    }

    /// Whether the assertion, which is next, is violated.
    fn fails(&self, at: EventId) -> bool {
        let trace = self.naive.trace;
        let thread = trace.thread_of(at);
        let own = self.value(thread, trace.expression(at));
        if own.is_known {
            return own.value == Some(0);
        }
        trace.op(at) == Op::Assert { holds: false } && !self.strayed.contains(&thread)
    }
}

/// The reads that are released for an assertion, found by running the recorded order.
fn released<'a>(naive: &'a Naive<'a>, at: EventId) -> BTreeSet<EventId> {
    let trace = naive.trace;
    let thread = trace.thread_of(at);
    let mut run = Run::new(naive, Model::Values, BTreeSet::new());
    let mut candidates: BTreeSet<EventId> = BTreeSet::new();
    for event in (0..=at.0).map(EventId) {
        if event == at {
            let mut own = run.value(thread, trace.expression(event));
            own.uses.retain(|read| candidates.contains(read));
            return if own.is_known { own.uses } else { BTreeSet::new() };
        }
        assert!(run.step(event));
        if trace.thread_of(event) != thread {
            continue;
        }
        let used =
            run.value(thread, trace.expression(event).filter(|_| trace.op(event) != Op::Let));
        let (read, write) = halves(trace.op(event));
        let is_stored = write.is_none_or(|(_, value)| value.is_some());
        let assumed = trace.assumption(event).map(|_| run.value(thread, trace.assumption(event)));
        let is_known = used.is_known && is_stored && assumed.is_none_or(|assumed| assumed.is_known);
        match trace.op(event) {
            Op::Read { .. } if !naive.unknown.contains(&event) => {
                candidates.insert(event);
            }
            Op::External => candidates.clear(),
            Op::Write { .. }
            | Op::Rmw { .. }
            | Op::Branch { .. }
            | Op::Assert { .. }
            | Op::Assume { .. }
                if !is_known =>
            {
                candidates.clear();
            }
            Op::Let => {
                let local = &run.names[&(thread, trace.binding(event).unwrap())];
                candidates.retain(|read| !local.uses.contains(read));
            }
            _ => candidates.retain(|read| !used.uses.contains(read)),
        }
        // What a read-modify-write assumes is an expression of it too.
        if let (Some(_), Some(_)) = (read, trace.assumption(event)) {
            let assumed = run.value(thread, trace.assumption(event));
            candidates.retain(|read| !assumed.uses.contains(read));
        }
    }
    unreachable!("it comes to the assertion")
}

#[test]
fn cells_and_resolved_names_are_as_good_as_bytes_and_names() {
    let [mut enabled, mut refused, mut violated, mut held] = [0; 4];
    for seed in 0..4000 {
        let mut random = Random::new(seed + 100_000);
        let trace = random_program(&mut random, 6 + seed as usize % 24);
        if trace.dependences() == Dependences::Unknown {
            continue;
        }
        let naive = Naive::new(&trace);
        for model in [Model::Values, Model::Symbolic] {
            let checker = Checker::new(&trace, model, CheckOptions::default());
            let mut run = Run::new(&naive, model, BTreeSet::new());
            let mut schedule: Vec<EventId> = Vec::new();
            loop {
                let mut open = Vec::new();
                for event in next_of_each(&trace, &schedule) {
                    if matches!(trace.op(event), Op::Assert { .. }) {
                        let violation = Violation::Assertion(event);
                        let verdict = checker.check(&violation, &schedule);
                        let fails = run.fails(event);
                        assert_eq!(
                            verdict.is_ok(),
                            fails,
                            "{seed} {model:?} {event:?} {schedule:?}"
                        );
                        [violated, held] =
                            [violated + usize::from(fails), held + usize::from(!fails)];
                    }
                    let mut after = run.clone();
                    let is_enabled = after.step(event);
                    schedule.push(event);
                    let verdict = feasible(&checker, &schedule);
                    schedule.pop();
                    assert_eq!(
                        verdict.is_ok(),
                        is_enabled,
                        "{seed} {model:?} {schedule:?} {event:?}"
                    );
                    if is_enabled {
                        open.push((event, after));
                    }
                    [enabled, refused] =
                        [enabled + usize::from(is_enabled), refused + usize::from(!is_enabled)];
                }
                if open.is_empty() {
                    break;
                }
                let (event, after) = open.swap_remove(random.below_u64(open.len() as u64) as usize);
                schedule.push(event);
                run = after;
            }
        }
    }
    println!("{enabled} steps enabled, {refused} refused, {violated} violations, {held} none");
    assert!([enabled, refused, violated, held].iter().all(|&count| count > 1000));
}

#[test]
fn released_reads_are_those_that_nothing_else_uses() {
    let [mut violated, mut held, mut new] = [0; 3];
    for seed in 0..4000 {
        let mut random = Random::new(seed + 200_000);
        let trace = random_program(&mut random, 6 + seed as usize % 20);
        if trace.dependences() == Dependences::Unknown {
            continue;
        }
        let naive = Naive::new(&trace);
        let checker = Checker::new(&trace, Model::Values, CheckOptions::default());
        let asserts = trace.ops().filter(|(_, op)| matches!(op, Op::Assert { .. }));
        for (at, _) in asserts {
            let released = released(&naive, at);
            let mut known = checker.released_reads(&Violation::Assertion(at));
            known.sort_unstable();
            assert_eq!(known, Vec::from_iter(released.clone()), "{seed} {at:?}");
            let mut run = Run::new(&naive, Model::Values, released);
            let mut schedule: Vec<EventId> = Vec::new();
            while !schedule.contains(&at) {
                let next = next_of_each(&trace, &schedule);
                if next.contains(&at) {
                    let is_violated = checker.check(&Violation::Assertion(at), &schedule).is_ok();
                    assert_eq!(is_violated, run.fails(at), "{seed} {at:?} {schedule:?}");
                    [violated, held] =
                        [violated + usize::from(is_violated), held + usize::from(!is_violated)];
                    new += usize::from(is_violated && !schedule.is_sorted());
                }
                let mut open = next.into_iter().filter_map(|event| {
                    let mut after = run.clone();
                    after.step(event).then_some((event, after))
                });
                let chosen = random.below_u64(3) as usize;
                let Some((event, after)) = open.by_ref().take(chosen + 1).last() else { break };
                drop(open);
                schedule.push(event);
                run = after;
            }
        }
    }
    println!("{violated} violations, {new} of them not in the recorded order, {held} none");
    assert!([violated, new, held].iter().all(|&count| count > 300));
}
