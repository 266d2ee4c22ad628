//! What unfolding makes and composing decides: accesses, their order within threads, checks, exits.
//!
//! A **node** is a moment of a thread; the nodes of a thread are in the order in which any path
//! passes them. An access happens at a node if its *guard* is true. Several accesses may share a
//! node: all its reads come before all its writes, and nothing happens in between.

use std::collections::BTreeSet;
use std::rc::Rc;

use foretrace_program::{Site, Violation};

use crate::terms::{Term, Terms};

/// A moment of a thread, numbered through all threads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct NodeId(pub(crate) u32);

impl NodeId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Bytes of an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Place {
    pub(crate) object: u32,
    pub(crate) offset: u32,
    pub(crate) size: u8,
}

/// Memory, or the state of an object of synchronisation.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    /// Names the same object in every unfolding of the program.
    pub(crate) key: u64,
    pub(crate) size: u32,
    /// What it holds at first; `None` if that is indeterminate.
    pub(crate) initial: Option<Vec<u8>>,
    pub(crate) kind: ObjectKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ObjectKind {
    Global,
    Slot,
    Heap,
    /// The state of a lock, semaphore or barrier, or whether a block is still live.
    State,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    pub(crate) node: NodeId,
    pub(crate) place: Place,
    /// What it finds: its own symbol, until more is known.
    pub(crate) value: Term,
    pub(crate) symbol: Term,
    pub(crate) guard: Term,
    /// A symbol for "nobody has written here before", where that is not to be.
    pub(crate) is_first: Option<Term>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    pub(crate) node: NodeId,
    pub(crate) place: Place,
    pub(crate) value: Term,
    pub(crate) guard: Term,
}

/// Something that must not happen.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    /// That it does.
    pub(crate) guard: Term,
    pub(crate) what: Violation,
    pub(crate) thread: usize,
    /// How many steps its thread has listed up to there.
    pub(crate) steps: usize,
    /// The atomic section that it is in.
    pub(crate) section: Option<NodeId>,
    /// The wait that goes on, if that is what is wrong.
    pub(crate) wait: Option<usize>,
}

/// An access that can race with others.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) node: NodeId,
    pub(crate) place: Place,
    /// That its thread comes to it, and it means this place, which is live.
    pub(crate) guard: Term,
    /// That it would write.
    pub(crate) writes: Term,
    pub(crate) is_atomic: bool,
    /// Whether it is in an atomic section.
    pub(crate) in_section: bool,
    pub(crate) site: Site,
    /// How many steps its thread has listed before it.
    pub(crate) steps: usize,
    /// Locks that the thread has for sure, by their state objects and whether shared.
    pub(crate) locks: Rc<Vec<(u32, bool)>>,
}

/// A place where a thread can be blocked.
#[derive(Clone, Debug)]
pub(crate) struct Blocking {
    pub(crate) thread: usize,
    pub(crate) site: Site,
    /// That the thread comes here and does not go on.
    pub(crate) stops: Term,
    pub(crate) until: Until,
}

/// What a blocked thread waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Until {
    /// That this is not true at the end.
    State(Term),
    /// That this thread ends.
    End(usize),
    /// That somebody notifies this wait; or, as soon as it is notified, that this is not true at
    /// the end.
    Notified(usize, Term),
}

/// A wait for a condition variable.
#[derive(Clone, Debug)]
pub(crate) struct Wait {
    pub(crate) thread: usize,
    /// Names the condition variable.
    pub(crate) cond: u64,
    pub(crate) begin: NodeId,
    /// That it begins.
    pub(crate) begins: Term,
    pub(crate) wake: NodeId,
    /// That it ends.
    pub(crate) wakes: Term,
    /// That it ends as if it was notified.
    pub(crate) woken: Term,
    pub(crate) timed: bool,
}

/// A signal or broadcast.
#[derive(Clone, Debug)]
pub(crate) struct Signal {
    pub(crate) cond: u64,
    pub(crate) node: NodeId,
    pub(crate) guard: Term,
    pub(crate) is_broadcast: bool,
}

/// Everything that stuck states depend on.
#[derive(Clone, Default, Debug)]
pub(crate) struct Ending {
    /// That the state at the end is looked at.
    pub(crate) asked: Option<Term>,
    /// The node behind all others, at which the state is read.
    pub(crate) node: Option<NodeId>,
    pub(crate) blocking: Vec<Blocking>,
    pub(crate) waits: Vec<Wait>,
    pub(crate) signals: Vec<Signal>,
    /// Threads that may wait more often, one wait right behind the other, than was unfolded.
    pub(crate) again: BTreeSet<usize>,
    /// Why stuck states cannot be asked for.
    pub(crate) not_asked: Vec<(&'static str, Site)>,
}

/// A place where unfolding stopped: what is behind it is not in the skeleton.
#[derive(Clone, Debug)]
pub(crate) struct Exit {
    /// That a thread comes there.
    pub(crate) guard: Term,
    pub(crate) why: Why,
    pub(crate) site: Site,
}

/// Why unfolding stopped somewhere.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Why {
    /// The loop with this header may go on; a larger bound goes further.
    Loop,
    /// Calls inside calls, too many.
    Recursion,
    /// The skeleton has as many instructions as are allowed.
    Size,
    /// Undefined behaviour that is not asked about.
    Undefined(String),
    /// Something is not supported.
    Unsupported(String),
}

