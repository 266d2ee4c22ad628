//! Sections 3 to 6 of `docs/causality.md`: what synchronisation and data say.

use foretrace_trace::{CondId, EventId, Op, SemId, ops};
use foretrace_verdict::{Fact, Model, Rule, Violation};

use super::check::{Premises, require};
use super::error::Why;
use super::view::{Section, View};
use crate::recorded::Rule as Row;
use crate::step::Reads;

impl View<'_> {
    /// Section 3: whether the rule alone gives the order.
    pub(super) fn seeds(&self, rule: Rule, fact: Fact) -> bool {
        let Fact::Before(first, second) = fact else { return false };
        let (recorded, row) = (&self.recorded, |event| self.recorded.rule(event));
        match (rule, self.trace.op(first), self.trace.op(second)) {
            (Rule::Fork, ..) => recorded.forks[self.trace.thread_of(second).index()] == Some(first),
            (Rule::Join, _, Op::Join { child }) => {
                let is_fork = recorded.forks[child.index()] == Some(first);
                is_fork || self.trace.thread_of(first) == child
            }
            (Rule::Barrier, Op::Arrive { .. }, Op::Arrive { .. } | Op::Leave { .. })
                if row(first) == Row::Arrive && row(second) != Row::Never =>
            {
                let (round, other) = (recorded.round(first), recorded.round(second));
                let [a, b] = [round, other].map(|round| recorded.rounds[round as usize]);
                if row(second) == Row::Leave {
                    round == other
                } else {
                    a.barrier == b.barrier && a.index + 1 == b.index
                }
            }
            (Rule::Open, ..) => {
                row(second).closes()
                    && row(first).has_hold()
                    && !row(first).closes()
                    && recorded.hold(first) == recorded.hold(second)
            }
            (Rule::Call, Op::EnterCall { .. }, Op::LeaveCall) => {
                let mut needed = recorded.calls.needed_by(second).iter();
                needed.any(|&last| self.is_up_to(first, last))
            }
            (Rule::Alloc, Op::Alloc { object, .. }, used) => {
                let is_use = used.access().is_some_and(|access| access.at.object == object);
                let is_its = is_use || used == Op::Free { object };
                is_its && recorded.alloc_of(object) == Some(first)
            }
            (Rule::Alloc, Op::Free { object }, Op::Alloc { object: new, .. }) => {
                let overlap = match (self.range_of(object), self.range_of(new)) {
                    (Some((from, to)), Some((start, end))) => from.max(start) < to.min(end),
                    _ => false,
                };
                first < second && overlap && recorded.alloc_of(new) == Some(second)
            }
            _ => false,
        }
    }

    /// Section 6: whether the read needs the first event.
    pub(super) fn data(&self, violation: &Violation, rule: Rule, fact: Fact) -> Result<(), Why> {
        let Fact::Before(first, read) = fact else { return Err(Why::NotItsFact) };
        let is_spared = match *violation {
            Violation::Assertion(_) => true,
            Violation::Atomicity { remote, .. } => remote == read,
            Violation::Race(..)
            | Violation::LockCycle(_)
            | Violation::Stuck(_)
            | Violation::Lock(..) => false,
        };
        require(!is_spared, Why::NotHere)?;
        require(matches!(self.recorded.rule(read), Row::Read | Row::Rmw), Why::NotItsFact)?;
        if rule == Rule::Unexplained {
            let is_pinned = self.model != Model::Control && self.recorded.follows_all(read);
            require(is_pinned, Why::NotHere)?;
            return require(first < read, Why::NotItsFact);
        }
        let is_pinned = self.reads == Reads::Pinned && !self.recorded.has_unknown_writer(read);
        require(is_pinned, Why::NotHere)?;
        self.alone_explains(first, read)
            .map_err(|other| other.map_or(Why::NotItsFact, Why::Forgotten))
    }
}

