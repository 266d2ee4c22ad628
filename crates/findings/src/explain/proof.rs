//! A proof that a candidate is impossible, as a chain of sentences.
//!
//! **Computes.** One sentence for each step that says something new; what the candidate itself
//! says, the order of a thread and chains of orders become parts of the sentences that need them.
//! The last sentence is the contradiction.
//!
//! **Follows.** The rules of `docs/causality.md`.
//!
//! **Invariant.** Only words: the proof has passed its checker, and nothing here decides anything.

use foretrace_report::Grounds;
use foretrace_trace::{Channels, EventId, Op, Trace};
use foretrace_verdict::{Fact, Model, ProofStep, Refutation, Rule, Violation};

use super::demand::{Noun, noun};
use super::recorded::Recorded;
use super::words::Words;

/// What is needed to tell of the refutations of a trace.
#[derive(Clone, Copy)]
pub(super) struct Telling<'a> {
    pub(super) words: Words<'a>,
    pub(super) recorded: &'a Recorded,
    pub(super) model: Model,
}

/// The sentences of a proof.
pub(super) struct Told {
    pub(super) by: Grounds,
    pub(super) steps: Vec<String>,
    pub(super) conclusion: String,
}

/// A proof whose sentences are numbered.
pub(super) struct Proof<'a> {
    pub(super) telling: Telling<'a>,
    pub(super) steps: &'a [ProofStep],
    contradiction: (u32, u32),
    pub(super) noun: Noun,
    /// The numbers of the steps that are sentences of their own.
    numbers: Vec<Option<usize>>,
    /// What the contradiction rests on.
    is_used: Vec<bool>,
    folded: Option<Folded>,
}

/// An order between two threads, of which the later event is executed and the earlier one is not.
struct Folded {
    /// The step that is no sentence of its own.
    step: u32,
    link: u32,
    from: EventId,
    to: EventId,
    /// What says that the later event is executed.
    done: u32,
    /// What says that the earlier event is not.
    not: u32,
}

impl<'a> Proof<'a> {
    pub(super) fn new(
        telling: Telling<'a>,
        violation: &Violation,
        refutation: &'a Refutation,
    ) -> Self {
        let (steps, contradiction) = (&refutation.steps[..], refutation.contradiction);
        // What the contradiction rests on, and what other steps rest on.
        let (mut is_used, mut is_premise) = (vec![false; steps.len()], vec![false; steps.len()]);
        let (executed, not_executed) = contradiction;
        [executed, not_executed].iter().for_each(|&step| is_used[step as usize] = true);
        for at in (0..steps.len()).rev() {
            if is_used[at] {
                for &premise in &steps[at].premises {
                    is_used[premise as usize] = true;
                    is_premise[premise as usize] = true;
                }
            }
        }
        let (noun, numbers) = (noun(violation), vec![None; steps.len()]);
        let mut proof =
            Proof { telling, steps, contradiction, noun, is_used, numbers, folded: None };
        proof.folded = proof.last_link(&is_premise);
        let mut count = 0;
        for (at, step) in steps.iter().enumerate() {
            // That a fork comes first needs no sentence.
            let is_part =
                matches!(step.rule, Rule::Candidate | Rule::Program | Rule::Chain | Rule::Fork);
            let is_folded = proof.folded.as_ref().is_some_and(|folded| folded.step == at as u32);
            if proof.is_used[at] && !is_part && !is_folded {
                count += 1;
                proof.numbers[at] = Some(count);
            }
        }
        proof
    }

