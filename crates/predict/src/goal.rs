//! Questions: a class of candidates as an assumption, and the violation that an answer shows.
//!
//! **Computes.** For a class, literals under which some member of it is violated at X. Groups
//! become "one of these is next", so a class of thousands of pairs costs as many literals as it has
//! events.
//!
//! **Follows.** `docs/theory.md`, section 4.

mod bounded;

use rustc_hash::FxHashMap;

use foretrace_model::HoldId;
use foretrace_solve::Lit;
use foretrace_trace::{EventId, LockId, Mode, Op, Request, Trace, ops};
use foretrace_verdict::{LockMisuse, Violation};

use crate::candidates::{
    AtomicityPart, Class, CycleNode, CyclePart, GroupId, Groups, LateUse, Parts, RacePart,
    canonical_cycle,
};
use crate::encode::{Answer, Bound, Encoder, Proposal, Terms};
use crate::explain::Reason;
use crate::fault::{Fault, is_seeded};
use crate::unanswered::Unanswered;

/// The verdict on a class.
#[derive(Clone, Debug)]
pub(crate) enum Verdict {
    /// This happens at the end of this feasible schedule.
    Violated(Violation, Proposal),
    /// In no schedule.
    Infeasible,
    /// In no schedule with so few context switches.
    InfeasibleInBound,
    /// Why there is no verdict.
    Undecided(Unanswered),
}

/// Selectors that questions share.
#[derive(Default)]
pub(crate) struct Goals {
    access_next: FxHashMap<EventId, Lit>,
    group_next: FxHashMap<GroupId, Lit>,
}

/// A part of a question and the literal that selects it.
struct Selected<P> {
    selector: Lit,
    part: P,
}

impl Goals {
    /// Decides a class within a bound on the context switches, part by part: who runs last depends
    /// on the part.
    pub(crate) fn decide_in_bound(
        &mut self,
        encoder: &mut Encoder,
        groups: &Groups,
        class: &Class,
        switches: u32,
        terms: &mut Terms,
    ) -> Verdict {
        let mut verdict = Verdict::Infeasible;
        for (parts, ends) in bounded::parts(encoder.skeleton.trace, groups, &class.parts) {
            // Two ends are one switch, and the first of them may belong to the last segment.
            let behind = ends.len().saturating_sub(1) as u32;
            let Some(switches) = switches.checked_sub(behind) else {
                verdict = Verdict::InfeasibleInBound;
                continue;
            };
            terms.bound = Some(Bound { switches, last: ends });
            match self.decide(encoder, groups, &parts, terms) {
                Verdict::Infeasible => {}
                Verdict::InfeasibleInBound => verdict = Verdict::InfeasibleInBound,
                other @ (Verdict::Violated(..) | Verdict::Undecided(_)) => return other,
            }
        }
        verdict
    }

    /// Decides some parts of a class, or all.
    pub(crate) fn decide(
        &mut self,
        encoder: &mut Encoder,
        groups: &Groups,
        parts: &Parts,
        terms: &mut Terms,
    ) -> Verdict {
        match parts {
            Parts::Race(parts) => self.decide_race(encoder, groups, parts, terms),
            Parts::Atomicity(parts) => self.decide_atomicity(encoder, groups, parts, terms),
            Parts::LockCycle(parts) => decide_cycle(encoder, parts, terms),
            Parts::Stuck(points) => decide_stuck(encoder, points, terms),
            Parts::Lock(errors) => decide_lock_error(encoder, errors, terms),
            Parts::Assertion(events) => decide_assertion(encoder, events, terms),
            Parts::LateUse(events) => decide_late_use(encoder, events, terms),
        }
    }

    fn decide_race(
        &mut self,
        encoder: &mut Encoder,
        groups: &Groups,
        parts: &[RacePart],
        terms: &mut Terms,
    ) -> Verdict {
        let first = |group: GroupId| groups.events(group)[0];
        encoder.place_moment_after(first(parts[0].first).max(first(parts[0].second)));
        let selected = select(encoder, parts, |encoder, part| {
            vec![
                self.group_next(encoder, groups, part.first),
                self.group_next(encoder, groups, part.second),
            ]
        });
        let trace = encoder.skeleton.trace;
        ask(encoder, &selected, terms, |proposal, part| {
            let (a, b) = (
                next_of(trace, proposal, groups.events(part.first)),
                next_of(trace, proposal, groups.events(part.second)),
            );
            Violation::Race(a.min(b), a.max(b))
        })
    }

    /// "Some access of the group is next, and its object is live".
    fn group_next(&mut self, encoder: &mut Encoder, groups: &Groups, group: GroupId) -> Lit {
        if let Some(&known) = self.group_next.get(&group) {
            return known;
        }
        let some: Vec<Lit> =
            groups.events(group).iter().map(|&event| self.access_next(encoder, event)).collect();
        let lit = any_of(encoder, &some);
        self.group_next.insert(group, lit);
        lit
    }