impl Premises<'_> {
    /// Section 4. The facts are r1 < a2 or r1 < r2, or where r1 is missing N(a2) or N(r2).
    #[allow(clippy::wildcard_enum_match_arm)]
    pub(super) fn locks(&self, rule: Rule, fact: Fact) -> Result<(), Why> {
        let (closed, at) = match fact {
            Fact::Before(closed, at) => (Some(closed), at),
            Fact::NotExecuted(at) => (None, at),
            Fact::Executed(_) => return Err(Why::NotItsFact),
        };
        let inner = match rule {
            Rule::LockInside => self.view.closed_by(at),
            _ => self.view.opened_by(at),
        };
        let inner = inner.ok_or(Why::NotItsFact)?;
        let Some(closed) = closed else {
            // Any hold that is never closed, and fits.
            let mut unclosed = self.view.unclosed(inner.lock).iter();
            let fits =
                |outer: &Section| outer.excludes(&inner) && self.is_first(rule, outer, &inner);
            return require(unclosed.any(fits), Why::Premises);
        };
        let outer = self.view.closed_by(closed).ok_or(Why::NotItsFact)?;
        require(outer.excludes(&inner), Why::Compatible)?;
        require(self.is_first(rule, &outer, &inner), Why::Premises)
    }

    /// Whether the premises say, as the rule asks, that `outer` comes first.
    fn is_first(&self, rule: Rule, outer: &Section, inner: &Section) -> bool {
        match (rule, inner.close) {
            (Rule::LockAfter, _) => self.before(outer.open, inner.open),
            (Rule::LockInside, Some(close)) => self.before(outer.open, close),
            (Rule::LockOrder, Some(close)) => {
                self.executed(outer.open)
                    && (self.before(outer.open, close) || self.not_executed(close))
            }
            (Rule::LockOrder, None) => self.executed(outer.open),
            _ => false,
        }
    }

    /// The condition variable and the wait of a notified wake.
    fn wait_of(&self, wake: EventId) -> Result<(CondId, EventId), Why> {
        let wait = self.view.trace.previous(wake).ok_or(Why::NotItsFact)?;
        match self.view.trace.op(wait) {
            Op::Wait { cond, .. } if self.view.wake_of(wait) == Some(wake) => Ok((cond, wait)),
            ops!(memory object data sync call mark) => Err(Why::NotItsFact),
        }
    }

    /// Every notification but those that `is_accounted_for` cannot be what ends the wait.
    fn excludes_notifications(
        &self,
        (cond, wait, wake): (CondId, EventId, EventId),
        is_accounted_for: impl Fn(EventId) -> bool,
    ) -> Result<(), Why> {
        let forgotten = self.view.notifications(cond).iter().copied().find(|&n| {
            let is_excluded = self.not_executed(n) || self.before(n, wait) || self.before(wake, n);
            !is_excluded && !is_accounted_for(n)
        });
        forgotten.map_or(Ok(()), |forgotten| Err(Why::Forgotten(forgotten)))
    }

    pub(super) fn unnotified(&self, fact: Fact) -> Result<(), Why> {
        let Fact::NotExecuted(wake) = fact else { return Err(Why::NotItsFact) };
        let (cond, wait) = self.wait_of(wake)?;
        self.excludes_notifications((cond, wait, wake), |_| false)
    }

    pub(super) fn notified(&self, fact: Fact) -> Result<(), Why> {
        let Fact::Before(event, wake) = fact else { return Err(Why::NotItsFact) };
        let (cond, wait) = self.wait_of(wake)?;
        self.excludes_notifications((cond, wait, wake), |n| event == n || self.before(event, n))
    }

    pub(super) fn matched(&self, fact: Fact) -> Result<(), Why> {
        let Fact::Before(wait, notification) = fact else { return Err(Why::NotItsFact) };
        let wake = self.view.wake_of(wait).ok_or(Why::NotItsFact)?;
        let (cond, wait) = self.wait_of(wake)?;
        let is_its = self.view.notifications(cond).contains(&notification);
        require(is_its, Why::NotItsFact)?;
        require(self.executed(wake), Why::Premises)?;
        self.excludes_notifications((cond, wait, wake), |n| n == notification)
    }

    /// How many posts must come before the wait, and which may.
    fn tokens(&self, wait: EventId) -> Result<(i64, Vec<EventId>), Why> {
        let Op::SemWait { sem, .. } = self.view.trace.op(wait) else { return Err(Why::NotItsFact) };
        let is_earlier = |other: &EventId| *other != wait && self.before(*other, wait);
        let earlier = self.view.waits(sem).iter().filter(|other| is_earlier(other)).count();
        let taken = 1 + earlier as i64;
        let initial = self.initial_count(sem);
        let is_candidate = |post: &EventId| !self.not_executed(*post) && !self.before(wait, *post);
        let posts = self.view.posts(sem).iter().copied().filter(is_candidate).collect();
        Ok((taken - initial, posts))
    }

    fn initial_count(&self, sem: SemId) -> i64 {
        let initial = self.view.recorded.semaphores[sem.index()];
        i64::try_from(initial).unwrap_or(i64::MAX)
    }

    pub(super) fn unposted(&self, fact: Fact) -> Result<(), Why> {
        let Fact::NotExecuted(wait) = fact else { return Err(Why::NotItsFact) };
        let (needed, posts) = self.tokens(wait)?;
        require((posts.len() as i64) < needed, Why::EnoughPosts)
    }

    pub(super) fn posted(&self, fact: Fact) -> Result<(), Why> {
        let Fact::Before(event, wait) = fact else { return Err(Why::NotItsFact) };
        let (needed, posts) = self.tokens(wait)?;
        let is_covered = |post: &&EventId| event == **post || self.before(event, **post);
        let covered = posts.iter().filter(is_covered).count() as i64;
        require(needed > 0 && covered + needed > posts.len() as i64, Why::EnoughPosts)
    }
}
