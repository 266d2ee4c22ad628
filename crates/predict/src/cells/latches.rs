//! Cells that threads use as locks: an atomic exchange in a loop, a compare-exchange, a flag that
//! is tested and set; and where reads are pinned, the owners of `owned`.
//!
//! **Computes.** For each such cell the holds: where every read returns its recorded value, and
//! where every write stores a number and the thread's way says what its reads have found, those of
//! `owned`; else those of `turns`.
//!
//! **Cost.** Linear in the accesses and conditions, times the numbers that a cell may hold.

use rustc_hash::FxHashMap;

use foretrace_causality::MustHappenBefore;
use foretrace_model::terms::{Node, SymbolId, TermId, Terms, Values};
use foretrace_model::{CellId, Data, Skeleton};
use foretrace_trace::{EventId, Op, ThreadId, Trace, ops};
use foretrace_verdict::Model;

use super::owned::{holds, holds_of_owned};
use super::sums::Sums;
use super::turns::holds_of_turns;
use super::{behind_first_writes, number_written};

/// A cell that may hold more numbers than this is no lock.
const MOST_NUMBERS: usize = 16;

/// A condition with more operations than this is not looked at.
const LARGEST_CONDITION: usize = 32;

/// A time during which a thread has the cell for itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Latched {
    pub(crate) thread: ThreadId,
    /// The read with which it begins.
    pub(crate) take: EventId,
    /// The event that says so: if it is executed, the thread has the cell for itself.
    pub(crate) tested: EventId,
    /// The write that ends it.
    pub(crate) give: Option<EventId>,
}

/// All such cells, with their holds in recorded order.
#[derive(Default, Debug)]
pub(crate) struct Latches {
    cells: FxHashMap<CellId, Vec<Latched>>,
    tests: Tests,
}

impl Latches {
    pub(crate) fn new(skeleton: &Skeleton, order: &MustHappenBefore) -> Self {
        let mut latches = Latches::default();
        if skeleton.pins_reads() && !skeleton.is_program() {
            let cells = (0..skeleton.memory.cell_count() as u32).map(CellId);
            latches.cells.extend(
                cells.filter_map(|cell| Some((cell, holds_of_owned(skeleton, order, cell)?))),
            );
            return latches;
        }
        let Some(data) = skeleton.free_data() else { return latches };
        if skeleton.model != Model::Symbolic || data.is_program() {
            return latches;
        }
        let tests = tests(skeleton, data);
        if tests.is_empty() {
            return latches;
        }
        for cell in (0..skeleton.memory.cell_count() as u32).map(CellId) {
            if let Some(holds) = holds_of(skeleton, data, order, &tests, cell) {
                latches.cells.insert(cell, holds);
            }
        }
        latches.tests = tests;
        latches
    }

    /// Adds cells that say whose turn it is. Returns whether there are any.
    pub(super) fn add_turns(
        &mut self,
        skeleton: &Skeleton,
        order: &MustHappenBefore,
        sums: &Sums,
    ) -> bool {
        let tests = std::mem::take(&mut self.tests);
        let known = self.cells.len();
        for cell in (0..skeleton.memory.cell_count() as u32).map(CellId) {
            if !self.cells.contains_key(&cell)
                && let Some(holds) = holds_of_turns(skeleton, order, &tests, sums, cell)
            {
                self.cells.insert(cell, holds);
            }
        }
        self.cells.len() > known
    }

    /// The cells that are used as locks.
    pub(super) fn cells(&self) -> impl Iterator<Item = CellId> {
        self.cells.keys().copied()
    }

    /// Whether the thread has the cell for itself from before the read until after the write.
    pub(super) fn holds_around(
        &self,
        trace: &Trace,
        cell: CellId,
        read: EventId,
        write: EventId,
    ) -> bool {
        let (holds, thread) = (self.of(cell), trace.thread_of(write));
        let before = &holds[..holds.partition_point(|hold| hold.take < read)];
        before
            .iter()
            .rev()
            .find(|hold| hold.thread == thread)
            .is_some_and(|hold| hold.tested < read && hold.give.is_none_or(|give| give > write))
    }

