//! What unfolding makes and composing decides: accesses, their order within threads, checks, exits.
//!
//! A **node** is a moment of a thread; the nodes of a thread are in the order in which any path
//! passes them. An access happens at a node if its *guard* is true. Several accesses may share a
//! node: all its reads come before all its writes, and nothing happens in between.

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
    /// It begins to wait. If the condition is true, it then wakes up by itself, else its time is
    /// up.
    Wait(Term),
}

/// A thread.
#[derive(Clone, Debug)]
pub(crate) struct Thread {
    /// Where its parent forks it, and that it does.
    pub(crate) fork: Option<NodeId>,
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
    /// Conditions that every execution fulfils.
    pub(crate) facts: Vec<Term>,
    pub(crate) checks: Vec<Check>,
    pub(crate) exits: Vec<Exit>,
    /// Atomic sections, each with conditions that it is completed.
    pub(crate) sections: Vec<(NodeId, Term)>,
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
        for Join { passes, choice, .. } in &mut self.joins {
            each(passes);
            each(choice);
        }
        self.facts.iter_mut().for_each(&mut each);
        self.checks.iter_mut().for_each(|check| each(&mut check.guard));
        self.exits.iter_mut().for_each(|exit| each(&mut exit.guard));
        self.sections.iter_mut().for_each(|(_, complete)| each(complete));
        for thread in &mut self.threads {
            thread.ends.iter_mut().for_each(&mut each);
            for Step { guard, how, .. } in &mut thread.steps {
                each(guard);
                if let How::Input(term) | How::Attempt(term) | How::Wait(term) = how {
                    each(term);
                }
            }
        }
    }
}
