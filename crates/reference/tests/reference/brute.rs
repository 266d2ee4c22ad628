//! Small random traces: the reference against a plain enumeration of all schedules by
//! `docs/theory.md`, byte by byte, in every model and with every small context bound.

use std::collections::{BTreeMap, BTreeSet};

use foretrace_reference::{Answer, Limits, Options, decide_all};
use foretrace_trace::expr::{Expr, ExprRef};
use foretrace_trace::text::eval;
use foretrace_trace::{
    Dependences, EventId, LockId, Mode, NameId, ObjectId, Op, Place, SemId, ThreadId, Trace,
};
use foretrace_verdict::{Model, Violation};

use super::random::random_trace;
use super::{parse, solver};

/// What a byte holds: who wrote it, and the value if it has one.
type Contents = (Option<EventId>, Option<u8>);
type Byte = (ObjectId, u32);

/// What the recorded run fixes.
struct Facts<'a> {
    trace: &'a Trace,
    model: Model,
    initial: BTreeMap<Byte, Option<u8>>,
    /// What each byte of each read held in the recorded run.
    expected: BTreeMap<EventId, Vec<Contents>>,
    unknown: BTreeMap<EventId, bool>,
    counting: BTreeSet<EventId>,
    released: BTreeSet<EventId>,
    /// The remote read of the violation, which may be free.
    remote: Option<EventId>,
}

#[derive(Clone, Default)]
struct State {
    done: BTreeSet<EventId>,
    memory: BTreeMap<Byte, Contents>,
    names: BTreeMap<(ThreadId, NameId), u64>,
    changed: BTreeSet<EventId>,
    holds: Vec<(ThreadId, LockId, Mode)>,
    counts: BTreeMap<SemId, i64>,
    frozen: Option<ThreadId>,
}

fn bytes(at: Place) -> impl Iterator<Item = Byte> {
    (at.offset..at.end()).map(move |offset| (at.object, offset))
}

fn byte_of(value: Option<u64>, at: Place, index: usize) -> Option<u8> {
    value.filter(|_| at.size <= 8).map(|value| value.to_le_bytes()[index])
}