    /// Whether no remote access comes between the accesses of a pair: each pair lies within one
    /// hold of a cell, and each remote access within one of another thread.
    pub(crate) fn separate(
        &self,
        trace: &Trace,
        pairs: &[(EventId, EventId)],
        remotes: &[EventId],
    ) -> bool {
        self.cells().any(|cell| {
            let is_one = |&(first, second): &(EventId, EventId)| {
                self.holds_around(trace, cell, first, second)
            };
            pairs.iter().all(is_one)
                && remotes.iter().all(|&remote| self.holds_around(trace, cell, remote, remote))
        })
    }

    /// Whether events of one thread and events of another all have the same cell, so that no two
    /// are next at once.
    pub(crate) fn exclude(&self, trace: &Trace, some: &[EventId], others: &[EventId]) -> bool {
        let within = |cell, event: EventId| self.holds_around(trace, cell, event, event);
        let mut cells = self.cells();
        cells.any(|cell| some.iter().chain(others).all(|&event| within(cell, event)))
    }

    /// The holds of a cell; none if it is no lock.
    pub(crate) fn of(&self, cell: CellId) -> &[Latched] {
        self.cells.get(&cell).map_or(&[], Vec::as_slice)
    }
}

/// A condition on what one read has found.
#[derive(Debug)]
pub(super) struct Test {
    /// The event that is executed only if it has this outcome.
    pub(super) event: EventId,
    pub(super) condition: TermId,
    pub(super) outcome: bool,
}

/// The conditions on what single reads have found, or one and another, by reads.
pub(super) type Tests = FxHashMap<EventId, Vec<Test>>;

fn tests(skeleton: &Skeleton, data: &Data) -> Tests {
    let trace = skeleton.trace;
    let mut tests = Tests::default();
    let mut add = |event: EventId, condition: TermId, outcome: bool| {
        let symbols = few_symbols(data.terms(), condition).unwrap_or_default();
        if symbols.len() <= 2 {
            for symbol in symbols {
                let test = Test { event, condition, outcome };
                tests.entry(EventId(symbol.0)).or_default().push(test);
            }
        }
    };
    for (event, recorded) in trace.events() {
        let outcome = match recorded.op {
            Op::Branch { taken } => Some(taken),
            Op::Assume { holds } => Some(holds),
            ops!(memory object sync call mark Let Assert) => None,
        };
        if let (Some(outcome), Some(condition)) = (outcome, data.result(event)) {
            add(event, condition, outcome);
        } else if let Some(condition) = data.assumed(event) {
            add(event, condition, true);
        }
    }
    tests
}

/// The symbols of a small term.
pub(super) fn few_symbols(terms: &Terms, term: TermId) -> Option<Vec<SymbolId>> {
    let (mut open, mut symbols) = (vec![term], Vec::new());
    for _ in 0..LARGEST_CONDITION {
        let Some(term) = open.pop() else { return Some(symbols) };
        match terms.node(term) {
            Node::Symbol(symbol) if symbols.contains(&symbol) => {}
            Node::Symbol(symbol) => symbols.push(symbol),
            Node::Constant(_)
            | Node::Unary(..)
            | Node::Binary(..)
            | Node::Concat(..)
            | Node::Extract { .. }
            | Node::Ite(..) => open.extend(terms.children(term)),
        }
    }
    None
}

/// What a cell may hold, if every write stores the same number in every schedule.
pub(super) struct Numbers<'s> {
    pub(super) accesses: &'s [EventId],
    initial: u64,
    stored: FxHashMap<EventId, u64>,
    pub(super) all: Vec<u64>,
}

