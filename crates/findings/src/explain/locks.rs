//! The sentences about locks: section 4 of `docs/causality.md`.

use foretrace_trace::{EventId, Op};
use foretrace_verdict::{Fact, ProofStep, Rule};

use super::proof::Proof;
use super::recorded::Hold;
use super::words::Form;

impl Proof<'_> {
    /// The hold that comes first in a rule of section 4.
    fn outer(&self, step: &ProofStep, closed: Option<EventId>, inner: Hold) -> Option<Hold> {
        let recorded = self.telling.recorded;
        if let Some(closed) = closed {
            return recorded.hold_at(closed);
        }
        let opens = |hold: &Hold| {
            let is_before = |&step: &u32| match self.steps[step as usize].fact {
                Fact::Before(first, _) => self.is_up_to(hold.open, first),
                Fact::Executed(late) => self.is_up_to(hold.open, late),
                Fact::NotExecuted(_) => false,
            };
            let in_thread = self.is_up_to(hold.open, inner.open);
            hold.open != inner.open && (in_thread || step.premises.iter().any(is_before))
        };
        recorded.unclosed(inner.lock).find(opens)
    }

    /// For a step that says that a lock cannot be taken: the event that opens the hold which is in
    /// the way, and the one that cannot be.
    pub(super) fn barred(&self, step: &ProofStep) -> Option<(EventId, EventId)> {
        let (Rule::LockAfter | Rule::LockInside | Rule::LockOrder, Fact::NotExecuted(at)) =
            (step.rule, step.fact)
        else {
            return None;
        };
        let inner = self.telling.recorded.hold_at(at)?;
        Some((self.outer(step, None, inner)?.open, at))
    }

    pub(super) fn lock(&self, step: &ProofStep) -> String {
        let (words, recorded) = (self.telling.words, self.telling.recorded);
        let (closed, at) = match step.fact {
            Fact::Before(closed, at) => (Some(closed), at),
            Fact::NotExecuted(at) | Fact::Executed(at) => (None, at),
        };
        let Some(inner) = recorded.hold_at(at) else { return words.cannot(at) };
        let lock = words.lock(inner.lock);
        let outer = self.outer(step, closed, inner);
        let claim = match closed {
            Some(closed) => format!(
                "{} must {} before {} {}",
                words.thread(closed),
                words.with_lock(closed, Form::Base, &lock),
                words.thread(at),
                words.with_lock(at, Form::Third, "it")
            ),
            None => {
                format!("{} cannot {}", words.thread(at), words.with_lock(at, Form::Base, &lock))
            }
        };
        let Some(outer) = outer else { return claim };
        let first = words.thread(outer.open);
        let for_ever = match closed {
            Some(_) => String::new(),
            None if matches!(words.trace.op(outer.open), Op::Destroy { .. }) => String::new(),
            None => " and never releases it".to_string(),
        };
        let takes = words.with_lock(outer.open, Form::Third, "it");
        let because = if step.rule == Rule::LockOrder {
            let executed = self.executed(&step.premises, outer.open);
            let executed = executed.map_or(String::new(), |step| self.cited(step));
            let taken = words.with_lock(outer.open, Form::Done, "it");
            let second = words.thread(inner.open);
            let still = match inner.close {
                None => format!("{second} never releases it"),
                Some(close) => match self.not_executed(&step.premises, close) {
                    Some(not) => {
                        let released = words.with_lock(close, Form::Done, "it");
                        format!("{} has not {released}{}", words.thread(close), self.cited(not))
                    }
                    None => {
                        let path = self.way_in_words(&step.premises, outer.open, close);
                        let path = path.map_or(String::new(), |path| format!(" ({path})"));
                        let released = words.with_lock(close, Form::Third, "it");
                        format!("{} {released} only after that{path}", words.thread(close))
                    }
                },
            };
            format!(
                "{first} has {taken}{executed}{for_ever}, and {still}, so that {second} can only have it later"
            )
        } else {
            let path = self.way_in_words(&step.premises, outer.open, at);
            let path = path.map_or(String::new(), |path| format!(": {path}"));
            let why = match step.rule == Rule::LockInside {
                true => format!("before that{for_ever}, and both cannot have it at once"),
                false => format!("first{for_ever}"),
            };
            format!("{first} {takes} {why}{path}")
        };
        format!("{claim}, because {because}")
    }

    /// A common lock, which needs no chain of reasons.
    pub(super) fn common_lock(&self) -> Option<(String, String)> {
        let (words, recorded) = (self.telling.words, self.telling.recorded);
        let numbered: Vec<&ProofStep> = self.numbered().collect();
        let order = match numbered[..] {
            [order] if order.rule == Rule::LockOrder => order,
            [order, need] if order.rule == Rule::LockOrder && need.rule == Rule::Need => order,
            _ => return None,
        };
        let is_given = |&step: &u32| {
            let ProofStep { fact, rule, .. } = &self.steps[step as usize];
            *rule == Rule::Candidate && !matches!(fact, Fact::Before(..))
        };
        let (closed, at) = match order.fact {
            Fact::Before(closed, at) => (Some(closed), at),
            Fact::NotExecuted(at) => (None, at),
            Fact::Executed(_) => return None,
        };
        let inner = recorded.hold_at(at)?;
        let outer = self.outer(order, closed, inner)?;
        let (one, other) = (words.thread(outer.open), words.thread(inner.open));
        let is_destroyed = matches!(words.trace.op(outer.open), Op::Destroy { .. });
        if one == other || is_destroyed || !order.premises.iter().all(is_given) {
            return None;
        }
        let lock = words.lock(inner.lock);
        let step = format!(
            "{one} has {lock} there, since {}, and so has {other}, since {}.",
            words.at(outer.open),
            words.at(inner.open)
        );
        Some((
            step,
            format!("But they cannot both have it at once: so {} cannot happen.", self.noun),
        ))
    }
}
