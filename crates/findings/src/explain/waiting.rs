//! The sentences about waiting: section 5 of `docs/causality.md`.

use foretrace_trace::{CondId, EventId, Op};
use foretrace_verdict::{Fact, ProofStep, Rule};

use super::proof::{Proof, few};
use super::words::quoted;

/// So many events of each kind that a step is about are drawn.
const MOST_DRAWN: usize = 16;

/// Notifications or posts, as a rule sees them.
struct Givers {
    /// Those that may give what the waiter needs.
    left: Vec<EventId>,
    /// Why the others cannot.
    excluded: Vec<String>,
}

impl Givers {
    /// The excluded ones, in parentheses.
    fn others(&self) -> String {
        match &self.excluded[..] {
            [] => String::new(),
            excluded => format!(" ({})", few(excluded)),
        }
    }
}

impl Proof<'_> {
    fn givers(
        &self,
        step: &ProofStep,
        all: &[EventId],
        turn: Option<EventId>,
        waiter: EventId,
    ) -> Givers {
        let mut givers = Givers { left: Vec::new(), excluded: Vec::new() };
        for &giver in all {
            match self.excluded(&step.premises, giver, turn, waiter) {
                Some(why) => givers.excluded.push(why),
                None => givers.left.push(giver),
            }
        }
        givers
    }

    /// The condition variable and the wait of a wake.
    fn wait_of(&self, wake: EventId) -> Option<(CondId, EventId)> {
        let trace = self.telling.words.trace;
        let wait = trace.previous(wake)?;
        let Op::Wait { cond, .. } = trace.op(wait) else { return None };
        Some((cond, wait))
    }

    fn notifiers(&self, step: &ProofStep, wake: EventId) -> Givers {
        match self.wait_of(wake) {
            Some((cond, wait)) => {
                let all = self.telling.recorded.notifications(cond);
                self.givers(step, all, Some(wait), wake)
            }
            None => Givers { left: Vec::new(), excluded: Vec::new() },
        }
    }

    /// The waits on a semaphore that pass it before, for a step that counts them, and the posts
    /// that are left to it, the first of them; and the wait.
    pub(super) fn counted(
        &self,
        step: &ProofStep,
    ) -> Option<(Vec<EventId>, Vec<EventId>, EventId)> {
        let (Rule::Unposted, Fact::NotExecuted(wait)) = (step.rule, step.fact) else {
            return None;
        };
        let Op::SemWait { sem, .. } = self.telling.words.trace.op(wait) else { return None };
        let semaphore = self.telling.recorded.semaphore(sem);
        let passes =
            |&other: &EventId| other != wait && self.way(&step.premises, other, wait).is_some();
        let can = |&post: &EventId| self.excluded(&step.premises, post, None, wait).is_none();
        let earlier = semaphore.waits.iter().copied().filter(passes).take(MOST_DRAWN);
        let left = semaphore.posts.iter().copied().filter(can).take(MOST_DRAWN);
        Some((earlier.collect(), left.collect(), wait))
    }

    /// The notifications or posts that a step says cannot come in time, the first of them, each
    /// with the event that needs one.
    pub(super) fn too_late(&self, step: &ProofStep) -> Vec<(EventId, EventId)> {
        let (recorded, trace) = (self.telling.recorded, self.telling.words.trace);
        let waiter = match (step.rule, step.fact) {
            (Rule::Unnotified | Rule::Unposted, Fact::NotExecuted(waiter)) => Some(waiter),
            (Rule::Notified | Rule::Posted, Fact::Before(_, waiter)) => Some(waiter),
            (Rule::Matched, Fact::Before(wait, _)) => trace.next(wait),
            _ => None,
        };
        let Some(waiter) = waiter else { return Vec::new() };
        let (all, turn) = match (trace.op(waiter), self.wait_of(waiter)) {
            (Op::SemWait { sem, .. }, _) => (recorded.semaphore(sem).posts, None),
            (_, Some((cond, wait))) => (recorded.notifications(cond).to_vec(), Some(wait)),
            _ => return Vec::new(),
        };
        let cannot =
            |giver: &EventId| self.excluded(&step.premises, *giver, turn, waiter).is_some();
        all.into_iter().filter(cannot).take(MOST_DRAWN).map(|giver| (giver, waiter)).collect()
    }

    pub(super) fn unnotified(&self, step: &ProofStep, wake: EventId) -> String {
        let (cannot, givers) = (self.telling.words.cannot(wake), self.notifiers(step, wake));
        match &givers.excluded[..] {
            [] => format!("{cannot}, because nobody ever notifies it"),
            excluded => {
                format!("{cannot}, because nothing can notify it: {}", few(excluded))
            }
        }
    }

    pub(super) fn notified(&self, step: &ProofStep, event: EventId, wake: EventId) -> String {
        let words = self.telling.words;
        let givers = self.notifiers(step, wake);
        let claim = format!("{} only after {}", words.does(wake), words.does(event));
        if givers.left == [event] {
            return format!("{claim}, because nothing else can notify it{}", givers.others());
        }
        let mut ways = self.ways(&step.premises, event, &givers.left);
        if givers.left.contains(&event) {
            ways.insert(0, "this is one of them".to_string());
        }
        format!(
            "{claim}, because whatever can notify it does not come before that: {}{}",
            few(&ways),
            givers.others()
        )
    }

    pub(super) fn matched(&self, step: &ProofStep, wait: EventId, by: EventId) -> String {
        let words = self.telling.words;
        let Some(wake) = words.trace.next(wait) else { return words.must(wait) };
        format!(
            "{} before {}, because {} and nothing else can have notified it{}",
            words.must(wait),
            words.does(by),
            self.done_in_words(&step.premises, wake),
            self.notifiers(step, wake).others()
        )
    }

    /// What a wait on a semaphore needs: how many posts, in words why, and which may come before
    /// it.
    fn tokens(&self, step: &ProofStep, wait: EventId) -> (i64, String, Givers) {
        let trace = self.telling.words.trace;
        let Op::SemWait { sem, .. } = trace.op(wait) else {
            return (0, String::new(), Givers { left: Vec::new(), excluded: Vec::new() });
        };
        let semaphore = self.telling.recorded.semaphore(sem);
        let others = semaphore.waits.iter().filter(|&&other| other != wait);
        let earlier: Vec<String> = others
            .filter_map(|&other| {
                let links = self.way(&step.premises, other, wait)?;
                Some(self.path(other, &links, wait))
            })
            .collect();
        let name = quoted(trace.name(sem));
        let needed = 1 + earlier.len() as i64 - semaphore.initial;
        let mut why = format!("{name} begins with {}", semaphore.initial);
        if !earlier.is_empty() {
            let pass = match earlier.len() {
                1 => "1 wait passes".to_string(),
                count => format!("{count} waits pass"),
            };
            why.push_str(&format!(", {pass} it before ({})", few(&earlier)));
        }
        (needed, why, self.givers(step, &semaphore.posts, None, wait))
    }

    pub(super) fn unposted(&self, step: &ProofStep, wait: EventId) -> String {
        let (needed, why, givers) = self.tokens(step, wait);
        let cannot = self.telling.words.cannot(wait);
        let others = givers.others();
        match (needed, givers.left.len()) {
            (1, _) => format!("{cannot}, because {why}, and nothing can post it before{others}"),
            (needed, left) => format!(
                "{cannot}, because {why}, so that it needs {needed} posts before, but only {left} can come before{others}"
            ),
        }
    }

    pub(super) fn posted(&self, step: &ProofStep, event: EventId, wait: EventId) -> String {
        let words = self.telling.words;
        let (needed, why, givers) = self.tokens(step, wait);
        let claim = format!("{} only after {}", words.does(wait), words.does(event));
        let others = givers.others();
        if givers.left == [event] {
            return format!("{claim}, because {why}, and nothing else can post it before{others}");
        }
        let mut ways = self.ways(&step.premises, event, &givers.left);
        if givers.left.contains(&event) {
            ways.insert(0, "this is one of them".to_string());
        }
        let ways = if ways.is_empty() { String::new() } else { format!(": {}", few(&ways)) };
        format!(
            "{claim}, because {why}, so that it needs {needed} of the {} posts that can come before, and too few of them can without that{ways}{others}",
            givers.left.len()
        )
    }
}
