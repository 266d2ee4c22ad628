//! The formula of a trace and a violation: concurrent static single assignment with integer clocks.
//!
//! **Computes.** For a trace, a model and a candidate, a formula that is satisfiable iff a feasible schedule of `docs/theory.md` ends in
//! the candidate.
//!
//! **Follows.** Wang, Kundu, Limaye, Ganai, Gupta, *Symbolic Predictive Analysis for Concurrent Programs* (000), sections 4 to 7. The
//! formula is Φ_PO ∧ Φ_VD ∧ Φ_PI ∧ Φ_PRP, every part of it instantiated beforehand:
//!
//! | part | here |
//! | --- | --- |
//! | clocks | O(e), an integer for each event; HB(a, b) is O(a) < O(b), or known within a thread |
//! | Φ_PO | `order`: program order, fork, join, exit, life of objects, barriers |
//! | path conditions g(e) | `path`: of branches, assumptions and assertions, and that opaque events find what they found |
//! | Φ_VD | `path`: what writes store and `let`s name, as bit-vectors over π-variables |
//! | Φ_PI | `pi`: each read sees the last write, of a cell of memory or of a lock or semaphore, whose guards are here too |
//! | Φ_PRP | `property` |
//! | section 6 | `bound` |
//!
//! Deviations:
//!
//! 1. *Prefixes* (section 5.3, generalised): X is the clock of the moment of the violation, e is included iff O(e) < X, and what
//!    is asked of an event is asked only if it is included. [`Scope::Whole`] is what the paper does without section 5.3.
//! 2. g(e) has e's own condition in it, as in Fig. 4, not as in the text. An assertion that is not the asked one must hold (theory,
//!    section 3), unless it was recorded not to.
//! 3. Where a read is pinned, the paper's `assume(x = val)` is folded in: writers that left something else are no parameters of its
//!    π-function, and it has no π-variable. Under `reads-from` one parameter is left.
//! 4. A context switch is one of the reported schedule, see `bound`.
//!
//! **Invariant.** Orders are asserted only positively, as HB(a, b) and, for the reverse, HB(b, a); never as the negation of one. So
//! two events with one clock are ordered by nothing, and every order of them is a solution.
//!
//! **Cost.** A read of a cell with w writers takes O(w²) orders, and so does an operation on a synchronisation variable: cubic for each
//! variable. That is the baseline's weakness and is meant to be there.

mod bound;
mod order;
mod path;
mod pi;
mod property;

use foretrace_trace::{Dependences, EventId, Model, Trace, text};
use foretrace_witness::Violation;
use rustc_hash::FxHashSet;

use crate::Unsupported;
use crate::formula::{ALL_THEORIES, DIFFERENCES, Formula, INTEGERS, Item, Pi, Sort};
use crate::recorded::{Recorded, Variable};
use crate::term::Term;

/// Which runs are looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Scope {
    /// Those that end at the violation: `docs/theory.md`.
    #[default]
    Prefix,
    /// Those of all events of the trace, with the violation somewhere in them: 000 sections 4 to 5.2, for comparison.
    Whole,
}

/// What a formula is made for, beside trace and violation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// How strictly reads are bound. `Control` is not supported.
    pub model: Model,
    /// At most so many context switches.
    pub bound: Option<u32>,
    /// Which runs are looked for.
    pub scope: Scope,
    /// Critical sections are atomic regions too.
    pub infer_regions: bool,
}

impl Options {
    /// Unbounded, as in `docs/theory.md`.
    pub fn new(model: Model) -> Options {
        Options { model, bound: None, scope: Scope::Prefix, infer_regions: false }
    }
}

/// The formula that says that a schedule ends in the violation.
pub fn encode(
    trace: &Trace,
    violation: &Violation,
    options: &Options,
) -> Result<Formula, Unsupported> {
    if options.model == Model::Control {
        return Err(Unsupported::new("the model `control`"));
    }
    let recorded = Recorded::new(trace)?;
    let released = match (violation, options.model) {
        (&Violation::Assertion(event), Model::ReadsFrom | Model::Values) => {
            recorded.data.released_for(trace, &recorded.memory, event)
        }
        _ => FxHashSet::default(),
    };
    let encoder = Encoder {
        trace,
        options,
        recorded,
        released,
        violation,
        paths: vec![Term::TRUE; trace.len()],
        formula: Formula {
            logic: ALL_THEORIES,
            items: Vec::new(),
            clocks: (0..trace.len()).map(|event| format!("O{event}")).collect(),
            horizon: "X".to_string(),
            pis: Vec::new(),
        },
    };
    encoder.encode()
}

struct Encoder<'a> {
    trace: &'a Trace,
    options: &'a Options,
    recorded: Recorded,
    violation: &'a Violation,
    /// Reads that only the asked assertion uses.
    released: FxHashSet<EventId>,
    /// g(e): that the event and all before it in its thread are possible.
    paths: Vec<Term>,
    formula: Formula,
}

