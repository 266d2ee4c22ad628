//! Notifications, semaphore tokens, barrier rounds, calls.
//!
//! **Computes.** A notified wake has a signal of its own, or a broadcast, between its wait and
//! itself. A semaphore wait has a token of its own: an initial one, or a post before it.
//!
//! **Follows.** `docs/theory.md`, section 3. Two arguments make this exact:
//!
//! 1. *Signals.* The rule says that a signal must wake a waiter if one is there that cannot leave
//!    by itself. As long as nobody asks who still waits at X, that adds nothing to "each signal
//!    wakes at most one": walk through a schedule with such an assignment, and let a signal without
//!    an addressee take a present waiter whose notified wake is included (its later signal becomes
//!    the next one without an addressee), else a present waiter that cannot leave (it does not go
//!    on before X), else send all present ones, which may leave and are not notified later, on
//!    their way. (`stuck` does ask, and adds the rest.)
//! 2. *Semaphores.* If the count never falls below zero, the k-th wait can take the k-th token, in
//!    the order in which they come; and if the count is zero at some moment, these waits have taken
//!    all tokens so far.

use rustc_hash::FxHashMap;

use foretrace_solve::Lit;
use foretrace_trace::{EventId, SemId};

use super::Encoder;
use super::amo::AtMostOne;
use crate::explain::Reason;
use crate::fault::{Fault, is_seeded};

/// Which wait takes which token, as far as encoded. Initial tokens come first, then posts.
#[derive(Default)]
pub(super) struct Tokens {
    by_token: Vec<AtMostOne>,
    /// For each encoded wait, its literal per token.
    taken: FxHashMap<EventId, Vec<Lit>>,
    failures: rustc_hash::FxHashSet<EventId>,
    /// "The count is zero at X", if that was asked for.
    zero: Option<Lit>,
}