/// An operation that the interpreter takes as a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// That the thread takes it.
    pub(crate) guard: Term,
    /// The node where it happens, if others can notice it.
    pub(crate) node: Option<NodeId>,
    pub(crate) how: How,
}

/// What the interpreter must be told of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) enum How {
    Plain,
    /// The outside gives this value.
    Input(Term),
    /// It starts this thread.
    Fork(usize),
    /// It waits for the end of this thread.
    Join(usize),
    /// It gets what it wants if the condition is true, else it gives up.
    Attempt(Term),
    /// It begins this wait. If the condition is true, it then wakes up, else its time is up.
    Wait(Term, Option<usize>),
    /// It gives this signal.
    Signal(usize),
}

/// A thread.
#[derive(Clone, Debug)]
pub(crate) struct Thread {
    /// Where its parent forks it.
    pub(crate) fork: Option<NodeId>,
    /// That it is started.
    pub(crate) started: Term,
    pub(crate) steps: Vec<Step>,
    /// That it comes to its end: one condition for each way to get there.
    pub(crate) ends: Vec<Term>,
    pub(crate) nodes: Vec<NodeId>,
}

/// A join: if `passes`, the child is finished and all it did comes before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Join {
    pub(crate) node: NodeId,
    pub(crate) child: usize,
    /// That the thread comes here and goes on.
    pub(crate) passes: Term,
    /// The symbol in it.
    pub(crate) choice: Term,
    /// Whether every path of the thread comes here.
    pub(crate) always: bool,
}

/// An unfolded program.
#[derive(Default)]
pub(crate) struct Skeleton {
    pub(crate) terms: Terms,
    pub(crate) threads: Vec<Thread>,
    /// The thread of each node.
    pub(crate) nodes: Vec<usize>,
    pub(crate) objects: Vec<Object>,
    pub(crate) reads: Vec<Read>,
    pub(crate) writes: Vec<Write>,
    pub(crate) joins: Vec<Join>,
    pub(crate) ending: Ending,
    /// Accesses to shared memory, for races.
    pub(crate) accesses: Vec<Access>,
    /// Conditions that every execution fulfils.
    pub(crate) facts: Vec<Term>,
    pub(crate) checks: Vec<Check>,
    pub(crate) exits: Vec<Exit>,
    /// Atomic sections, each with conditions that it is completed.
    pub(crate) sections: Vec<(NodeId, Term)>,
    /// Values that must be known to unfold further, by where they are needed.
    pub(crate) wanted: Vec<(u64, Term)>,
    /// What reads memory that may not be initialised.
    pub(crate) uninitialised: Vec<Site>,
    /// How many instructions were unfolded.
    pub(crate) instructions: u64,
}

impl Skeleton {
    /// Changes every term that is in use.
    pub(crate) fn map_terms(&mut self, mut change: impl FnMut(&mut Terms, Term) -> Term) {
        let terms = &mut self.terms;
        let mut each = |term: &mut Term| *term = change(terms, *term);
        for Read { value, guard, is_first, .. } in &mut self.reads {
            each(value);
            each(guard);
            is_first.iter_mut().for_each(&mut each);
        }
        for Write { value, guard, .. } in &mut self.writes {
            each(value);
            each(guard);
        }
        for Access { guard, writes, .. } in &mut self.accesses {
            each(guard);
            each(writes);
        }
        self.ending.asked.iter_mut().for_each(&mut each);
        for Blocking { stops, until, .. } in &mut self.ending.blocking {
            each(stops);
            if let Until::State(still) | Until::Notified(_, still) = until {
                each(still);
            }
        }
        for Wait { begins, wakes, woken, .. } in &mut self.ending.waits {
            [begins, wakes, woken].into_iter().for_each(&mut each);
        }
        self.ending.signals.iter_mut().for_each(|signal| each(&mut signal.guard));
        for Join { passes, choice, .. } in &mut self.joins {
            each(passes);
            each(choice);
        }
        self.wanted.iter_mut().for_each(|(_, term)| each(term));
        self.facts.iter_mut().for_each(&mut each);
        self.checks.iter_mut().for_each(|check| each(&mut check.guard));
        self.exits.iter_mut().for_each(|exit| each(&mut exit.guard));
        self.sections.iter_mut().for_each(|(_, complete)| each(complete));
        for thread in &mut self.threads {
            each(&mut thread.started);
            thread.ends.iter_mut().for_each(&mut each);
            for Step { guard, how, .. } in &mut thread.steps {
                each(guard);
                if let How::Input(term) | How::Attempt(term) | How::Wait(term, _) = how {
                    each(term);
                }
            }
        }
    }
}
