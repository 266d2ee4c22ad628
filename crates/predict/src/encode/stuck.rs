//! The stuck state: nobody can go on, and somebody waits for a notification that is lost.
//!
//! **Computes.** A guard under which, at X, every thread is not started, finished or blocked; and
//! for each point a literal that says that a thread waits there.
//!
//! **Follows.** `docs/theory.md`, section 4, *Stuck*. Here it matters who still waits at X, so the
//! choice of each signal is encoded in full: a signal without an addressee found only waiters that
//! may leave, and those have then left.
//!
//! **Cost.** Cubic in the operations on one condition variable, quadratic in those on one
//! semaphore; see `MOST_CLAUSES`. Holds of a lock times threads.

use rustc_hash::FxHashMap;

use foretrace_model::Source;
use foretrace_solve::Lit;
use foretrace_trace::{CondId, EventId, LockId, Mode, Op, Patience, Request, SemId, ThreadId, ops};

use super::Encoder;
use super::amo::AtMostOne;
use super::holders::Holders;
use crate::explain::Reason;
use crate::fault::{Fault, is_seeded};
use crate::unanswered::Unanswered;

/// Above this many clauses for one condition variable or semaphore the question is not asked.
const MOST_CLAUSES: usize = 2_000_000;

/// After so many events of a thread somebody looks whether the question is given up.
const EVENTS_PER_LOOK: usize = 1_000;

/// The encoded stuck state.
#[derive(Clone)]
pub(super) struct Stuck {
    guard: Lit,
    waiting: FxHashMap<EventId, Lit>,
}

/// Where a thread can be blocked: the event that names the point, and what must hold.
struct Point {
    event: EventId,
    blocked: Lit,
    waits: bool,
}

