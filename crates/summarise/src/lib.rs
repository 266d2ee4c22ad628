//! Thread-modular summaries: a loop-free program becomes an interference skeleton. It does not know
//! solvers.
//!
//! **Computes.** For each thread, in one pass over its blocks, its shared accesses with place,
//! value and occurrence condition, its assertions and assumptions; all thread-local control and
//! data flow is gone. Every shared read is a fresh symbol. Where ways meet, values are merged by
//! if-then-else (φ) and conditions by disjunction, so nothing is enumerated.
//!
//! **Follows.** 003 sections 4 and 5.1; 000 section 8. Locks and semaphores are shared cells with
//! atomic check-and-set, as there; but a mutex that every thread takes and gives back on all its
//! ways alike stays a lock. What a thread holds is its own matter, so misuse of locks is a
//! condition over its symbols.
//!
//! **Invariant.** The events of a thread are listed so that every way through it is a subsequence;
//! conditions of events on different ways exclude each other. A child's events are listed right
//! behind its fork, so the list respects forks and joins. The value of a term does not depend on
//! symbols of reads that do not happen.
//!
//! **Cost.** Linear in the program with calls expanded, apart from merging what differs between
//! ways.
//!
//! | file | what it does |
//! | --- | --- |
//! | `value` | what registers hold: bits, addresses, threads |
//! | `walk` | functions: blocks in order, conditions, merges, calls |
//! | `operations` | what instructions become |
//! | `locks` | locks and semaphores as cells |
//! | `replay` | schedules, run on the program itself |

#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod locks;
mod operations;
#[allow(clippy::wildcard_enum_match_arm)]
mod replay;
mod value;
#[allow(clippy::wildcard_enum_match_arm)]
mod walk;

pub use replay::{Replayed, Wrong, explain, replay};

use rustc_hash::{FxHashMap, FxHashSet};

use foretrace_model::Data;
use foretrace_model::terms::{TermId, Terms};
use foretrace_program::ir::{self, Program, Site};
use foretrace_program::text::describe;
use foretrace_trace::{Builder, Event, EventId, LockId, MemoryOrder, Op, Place, ThreadId, Trace};

/// A program as a skeleton.
#[derive(Debug)]
pub struct Summary {
    /// The events, thread by thread; they have no recorded values.
    pub trace: Trace,
    /// What they compute, and when they happen; `None` once it was taken.
    data: Option<Data>,
    /// What each event is in the program.
    pub origins: Vec<Origin>,
    /// Of each thread of the trace the event that starts it; `None`: it runs from the start.
    pub forks: Vec<Option<EventId>>,
    /// The thread that each join is for. A join that does not always happen is a look at a flag.
    pub joins: FxHashMap<EventId, ThreadId>,
}

impl Summary {
    /// What the events compute, and when they happen.
    ///
    /// # Panics
    /// If it was taken before.
    pub fn take_data(&mut self) -> Data {
        self.data.take().expect("the data is taken once")
    }
}

/// Where an event comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The instruction, or the end of a block.
    pub site: Site,
    /// What it is there.
    pub part: Part,
}

/// What an event is of its instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The step that other threads can see.
    Step,
    /// Something that its thread does on its own.
    Local,
    /// An assertion of the program.
    Assertion,
    /// The check that a lock is not taken twice.
    DoubleLock,
    /// The check that a lock is held when it is given back.
    NotHeld,
    /// The check that a place is not reached.
    Unreachable,
    /// The value comes from outside.
    Input,
    /// The end of its thread.
    End,
}

/// What cannot be summarised.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{what}{}", place(.location))]
pub struct Unsupported {
    /// What it is.
    pub what: String,
    /// Where it is.
    pub location: Option<String>,
}

fn place(location: &Option<String>) -> String {
    location.as_ref().map_or(String::new(), |location| format!(" (at {location})"))
}

/// The skeleton of a valid program without loops and recursion.
pub fn summarise(program: &Program) -> Result<Summary, Unsupported> {
    // The first walk shows which locks are always used in the same way; these stay locks in the
    // second.
    let first = walk_all(program, FxHashSet::default())?;
    let locks = (0..program.locks.len()).map(LockId::from);
    let plain: FxHashSet<LockId> = locks.filter(|lock| !first.varying.contains(lock)).collect();
    if plain.is_empty() {
        return Ok(first.finish());
    }
    Ok(walk_all(program, plain)?.finish())
}