    /// The contradiction, if all that leads to it is one order between two threads.
    fn last_link(&self, is_premise: &[bool]) -> Option<Folded> {
        let (executed, not_executed) = self.contradiction;
        let event = |step: u32| ends(self.steps[step as usize].fact).0;
        let of = |step: u32, rule: Rule| {
            let its = &self.steps[step as usize];
            (its.rule == rule && !is_premise[step as usize]).then_some(&its.premises)
        };
        let link = |premises: &[u32], done: u32, not: u32, step: u32| {
            let order = premises.iter().find_map(|&premise| match self.links(premise)[..] {
                [(link, from, to)] => Some((link, from, to)),
                _ => None,
            });
            order.map(|(link, from, to)| Folded { step, link, from, to, done, not })
        };
        let fact = |&&step: &&u32| !matches!(self.steps[step as usize].fact, Fact::Before(..));
        if let Some(premises) = of(executed, Rule::Need) {
            let done = *premises.iter().find(fact)?;
            let folded = link(premises, done, not_executed, executed)?;
            return self.is_up_to(event(not_executed), folded.from).then_some(folded);
        }
        let premises = of(not_executed, Rule::Never)?;
        let not = *premises.iter().find(fact)?;
        let folded = link(premises, executed, not, not_executed)?;
        self.is_up_to(folded.to, event(executed)).then_some(folded)
    }

    /// The whole proof in words.
    pub(super) fn tell(&self) -> Told {
        let by = self.grounds();
        if let Some((step, conclusion)) = self.common_lock() {
            return Told { by, steps: vec![step], conclusion };
        }
        let numbered = self.steps.iter().zip(&self.numbers).filter(|(_, number)| number.is_some());
        let steps = numbered.map(|(step, _)| format!("{}.", self.sentence(step))).collect();
        Told { by, steps, conclusion: self.conclusion() }
    }

    /// The steps that are sentences of their own.
    pub(super) fn numbered(&self) -> impl Iterator<Item = &ProofStep> {
        let numbered = self.steps.iter().zip(&self.numbers).filter(|(_, number)| number.is_some());
        numbered.map(|(step, _)| step)
    }

    /// The steps that are used.
    pub(super) fn used(&self) -> impl Iterator<Item = &ProofStep> {
        let used = self.steps.iter().zip(&self.is_used).filter(|(_, is_used)| **is_used);
        used.map(|(step, _)| step)
    }

    fn grounds(&self) -> Grounds {
        let (mut order, mut locks, mut reads) = (false, false, false);
        for step in self.used() {
            match step.rule {
                Rule::LockAfter | Rule::LockInside | Rule::LockOrder => locks = true,
                Rule::Unexplained | Rule::Written => reads = true,
                Rule::Candidate | Rule::Program | Rule::Chain => {}
                Rule::Need | Rule::Never | Rule::Cycle => {}
                Rule::Fork | Rule::Join | Rule::Barrier | Rule::Open => order = true,
                Rule::Alloc | Rule::Call | Rule::Unnotified | Rule::Notified => order = true,
                Rule::Matched | Rule::Unposted | Rule::Posted | Rule::Published => order = true,
            }
        }
        match (order, locks) {
            _ if reads => Grounds::Reads,
            (true, true) => Grounds::OrderAndLocks,
            (false, true) => Grounds::Locks,
            _ => Grounds::Order,
        }
    }

    /// Whether the first event is the second, or precedes it in its thread.
    pub(super) fn is_up_to(&self, first: EventId, second: EventId) -> bool {
        let trace = self.telling.words.trace;
        first <= second && trace.thread_of(first) == trace.thread_of(second)
    }

    /// The premise that says X(e).
    pub(super) fn executed(&self, premises: &[u32], event: EventId) -> Option<u32> {
        let says = |&&step: &&u32| {
            let fact = self.steps[step as usize].fact;
            matches!(fact, Fact::Executed(late) if self.is_up_to(event, late))
        };
        premises.iter().find(says).copied()
    }

    /// The premise that says N(e).
    pub(super) fn not_executed(&self, premises: &[u32], event: EventId) -> Option<u32> {
        let says = |&&step: &&u32| {
            let fact = self.steps[step as usize].fact;
            matches!(fact, Fact::NotExecuted(early) if self.is_up_to(early, event))
        };
        premises.iter().find(says).copied()
    }

