//! How threads use cells of memory: patterns that have consequences which follow from the rules,
//! but which no solver finds by itself.

mod latches;
mod owned;
mod sums;
mod turns;

use foretrace_causality::MustHappenBefore;
use foretrace_model::terms::{SymbolId, TermId, Values};
use foretrace_model::{CellId, Skeleton};
use foretrace_trace::{EventId, LockId, Mode, Op};

use latches::Latches;
use sums::Sums;

/// What is known of cells. The default: nothing.
#[derive(Default, Debug)]
pub(crate) struct Cells {
    pub(crate) sums: Sums,
    pub(crate) latches: Latches,
}

impl Cells {
    pub(crate) fn new(skeleton: &Skeleton, order: &MustHappenBefore) -> Self {
        let mut latches = Latches::new(skeleton, order);
        let mut sums = Sums::new(skeleton, order, &latches);
        // Who adds in turn, adds for itself.
        if latches.add_turns(skeleton, order, &sums) {
            sums = Sums::new(skeleton, order, &latches);
        }
        Cells { sums, latches }
    }
}

/// Reads of more accesses than this, or through more writes, are not looked through.
const MOST_ACCESSES: usize = 64;
const DEEPEST: usize = 4;

/// The last of the writes of a cell that come one after the other before everything else there, and
/// the accesses behind it.
fn behind_first_writes<'s>(
    skeleton: &'s Skeleton,
    order: &MustHappenBefore,
    cell: CellId,
) -> (Option<EventId>, &'s [EventId]) {
    let (trace, mut first) = (skeleton.trace, None);
    let mut accesses = skeleton.memory.accesses(cell);
    while let [next, rest @ ..] = accesses
        && matches!(trace.op(*next), Op::Write { .. })
        && rest.iter().all(|&other| order.precedes(trace, *next, other))
    {
        first = Some(*next);
        accesses = rest;
    }
    (first, accesses)
}

/// What a write leaves in a cell that it covers, if that is the same number in every schedule.
fn number_written(
    skeleton: &Skeleton,
    order: &MustHappenBefore,
    write: EventId,
    cell: CellId,
    depth: usize,
) -> Option<u64> {
    let at = skeleton.trace.access(write)?.at;
    if skeleton.memory.size_of(cell) != at.size || at.size > 8 {
        return None;
    }
    let data = skeleton.free_data()?;
    match data.result(write) {
        Some(term) => number(skeleton, order, term, depth),
        None => skeleton.memory.value_written(skeleton.trace, write, cell),
    }
}

/// What a term is worth, if that is the same in every schedule: each read that it uses sees one
/// certain write.
fn number(
    skeleton: &Skeleton,
    order: &MustHappenBefore,
    term: TermId,
    depth: usize,
) -> Option<u64> {
    let terms = skeleton.free_data()?.terms();
    if let Some(constant) = terms.as_constant(term) {
        return Some(constant as u64);
    }
    let symbols = latches::few_symbols(terms, term)?;
    let values: Option<Vec<(SymbolId, u64)>> = symbols
        .into_iter()
        .map(|symbol| Some((symbol, number_read(skeleton, order, EventId(symbol.0), depth)?)))
        .collect();
    let values = values?;
    let value = |symbol: SymbolId| {
        let known = values.iter().find(|(known, _)| *known == symbol);
        u128::from(known.expect("all symbols are there").1)
    };
    Some(Values::default().value(terms, term, value) as u64)
}

/// What a read sees, if it sees one certain write in every schedule, which stores the same number.
fn number_read(
    skeleton: &Skeleton,
    order: &MustHappenBefore,
    read: EventId,
    depth: usize,
) -> Option<u64> {
    let (trace, memory) = (skeleton.trace, &skeleton.memory);
    if depth == DEEPEST || !matches!(trace.op(read), Op::Read { .. }) {
        return None;
    }
    let at = trace.access(read)?.at;
    let mut cells = memory.cells_of(at);
    let (Some(cell), None) = (cells.next(), cells.next()) else { return None };
    let accesses = memory.accesses(cell);
    if memory.has_unknown_writer(read)
        || memory.size_of(cell) != at.size
        || accesses.len() > MOST_ACCESSES
    {
        return None;
    }
    let writes = accesses.iter().copied().filter(|&event| trace.access(event).unwrap().writes);
    let is_before = |a: EventId, b: EventId| order.precedes(trace, a, b);
    let earlier: Vec<EventId> = writes.filter(|&write| !is_before(read, write)).collect();
    let Some(&last) = earlier.last() else { return memory.initial_value(cell) };
    let is_certain = is_before(last, read)
        && earlier.iter().all(|&other| other == last || is_before(other, last));
    is_certain.then(|| number_written(skeleton, order, last, cell, depth + 1))?
}

/// Whether the thread has the lock for itself alone from before the read until after the write.
fn holds_around(skeleton: &Skeleton, lock: LockId, read: EventId, write: EventId) -> bool {
    let trace = skeleton.trace;
    let thread = trace.thread_of(write);
    if skeleton.locks.is_irregular(lock) {
        return false;
    }
    let holds = skeleton.locks.holds_of(lock);
    // In recorded order, so the last one of the thread that was opened before the read counts.
    let at = holds.partition_point(|&id| skeleton.locks.hold(id).open < read);
    let own = holds[..at].iter().rev().map(|&id| skeleton.locks.hold(id));
    own.into_iter().find(|hold| hold.thread == thread).is_some_and(|hold| {
        let is_long = |close: EventId| close > write && trace.thread_of(close) == thread;
        hold.mode == Mode::Exclusive && hold.close.is_none_or(is_long)
    })
}
