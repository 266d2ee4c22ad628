//! Stuck states, as a question to the solver.
//!
//! **Computes.** A bit that implies: at the end every thread is finished, was never started, or is
//! blocked for ever; at least one is blocked. What a thread waits for is compared with the state at
//! the end, behind all that happens.
//!
//! **Waits.** A wait may end spuriously, so mostly signals are of no interest. But a wait that goes
//! on for ever (it is *open*) was never notified: every broadcast came before it, and every signal
//! behind its begin has woken another wait. So signals are matched with waits: a signal that comes
//! while some wait is open, or is kept for a later signal, wakes exactly one wait, which was not
//! woken before. A wait that is neither open nor matched is taken to end spuriously as soon as it
//! begins, so that no signal can reach it.
//!
//! **Waiting again.** Unfolding leaves out waits that follow each other directly. They can take any
//! number of signals, which then wake nobody else. So if the strict question has no answer, a wider
//! one is asked, in which the waits of such threads may take several signals. Its answers are no
//! executions of the skeleton; but if there is none, nothing is stuck.
//!
//! **Cost.** The square of the pairs of signals and waits of a condition variable.

use foretrace_program::{Site, Violation};
use foretrace_solve::Bit;

use super::formula::Formula;
use super::order::Order;
use crate::fault::{Fault, is_seeded};
use crate::skeleton::{Ending, Signal, Until, Wait};

/// Signals times waits.
const MOST_MATCHES: usize = 2_000;

/// The question.
pub(crate) struct Stuck {
    /// That there is a stuck state.
    pub(crate) happens: Bit,
    /// That there may be one, if threads wait more often than was unfolded; `None` if none does.
    pub(crate) may_happen: Option<Bit>,
    /// That each of the blocking operations blocks its thread.
    pub(crate) blocked: Vec<Bit>,
    /// That each of the waits goes on for ever.
    pub(crate) open: Vec<Bit>,
    /// That the signal wakes the wait.
    pub(crate) wakes: Vec<(usize, usize, Bit)>,
}

/// A stuck state of a model.
pub(crate) struct StuckState {
    /// The sites of blocked threads, sorted.
    pub(crate) sites: Vec<Site>,
    /// By the number of the operation, whether it blocks.
    pub(crate) blocked: Vec<bool>,
    /// Waits that go on for ever.
    pub(crate) open: Vec<usize>,
    /// Which signal wakes which wait.
    pub(crate) wakes: Vec<(usize, usize)>,
}

impl StuckState {
    pub(crate) fn violation(&self) -> Violation {
        Violation::Deadlock(self.sites.clone())
    }
}

/// Whether there are too many signals and waits to ask.
pub(crate) fn is_too_large(ending: &Ending) -> bool {
    ending.signals.len().saturating_mul(ending.waits.len()) > MOST_MATCHES
}

