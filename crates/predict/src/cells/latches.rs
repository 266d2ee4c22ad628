//! Cells that threads use as locks: an atomic exchange in a loop, a compare-exchange, a flag that
//! is tested and set; and where reads are pinned, the owners of `owned`.
//!
//! **Computes.** For a cell that holds a number f at first, *free*, and whose every write stores a
//! number: the holds. A hold begins with a *take*: a read-modify-write that stores something else
//! than f, of which the thread's way behind it says that it has found f. It ends when the thread
//! stores f.
//!
//! **Follows.** If each store of f ends a hold of its thread, two holds of different threads
//! exclude each other. Call a write that finds f and stores something else *effective*. By
//! induction over a schedule, the cell differs from f exactly if one effective write has not been
//! answered by a store of f, and there is at most one such: the next effective write needs f, which
//! only the store that ends a hold leaves; and that hold's own take was effective, because its
//! thread has gone on. Writes of other numbers that nobody has tested (an exchange whose loop goes
//! on) may be effective too; nobody ends them, so nobody takes the cell any more.
//!
//! **Cost.** Linear in the accesses and conditions, times the numbers that a cell may hold.

use rustc_hash::FxHashMap;

use foretrace_causality::MustHappenBefore;
use foretrace_model::terms::{Node, SymbolId, TermId, Terms, Values};
use foretrace_model::{CellId, Data, Skeleton};
use foretrace_trace::{EventId, Op, ThreadId, Trace, ops};
use foretrace_verdict::Model;

use super::number_written;
use super::owned::holds_of_owned;
use crate::fault::{Fault, is_seeded};

/// A cell that may hold more numbers than this is no lock.
const MOST_NUMBERS: usize = 16;

/// A condition with more operations than this is not looked at.
const LARGEST_CONDITION: usize = 32;

/// A time during which a thread has the cell for itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Latched {
    pub(crate) thread: ThreadId,
    /// The read-modify-write that takes the cell.
    pub(crate) take: EventId,
    /// The event that says so: if it is executed, the take has found the cell free. The take itself
    /// if it assumes that.
    pub(crate) tested: EventId,
    /// The store that ends it.
    pub(crate) give: Option<EventId>,
}

/// All such cells, with their holds in recorded order.
#[derive(Default, Debug)]
pub(crate) struct Latches {
    cells: FxHashMap<CellId, Vec<Latched>>,
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
        latches
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

/// A condition on what one read-modify-write has found.
struct Test {
    event: EventId,
    condition: TermId,
    outcome: bool,
}

/// The conditions on what single read-modify-writes have found, by these, in program order.
fn tests(skeleton: &Skeleton, data: &Data) -> FxHashMap<EventId, Vec<Test>> {
    let trace = skeleton.trace;
    let mut tests: FxHashMap<EventId, Vec<Test>> = FxHashMap::default();
    let mut add = |event: EventId, condition: TermId, outcome: bool| {
        let symbols = few_symbols(data.terms(), condition);
        if let Some([symbol]) = symbols.as_deref()
            && let take = EventId(symbol.0)
            && matches!(trace.op(take), Op::Rmw { .. })
        {
            tests.entry(take).or_default().push(Test { event, condition, outcome });
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

fn holds_of(
    skeleton: &Skeleton,
    data: &Data,
    order: &MustHappenBefore,
    tests: &FxHashMap<EventId, Vec<Test>>,
    cell: CellId,
) -> Option<Vec<Latched>> {
    let (trace, memory) = (skeleton.trace, &skeleton.memory);
    let accesses = memory.accesses(cell);
    if !accesses.iter().any(|event| tests.contains_key(event)) {
        return None;
    }
    let mut writes = Vec::new();
    for &event in accesses {
        let access = trace.access(event)?;
        if access.reads && memory.has_unknown_writer(event) {
            return None;
        }
        if access.writes {
            writes.push((event, number_written(skeleton, order, event, cell, 0)?));
        }
    }
    // What is written before everything else is what the cell holds at first.
    let mut free = memory.initial_value(cell);
    let mut numbers: Vec<u64> = Vec::new();
    while let [(first, number), rest @ ..] = writes.as_slice()
        && matches!(trace.op(*first), Op::Write { .. })
        && rest.iter().all(|&(other, _)| order.precedes(trace, *first, other))
    {
        free = Some(*number);
        writes.remove(0);
    }
    let free = free?;
    numbers.push(free);
    numbers.extend(writes.iter().map(|&(_, number)| number));
    numbers.sort_unstable();
    numbers.dedup();
    if numbers.len() > MOST_NUMBERS {
        return None;
    }
    let tested = |take: EventId| {
        let says_so = |test: &&Test| {
            let outcome = |number: u64| {
                let value = |_| u128::from(number);
                Values::default().value(data.terms(), test.condition, value) != 0
            };
            numbers.iter().all(|&number| (outcome(number) == test.outcome) == (number == free))
        };
        Some(tests.get(&take)?.iter().find(says_so)?.event)
    };
    // The last hold of each thread, as long as it is open and nothing else was written by it.
    let mut open: FxHashMap<ThreadId, usize> = FxHashMap::default();
    let mut holds: Vec<Latched> = Vec::new();
    for (write, number) in writes {
        let thread = trace.thread_of(write);
        let last = open.remove(&thread);
        if number == free {
            if last.is_none() && is_seeded(Fault::LatchGivenByAnyone) {
                continue;
            }
            let hold = &mut holds[last?];
            if hold.tested > write {
                return None;
            }
            hold.give = Some(write);
        } else if matches!(trace.op(write), Op::Rmw { .. })
            && let Some(tested) = tested(write)
        {
            open.insert(thread, holds.len());
            holds.push(Latched { thread, take: write, tested, give: None });
        }
    }
    Some(holds)
}
