//! What a candidate requires of the schedules that end in it: `docs/causality.md`, section 2.

use foretrace_model::Skeleton;
use foretrace_trace::EventId;

/// How far a thread is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// Next at the event.
    Next(EventId),
    /// The event is executed.
    Done(EventId),
    /// The event is executed, and what it reads may be free.
    Remote(EventId),
}

impl Reach {
    /// The event.
    pub fn event(self) -> EventId {
        match self {
            Reach::Next(event) | Reach::Done(event) | Reach::Remote(event) => event,
        }
    }
}

/// One candidate.
#[derive(Clone, Default, Debug)]
pub struct Question {
    /// How far threads are.
    pub reached: Vec<Reach>,
    /// What is not executed besides.
    pub never: Vec<EventId>,
    /// What comes before what.
    pub before: Vec<(EventId, EventId)>,
}

impl Question {
    /// Two accesses are next.
    pub fn race(skeleton: &Skeleton, a: EventId, b: EventId) -> Self {
        let mut question =
            Question { reached: vec![Reach::Next(a), Reach::Next(b)], ..Question::default() };
        if let Some(access) = skeleton.trace.access(a) {
            let object = access.at.object;
            question.reached.extend(skeleton.lifetimes.alloc_of(object).map(Reach::Done));
            question.never.extend(skeleton.lifetimes.free_of(object));
        }
        question
    }

    /// A remote access between two of a thread.
    pub fn atomicity(first: EventId, remote: EventId, second: EventId) -> Self {
        Question {
            reached: vec![Reach::Done(first), Reach::Remote(remote), Reach::Next(second)],
            never: Vec::new(),
            before: vec![(first, remote)],
        }
    }

    /// Threads at these points.
    pub fn points(points: impl IntoIterator<Item = Reach>) -> Self {
        Question { reached: points.into_iter().collect(), ..Question::default() }
    }
}
