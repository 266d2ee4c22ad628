//! Memory: cells, who wrote what a read saw, what it expects to find.
//!
//! **Computes.** The bytes of each object, cut where an access or an initial value begins or ends.
//! Every access covers a *cell* as a whole or not at all, so a cell is one variable of the papers,
//! and accesses of different sizes need nothing else.
//!
//! **Cost.** O(n log n), plus the number of (access, cell) pairs.

use std::collections::BTreeSet;

use foretrace_trace::{Access, EventId, ObjectId, Place, ThreadId, Trace};
use rustc_hash::FxHashMap;

use crate::term::low_bits;

/// Who wrote what a cell holds; `None` is the initial state.
pub(crate) type Writer = Option<EventId>;

/// The identity that a read expects to find in a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expected {
    /// A value that its recorded writer left.
    Value(u64),
    /// The own contents of its recorded writer, which have no value.
    Contents(Writer),
}

/// Bytes that are always accessed together.
#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) at: Place,
    /// The events that write it, in recorded order.
    pub(crate) writers: Vec<EventId>,
    initial: Option<u64>,
}

/// Whether somebody who is not recorded wrote what a read saw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum UnknownWriter {
    /// Its own thread, in code that is not recorded.
    Private,
    /// Anybody.
    Shared,
}

#[derive(Debug)]
pub(crate) struct Memory {
    cells: Vec<Cell>,
    /// The first cell of each access, and how many it has.
    of_access: FxHashMap<EventId, (usize, usize)>,
    /// For each cell of each read, who wrote it in the recorded run.
    sources: FxHashMap<EventId, Vec<Writer>>,
    unknown: FxHashMap<EventId, UnknownWriter>,
}

impl Memory {
    pub(crate) fn new(trace: &Trace) -> Memory {
        let mut memory = Memory {
            cells: Vec::new(),
            of_access: FxHashMap::default(),
            sources: FxHashMap::default(),
            unknown: FxHashMap::default(),
        };
        memory.cut(trace);
        memory.replay(trace);
        memory.find_unknown_writers(trace);
        memory
    }

    /// Cuts the objects into cells.
    fn cut(&mut self, trace: &Trace) {
        let mut cuts: FxHashMap<ObjectId, BTreeSet<u32>> = FxHashMap::default();
        let places = trace.accesses().map(|(_, access)| access.at);
        for at in places.chain(trace.initial().iter().map(|&(at, _)| at)) {
            cuts.entry(at.object).or_default().extend([at.offset, at.end()]);
        }
        let mut objects: Vec<(ObjectId, Vec<u32>)> =
            cuts.into_iter().map(|(object, cuts)| (object, cuts.into_iter().collect())).collect();
        objects.sort_unstable_by_key(|&(object, _)| object);
        let mut starts = FxHashMap::default();
        for (object, cuts) in &objects {
            for ends in cuts.windows(2) {
                starts.insert((*object, ends[0]), self.cells.len());
                let at = Place { object: *object, offset: ends[0], size: ends[1] - ends[0] };
                self.cells.push(Cell { at, writers: Vec::new(), initial: None });
            }
        }
        for (event, access) in trace.accesses() {
            let first = starts[&(access.at.object, access.at.offset)];
            let inside = self.cells[first..].iter().take_while(|cell| cell.at.overlaps(access.at));
            self.of_access.insert(event, (first, inside.count()));
        }
        for &(at, value) in trace.initial().iter().filter(|(at, _)| at.size <= 8) {
            let first = starts[&(at.object, at.offset)];
            let inside = self.cells[first..].iter_mut().take_while(|cell| cell.at.overlaps(at));
            for cell in inside {
                cell.initial = Some(part(value, at, cell.at));
            }
        }
    }

    /// Finds recorded writers, and what first reads show of the initial state.
    fn replay(&mut self, trace: &Trace) {
        let mut last: Vec<Writer> = vec![None; self.cells.len()];
        for (event, access) in trace.accesses() {
            let (first, count) = self.of_access[&event];
            let cells = first..first + count;
            if access.reads {
                if let Some(value) = seen(trace, event, access) {
                    for index in cells.clone().filter(|&index| last[index].is_none()) {
                        let cell = &mut self.cells[index];
                        cell.initial.get_or_insert(part(value, access.at, cell.at));
                    }
                }
                self.sources.insert(event, last[cells.clone()].to_vec());
            }
            if access.writes {
                for index in cells {
                    last[index] = Some(event);
                    self.cells[index].writers.push(event);
                }
            }
        }
    }

    fn find_unknown_writers(&mut self, trace: &Trace) {
        let mut touching: FxHashMap<usize, BTreeSet<ThreadId>> = FxHashMap::default();
        for (&event, &(first, count)) in &self.of_access {
            for cell in first..first + count {
                touching.entry(cell).or_default().insert(trace.thread_of(event));
            }
        }
        let declared = |cell: &Cell| trace.initial().iter().any(|(at, _)| at.overlaps(cell.at));
        for (event, access) in trace.accesses().filter(|(_, access)| access.reads) {
            let Some(value) = seen(trace, event, access) else { continue };
            let (first, _) = self.of_access[&event];
            let differs = self.sources[&event].iter().enumerate().any(|(at, &writer)| {
                let cell = &self.cells[first + at];
                let left = self.left(trace, writer, cell);
                left.is_some_and(|left| left != part(value, access.at, cell.at))
            });
            if differs {
                let is_private = self
                    .cells_of(event)
                    .enumerate()
                    .all(|(at, cell)| touching[&(first + at)].len() == 1 && !declared(cell));
                let unknown =
                    if is_private { UnknownWriter::Private } else { UnknownWriter::Shared };
                self.unknown.insert(event, unknown);
            }
        }
    }

    /// The cells of an access, from its first byte on.
    pub(crate) fn cells_of(&self, access: EventId) -> impl Iterator<Item = &Cell> {
        let (first, count) = self.of_access[&access];
        self.cells[first..first + count].iter()
    }

    /// The cells of a read, each with its recorded writer.
    pub(crate) fn sources_of(&self, read: EventId) -> impl Iterator<Item = (&Cell, Writer)> {
        self.cells_of(read).zip(self.sources[&read].iter().copied())
    }

    /// The value that a writer left in a cell in the recorded run; `None` if its contents there
    /// have none.
    pub(crate) fn left(&self, trace: &Trace, writer: Writer, cell: &Cell) -> Option<u64> {
        let Some(event) = writer else { return cell.initial };
        let access = trace.access(event).expect("only accesses write");
        let stored = trace.values(event).1.filter(|_| access.at.size <= 8);
        stored.map(|stored| part(stored, access.at, cell.at))
    }

    /// What a read expects of a cell, by the values.
    pub(crate) fn expected(&self, trace: &Trace, source: Writer, cell: &Cell) -> Expected {
        match self.left(trace, source, cell) {
            Some(value) => Expected::Value(value),
            None => Expected::Contents(source),
        }
    }

    /// Whether an unrecorded writer wrote what the read saw.
    pub(crate) fn unknown_writer(&self, read: EventId) -> Option<UnknownWriter> {
        self.unknown.get(&read).copied()
    }
}

/// What a read saw, if its bytes have values.
pub(crate) fn seen(trace: &Trace, read: EventId, access: Access) -> Option<u64> {
    trace.values(read).0.filter(|_| access.at.size <= 8)
}

/// The part of a value at a place that lies in a cell inside it.
pub(crate) fn part(value: u64, at: Place, cell: Place) -> u64 {
    (value >> (8 * (cell.offset - at.offset))) & low_bits(8 * cell.size)
}