impl Encoder<'_> {
    fn encode(mut self) -> Result<Formula, Unsupported> {
        let property = self.property()?;
        self.declare();
        self.order();
        self.definitions();
        self.path_conditions();
        self.reads_see_the_last_write();
        self.guarded_updates();
        self.comment("Phi_PRP: the violation");
        self.assert(property);
        self.bound();
        let has_counters = self.recorded.sync.variables.iter().any(Variable::is_counter);
        self.formula.logic = match has_counters || self.options.bound.is_some() {
            _ if self.formula.has_vectors() => ALL_THEORIES,
            true => INTEGERS,
            false => DIFFERENCES,
        };
        Ok(self.formula)
    }

    /// Declares clocks and π-variables, and names events for readers.
    fn declare(&mut self) {
        let model = self.options.model.name();
        self.comment(&format!("{}, model {model}", described(self.violation)));
        self.comment("X is the moment of the violation; O3 is the clock of event 3, which is included if it is before X");
        self.formula.items.push(Item::Declare { symbol: "X".to_string(), sort: Sort::Int });
        // Behind its declarations, a text has one line for each event.
        let text = text::print(self.trace);
        let lines: Vec<&str> = text.lines().collect();
        let events = &lines[lines.len() - self.trace.len()..];
        for (index, line) in events.iter().enumerate() {
            self.comment(&format!("{index}: {line}"));
            self.formula.items.push(Item::Declare { symbol: format!("O{index}"), sort: Sort::Int });
            self.declare_pis(EventId::from(index));
        }
    }

    /// The π-variables of a read that is not pinned: one for each of its cells that can hold a value.
    fn declare_pis(&mut self, event: EventId) {
        let Some(access) = self.trace.access(event).filter(|access| access.reads) else { return };
        if self.is_pinned(event) {
            return;
        }
        let mut pis = Vec::new();
        for cell in self.recorded.memory.cells_of(event).filter(|cell| cell.at.size <= 8) {
            let offset = cell.at.offset - access.at.offset;
            pis.push((Pi { read: event, offset, symbol: pi_symbol(event, offset) }, cell.at.size));
        }
        for (pi, size) in pis {
            let (symbol, sort) = (pi.symbol.clone(), Sort::BitVec(8 * size));
            self.formula.items.push(Item::Declare { symbol, sort });
            self.formula.pis.push(pi);
        }
    }

    /// Whether a read must find what its recorded writer left.
    fn is_pinned(&self, read: EventId) -> bool {
        match self.options.model {
            Model::ReadsFrom | Model::Values => !self.released.contains(&read),
            Model::Symbolic | Model::Control => {
                self.recorded.memory.unknown_writer(read).is_some()
                    || self.trace.dependences() == Dependences::Unknown
            }
        }
    }

    /// O(e)
    fn clock(&self, event: EventId) -> Term {
        Term::Symbol(self.formula.clocks[event.index()].clone())
    }

    /// HB(a, b)
    fn before(&self, a: EventId, b: EventId) -> Term {
        match self.trace.thread_of(a) == self.trace.thread_of(b) {
            true => Term::Bool(a < b),
            false => Term::binary("<", self.clock(a), self.clock(b)),
        }
    }

    /// The event is in the schedule.
    fn included(&self, event: EventId) -> Term {
        Term::binary("<", self.clock(event), Term::Symbol("X".to_string()))
    }

    /// The event is not in the schedule.
    fn excluded(&self, event: EventId) -> Term {
        Term::binary("<=", Term::Symbol("X".to_string()), self.clock(event))
    }

    /// The event is not in the schedule, and everything before it in its thread is.
    fn next_at(&self, event: EventId) -> Term {
        let due = self.recorded.due_before(self.trace, event);
        let due = due.map_or(Term::TRUE, |due| self.included(due));
        Term::and([due, self.excluded(event)])
    }

    fn assert(&mut self, term: Term) {
        if term != Term::TRUE {
            self.formula.items.push(Item::Assert(term));
        }
    }

    fn comment(&mut self, text: &str) {
        self.formula.items.push(Item::Comment(text.to_string()));
    }
}

/// The constant for what a read sees from this byte of its own on.
fn pi_symbol(read: EventId, offset: u32) -> String {
    match offset {
        0 => format!("pi{}", read.0),
        _ => format!("pi{}.{offset}", read.0),
    }
}

/// The violation in words.
fn described(violation: &Violation) -> String {
    match *violation {
        Violation::Race(a, b) => format!("race of events {} and {}", a.0, b.0),
        Violation::Atomicity { first, remote, second } => {
            format!("atomicity violation of events {}, {} and {}", first.0, remote.0, second.0)
        }
        Violation::LockCycle(ref cycle) => {
            let events: Vec<String> = cycle.iter().map(|event| event.0.to_string()).collect();
            format!("lock cycle of events {}", events.join(", "))
        }
        Violation::Stuck(event) => format!("stuck at event {}", event.0),
        Violation::Lock(misuse, event) => format!("{misuse:?} at event {}", event.0),
        Violation::Assertion(event) => format!("failure of the assertion at event {}", event.0),
    }
}
