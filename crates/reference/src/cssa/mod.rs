//! The formula of a trace and a violation: concurrent static single assignment with integer clocks.
//!
//! **Computes.** For a trace, a model and a candidate, a formula that is satisfiable iff a feasible
//! schedule of `docs/theory.md` ends in the candidate.
//!
//! **Follows.** Wang, Kundu, Limaye, Ganai, Gupta, *Symbolic Predictive Analysis for Concurrent
//! Programs* (000), sections 4 to 7. The formula is Φ_PO ∧ Φ_VD ∧ Φ_PI ∧ Φ_PRP, every part of it
//! instantiated beforehand:
//!
//! | part | here |
//! | --- | --- |
//! | clocks | O(e), an integer for each event; HB(a, b) is O(a) < O(b), or known within a thread |
//! | Φ_PO | `order`: program order, fork, join, exit, life of objects, barriers, calls |
//! | path conditions g(e) | `path`: of branches, assumptions and assertions, and that opaque events find what they found |
//! | Φ_VD | `path`: what writes store and `let`s name, as bit-vectors over π-variables |
//! | Φ_PI | `pi`: each read sees the last write, of a cell of memory or of a semaphore |
//! | locks | `exclusion`: holds of different threads do not overlap |
//! | Φ_PRP | `property` |
//! | section 6 | `bound` |
//!
//! Deviations:
//!
//! 1. *Prefixes* (section 5.3, generalised): X is the clock of the moment of the violation, e is
//!    included iff O(e) < X, and what is asked of an event is asked only if it is included.
//!    [`Scope::Whole`] is what the paper does without section 5.3.
//! 2. g(e) has e's own condition in it, as in Fig. 4, not as in the text. An assertion that is not
//!    the asked one must hold (theory, section 3), unless it was recorded not to.
//! 3. Where a read is pinned, the paper's `assume(x = val)` is folded in: writers that left
//!    something else are no parameters of its π-function, and it has no π-variable. Under
//!    `reads-from` one parameter is left.
//! 4. A context switch is one of the reported schedule, see `bound`.
//! 5. Critical sections of a plain lock are kept apart in pairs, as 002 and Said et al. (NFM 2011)
//!    do, and are no π-functions of the lock.
//! 6. *Staging* (Sinha, Wang, *Staged Concurrent Program Analysis*, 003, sections 4 to 6) can be
//!    switched: [`Options::summarise`] and [`Options::prune`].
//!
//! **Invariant.** Orders are asserted only positively, as HB(a, b) and, for the reverse, HB(b, a);
//! never as the negation of one. So two events with one clock are ordered by nothing, and every
//! order of them is a solution.
//!
//! **Cost.** A read of a cell with w writers takes O(w²) orders, and so does an operation on a
//! semaphore or a reader-writer lock: cubic for each variable; a lock with h holds takes O(h²).
//! That is the baseline's weakness and is meant to be there.

mod bound;
mod exclusion;
mod must;
mod order;
mod path;
mod pi;
mod property;

use foretrace_trace::{Dependences, EventId, Op, Trace, text};
use foretrace_verdict::{Model, Violation};
use rustc_hash::FxHashSet;

use crate::Unsupported;
use crate::formula::{ALL_THEORIES, DIFFERENCES, Formula, INTEGERS, Item, Pi, Sort};
use crate::recorded::{Recorded, Variable};
use crate::term::Term;

use must::MustHappenBefore;

/// Which runs are looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Scope {
    /// Those that end at the violation: `docs/theory.md`.
    #[default]
    Prefix,
    /// Those of all events of the trace, with the violation somewhere in them: 000 sections 4 to
    /// 5.2, for comparison.
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
    /// What a thread computes for itself is a term over what it has read (003, section 4), and has
    /// no clock. If not, each `let`, stored value and path condition is a variable with an
    /// equation, and each `let` has a clock: CSSA, *Old* in 003 Fig. 3.
    pub summarise: bool,
    /// Orders that program order, forks and joins decide are folded, and with them all copies of
    /// writes that are killed or come too late (003, section 6: *+O*). If not, every read is linked
    /// with every write of its cell (*-O*).
    pub prune: bool,
}

impl Options {
    /// Unbounded, as in `docs/theory.md`; summarised and pruned.
    pub fn new(model: Model) -> Options {
        Options {
            model,
            bound: None,
            scope: Scope::Prefix,
            infer_regions: false,
            summarise: true,
            prune: true,
        }
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
    let clocks = clocks(trace, options);
    let encoder = Encoder {
        trace,
        options,
        must: options.prune.then(|| MustHappenBefore::new(trace, &recorded)),
        recorded,
        released,
        violation,
        paths: vec![Term::TRUE; trace.len()],
        formula: Formula {
            logic: ALL_THEORIES,
            items: Vec::new(),
            clocks,
            horizon: "X".to_string(),
            pis: Vec::new(),
        },
    };
    encoder.encode()
}

/// The clock of each event. In summarised form, a `let` has that of the event before it: nothing
/// can keep it from being executed right then.
fn clocks(trace: &Trace, options: &Options) -> Vec<String> {
    let mut clocks: Vec<String> = Vec::with_capacity(trace.len());
    for event in (0..trace.len()).map(EventId::from) {
        let before = trace.previous(event);
        clocks.push(match before.filter(|_| options.summarise && trace.op(event) == Op::Let) {
            Some(before) => clocks[before.index()].clone(),
            None => format!("O{}", event.0),
        });
    }
    clocks
}

struct Encoder<'a> {
    trace: &'a Trace,
    options: &'a Options,
    /// If orders that it decides are folded.
    must: Option<MustHappenBefore>,
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
        self.synchronisation();
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
            let event = EventId::from(index);
            if self.has_clock(event) {
                let symbol = self.formula.clocks[index].clone();
                self.formula.items.push(Item::Declare { symbol, sort: Sort::Int });
            }
            self.declare_pis(event);
        }
    }

    /// The π-variables of a read that is not pinned: one for each of its cells that can hold a
    /// value.
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

    /// Whether the event has a clock of its own.
    fn has_clock(&self, event: EventId) -> bool {
        let clock = &self.formula.clocks[event.index()];
        self.trace
            .previous(event)
            .is_none_or(|before| self.formula.clocks[before.index()] != *clock)
    }

    /// HB(a, b), folded where it is known.
    fn before(&self, a: EventId, b: EventId) -> Term {
        match &self.must {
            _ if a == b => Term::FALSE,
            Some(must) if must.orders(self.trace, a, b) => Term::TRUE,
            Some(must) if must.orders(self.trace, b, a) => Term::FALSE,
            // Segments do not tell the order within a thread.
            None if self.options.bound.is_some()
                && self.trace.thread_of(a) == self.trace.thread_of(b) =>
            {
                Term::Bool(a < b)
            }
            _ => self.earlier(a, b),
        }
    }

    /// The one has the smaller clock.
    fn earlier(&self, a: EventId, b: EventId) -> Term {
        Term::binary("<", self.clock(a), self.clock(b))
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