impl Encoder<'_> {
    /// A notified wake needs a notification. Returns whether this is new.
    pub(super) fn require_notification(&mut self, wake: EventId) -> bool {
        if self.wakes.contains_key(&wake) {
            return false;
        }
        let skeleton = self.skeleton;
        let (cond, wait) = skeleton.waiting.wait_at(wake);
        let cond = skeleton.waiting.cond(cond);
        let mut possible = Vec::new();
        for (&notify, is_signal) in cond
            .signals
            .iter()
            .map(|signal| (signal, true))
            .chain(cond.broadcasts.iter().map(|broadcast| (broadcast, false)))
        {
            let (after, before) = (self.before(wait.wait, notify), self.before(notify, wake));
            let never = self.solver.constant(false);
            if after == never || before == never {
                continue;
            }
            possible.push((notify, is_signal, after, before));
        }
        let by = || possible.iter().map(|&(notify, ..)| notify).collect();
        let reason = || Reason::Notified { wait: wait.wait, wake, by: by() };
        let choices = self.under(reason, |encoder| encoder.notified_by(wake, &possible));
        self.wakes.insert(wake, choices);
        true
    }

    /// One of the notifications, each with "it comes after the wait" and "it comes before the
    /// wake", reaches the wait.
    fn notified_by(
        &mut self,
        wake: EventId,
        possible: &[(EventId, bool, Lit, Lit)],
    ) -> Vec<(EventId, Lit)> {
        let mut some = vec![!self.included(wake)];
        let mut choices = Vec::new();
        for &(notify, is_signal, after, before) in possible {
            let chosen = self.solver.literal();
            self.rule(&[!chosen, after]);
            self.rule(&[!chosen, before]);
            if is_signal && !is_seeded(Fault::SignalWakesTwo) {
                let guard = self.guard();
                let woken = self.signals.entry(notify).or_default();
                woken.add_under(&mut self.solver, chosen, guard);
            }
            some.push(chosen);
            choices.push((notify, chosen));
        }
        self.rule(&some);
        choices
    }

    /// A semaphore wait needs a token. Returns whether this is new.
    pub(super) fn require_token(&mut self, sem: SemId, wait: EventId) -> bool {
        let mut tokens = self.semaphores.remove(&sem).unwrap_or_default();
        let new = self.take_token(sem, wait, &mut tokens);
        self.semaphores.insert(sem, tokens);
        new
    }

    fn take_token(&mut self, sem: SemId, wait: EventId, tokens: &mut Tokens) -> bool {
        if tokens.taken.contains_key(&wait) {
            return false;
        }
        let reason = || Reason::Token { wait, semaphore: sem };
        self.under(reason, |encoder| encoder.take_one_token(sem, wait, tokens));
        true
    }

    fn take_one_token(&mut self, sem: SemId, wait: EventId, tokens: &mut Tokens) {
        let guard = self.guard();
        let skeleton = self.skeleton;
        let semaphore = skeleton.waiting.semaphore(sem);
        let initial = initial_tokens(semaphore);
        tokens.by_token.resize(initial + semaphore.posts.len(), AtMostOne::default());
        let mut taken = Vec::with_capacity(tokens.by_token.len());
        let mut some = vec![!self.included(wait)];
        let mut only_one = AtMostOne::default();
        for (token, by_token) in tokens.by_token.iter_mut().enumerate() {
            let chosen = self.solver.literal();
            if token >= initial {
                let before = self.before(semaphore.posts[token - initial], wait);
                self.rule(&[!chosen, before]);
            }
            if !is_seeded(Fault::TokenTakenTwice) {
                by_token.add_under(&mut self.solver, chosen, guard);
            }
            only_one.add_under(&mut self.solver, chosen, guard);
            some.push(chosen);
            taken.push(chosen);
        }
        self.rule(&some);
        tokens.taken.insert(wait, taken);
    }

    /// A failed semaphore wait needs that all tokens so far are taken. Returns whether this is new.
    pub(super) fn require_no_token(&mut self, sem: SemId, failure: EventId) -> bool {
        let mut tokens = self.semaphores.remove(&sem).unwrap_or_default();
        let new = tokens.failures.insert(failure);
        if new {
            let included = self.included(failure);
            let reason = || Reason::NoToken { event: Some(failure), semaphore: sem };
            self.under(reason, |encoder| {
                encoder.all_taken(sem, &mut tokens, included, Some(failure));
            });
        }
        self.semaphores.insert(sem, tokens);
        new
    }

    /// A literal that implies that the semaphore's count is zero at X: one for all who ask.
    pub(super) fn count_is_zero(&mut self, sem: SemId) -> Lit {
        let mut tokens = self.semaphores.remove(&sem).unwrap_or_default();
        let zero = tokens.zero.unwrap_or_else(|| {
            let zero = self.solver.literal();
            let reason = || Reason::NoToken { event: None, semaphore: sem };
            self.under(reason, |encoder| encoder.all_taken(sem, &mut tokens, zero, None));
            zero
        });
        tokens.zero = Some(zero);
        self.semaphores.insert(sem, tokens);
        zero
    }

    /// If `guard`, every token that is there before the moment (`None`: before X) is taken before
    /// it.
    fn all_taken(&mut self, sem: SemId, tokens: &mut Tokens, guard: Lit, moment: Option<EventId>) {
        let skeleton = self.skeleton;
        let semaphore = skeleton.waiting.semaphore(sem);
        let initial = initial_tokens(semaphore);
        if semaphore.initial as usize > semaphore.waits.len() {
            self.rule(&[!guard]);
            return;
        }
        for &wait in &semaphore.waits {
            self.take_token(sem, wait, tokens);
            if self.is_exhausted() {
                return;
            }
        }
        for token in 0..initial + semaphore.posts.len() {
            if self.is_exhausted() {
                return;
            }
            let mut clause = vec![!guard];
            if token >= initial {
                let post = semaphore.posts[token - initial];
                clause.push(match moment {
                    Some(moment) => self.before(moment, post),
                    None if is_seeded(Fault::PostsForgotten) => continue,
                    None => !self.included(post),
                });
            }
            for &wait in &semaphore.waits {
                let in_time = match moment {
                    Some(moment) => self.before(wait, moment),
                    None => self.included(wait),
                };
                let taken = tokens.taken[&wait][token];
                clause.push(self.all_of(&[taken, in_time]));
            }
            self.rule(&clause);
        }
    }

    /// A barrier arrival needs the round before. Returns whether something is new.
    pub(super) fn require_previous_round(&mut self, arrive: EventId) -> bool {
        let skeleton = self.skeleton;
        let at = skeleton.waiting.arrival_at(arrive);
        let Some(round) = at.round.checked_sub(1) else { return false };
        self.follow_all(&skeleton.waiting.barrier(at.barrier).rounds[round as usize], arrive)
    }

    /// Leaving a barrier needs the whole round. Returns whether something is new.
    pub(super) fn require_round(&mut self, leave: EventId) -> bool {
        let skeleton = self.skeleton;
        let at = skeleton.waiting.arrival_at(leave);
        self.follow_all(&skeleton.waiting.barrier(at.barrier).rounds[at.round as usize], leave)
    }

    /// The end of a call needs that those have begun which it rests on. Returns whether something
    /// is new.
    pub(super) fn require_calls(&mut self, leave: EventId) -> bool {
        let skeleton = self.skeleton;
        let enters = skeleton.calls.needed_by(leave);
        let reason = || Reason::Calls { leave, enters: enters.to_vec() };
        self.under(reason, |encoder| {
            enters.iter().fold(false, |new, &enter| encoder.must_follow(enter, leave) | new)
        })
    }

    fn follow_all(&mut self, arrivals: &[EventId], event: EventId) -> bool {
        let reason = || Reason::Round { event, arrivals: arrivals.to_vec() };
        self.under(reason, |encoder| {
            arrivals.iter().fold(false, |new, &earlier| encoder.must_follow(earlier, event) | new)
        })
    }
}

/// How many initial tokens are worth telling apart: no more than there are waits.
fn initial_tokens(semaphore: &foretrace_model::Semaphore) -> usize {
    (semaphore.initial as usize).min(semaphore.waits.len())
}