impl Encoder<'_> {
    /// The assumption that the program is stuck at X with a thread waiting at `point`; `Err`: too
    /// large.
    pub(crate) fn stuck_at(&mut self, points: &[EventId]) -> Result<Vec<Lit>, Unanswered> {
        if self.stuck.is_none() {
            let stuck = self.encode_stuck()?;
            self.stuck = Some(stuck);
        }
        let stuck = self.stuck.clone().expect("just encoded");
        let question = self.solver.literal();
        let mut some = vec![!question];
        some.extend(points.iter().filter_map(|point| stuck.waiting.get(point)));
        self.solver.clause(&some);
        Ok(vec![stuck.guard, question])
    }

    /// "A thread waits at this point", in the last model.
    pub(crate) fn waits_at(&self, point: EventId) -> bool {
        let stuck = self.stuck.as_ref().expect("asked about the stuck state");
        stuck.waiting.get(&point).is_some_and(|&waits| self.solver.value(waits))
    }

    fn encode_stuck(&mut self) -> Result<Stuck, Unanswered> {
        let trace = self.skeleton.trace;
        for cond in 0..trace.conds().len() {
            self.check_size(CondId::from(cond))?;
        }
        for sem in 0..trace.semaphores().len() {
            let semaphore = self.skeleton.waiting.semaphore(SemId::from(sem));
            let tokens = semaphore.posts.len() + semaphore.waits.len();
            if semaphore.waits.len().saturating_mul(tokens) > MOST_CLAUSES {
                return Err(Unanswered::FormulaTooLarge);
            }
        }
        let guard = self.solver.literal();
        let mut unnotified = FxHashMap::default();
        for cond in 0..trace.conds().len() {
            let condition = CondId::from(cond);
            let reason = || Reason::Signals { condition };
            self.under(reason, |encoder| encoder.encode_cond(condition, guard, &mut unnotified));
            if self.is_exhausted() {
                return Err(Unanswered::FormulaTooLarge);
            }
        }
        let mut holds = Holders::default();
        let mut waiting = FxHashMap::default();
        for thread in trace.thread_ids() {
            let mut some = vec![!guard];
            if let Some(fork) = self.skeleton.fork_of(thread) {
                some.push(!self.included(fork));
            }
            if let Some(&last) = trace.thread_events(thread).last()
                && trace.op(last) == Op::End
            {
                some.push(self.included(last));
            }
            for point in self.blocking_points(thread, &unnotified, &mut holds) {
                some.push(point.blocked);
                if point.waits {
                    waiting.insert(point.event, point.blocked);
                }
            }
            self.under(|| Reason::Halted { thread }, |encoder| encoder.rule(&some));
            if self.is_exhausted() {
                return Err(Unanswered::FormulaTooLarge);
            }
        }
        Ok(Stuck { guard, waiting })
    }

    fn check_size(&self, id: CondId) -> Result<(), Unanswered> {
        let cond = self.skeleton.waiting.cond(id);
        let notifies = cond.signals.len() + cond.broadcasts.len();
        let clauses = cond.signals.len().saturating_mul(cond.waits.len()).saturating_mul(notifies);
        if clauses > MOST_CLAUSES {
            return Err(Unanswered::Notifications {
                name: self.skeleton.trace.name(id).to_string(),
                waits: cond.waits.len(),
                signals: cond.signals.len(),
                broadcasts: cond.broadcasts.len(),
            });
        }
        Ok(())
    }

    /// Encodes who each signal wakes, and fills in for each wait the literal "it is in W at X".
    fn encode_cond(&mut self, id: CondId, guard: Lit, unnotified: &mut FxHashMap<EventId, Lit>) {
        let skeleton = self.skeleton;
        let cond = skeleton.waiting.cond(id);
        // wakes[w][s]: signal s wakes wait w.
        let mut wakes: Vec<Vec<Lit>> = Vec::new();
        for wait in &cond.waits {
            if self.is_exhausted() {
                return;
            }
            let encoded = wait.notified().map(|wake| {
                self.require_notification(wake);
                self.wakes[&wake].clone()
            });
            let mut row = Vec::new();
            let mut one_signal = AtMostOne::default();
            for &signal in &cond.signals {
                let known = encoded.as_ref().map(|choices| {
                    choices.iter().find(|(notify, _)| *notify == signal).map(|&(_, lit)| lit)
                });
                let wakes = match known {
                    Some(Some(lit)) => lit,
                    Some(None) => self.solver.constant(false),
                    None => {
                        let lit = self.solver.literal();
                        let after = self.before(wait.wait, signal);
                        self.rule(&[!lit, after]);
                        // A wait that was notified does not time out.
                        if let Some((wake, _)) = wait.wake {
                            let left = self.included(wake);
                            self.rule(&[!lit, !left]);
                        }
                        let reason = self.guard();
                        let woken = self.signals.entry(signal).or_default();
                        woken.add_under(&mut self.solver, lit, reason);
                        lit
                    }
                };
                // A broadcast between the wait and the signal has taken the wait away.
                for &broadcast in &cond.broadcasts {
                    let (earlier, later) =
                        (self.before(broadcast, wait.wait), self.before(signal, broadcast));
                    self.rule(&[!guard, !wakes, earlier, later]);
                }
                let reason = self.guard();
                one_signal.add_under(&mut self.solver, wakes, reason);
                row.push(wakes);
            }
            wakes.push(row);
            unnotified.insert(wait.wait, self.still_waits(wait.wait, wakes.last().unwrap(), id));
        }
        for (nth, &signal) in cond.signals.iter().enumerate() {
            if self.is_exhausted() {
                return;
            }
            self.encode_idle_signal(id, guard, nth, signal, &wakes);
        }
    }

    /// "The wait is in W at X", if it cannot leave by itself.
    fn still_waits(&mut self, wait: EventId, wakes: &[Lit], id: CondId) -> Lit {
        let skeleton = self.skeleton;
        let waits = self.solver.literal();
        let included = self.included(wait);
        self.solver.clause(&[!waits, included]);
        for &wakes in wakes {
            self.rule(&[!waits, !wakes]);
        }
        for &broadcast in &skeleton.waiting.cond(id).broadcasts {
            let (included, earlier) = (self.included(broadcast), self.before(broadcast, wait));
            self.rule(&[!waits, !included, earlier]);
        }
        waits
    }

    /// An included signal that wakes nobody found nobody that had to be woken, and sent the rest
    /// away.
    fn encode_idle_signal(
        &mut self,
        id: CondId,
        guard: Lit,
        nth: usize,
        signal: EventId,
        wakes: &[Vec<Lit>],
    ) {
        let skeleton = self.skeleton;
        let cond = skeleton.waiting.cond(id);
        let idle = self.solver.literal();
        let mut addressed = vec![!guard, !self.included(signal), idle];
        addressed.extend(wakes.iter().map(|row| row[nth]));
        self.rule(&addressed);
        for (wait, row) in cond.waits.iter().zip(wakes) {
            let mut absent = vec![!guard, !idle, self.before(signal, wait.wait)];
            absent.extend(wait.wake.map(|(wake, _)| self.before(wake, signal)));
            for (other, &wakes) in row.iter().enumerate().filter(|&(other, _)| other != nth) {
                let earlier = self.before(cond.signals[other], signal);
                absent.push(self.all_of(&[wakes, earlier]));
            }
            for &broadcast in &cond.broadcasts {
                let between = [self.before(wait.wait, broadcast), self.before(broadcast, signal)];
                absent.push(self.all_of(&between));
            }
            if !wait.may_leave() || is_seeded(Fault::NobodyMayLeave) {
                self.rule(&absent);
                continue;
            }
            // It leaves, so no notification reaches it later.
            if let Some(wake) = wait.notified() {
                absent.push(!self.included(wake));
                self.rule(&absent);
            }
            for (other, &wakes) in row.iter().enumerate().filter(|&(other, _)| other != nth) {
                let clause = [
                    !guard,
                    !idle,
                    self.before(signal, wait.wait),
                    self.before(cond.signals[other], signal),
                    !wakes,
                ];
                self.rule(&clause);
            }
        }
    }

    /// All points at which a thread can be blocked for ever.
    fn blocking_points(
        &mut self,
        thread: ThreadId,
        unnotified: &FxHashMap<EventId, Lit>,
        holds: &mut Holders,
    ) -> Vec<Point> {
        let (skeleton, trace) = (self.skeleton, self.skeleton.trace);
        let mut points = Vec::new();
        let events = trace.thread_events(thread);
        for &event in events {
            let next = |encoder: &mut Self| encoder.next(event);
            let is_late = trace.position(event) % EVENTS_PER_LOOK == 0;
            if is_late && self.is_exhausted() {
                return points;
            }
            match trace.op(event) {
                Op::Acquire { lock, mode, patience: Patience::Blocking }
                    if skeleton.locks.opened_by(event).is_some() =>
                {
                    let at = next(self);
                    self.blocked_by_lock(event, thread, lock, mode, true, &at, holds, &mut points);
                }
                Op::Wake { lock, .. } => {
                    let (_, wait) = skeleton.waiting.wait_at(event);
                    let mode = self.mode_given_back(wait.wait);
                    let at = next(self);
                    if !wait.may_leave() {
                        self.waits_for_notification(event, wait.wait, unnotified, &at, &mut points);
                    }
                    self.blocked_by_lock(event, thread, lock, mode, false, &at, holds, &mut points);
                }
                Op::SemWait { sem, patience: Patience::Blocking } => {
                    let at = next(self);
                    let blocked = self.all_of_fresh(&at);
                    let zero = self.count_is_zero(sem);
                    self.solver.clause(&[!blocked, zero]);
                    points.push(Point { event, blocked, waits: true });
                }
                Op::Leave { .. } => {
                    let at = next(self);
                    self.waits_for_round(event, &at, &mut points);
                }
                Op::Join { child } => {
                    let at = next(self);
                    let needed = trace.thread_events(child).last().copied();
                    if let Some(needed) = needed.or_else(|| skeleton.fork_of(child)) {
                        let mut lits = at;
                        lits.push(!self.included(needed));
                        let blocked = self.all_of_fresh(&lits);
                        points.push(Point { event, blocked, waits: false });
                    }
                }
                Op::LeaveCall if skeleton.waiting_calls.at(event).is_some() => {
                    let at = next(self);
                    self.waits_in_call(event, &at, &mut points);
                }
                ops!(memory object data lock sem call mark Wait Signal Broadcast Arrive Request
                    Fork Begin End Exit) => {}
            }
        }
        if let Some(&last) = events.last() {
            self.pending_points(thread, last, unnotified, holds, &mut points);
        }
        points
    }

    /// Points of a thread whose recorded events are all executed.
    fn pending_points(
        &mut self,
        thread: ThreadId,
        last: EventId,
        unnotified: &FxHashMap<EventId, Lit>,
        holds: &mut Holders,
        points: &mut Vec<Point>,
    ) {
        let trace = self.skeleton.trace;
        match trace.op(last) {
            Op::Request(Request::Acquire(lock, mode)) => {
                let at = [self.included(last)];
                self.blocked_by_lock(last, thread, lock, mode, true, &at, holds, points);
            }
            Op::Request(Request::SemWait(sem)) => {
                let at = [self.included(last)];
                let blocked = self.all_of_fresh(&at);
                let zero = self.count_is_zero(sem);
                self.solver.clause(&[!blocked, zero]);
                points.push(Point { event: last, blocked, waits: true });
            }
            Op::Request(Request::Join(child)) => {
                let mut at = vec![self.included(last)];
                if let Some(&end) = trace.thread_events(child).last()
                    && trace.op(end) == Op::End
                {
                    at.push(!self.included(end));
                }
                let blocked = self.all_of_fresh(&at);
                points.push(Point { event: last, blocked, waits: false });
            }
            Op::Wait { lock, timed, .. } => {
                let at = [self.included(last)];
                if !timed {
                    self.waits_for_notification(last, last, unnotified, &at, points);
                }
                let mode = self.mode_given_back(last);
                self.blocked_by_lock(last, thread, lock, mode, false, &at, holds, points);
            }
            Op::Arrive { .. } => {
                let at = [self.included(last)];
                self.waits_for_round(last, &at, points);
            }
            Op::EnterCall { .. } if self.skeleton.waiting_calls.at(last).is_some() => {
                let at = [self.included(last)];
                self.waits_in_call(last, &at, points);
            }
            ops!(memory object data lock sem thread call mark Wake Signal Broadcast Leave
                Request) => {}
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn blocked_by_lock(
        &mut self,
        event: EventId,
        thread: ThreadId,
        lock: LockId,
        mode: Mode,
        own_counts: bool,
        at: &[Lit],
        holds: &mut Holders,
        points: &mut Vec<Point>,
    ) {
        let blocked = self.all_of_fresh(at);
        let key = (lock, thread, mode, own_counts);
        let somebody = match holds.blocking.get(&key) {
            Some(&known) => known,
            None => {
                let somebody = self.holder_blocks(lock, thread, mode, own_counts, &mut holds.open);
                holds.blocking.insert(key, somebody);
                somebody
            }
        };
        self.solver.clause(&[!blocked, somebody]);
        points.push(Point { event, blocked, waits: false });
        if own_counts && !is_seeded(Fault::LeftLockForgotten) {
            self.left_locked(event, thread, lock, mode, at, holds, points);
        }
    }

    /// The point once more, as one at which the thread waits: a finished thread has the lock.
    #[allow(clippy::too_many_arguments)]
    fn left_locked(
        &mut self,
        event: EventId,
        thread: ThreadId,
        lock: LockId,
        mode: Mode,
        at: &[Lit],
        holds: &mut Holders,
        points: &mut Vec<Point>,
    ) {
        let key = (lock, thread, mode);
        let left = match holds.left.get(&key) {
            Some(&known) => known,
            None => {
                let left = self.finished_holder(lock, thread, mode, &holds.open);
                holds.left.insert(key, left);
                left
            }
        };
        if let Some(left) = left {
            let waits = self.all_of_fresh(at);
            self.solver.clause(&[!waits, left]);
            points.push(Point { event, blocked: waits, waits: true });
        }
    }

    fn waits_for_notification(
        &mut self,
        event: EventId,
        wait: EventId,
        unnotified: &FxHashMap<EventId, Lit>,
        at: &[Lit],
        points: &mut Vec<Point>,
    ) {
        let mut lits = at.to_vec();
        lits.push(unnotified[&wait]);
        let blocked = self.all_of_fresh(&lits);
        points.push(Point { event, blocked, waits: true });
    }

    fn waits_for_round(&mut self, event: EventId, at: &[Lit], points: &mut Vec<Point>) {
        let skeleton = self.skeleton;
        let arrival = skeleton.waiting.arrival_at(event);
        let barrier = skeleton.waiting.barrier(arrival.barrier);
        let round = &barrier.rounds[arrival.round as usize];
        let blocked = self.all_of_fresh(at);
        if round.len() == barrier.parties as usize + usize::from(is_seeded(Fault::RoundOffByOne)) {
            let mut some = vec![!blocked];
            for &other in round {
                some.push(!self.included(other));
            }
            self.solver.clause(&some);
        }
        points.push(Point { event, blocked, waits: true });
    }

    /// The thread is in a call, and nobody has fed that.
    fn waits_in_call(&mut self, point: EventId, at: &[Lit], points: &mut Vec<Point>) {
        let skeleton = self.skeleton;
        let (number, source, call) = skeleton.waiting_calls.at(point).expect("a call that waits");
        let blocked = self.all_of_fresh(at);
        let drained = match is_seeded(Fault::KeptOrderBlocks) {
            false => self.drained(number, source),
            // Whoever waits for another call to enter counts as blocked.
            true => self.nothing_entered(&call.feeds),
        };
        self.solver.clause(&[!blocked, drained]);
        let reason = || Reason::Drained { source: source.channel };
        self.under(reason, |encoder| {
            let closers = source.closers.iter().filter(|&&closer| closer != call.enter);
            for &closer in closers.filter(|_| !is_seeded(Fault::ClosersForgotten)) {
                let entered = encoder.included(closer);
                encoder.rule(&[!blocked, !entered]);
            }
        });
        points.push(Point { event: point, blocked, waits: true });
    }

    /// "What was put into the source has been taken out": each call that waits on it has left, or
    /// nobody has fed it.
    fn drained(&mut self, number: usize, source: &Source) -> Lit {
        if let Some(&known) = self.drained.get(&number) {
            return known;
        }
        let drained = self.solver.literal();
        let reason = || Reason::Drained { source: source.channel };
        self.under(reason, |encoder| {
            for call in &source.calls {
                // The last one, of several, is forgotten.
                let forgotten = usize::from(is_seeded(Fault::FeedForgotten));
                for &feed in &call.feeds[..call.feeds.len().saturating_sub(forgotten)] {
                    let mut some = vec![!drained, !encoder.included(feed)];
                    some.extend(call.leave.map(|leave| encoder.included(leave)));
                    encoder.rule(&some);
                }
            }
        });
        self.drained.insert(number, drained);
        drained
    }

    /// A literal that implies that none of these is executed.
    fn nothing_entered(&mut self, enters: &[EventId]) -> Lit {
        let lits: Vec<Lit> = enters.iter().map(|&enter| !self.included(enter)).collect();
        self.all_of_fresh(&lits)
    }

    /// The mode of the hold that a wait closes.
    fn mode_given_back(&self, wait: EventId) -> Mode {
        let hold = self.skeleton.locks.hold_at(wait).expect("a wait closes a hold");
        self.skeleton.locks.hold(hold).mode
    }

    /// A literal of its own that implies all of `lits`; more may be asked of it.
    fn all_of_fresh(&mut self, lits: &[Lit]) -> Lit {
        let all = self.solver.literal();
        for &lit in lits {
            self.solver.clause(&[!all, lit]);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use foretrace_causality::MustHappenBefore;
    use foretrace_model::Skeleton;
    use foretrace_verdict::Model;

    use super::*;
    use crate::cells::Cells;
    use crate::encode::Questions;

    /// How many clauses say that the program is stuck, if each thread does so many rounds.
    fn clauses(round: &str, rounds: usize) -> u64 {
        let text: String = ["a", "b"].map(|thread| round.replace('T', thread)).concat();
        let trace = foretrace_trace::text::parse(text.repeat(rounds)).unwrap();
        let (skeleton, order) =
            (Skeleton::new(&trace, Model::ReadsFrom), MustHappenBefore::new(&trace));
        let cells = Cells::new(&skeleton, &order);
        let mut encoder = Encoder::new(&skeleton, &order, &cells, Questions::Plain);
        encoder.stuck_at(&[EventId(0)]).unwrap();
        encoder.solver.clauses()
    }

    #[test]
    fn the_rules_of_a_semaphore_grow_with_waits_times_tokens() {
        let round = "T: sempost s\nT: semwait s\n";
        assert!(clauses(round, 40) < 5 * clauses(round, 20));
    }

    #[test]
    fn the_rules_of_a_lock_grow_with_its_holds() {
        let round = "T: acquire m\nT: release m\n";
        assert!(clauses(round, 40) < 3 * clauses(round, 20));
    }
}