impl<'a> Facts<'a> {
    fn new(trace: &'a Trace, model: Model) -> Facts<'a> {
        let mut initial: BTreeMap<Byte, Option<u8>> = BTreeMap::new();
        for &(at, value) in trace.initial() {
            for (index, byte) in bytes(at).enumerate() {
                initial.insert(byte, byte_of(Some(value), at, index));
            }
        }
        let declared: BTreeSet<Byte> = initial.keys().copied().collect();
        let mut writers: BTreeMap<Byte, EventId> = BTreeMap::new();
        for (event, access) in trace.accesses() {
            let (seen, _) = trace.values(event);
            for (index, byte) in bytes(access.at).enumerate() {
                if access.reads
                    && seen.is_some()
                    && access.at.size <= 8
                    && !writers.contains_key(&byte)
                {
                    initial.entry(byte).or_insert(byte_of(seen, access.at, index));
                }
                if access.writes {
                    writers.insert(byte, event);
                }
            }
        }
        let mut facts = Facts {
            trace,
            model,
            initial,
            expected: BTreeMap::new(),
            unknown: BTreeMap::new(),
            counting: BTreeSet::new(),
            released: BTreeSet::new(),
            remote: None,
        };
        facts.expect(&declared);
        facts.count();
        facts
    }

    /// Recorded writers, and which of them are unknown.
    fn expect(&mut self, declared: &BTreeSet<Byte>) {
        let mut memory: BTreeMap<Byte, Contents> = BTreeMap::new();
        for (event, access) in self.trace.accesses() {
            let (seen, stored) = self.trace.values(event);
            if access.reads {
                let held: Vec<Contents> =
                    bytes(access.at).map(|byte| self.held(&memory, byte)).collect();
                let differs = held.iter().enumerate().any(|(index, &(_, value))| {
                    let saw = byte_of(seen, access.at, index);
                    saw.is_some() && value.is_some() && saw != value
                });
                if differs {
                    let is_private = bytes(access.at).all(|byte| {
                        let touches = |(other, also): (EventId, foretrace_trace::Access)| {
                            self.trace.thread_of(other) != self.trace.thread_of(event)
                                && bytes(also.at).any(|one| one == byte)
                        };
                        !declared.contains(&byte) && !self.trace.accesses().any(touches)
                    });
                    self.unknown.insert(event, is_private);
                }
                self.expected.insert(event, held);
            }
            if access.writes {
                for (index, byte) in bytes(access.at).enumerate() {
                    memory.insert(byte, (Some(event), byte_of(stored, access.at, index)));
                }
            }
        }
    }

    fn count(&mut self) {
        for thread in self.trace.thread_ids() {
            let mut valued: BTreeMap<NameId, bool> = BTreeMap::new();
            for &event in self.trace.thread_events(thread) {
                let access = self.trace.access(event);
                let (seen, stored) =
                    if access.is_some() { self.trace.values(event) } else { (None, None) };
                if let (Some(name), Some(access)) = (self.trace.binding(event), access) {
                    valued.insert(name, seen.is_some() && access.at.size <= 8);
                }
                let known = |expr: ExprRef| names_in(&expr.tree()).iter().all(|name| valued[name]);
                let expressions =
                    self.trace.expression(event).into_iter().chain(self.trace.assumption(event));
                let counts =
                    self.trace.expression(event).is_some() && expressions.clone().all(known);
                if let (Op::Let, Some(name)) = (self.trace.op(event), self.trace.binding(event)) {
                    valued.insert(name, counts);
                } else if counts
                    && access.is_none_or(|access| stored.is_some() && access.at.size <= 8)
                {
                    self.counting.insert(event);
                }
            }
        }
    }

    fn is_opaque(&self, event: EventId) -> bool {
        match self.trace.op(event) {
            Op::External => true,
            Op::Write { .. }
            | Op::Rmw { .. }
            | Op::Branch { .. }
            | Op::Assert { .. }
            | Op::Assume { .. } => !self.counting.contains(&event),
            _ => false,
        }
    }

    /// The reads behind the names of an event, found by walking back through its thread.
    fn uses(&self, event: EventId) -> BTreeSet<EventId> {
        let mut reads = BTreeSet::new();
        let expressions =
            self.trace.expression(event).into_iter().chain(self.trace.assumption(event));
        for name in expressions.flat_map(|expr| names_in(&expr.tree())) {
            let events = self.trace.thread_events(self.trace.thread_of(event));
            let own = self.trace.position(event) + usize::from(self.trace.access(event).is_some());
            let binder = events[..own]
                .iter()
                .rev()
                .find(|&&earlier| self.trace.binding(earlier) == Some(name));
            let binder = *binder.expect("names are bound");
            match self.trace.op(binder) {
                Op::Let => reads.extend(self.uses(binder)),
                _ => _ = reads.insert(binder),
            }
        }
        reads
    }

    fn release_for(&mut self, assertion: EventId) {
        if self.model == Model::Symbolic
            || !self.counting.contains(&assertion)
            || self.trace.dependences() == Dependences::Unknown
        {
            return;
        }
        let events = self.trace.thread_events(self.trace.thread_of(assertion));
        let position = self.trace.position(assertion);
        for read in self.uses(assertion) {
            let between = &events[self.trace.position(read) + 1..position];
            let is_used = between
                .iter()
                .any(|&event| self.is_opaque(event) || self.uses(event).contains(&read));
            let is_read = matches!(self.trace.op(read), Op::Read { .. });
            if is_read && !is_used && !self.unknown.contains_key(&read) {
                self.released.insert(read);
            }
        }
    }

    fn held(&self, memory: &BTreeMap<Byte, Contents>, byte: Byte) -> Contents {
        let initial = || (None, self.initial.get(&byte).copied().flatten());
        memory.get(&byte).copied().unwrap_or_else(initial)
    }

    fn is_same(&self, one: Contents, other: Contents) -> bool {
        match (one.1, other.1) {
            (Some(value), Some(also)) if self.model != Model::ReadsFrom => value == also,
            (None, Some(_)) | (Some(_), None) if self.model != Model::ReadsFrom => false,
            _ => one.0 == other.0,
        }
    }

    fn is_pinned(&self, read: EventId) -> bool {
        match self.model {
            Model::Symbolic => {
                self.unknown.contains_key(&read) || self.trace.dependences() == Dependences::Unknown
            }
            _ => !self.released.contains(&read),
        }
    }

    /// What a read sees and whether that is as recorded; `None` if it is not enabled.
    fn see(&self, state: &State, event: EventId, at: Place) -> Option<(u64, bool)> {
        let recorded = self.trace.values(event).0;
        let expected = &self.expected[&event];
        let held: Vec<Contents> = bytes(at).map(|byte| self.held(&state.memory, byte)).collect();
        let is_as_recorded =
            held.iter().zip(expected).all(|(&one, &other)| self.is_same(one, other));
        if self.is_pinned(event) {
            let is_enabled = match self.unknown.get(&event) {
                Some(true) => true,
                Some(false) => (0..event.0).all(|earlier| state.done.contains(&EventId(earlier))),
                None => is_as_recorded,
            };
            return is_enabled.then(|| (recorded.unwrap_or(0), true));
        }
        let mut value = 0;
        for (index, (&one, &other)) in held.iter().zip(expected).enumerate() {
            let byte = match one.1 {
                Some(byte) => byte,
                None if one.0 == other.0 => byte_of(recorded, at, index).unwrap_or(0),
                None => return None,
            };
            if index < 8 {
                value |= u64::from(byte) << (8 * index);
            }
        }
        Some((value, is_as_recorded))
    }

    fn evaluate(&self, state: &State, event: EventId, expr: ExprRef) -> u64 {
        let thread = self.trace.thread_of(event);
        eval::evaluate(&expr.tree(), &|name| state.names.get(&(thread, name)).copied())
            .expect("names are bound")
    }

    /// The states after the event.
    fn step(&self, state: &State, event: EventId) -> Vec<State> {
        let thread = self.trace.thread_of(event);
        if state.frozen == Some(thread) {
            return Vec::new();
        }
        let mut after = state.clone();
        after.done.insert(event);
        let op = self.trace.op(event);
        let mut alternatives = Vec::new();
        if let Some(access) = op.access().filter(|access| access.reads) {
            if self.remote == Some(event) {
                let mut free = after.clone();
                free.frozen = Some(thread);
                alternatives.push(free);
            }
            match self.see(state, event, access.at) {
                None => return alternatives,
                Some((value, is_as_recorded)) => {
                    if let Some(name) = self.trace.binding(event) {
                        after.names.insert((thread, name), value);
                    }
                    if !is_as_recorded {
                        after.changed.insert(event);
                    }
                }
            }
        }
        if self.is_enabled(&after, event, op) {
            self.effect(&mut after, event, op);
            alternatives.push(after);
        }
        alternatives
    }

    fn is_changed(&self, state: &State, thread: ThreadId) -> bool {
        state.changed.iter().any(|&read| self.trace.thread_of(read) == thread)
    }

    fn is_enabled(&self, state: &State, event: EventId, op: Op) -> bool {
        let thread = self.trace.thread_of(event);
        let is_symbolic = self.model == Model::Symbolic;
        if is_symbolic && self.is_opaque(event) && self.is_changed(state, thread) {
            return false;
        }
        let counted = self.trace.expression(event).filter(|_| self.counting.contains(&event));
        let conflicts = |lock, mode: Mode, own: bool| {
            state.holds.iter().any(|&(holder, held, other)| {
                held == lock && mode.conflicts(other) && (own || holder != thread)
            })
        };
        match op {
            Op::Branch { taken } | Op::Assume { holds: taken } if is_symbolic => {
                counted.is_none_or(|expr| (self.evaluate(state, event, expr) != 0) == taken)
            }
            Op::Assert { holds } if is_symbolic => {
                counted.is_none_or(|expr| !holds || self.evaluate(state, event, expr) != 0)
            }
            Op::Rmw { .. } if is_symbolic && counted.is_some() => {
                let assumption = self.trace.assumption(event);
                assumption.is_none_or(|expr| self.evaluate(state, event, expr) != 0)
            }
            Op::Acquire { lock, mode, .. } => !conflicts(lock, mode, false),
            Op::AcquireFailed { lock, mode, .. } => conflicts(lock, mode, true),
            Op::SemWait { sem, .. } => self.semaphore(state, sem) > 0,
            Op::SemWaitFailed { sem, .. } => self.semaphore(state, sem) == 0,
            _ => true,
        }
    }

    fn semaphore(&self, state: &State, sem: SemId) -> i64 {
        let initial = i64::from(self.trace.semaphore_count(sem).expect("it is declared"));
        initial + state.counts.get(&sem).copied().unwrap_or(0)
    }

    fn effect(&self, state: &mut State, event: EventId, op: Op) {
        let thread = self.trace.thread_of(event);
        match op {
            Op::Write { at, .. } | Op::Rmw { at, .. } => {
                let counted =
                    self.trace.expression(event).filter(|_| self.counting.contains(&event));
                let value = match counted {
                    Some(expr) => Some(self.evaluate(state, event, expr)),
                    None => self.trace.values(event).1,
                };
                for (index, byte) in bytes(at).enumerate() {
                    state.memory.insert(byte, (Some(event), byte_of(value, at, index)));
                }
            }
            Op::Let => {
                let expr = self.trace.expression(event).expect("a let has one");
                let value = self.evaluate(state, event, expr);
                let name = self.trace.binding(event).expect("a let has a name");
                state.names.insert((thread, name), value);
            }
            Op::Acquire { lock, mode, .. } => state.holds.push((thread, lock, mode)),
            Op::Release { lock, mode } => state.holds.retain(|&hold| hold != (thread, lock, mode)),
            Op::SemWait { sem, .. } => *state.counts.entry(sem).or_default() -= 1,
            Op::SemPost { sem } => *state.counts.entry(sem).or_default() += 1,
            _ => {}
        }
    }

    fn next(&self, state: &State, thread: ThreadId) -> Option<EventId> {
        self.trace.thread_events(thread).iter().copied().find(|event| !state.done.contains(event))
    }

    /// The events that are next in the violation, if it holds.
    fn violated(
        &self,
        state: &State,
        order: &[EventId],
        violation: &Violation,
    ) -> Option<Vec<EventId>> {
        let is_next = |event: EventId| {
            let thread = self.trace.thread_of(event);
            self.next(state, thread) == Some(event) && state.frozen != Some(thread)
        };
        match *violation {
            Violation::Race(a, b) => (is_next(a) && is_next(b)).then(|| vec![a, b]),
            Violation::Atomicity { first, remote, second } => {
                let at = |event| order.iter().position(|&other| other == event);
                let in_order =
                    matches!((at(first), at(remote)), (Some(one), Some(two)) if one < two);
                (in_order && is_next(second)).then(|| vec![second])
            }
            Violation::Assertion(event) => {
                let Op::Assert { holds } = self.trace.op(event) else { return None };
                let expr = self.trace.expression(event).filter(|_| self.counting.contains(&event));
                let fails = is_next(event)
                    && match expr {
                        Some(expr) => self.evaluate(state, event, expr) == 0,
                        None => !holds && !self.is_changed(state, self.trace.thread_of(event)),
                    };
                fails.then(|| vec![event])
            }
            _ => None,
        }
    }

    /// The least number of switches of a reported schedule that ends in the violation.
    fn least_switches(&self, violation: &Violation) -> Option<usize> {
        let mut least = None;
        self.explore(&State::default(), &mut Vec::new(), violation, &mut least);
        least
    }

    fn explore(
        &self,
        state: &State,
        order: &mut Vec<EventId>,
        violation: &Violation,
        least: &mut Option<usize>,
    ) {
        if let Some(mut behind) = self.violated(state, order, violation) {
            for _ in 0..2 {
                behind.reverse();
                let reported: Vec<EventId> = order.iter().chain(&behind).copied().collect();
                let switches = foretrace_witness::context_switches(self.trace, &reported);
                *least = Some(least.map_or(switches, |least: usize| least.min(switches)));
            }
        }
        for thread in self.trace.thread_ids() {
            let Some(event) = self.next(state, thread) else { continue };
            for after in self.step(state, event) {
                order.push(event);
                self.explore(&after, order, violation, least);
                order.pop();
            }
        }
    }
}

fn names_in(expr: &Expr) -> Vec<NameId> {
    match expr {
        Expr::Literal(_) => Vec::new(),
        Expr::Name(name) => vec![*name],
        Expr::Unary(_, operand) => names_in(operand),
        Expr::Binary(_, left, right) => [names_in(left), names_in(right)].concat(),
        Expr::IfThenElse(condition, then, other) => {
            [names_in(condition), names_in(then), names_in(other)].concat()
        }
    }
}

fn candidates(trace: &Trace) -> Vec<Violation> {
    let mut candidates = Vec::new();
    let is_atomic = |event| trace.access(event).is_some_and(|access| access.atomic);
    let conflict = |a: EventId, b: EventId| match (trace.access(a), trace.access(b)) {
        (Some(one), Some(two)) => trace.thread_of(a) != trace.thread_of(b) && one.conflicts(&two),
        _ => false,
    };
    let all: Vec<EventId> = (0..trace.len()).map(EventId::from).collect();
    for &b in &all {
        if matches!(trace.op(b), Op::Assert { .. }) {
            candidates.push(Violation::Assertion(b));
        }
        for &a in all.iter().filter(|&&a| a < b) {
            if conflict(a, b) && !(is_atomic(a) && is_atomic(b)) {
                candidates.push(Violation::Race(a, b));
            }
            // The first thread is one region.
            if trace.thread_of(a) == ThreadId(0) && trace.thread_of(b) == ThreadId(0) {
                let remotes =
                    all.iter().filter(|&&remote| conflict(a, remote) && conflict(remote, b));
                candidates.extend(remotes.map(|&remote| Violation::Atomicity {
                    first: a,
                    remote,
                    second: b,
                }));
            }
        }
    }
    candidates
}

fn compare(seed: u64, verdicts: &mut BTreeMap<String, [usize; 2]>) {
    let text = random_trace(seed);
    let trace = parse(&text);
    // What is asked, whether the answer is a schedule, and the case in words.
    let mut questions: Vec<(Violation, Options, bool, String)> = Vec::new();
    let (summarise, prune) = [(true, false), (false, true), (false, false)][seed as usize % 3];
    for violation in candidates(&trace) {
        for model in [Model::ReadsFrom, Model::Values, Model::Symbolic] {
            let mut facts = Facts::new(&trace, model);
            match violation {
                Violation::Assertion(event) => facts.release_for(event),
                Violation::Atomicity { remote, .. } => {
                    facts.remote = matches!(trace.op(remote), Op::Read { .. }).then_some(remote);
                }
                _ => {}
            }
            let least = facts.least_switches(&violation);
            let context = format!("seed {seed}, {violation:?} under {}\n{text}", model.name());
            let kind = format!("{:?} {}", violation.property(), model.name());
            verdicts.entry(kind).or_default()[usize::from(least.is_some())] += 1;
            let staged = Options::new(model);
            for options in [staged, Options { summarise, prune, ..staged }] {
                questions.push((violation.clone(), options, least.is_some(), context.clone()));
            }
            if let Some(least) = least.filter(|_| seed.is_multiple_of(4)) {
                for bound in [least.checked_sub(1), Some(least)].into_iter().flatten() {
                    let bound = Options { bound: Some(bound as u32), ..staged };
                    let fits = bound.bound == Some(least as u32);
                    for options in [bound, Options { summarise, prune, ..bound }] {
                        questions.push((violation.clone(), options, fits, context.clone()));
                    }
                }
            }
        }
    }
    let asked: Vec<(&Trace, &Violation, &Options)> =
        questions.iter().map(|(violation, options, ..)| (&trace, violation, options)).collect();
    let answers = decide_all(&asked, &solver(), Limits::default());
    for ((_, options, expected, context), answer) in questions.iter().zip(answers) {
        let found = match answer {
            Answer::Feasible(_) => true,
            Answer::Infeasible => false,
            Answer::Unknown(reason) => panic!("{context}: {reason}"),
        };
        assert_eq!(found, *expected, "{options:?}, {context}");
    }
}

/// `FORETRACE_REFERENCE_SEEDS` says how many, for a longer run.
#[test]
fn random_traces_agree_with_an_enumeration() {
    let seeds = std::env::var("FORETRACE_REFERENCE_SEEDS");
    let seeds = seeds.map_or(60, |seeds| seeds.parse().expect("a number of seeds"));
    let mut verdicts = BTreeMap::new();
    for seed in 0..seeds {
        compare(seed, &mut verdicts);
    }
    let is_vacuous = verdicts.values().any(|counts| counts.contains(&0));
    assert!(!is_vacuous && verdicts.len() == 9, "infeasible and feasible: {verdicts:?}");
}