impl Formula<'_> {
    /// The question, if any operation blocks.
    pub(crate) fn stuck(&mut self, order: &Order) -> Option<Stuck> {
        let skeleton = self.skeleton;
        let ending = &skeleton.ending;
        let asked = self.bit(ending.asked?);
        let happens = Bit::from(self.literal());
        self.clause(&[!happens, asked]);
        let fresh = |formula: &mut Self| Bit::from(formula.literal());
        let open: Vec<Bit> = ending.waits.iter().map(|_| fresh(self)).collect();
        let mut blocked = Vec::new();
        for blocking in &ending.blocking {
            let is_blocked = fresh(self);
            let stops = self.bit(blocking.stops);
            self.clause(&[!is_blocked, stops]);
            match blocking.until {
                Until::State(_) if is_seeded(Fault::StuckWhileFree) => (),
                Until::State(still) => {
                    let still = self.bit(still);
                    self.clause(&[!is_blocked, still]);
                }
                Until::End(child) => {
                    for &end in &skeleton.threads[child].ends {
                        let end = self.bit(end);
                        if !is_seeded(Fault::StuckJoin) {
                            self.clause(&[!is_blocked, !end]);
                        }
                    }
                }
                Until::Notified(wait, still) => {
                    let still = self.bit(still);
                    self.clause(&[!is_blocked, open[wait], still]);
                }
            }
            blocked.push(is_blocked);
        }
        // The last thread only looks at the end.
        for (number, thread) in skeleton.threads[..skeleton.threads.len() - 1].iter().enumerate() {
            let started = self.bit(thread.started);
            let mut done = vec![!happens, !started];
            done.extend(thread.ends.iter().map(|&end| self.bit(end)));
            let own = ending.blocking.iter().zip(&blocked);
            let own = own.filter(|(blocking, _)| blocking.thread == number);
            done.extend(own.map(|(_, &is_blocked)| is_blocked));
            if !is_seeded(Fault::StuckWhileRunning) || number > 0 {
                self.clause(&done);
            }
        }
        let mut some = blocked.clone();
        some.push(!happens);
        self.clause(&some);
        let again = Bit::from(self.literal());
        let wakes = self.wakes(order, &open, again);
        let strictly = Bit::from(self.literal());
        self.clause(&[!strictly, happens]);
        self.clause(&[!strictly, !again]);
        let may_happen = (!ending.again.is_empty()).then_some(happens);
        Some(Stuck { happens: strictly, may_happen, blocked, open, wakes })
    }

    /// Matches signals with waits; if `again`, threads may wait more often than was unfolded.
    fn wakes(&mut self, order: &Order, open: &[Bit], again: Bit) -> Vec<(usize, usize, Bit)> {
        let skeleton = self.skeleton;
        let ending = &skeleton.ending;
        let mut wakes: Vec<(usize, usize, Bit)> = Vec::new();
        for (number, signal) in ending.signals.iter().enumerate() {
            if signal.is_broadcast {
                continue;
            }
            for (at, wait) in ending.waits.iter().enumerate() {
                // Nobody notifies itself.
                let is_own = skeleton.nodes[signal.node.index()] == wait.thread;
                let is_early = order.before(signal.node, wait.begin);
                if wait.cond == signal.cond && !is_own && !is_early {
                    let wakes_it = Bit::from(self.literal());
                    self.wakes_one(order, signal, wait, wakes_it);
                    self.clause(&[!wakes_it, !open[at]]);
                    wakes.push((number, at, wakes_it));
                }
            }
        }
        for (at, &(signal, wait, bit)) in wakes.iter().enumerate() {
            for &(other, also, other_bit) in &wakes[..at] {
                if is_seeded(Fault::SignalWakesTwo) {
                    continue;
                }
                if signal == other {
                    self.clause(&[!bit, !other_bit]);
                } else if wait == also && ending.again.contains(&ending.waits[wait].thread) {
                    self.clause(&[!bit, !other_bit, again]);
                } else if wait == also {
                    self.clause(&[!bit, !other_bit]);
                }
            }
        }
        for (at, wait) in ending.waits.iter().enumerate() {
            let (begins, ends) = (self.bit(wait.begins), self.bit(wait.wakes));
            self.clause(&[!open[at], begins]);
            self.clause(&[!open[at], !ends]);
            if wait.timed {
                self.clause(&[!open[at]]);
            }
            for (number, signal) in ending.signals.iter().enumerate() {
                let is_own = skeleton.nodes[signal.node.index()] == wait.thread;
                if signal.cond != wait.cond || is_own || is_seeded(Fault::SignalsNobody) {
                    continue;
                }
                // Whoever is woken is kept until then.
                let mut kept = vec![(open[at], None)];
                for &(by, woken, bit) in &wakes {
                    if woken == at && by != number {
                        kept.push((bit, Some(by)));
                    }
                }
                let matched: Vec<Bit> =
                    wakes.iter().filter(|(by, ..)| *by == number).map(|&(.., bit)| bit).collect();
                for (is_kept, until) in kept {
                    let given = self.bit(signal.guard);
                    let early = self.before(order, signal.node, wait.begin);
                    let mut clause = vec![!is_kept, !given, early];
                    if until.is_some() && ending.again.contains(&wait.thread) {
                        clause.push(again);
                    }
                    if let Some(by) = until {
                        // Signals of one section are in the order in which they are listed.
                        let node = ending.signals[by].node;
                        clause.push(match node == signal.node {
                            true if by < number => Bit::TRUE,
                            true => Bit::FALSE,
                            false => self.before(order, node, signal.node),
                        });
                    }
                    clause.extend(&matched);
                    self.clause(&clause);
                }
            }
        }
        wakes
    }

    /// A signal wakes a wait if the bit is true: the wait has begun, and not ended before.
    fn wakes_one(&mut self, order: &Order, signal: &Signal, wait: &Wait, wakes: Bit) {
        let given = self.bit(signal.guard);
        let begins = self.bit(wait.begins);
        let ends = self.bit(wait.wakes);
        let woken = self.bit(wait.woken);
        let begun = self.before(order, wait.begin, signal.node);
        let in_time = self.before(order, signal.node, wait.wake);
        for implied in [given, begins, woken, begun] {
            self.clause(&[!wakes, implied]);
        }
        self.clause(&[!wakes, !ends, in_time]);
    }

    /// The stuck state of the model.
    pub(crate) fn stuck_state(&self, stuck: &Stuck) -> StuckState {
        let blocked: Vec<bool> = stuck.blocked.iter().map(|&bit| self.is_true(bit)).collect();
        let all = self.skeleton.ending.blocking.iter().zip(&blocked);
        let mut sites: Vec<Site> = all.filter(|(_, is)| **is).map(|(at, _)| at.site).collect();
        sites.sort_unstable();
        let is_open = |&at: &usize| self.is_true(stuck.open[at]);
        let open = (0..stuck.open.len()).filter(is_open).collect();
        let wakes = stuck.wakes.iter().filter(|(.., bit)| self.is_true(*bit));
        let wakes = wakes.map(|&(signal, wait, _)| (signal, wait)).collect();
        StuckState { sites, blocked, open, wakes }
    }

    /// Asks for other stuck states from now on.
    pub(crate) fn exclude(&mut self, stuck: &Stuck, state: &StuckState) {
        let pairs = stuck.blocked.iter().zip(&state.blocked);
        let other: Vec<Bit> = pairs.map(|(&bit, &was)| if was { !bit } else { bit }).collect();
        self.clause(&other);
    }
}