impl<'s> Numbers<'s> {
    pub(super) fn new(
        skeleton: &'s Skeleton,
        order: &MustHappenBefore,
        cell: CellId,
    ) -> Option<Self> {
        let (trace, memory) = (skeleton.trace, &skeleton.memory);
        let (first, accesses) = behind_first_writes(skeleton, order, cell);
        let initial = match first {
            Some(first) => number_written(skeleton, order, first, cell, 0)?,
            None => memory.initial_value(cell)?,
        };
        let (mut stored, mut all) = (FxHashMap::default(), vec![initial]);
        for &event in accesses {
            if trace.access(event)?.writes {
                let number = number_written(skeleton, order, event, cell, 0)?;
                stored.insert(event, number);
                if !all.contains(&number) {
                    all.push(number);
                }
                if all.len() > MOST_NUMBERS {
                    return None;
                }
            }
        }
        Some(Numbers { accesses, initial, stored, all })
    }

    /// Which of the numbers a read may have found if the test has its outcome.
    pub(super) fn found(&self, data: &Data, read: EventId, test: &Test) -> Option<Vec<u64>> {
        if few_symbols(data.terms(), test.condition)?.as_slice() != [SymbolId(read.0)] {
            return None;
        }
        let is_possible = |&&number: &&u64| {
            let value = |_| u128::from(number);
            let outcome = Values::default().value(data.terms(), test.condition, value) != 0;
            outcome == test.outcome
        };
        Some(self.all.iter().filter(is_possible).copied().collect())
    }
}

/// Whether all that happens to the cell is known of reads that see all of it.
pub(super) fn is_plain(skeleton: &Skeleton, cell: CellId) -> bool {
    let (trace, memory) = (skeleton.trace, &skeleton.memory);
    memory.accesses(cell).iter().all(|&event| {
        trace.access(event).is_some_and(|access| {
            !(access.reads && memory.has_unknown_writer(event))
                && access.at.size == memory.size_of(cell)
        })
    })
}

fn holds_of(
    skeleton: &Skeleton,
    data: &Data,
    order: &MustHappenBefore,
    tests: &Tests,
    cell: CellId,
) -> Option<Vec<Latched>> {
    let trace = skeleton.trace;
    let writes = |event: EventId| trace.access(event).is_some_and(|access| access.writes);
    let accesses = skeleton.memory.accesses(cell);
    if !accesses.iter().any(|event| tests.contains_key(event)) || !is_plain(skeleton, cell) {
        return None;
    }
    let numbers = Numbers::new(skeleton, order, cell)?;
    // Of each read that may have found less than all, the test that says so.
    let mut found: FxHashMap<EventId, Vec<(EventId, Vec<u64>)>> = FxHashMap::default();
    for &read in numbers.accesses {
        let tests = tests.get(&read).into_iter().flatten();
        let those = tests.filter_map(|test| Some((test.event, numbers.found(data, read, test)?)));
        found.insert(read, those.collect());
    }
    let tested = |read: EventId, free: &[u64]| {
        let is_free = |(_, found): &&(EventId, Vec<u64>)| {
            !found.is_empty() && found.iter().all(|number| free.contains(number))
        };
        Some(found.get(&read)?.iter().find(is_free)?.0)
    };
    // What a thread stores that has found something free, and has stored something else, is free.
    let mut free = vec![numbers.initial];
    let mut holders: FxHashMap<ThreadId, bool> = FxHashMap::default();
    let mut last_found: FxHashMap<ThreadId, bool> = FxHashMap::default();
    let mut known = 0;
    while known < free.len() {
        known = free.len();
        holders.clear();
        for &event in numbers.accesses {
            let thread = trace.thread_of(event);
            if trace.access(event).is_some_and(|access| access.reads) {
                last_found.insert(thread, tested(event, &free).is_some());
            }
            if writes(event) {
                let number = numbers.stored[&event];
                let holds = holders.entry(thread).or_default();
                let takes = last_found.insert(thread, false) == Some(true);
                if *holds && !takes && !free.contains(&number) {
                    free.push(number);
                }
                *holds = takes && !free.contains(&number);
            }
        }
    }
    let is_free = |write: EventId| free.contains(&numbers.stored[&write]);
    holds(skeleton, numbers.accesses, |read| tested(read, &free), is_free)
}