    /// The orders between threads that lead from one event to the other.
    pub(super) fn way(
        &self,
        premises: &[u32],
        from: EventId,
        to: EventId,
    ) -> Option<Vec<(u32, EventId, EventId)>> {
        if from != to && self.is_up_to(from, to) {
            return Some(Vec::new());
        }
        let leads = |&&step: &&u32| {
            matches!(self.steps[step as usize].fact, Fact::Before(first, second)
                if self.is_up_to(from, first) && self.is_up_to(second, to))
        };
        premises.iter().find(leads).map(|&step| self.links(step))
    }

    /// What an order is made of.
    pub(super) fn links(&self, step: u32) -> Vec<(u32, EventId, EventId)> {
        let ProofStep { fact, rule, premises } = &self.steps[step as usize];
        match (rule, fact) {
            (Rule::Chain, _) => premises.iter().flat_map(|&link| self.links(link)).collect(),
            (Rule::Program, _) => Vec::new(),
            (_, Fact::Before(first, second)) => vec![(step, *first, *second)],
            _ => Vec::new(),
        }
    }

    /// `by (2) `, if the step is a sentence of its own.
    fn by(&self, step: u32) -> String {
        self.numbers[step as usize].map_or(String::new(), |number| format!("by ({number}) "))
    }

    /// ` by (2)`
    pub(super) fn cited(&self, step: u32) -> String {
        self.numbers[step as usize].map_or(String::new(), |number| format!(" by ({number})"))
    }

    /// `T1 takes `m` (a.c:1), then waits for `c` (a.c:2), by (1) before T2 signals `c` (a.c:7)`
    pub(super) fn path(
        &self,
        from: EventId,
        links: &[(u32, EventId, EventId)],
        to: EventId,
    ) -> String {
        let words = self.telling.words;
        let (mut text, mut at) = (words.does(from), from);
        for &(step, first, second) in links {
            if first != at {
                text.push_str(&format!(", then {}", words.does_it(first)));
            }
            let is_given = self.steps[step as usize].rule == Rule::Candidate;
            let by = if is_given { format!("for {} ", self.noun) } else { self.by(step) };
            text.push_str(&format!(", {by}before {}", words.does(second)));
            at = second;
        }
        if at != to {
            text.push_str(&format!(", then {}", words.does_it(to)));
        }
        text
    }

    /// The way that the premises give, in words.
    pub(super) fn way_in_words(
        &self,
        premises: &[u32],
        from: EventId,
        to: EventId,
    ) -> Option<String> {
        self.way(premises, from, to).map(|links| self.path(from, &links, to))
    }

    fn sentence(&self, step: &ProofStep) -> String {
        let words = self.telling.words;
        match (step.rule, step.fact) {
            (Rule::Need, Fact::Executed(event)) => self.need(step, event),
            (Rule::Never, Fact::NotExecuted(event)) => self.never(step, event),
            (Rule::Cycle, Fact::NotExecuted(event)) => self.cycle(step, event),
            (Rule::LockAfter | Rule::LockInside | Rule::LockOrder, _) => self.lock(step),
            (Rule::Unnotified, Fact::NotExecuted(wake)) => self.unnotified(step, wake),
            (Rule::Notified, Fact::Before(event, wake)) => self.notified(step, event, wake),
            (Rule::Matched, Fact::Before(wait, by)) => self.matched(step, wait, by),
            (Rule::Unposted, Fact::NotExecuted(wait)) => self.unposted(step, wait),
            (Rule::Posted, Fact::Before(event, wait)) => self.posted(step, event, wait),
            (rule, Fact::Before(first, second)) => {
                let first_does =
                    if rule == Rule::Call { words.must(first) } else { words.does(first) };
                let order = format!("{first_does} before {}", words.does(second));
                match self.because(rule, first, second) {
                    Some(because) => format!("{order}, because {because}"),
                    None => order,
                }
            }
            (_, Fact::Executed(event)) => words.must_have_done(event),
            (_, Fact::NotExecuted(event)) => words.cannot(event),
        }
    }