fn walk_all(program: &Program, plain: FxHashSet<LockId>) -> Result<Summariser<'_>, Unsupported> {
    let mut summariser = Summariser {
        program,
        private: program.functions.iter().map(ir::Function::private_slots).collect(),
        trace: Trace::builder(),
        terms: Terms::new(),
        results: FxHashMap::default(),
        assumed: FxHashMap::default(),
        occurs: FxHashMap::default(),
        origins: Vec::new(),
        forks: Vec::new(),
        joins: FxHashMap::default(),
        exchanged: Vec::new(),
        plain,
        varying: FxHashSet::default(),
        slots: Vec::new(),
        length: 0,
    };
    summariser.declare();
    for thread in &program.threads {
        summariser.new_thread(&thread.name, None);
    }
    for (index, thread) in program.threads.iter().enumerate() {
        let id = ThreadId::from(index);
        let function = program.function(thread.function);
        let args = function.params.iter().zip(&thread.args).map(|(&param, &arg)| {
            let width = function.width(param).into();
            value::Value::Bits(summariser.terms.constant(arg.into(), width))
        });
        let args = args.collect();
        summariser.thread(id, thread.function, args)?;
    }
    let plain_read = |op: Op| {
        let Op::Read { at, order: MemoryOrder::Plain, .. } = op else { return None };
        Some(at)
    };
    let is_read = |place: &Place| {
        let mut reads = summariser.trace.so_far().ops().filter_map(|(_, op)| plain_read(op));
        reads.any(|read| read.overlaps(*place))
    };
    if summariser.exchanged.iter().any(is_read) {
        let what = "a compare-and-exchange of what is read without atomicity";
        return Err(Unsupported { what: what.to_string(), location: None });
    }
    Ok(summariser)
}

/// What the passes share.
struct Summariser<'p> {
    program: &'p Program,
    private: Vec<FxHashSet<ir::RegisterId>>,
    trace: Builder,
    terms: Terms,
    results: FxHashMap<EventId, TermId>,
    assumed: FxHashMap<EventId, TermId>,
    occurs: FxHashMap<EventId, TermId>,
    origins: Vec<Origin>,
    forks: Vec<Option<EventId>>,
    joins: FxHashMap<EventId, ThreadId>,
    /// Places of compare-and-exchanges, which write only sometimes.
    exchanged: Vec<Place>,
    /// Locks that are events of their own, not cells.
    plain: FxHashSet<LockId>,
    /// Locks that are not used in the same way on all ways, or not only as a mutex.
    varying: FxHashSet<LockId>,
    /// How large the slots are, by number.
    slots: Vec<u32>,
    length: usize,
}

impl Summariser<'_> {
    /// The id that the next event will have.
    fn next_event(&self) -> EventId {
        EventId::from(self.length)
    }

    /// Appends an event that happens under a condition.
    fn emit(&mut self, thread: ThreadId, op: Op, occurs: TermId, origin: Origin) -> EventId {
        let location = match self.program.location(origin.site) {
            Some(location) => location.to_string(),
            None => {
                let function = self.program.function(origin.site.function);
                let block = function.block(origin.site.block).label.clone();
                let block = block.unwrap_or_else(|| origin.site.block.0.to_string());
                format!("{}:{block}:{}", function.name, origin.site.index)
            }
        };
        // Checks of different kinds at one place are different questions.
        let location = match origin.part {
            Part::DoubleLock => format!("{location} (locked twice)"),
            Part::NotHeld => format!("{location} (not held)"),
            Part::Unreachable => format!("{location} (unreachable)"),
            Part::Step | Part::Local | Part::Assertion | Part::Input | Part::End => location,
        };
        let location = Some(self.trace.location(&location));
        let id = self.trace.push(Event { thread, op, location });
        assert_eq!(id, self.next_event(), "events are numbered in order");
        self.length += 1;
        self.origins.push(origin);
        if self.terms.as_constant(occurs) != Some(1) {
            self.occurs.insert(id, occurs);
        }
        id
    }

    fn finish(self) -> Summary {
        let trace = self.trace.finish();
        let threads = trace.threads().len();
        let data = Data::of_program(self.terms, threads, self.results, self.assumed, self.occurs);
        Summary {
            trace,
            data: Some(data),
            origins: self.origins,
            forks: self.forks,
            joins: self.joins,
        }
    }

    fn unsupported<T>(&self, what: impl Into<String>, site: Site) -> Result<T, Unsupported> {
        let location = self.program.location(site).map(str::to_string);
        let location = location.unwrap_or_else(|| describe(self.program, site));
        Err(Unsupported { what: what.into(), location: Some(location) })
    }
}