    fn access_next(&mut self, encoder: &mut Encoder, event: EventId) -> Lit {
        if let Some(&known) = self.access_next.get(&event) {
            return known;
        }
        let mut lits = encoder.next(event);
        lits.extend(encoder.live_at_moment(event));
        let lit = encoder.all_of(&lits);
        self.access_next.insert(event, lit);
        lit
    }

    fn decide_atomicity(
        &mut self,
        encoder: &mut Encoder,
        groups: &Groups,
        parts: &[AtomicityPart],
        terms: &mut Terms,
    ) -> Verdict {
        // There, each of the three would have to happen on the way that is taken.
        debug_assert!(!encoder.skeleton.is_program(), "atomicity of programs is not asked");
        let remote = groups.events(parts[0].remotes)[0];
        encoder.place_moment_after(remote.max(parts[0].pairs[0].1));
        let selected = select(encoder, parts, |encoder, part| {
            let mut seconds = Vec::new();
            for &(_, second) in part.pairs.iter() {
                let next = encoder.next(second);
                seconds.push(encoder.all_of(&next));
            }
            let mut remotes = Vec::new();
            for &remote in groups.events(part.remotes) {
                let (chosen, included) = (encoder.remote(remote), encoder.included(remote));
                encoder.solver.clause(&[!chosen, included]);
                remotes.push(chosen);
            }
            vec![any_of(encoder, &seconds), any_of(encoder, &remotes)]
        });
        let trace = encoder.skeleton.trace;
        let question: Vec<Lit> = vec![question(encoder, &selected)];
        loop {
            let proposal = match encoder.ask(&question, terms) {
                Answer::Feasible(proposal) => proposal,
                other @ (Answer::Infeasible | Answer::InfeasibleInBound | Answer::Interrupted) => {
                    return no_schedule(other);
                }
            };
            let chosen = chosen_part(encoder, &selected);
            let remote = *groups
                .events(chosen.part.remotes)
                .iter()
                .find(|&&remote| {
                    let lit = encoder.remote(remote);
                    encoder.solver.value(lit)
                })
                .expect("a selected part has a remote access");
            let (first, second) = *chosen
                .part
                .pairs
                .iter()
                .find(|&&(_, second)| is_next(trace, &proposal, second))
                .expect("a selected part has a pair whose second access is next");
            let at = |event| proposal.schedule.iter().position(|&other| other == event);
            if at(first) < at(remote) || is_seeded(Fault::RemoteAnywhere) {
                return Verdict::Violated(Violation::Atomicity { first, remote, second }, proposal);
            }
            // Asked for only now, since most proposals have the right order anyway.
            let selector = chosen.selector;
            let mut clause =
                vec![!selector, !encoder.remote(remote), encoder.before(first, remote)];
            clause.extend(encoder.next(second).into_iter().map(|lit| !lit));
            encoder.solver.clause(&clause);
        }
    }
}

fn decide_cycle(encoder: &mut Encoder, parts: &[CyclePart], terms: &mut Terms) -> Verdict {
    let latest = parts[0].nodes.iter().map(|node| node.points[0]).max();
    encoder.place_moment_after(latest.expect("a cycle has nodes"));
    let selected = select(encoder, parts, |encoder, part| {
        part.nodes
            .iter()
            .map(|node| {
                let points: Vec<Lit> = node
                    .points
                    .iter()
                    .map(|&event| {
                        let lits = at_point(encoder, event);
                        encoder.all_of(&lits)
                    })
                    .collect();
                any_of(encoder, &points)
            })
            .collect()
    });
    let trace = encoder.skeleton.trace;
    ask(encoder, &selected, terms, |proposal, part| {
        let point = |node: &CycleNode| {
            let here = |&&event: &&EventId| is_at_point(trace, proposal, event);
            *node.points.iter().find(here).expect("a selected node has a point")
        };
        canonical_cycle(part.nodes.iter().map(|node| point(node)).collect())
    })
}

fn decide_stuck(encoder: &mut Encoder, points: &[EventId], terms: &mut Terms) -> Verdict {
    encoder.place_moment_after(points[0]);
    let assumptions = match encoder.stuck_at(points) {
        Ok(assumptions) => assumptions,
        Err(reason) => return Verdict::Undecided(reason),
    };
    match encoder.ask(&assumptions, terms) {
        Answer::Feasible(proposal) => {
            let waiting = points.iter().find(|&&point| encoder.waits_at(point));
            let point = *waiting.expect("the question asks for a waiting thread");
            Verdict::Violated(Violation::Stuck(point), proposal)
        }
        other @ (Answer::Infeasible | Answer::InfeasibleInBound | Answer::Interrupted) => {
            no_schedule(other)
        }
    }
}