    /// Why an order needs nothing else.
    fn because(&self, rule: Rule, first: EventId, second: EventId) -> Option<String> {
        let trace = self.telling.words.trace;
        Some(match (rule, trace.op(first), trace.op(second)) {
            (Rule::Join, ..) => "a join waits for the whole thread".to_string(),
            (Rule::Barrier, _, Op::Leave { .. }) => {
                "nobody leaves a barrier before all have reached it".to_string()
            }
            (Rule::Barrier, ..) => "that is an earlier round of the barrier".to_string(),
            (Rule::Open, ..) => "that is the hold which is closed there".to_string(),
            (Rule::Alloc, Op::Free { .. }, _) => "the memory is used again".to_string(),
            (Rule::Alloc, ..) => "the memory has to be there".to_string(),
            (Rule::Call, ..) if share_a_channel(trace, first, trace.enter_of(second)) => {
                "the recorded order of these calls is kept".to_string()
            }
            (Rule::Call, ..) => {
                "the recorded order of calls is kept, and others lead from the one to the other"
                    .to_string()
            }
            (Rule::Unexplained, ..) => {
                "no recorded write explains what it reads, so that all that was recorded before it stays before it".to_string()
            }
            (Rule::Written, ..) if self.telling.model == Model::ReadsFrom => {
                "it has to see the write that it saw in the recorded run".to_string()
            }
            (Rule::Written, ..) => {
                let value = trace.values(second).0;
                let value = value.map_or(String::new(), |value| format!(", {value}"));
                format!("no other write leaves what it has to read{value}")
            }
            _ => return None,
        })
    }

    fn need(&self, step: &ProofStep, event: EventId) -> String {
        let words = self.telling.words;
        let must = words.must_have_done(event);
        let found = step.premises.iter().find_map(|&premise| {
            let Fact::Before(first, second) = self.steps[premise as usize].fact else {
                return None;
            };
            let executed = self.executed(&step.premises, second)?;
            self.is_up_to(event, first).then_some((premise, second, executed))
        });
        let Some((premise, second, executed)) = found else { return must };
        let links = self.links(premise);
        let done = format!("which has happened{}", self.cited(executed));
        match links.first() {
            Some(&(link, first, to)) if first == event => {
                let rest = self.path(to, &links[1..], second);
                format!("{must}, because {}this comes before {rest}, {done}", self.by(link))
            }
            _ => format!("{must}, because {}, {done}", self.path(event, &links, second)),
        }
    }

    fn never(&self, step: &ProofStep, event: EventId) -> String {
        let cannot = self.telling.words.cannot(event);
        let found = step.premises.iter().find_map(|&premise| {
            let Fact::Before(first, second) = self.steps[premise as usize].fact else {
                return None;
            };
            let not = self.not_executed(&step.premises, first)?;
            self.is_up_to(second, event).then_some((premise, first, not))
        });
        let Some((premise, first, not)) = found else { return cannot };
        let path = self.path(first, &self.links(premise), event);
        format!("{cannot}, because {path}; but {}", self.is_not_done(not, first))
    }

    fn cycle(&self, step: &ProofStep, event: EventId) -> String {
        let cannot = self.telling.words.cannot(event);
        let found = step.premises.iter().find_map(|&premise| {
            let Fact::Before(first, second) = self.steps[premise as usize].fact else {
                return None;
            };
            let is_cycle = self.is_up_to(second, first) && self.is_up_to(second, event);
            is_cycle.then_some((premise, first))
        });
        let Some((premise, first)) = found else { return cannot };
        let path = self.path(first, &self.links(premise), first);
        format!("{cannot}, because this would have to come before itself: {path}")
    }

    /// What contradicts what.
    fn conclusion(&self) -> String {
        let words = self.telling.words;
        let (executed, not_executed) = self.contradiction;
        let event = |step: u32| ends(self.steps[step as usize].fact).0;
        let (late, early) = (event(executed), event(not_executed));
        let last = self.numbers.iter().flatten().max().copied();
        let is_last = |step: u32| last.is_some() && self.numbers[step as usize] == last;
        let so = format!("so {} cannot happen", self.noun);
        if let Some(folded) = &self.folded {
            let done = format!("{}{}", self.by(folded.done), words.has_done(folded.to));
            let not = match ends(self.steps[folded.not as usize].fact).0 {
                early if self.is_up_to(early, folded.from) => early,
                _ => folded.from,
            };
            let not = self.is_not_done(folded.not, not);
            let by = if is_last(folded.link) { String::new() } else { self.cited(folded.link) };
            return format!("But {done}, and {not}, which comes before that{by}: {so}.");
        }
        let comes =
            |how: &str| if late == early { String::new() } else { format!(", which comes {how}") };
        let done = || {
            let why = self.why_done(executed, late);
            format!("{}{}{why}", self.by(executed), words.has_done(late))
        };
        if is_last(executed) {
            let not = self.is_not_done(not_executed, early);
            format!("But {not}{}: {so}.", comes("before that"))
        } else if is_last(not_executed) {
            format!("But {}{}: {so}.", done(), comes("after that"))
        } else {
            let not = self.is_not_done(not_executed, early);
            format!("But {}, and {not}{}: {so}.", done(), comes("first"))
        }
    }

    /// Why the candidate says that an event of a thread which it does not name is executed.
    fn why_done(&self, step: u32, event: EventId) -> String {
        let trace = self.telling.words.trace;
        match (self.steps[step as usize].rule, trace.op(event)) {
            (Rule::Candidate, Op::Fork { child }) => {
                format!(", since {} runs", trace.name(child))
            }
            (Rule::Candidate, Op::Alloc { .. }) => ", since it is in use".to_string(),
            _ => String::new(),
        }
    }

    /// That an event is not executed.
    fn is_not_done(&self, step: u32, event: EventId) -> String {
        let words = self.telling.words;
        format!("{}{}", self.by(step), words.has_not_done(event))
    }

    /// Why an event cannot give a waiter what it needs; `None` if it can.
    pub(super) fn excluded(
        &self,
        premises: &[u32],
        giver: EventId,
        turn: Option<EventId>,
        waiter: EventId,
    ) -> Option<String> {
        if let Some(step) = self.not_executed(premises, giver) {
            return Some(self.is_not_done(step, giver));
        }
        let early = turn.and_then(|turn| self.way_in_words(premises, giver, turn));
        early.or_else(|| self.way_in_words(premises, waiter, giver))
    }

    /// The way from an event to each of the givers that are not the event.
    pub(super) fn ways(&self, premises: &[u32], event: EventId, to: &[EventId]) -> Vec<String> {
        let others = to.iter().filter(|&&giver| giver != event);
        others.filter_map(|&giver| self.way_in_words(premises, event, giver)).collect()
    }

    /// That an event is executed, if something says so.
    pub(super) fn done_in_words(&self, premises: &[u32], event: EventId) -> String {
        let by = self.executed(premises, event).map_or(String::new(), |step| self.cited(step));
        format!("{}{by}", self.telling.words.has_done(event))
    }
}

/// The events of a fact.
pub(super) fn ends(fact: Fact) -> (EventId, EventId) {
    match fact {
        Fact::Executed(event) | Fact::NotExecuted(event) => (event, event),
        Fact::Before(first, second) => (first, second),
    }
}

/// The first few of many.
pub(super) fn few(items: &[String]) -> String {
    const MOST: usize = 3;
    let shown = items[..items.len().min(MOST)].join("; ");
    match items.len().saturating_sub(MOST) {
        0 => shown,
        more => format!("{shown}; and {more} more"),
    }
}

/// Whether two calls, given by their enters, have a channel in common.
fn share_a_channel(trace: &Trace, one: EventId, two: Option<EventId>) -> bool {
    let on = |enter: EventId| {
        let Op::EnterCall { on, .. } = trace.op(enter) else { return None };
        Some(trace.channels_of(on))
    };
    match (on(one), two.and_then(on)) {
        (Some(Channels::Only(one)), Some(Channels::Only(two))) => {
            one.iter().any(|(channel, _)| two.iter().any(|(other, _)| other == channel))
        }
        _ => true,
    }
}