fn decide_lock_error(
    encoder: &mut Encoder,
    errors: &[(LockMisuse, EventId)],
    terms: &mut Terms,
) -> Verdict {
    encoder.place_moment_after(errors[0].1);
    let selected = select(encoder, errors, |encoder, &(misuse, event)| {
        let mut lits = at_point(encoder, event);
        let at_moment = misuse_at_moment(encoder, misuse, event);
        let lock = lock_of(encoder.skeleton.trace, event);
        lits.extend(encoder.asked_by(|| Reason::Misuse { event, lock }, at_moment));
        lits
    });
    ask(encoder, &selected, terms, |_, &(misuse, event)| Violation::Lock(misuse, event))
}

/// What makes the operation a misuse at X.
fn misuse_at_moment(encoder: &mut Encoder, misuse: LockMisuse, event: EventId) -> Vec<Lit> {
    let skeleton = encoder.skeleton;
    let thread = skeleton.trace.thread_of(event);
    let lock = lock_of(skeleton.trace, event);
    let mut some = Vec::new();
    let mut all = Vec::new();
    for &id in skeleton.locks.holds_of(lock) {
        let hold = *skeleton.locks.hold(id);
        if hold.open == event {
            continue;
        }
        let own = hold.thread == thread;
        let exclusive = hold.mode == Mode::Exclusive;
        match misuse {
            LockMisuse::DoubleLock if own && exclusive => {
                let open = encoder.open_at_moment(&hold);
                some.push(encoder.all_of(&open));
            }
            LockMisuse::DoubleLock => {}
            LockMisuse::DestroyHeld => {
                let open = encoder.open_at_moment(&hold);
                some.push(encoder.all_of(&open));
            }
            LockMisuse::UnlockByOther if !own && exclusive => {
                some.extend(encoder.open_once_at_moment(id));
            }
            LockMisuse::UnlockByOther if own => all.push(closed_at_moment(encoder, id)),
            LockMisuse::UnlockByOther => {}
            LockMisuse::UnlockNotHeld => all.push(closed_at_moment(encoder, id)),
        }
    }
    if misuse != LockMisuse::UnlockNotHeld {
        all.push(any_of(encoder, &some));
    }
    all
}

fn decide_assertion(encoder: &mut Encoder, events: &[EventId], terms: &mut Terms) -> Verdict {
    encoder.place_moment_after(events[0]);
    // With few switches many threads do not even come that far, whatever they compute. In a
    // program, how far they come depends on that.
    if terms.bound.is_some() && !encoder.skeleton.is_program() {
        let reached = select(encoder, events, |encoder, &event| encoder.next(event));
        let question = question(encoder, &reached);
        if let Some(answer) = encoder.refute(&[question], terms) {
            return no_schedule(answer);
        }
    }
    let selected = select(encoder, events, |encoder, &event| {
        let mut lits = encoder.next(event);
        lits.push(encoder.asked(event));
        let data = encoder.skeleton.data.as_ref();
        if let Some(condition) = data.and_then(|data| data.result(event)) {
            let fails = !encoder.blast(condition).bits()[0].lit();
            lits.extend(encoder.asked_by(|| Reason::Fails { assertion: event }, vec![fails]));
            encoder.require_wanted();
        }
        lits
    });
    ask(encoder, &selected, terms, |_, &event| Violation::Assertion(event))
}

/// The memory is freed, and an access is next: what the look at the cell reads needs no bits.
fn decide_late_use(encoder: &mut Encoder, events: &[EventId], terms: &mut Terms) -> Verdict {
    let late_use = |&event: &EventId| LateUse::of(encoder.skeleton, event).expect("it was listed");
    let parts: Vec<LateUse> = events.iter().map(late_use).collect();
    encoder.place_moment_after(parts[0].freed);
    let selected = select(encoder, &parts, |encoder, part| {
        let mut lits = encoder.next(part.look);
        lits.push(encoder.included(part.freed));
        lits
    });
    let question = question(encoder, &selected);
    match encoder.ask(&[question], terms) {
        Answer::Feasible(mut proposal) => {
            let LateUse { look, assertion, .. } = chosen_part(encoder, &selected).part;
            proposal.schedule.push(look);
            Verdict::Violated(Violation::Assertion(assertion), proposal)
        }
        other @ (Answer::Infeasible | Answer::InfeasibleInBound | Answer::Interrupted) => {
            no_schedule(other)
        }
    }
}

/// "The hold is not open at X".
fn closed_at_moment(encoder: &mut Encoder, id: HoldId) -> Lit {
    let hold = *encoder.skeleton.locks.hold(id);
    let mut some = vec![!encoder.included(hold.open)];
    some.extend(hold.close.map(|close| encoder.included(close)));
    any_of(encoder, &some)
}

fn lock_of(trace: &Trace, event: EventId) -> LockId {
    match trace.op(event) {
        Op::Acquire { lock, .. }
        | Op::Release { lock, .. }
        | Op::Destroy { lock }
        | Op::Request(Request::Acquire(lock, _)) => lock,
        other @ ops!(memory object data cond sem barrier thread call mark AcquireFailed
            Request) => unreachable!("{other:?} is not a lock operation"),
    }
}

/// Whether an event, as a point, is one that its thread has executed as its last.
pub(crate) fn is_pending(trace: &Trace, event: EventId) -> bool {
    trace.next(event).is_none()
        && matches!(
            trace.op(event),
            Op::Request(_) | Op::Wait { .. } | Op::Arrive { .. } | Op::EnterCall { .. }
        )
}

/// "The thread is at this point".
fn at_point(encoder: &mut Encoder, event: EventId) -> Vec<Lit> {
    if is_pending(encoder.skeleton.trace, event) {
        vec![encoder.included(event)]
    } else {
        encoder.next(event)
    }
}

fn is_included(trace: &Trace, proposal: &Proposal, event: EventId) -> bool {
    trace.position(event) < proposal.cut[trace.thread_of(event).index()] as usize
}

fn is_next(trace: &Trace, proposal: &Proposal, event: EventId) -> bool {
    trace.position(event) == proposal.cut[trace.thread_of(event).index()] as usize
}

fn is_at_point(trace: &Trace, proposal: &Proposal, event: EventId) -> bool {
    if is_pending(trace, event) {
        is_included(trace, proposal, event)
    } else {
        is_next(trace, proposal, event)
    }
}

/// The event of a group that is next.
fn next_of(trace: &Trace, proposal: &Proposal, events: &[EventId]) -> EventId {
    let cut = proposal.cut[trace.thread_of(events[0]).index()] as usize;
    let at = events.partition_point(|&event| trace.position(event) < cut);
    assert!(is_next(trace, proposal, events[at]), "a selected group has an event that is next");
    events[at]
}

/// A literal that implies one of `lits`.
fn any_of(encoder: &mut Encoder, lits: &[Lit]) -> Lit {
    if let [only] = lits {
        return *only;
    }
    let any = encoder.solver.literal();
    let mut clause = vec![!any];
    clause.extend(lits);
    encoder.solver.clause(&clause);
    any
}

/// Gives every part a selector that implies what the part needs.
fn select<P: Clone>(
    encoder: &mut Encoder,
    parts: &[P],
    mut needs: impl FnMut(&mut Encoder, &P) -> Vec<Lit>,
) -> Vec<Selected<P>> {
    parts
        .iter()
        .map(|part| {
            let lits = needs(encoder, part);
            let selector = encoder.solver.literal();
            for lit in lits {
                encoder.solver.clause(&[!selector, lit]);
            }
            Selected { selector, part: part.clone() }
        })
        .collect()
}

/// The assumption that some part is selected.
fn question<P>(encoder: &mut Encoder, selected: &[Selected<P>]) -> Lit {
    let selectors: Vec<Lit> = selected.iter().map(|selected| selected.selector).collect();
    any_of(encoder, &selectors)
}

/// The part that the last model selected.
fn chosen_part<'p, P>(encoder: &Encoder, selected: &'p [Selected<P>]) -> &'p Selected<P> {
    let chosen = selected.iter().find(|selected| encoder.solver.value(selected.selector));
    chosen.expect("the question asks for a part")
}

fn ask<P>(
    encoder: &mut Encoder,
    selected: &[Selected<P>],
    terms: &mut Terms,
    violation: impl Fn(&Proposal, &P) -> Violation,
) -> Verdict {
    let question = question(encoder, selected);
    match encoder.ask(&[question], terms) {
        Answer::Feasible(proposal) => {
            let chosen = chosen_part(encoder, selected);
            let violation = violation(&proposal, &chosen.part);
            Verdict::Violated(violation, proposal)
        }
        other @ (Answer::Infeasible | Answer::InfeasibleInBound | Answer::Interrupted) => {
            no_schedule(other)
        }
    }
}

fn no_schedule(answer: Answer) -> Verdict {
    match answer {
        Answer::Infeasible => Verdict::Infeasible,
        Answer::InfeasibleInBound => Verdict::InfeasibleInBound,
        Answer::Interrupted => Verdict::Undecided(Unanswered::ConflictBudget),
        Answer::Feasible(_) => unreachable!("a schedule was found"),
    }
}
