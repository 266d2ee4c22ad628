//! Memory as cells: the coarsest pieces such that every access covers whole cells.
//!
//! **Computes.** For each cell its accesses in recorded order, what each write leaves there, what
//! each read expects there, and which reads have an unknown writer.
//!
//! **Follows.** `docs/theory.md`, section 2. All bytes of a cell have the same writers, so what the
//! theory says byte by byte holds cell by cell, and mixed access sizes are exact.
//!
//! **Cost.** Linear in the trace, plus sorting the boundaries of objects that are accessed at more
//! than one place; 8 bytes per event.

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};

use foretrace_trace::{EventId, ObjectId, Place, Trace};
use foretrace_verdict::Model;

/// A cell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CellId(pub u32);

impl CellId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a cell holds, as far as reads can tell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Identity {
    /// This value, whoever wrote it.
    Value(u64),
    /// What this event wrote.
    Event(EventId),
    /// The initial contents, value not known.
    Initial,
}

/// The memory part of the skeleton.
#[derive(Debug)]
pub struct Memory {
    model: Model,
    objects: Vec<Layout>,
    /// Cell boundaries of objects with more than one place.
    bounds: Vec<u32>,
    cells: Vec<Cell>,
    accesses: Vec<EventId>,
    access_start: Vec<u32>,
    /// The recorded writer of each read's first cell.
    writers: Vec<u32>,
    /// Of reads that cover several cells the first one, and where the writers of the others are in
    /// `more_writers`.
    several: FxHashMap<EventId, (CellId, u32)>,
    more_writers: Vec<u32>,
    unknown: FxHashSet<EventId>,
}

/// Where an object's cells are: `first_cell`, and its boundaries if it has more than one cell.
#[derive(Clone, Copy, Debug)]
struct Layout {
    first_cell: u32,
    bounds: (u32, u32),
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    object: ObjectId,
    offset: u32,
    size: u32,
    initial: Option<u64>,
}

const INITIAL: u32 = u32::MAX;

impl Memory {
    pub(crate) fn new(trace: &Trace, model: Model) -> Self {
        let mut memory = Memory {
            model,
            objects: Vec::new(),
            bounds: Vec::new(),
            cells: Vec::new(),
            accesses: Vec::new(),
            access_start: Vec::new(),
            writers: vec![INITIAL; trace.len()],
            several: FxHashMap::default(),
            more_writers: Vec::new(),
            unknown: FxHashSet::default(),
        };
        memory.lay_out(trace);
        memory.count_accesses(trace);
        memory.declare_initial(trace);
        memory.follow(trace);
        memory
    }

    /// Cuts objects into cells.
    fn lay_out(&mut self, trace: &Trace) {
        let accessed = trace.accesses().map(|(_, access)| access.at);
        let places = trace.initial().iter().map(|&(place, _)| place).chain(accessed);
        // The first place of each object, and all others of those that have more.
        let mut first: Vec<Option<Place>> = vec![None; trace.objects().len()];
        let mut others: FxHashSet<Place> = FxHashSet::default();
        for place in places {
            let known = *first[place.object.index()].get_or_insert(place);
            if known != place {
                others.insert(place);
            }
        }
        let mut others: Vec<Place> = others.into_iter().collect();
        others.sort_unstable();
        let mut others = others.chunk_by(|a, b| a.object == b.object).peekable();
        let mut bounds = Vec::new();
        for (index, first) in first.iter().enumerate() {
            let object = ObjectId::from(index);
            let first_cell = self.cells.len() as u32;
            let mut layout = Layout { first_cell, bounds: (0, 0) };
            let places = others.next_if(|places| places[0].object == object).unwrap_or(&[]);
            bounds.clear();
            for place in places.iter().chain(first) {
                bounds.extend([place.offset, place.end()]);
            }
            bounds.sort_unstable();
            bounds.dedup();
            for pair in bounds.windows(2) {
                let (offset, size) = (pair[0], pair[1] - pair[0]);
                self.cells.push(Cell { object, offset, size, initial: None });
            }
            if !places.is_empty() {
                layout.bounds.0 = self.bounds.len() as u32;
                self.bounds.extend_from_slice(&bounds);
                layout.bounds.1 = self.bounds.len() as u32;
            }
            self.objects.push(layout);
        }
    }

    /// Makes room for the accesses of each cell.
    fn count_accesses(&mut self, trace: &Trace) {
        let mut start = vec![0u32; self.cells.len() + 1];
        for (_, access) in trace.accesses() {
            for cell in self.cells_of(access.at) {
                start[cell.index() + 1] += 1;
            }
        }
        for cell in 0..self.cells.len() {
            start[cell + 1] += start[cell];
        }
        self.accesses = vec![EventId(0); start[self.cells.len()] as usize];
        self.access_start = start;
    }

    fn declare_initial(&mut self, trace: &Trace) {
        for &(place, value) in trace.initial() {
            if place.size <= 8 {
                for cell in self.cells_of(place) {
                    let part = self.part(cell, place, value);
                    self.cells[cell.index()].initial = Some(part);
                }
            }
        }
    }

    /// Lists the accesses of each cell, and follows who wrote it last.
    fn follow(&mut self, trace: &Trace) {
        let mut next = self.access_start.clone();
        let mut writer = vec![INITIAL; self.cells.len()];
        // What the last writer of each cell left there.
        let mut left: Vec<Option<u64>> = self.cells.iter().map(|cell| cell.initial).collect();
        for (event, access) in trace.accesses() {
            let is_narrow = access.at.size <= 8;
            let (read, written) = if is_narrow { trace.values(event) } else { (None, None) };
            for (nth, cell) in self.cells_of(access.at).enumerate() {
                let at = cell.index();
                self.accesses[next[at] as usize] = event;
                next[at] += 1;
                if access.reads {
                    let seen = writer[at];
                    if nth == 0 {
                        self.writers[event.index()] = seen;
                    } else {
                        if nth == 1 {
                            let start = self.more_writers.len() as u32;
                            self.several.insert(event, (CellId(cell.0 - 1), start));
                        }
                        self.more_writers.push(seen);
                    }
                    if let Some(value) = read {
                        let value = self.part(cell, access.at, value);
                        match left[at] {
                            Some(left) if left != value => drop(self.unknown.insert(event)),
                            // The first read of what nobody has written tells what was there.
                            None if seen == INITIAL => {
                                self.cells[at].initial = Some(value);
                                left[at] = Some(value);
                            }
                            _ => {}
                        }
                    }
                }
                if access.writes {
                    writer[at] = event.0;
                    left[at] = written.map(|value| self.part(cell, access.at, value));
                }
            }
        }
    }

    /// The cells that a place covers. Every place of the trace covers whole cells.
    pub fn cells_of(&self, at: Place) -> impl Iterator<Item = CellId> + use<> {
        let layout = self.objects[at.object.index()];
        let bounds = &self.bounds[layout.bounds.0 as usize..layout.bounds.1 as usize];
        let (first, last) = if bounds.is_empty() {
            (0, 1)
        } else {
            let first = bounds.partition_point(|&bound| bound < at.offset);
            let last = bounds.partition_point(|&bound| bound < at.end());
            (first as u32, last as u32)
        };
        (layout.first_cell + first..layout.first_cell + last).map(CellId)
    }

    /// The accesses of an object in recorded order.
    pub fn accesses_of(&self, object: ObjectId) -> Cow<'_, [EventId]> {
        let next = self.objects.get(object.index() + 1);
        let first = self.objects[object.index()].first_cell;
        let last = next.map_or(self.cells.len() as u32, |next| next.first_cell);
        if last - first <= 1 {
            return Cow::Borrowed(if first == last { &[] } else { self.accesses(CellId(first)) });
        }
        let (from, to) = (self.access_start[first as usize], self.access_start[last as usize]);
        let mut accesses = self.accesses[from as usize..to as usize].to_vec();
        accesses.sort_unstable();
        accesses.dedup();
        Cow::Owned(accesses)
    }

    /// How many cells there are.
    pub fn cell_count(&self) -> usize {
        self.cells.len()
    }

    /// The object that a cell is part of.
    pub fn object_of(&self, cell: CellId) -> ObjectId {
        self.cells[cell.index()].object
    }

    /// The accesses of a cell in recorded order.
    pub fn accesses(&self, cell: CellId) -> &[EventId] {
        let at = cell.index();
        &self.accesses[self.access_start[at] as usize..self.access_start[at + 1] as usize]
    }

    /// Whether only one thread touches the cell.
    pub fn is_own(&self, trace: &Trace, cell: CellId) -> bool {
        // Accesses are in recorded order; where threads share a cell, that shows early.
        let mut threads = self.accesses(cell).iter().map(|&event| trace.thread_of(event));
        let thread = threads.next();
        threads.all(|other| Some(other) == thread)
    }

    /// The last write of the cell before the read in the recorded run; `None`: the initial
    /// contents.
    pub fn recorded_writer(&self, trace: &Trace, read: EventId, cell: CellId) -> Option<EventId> {
        let at = trace.access(read).expect("a read is an access").at;
        let writer = if self.cells[cell.index()].offset == at.offset {
            self.writers[read.index()]
        } else {
            self.several.get(&read).map_or(INITIAL, |&(first, start)| {
                self.more_writers[(start + cell.0 - first.0 - 1) as usize]
            })
        };
        (writer != INITIAL).then_some(EventId(writer))
    }

    /// Whether the read has an unknown writer that may be another thread, so that everything
    /// recorded before it stays before it.
    pub fn follows_everything(&self, trace: &Trace, read: EventId) -> bool {
        if !self.unknown.contains(&read) {
            return false;
        }
        let at = trace.op(read).access().expect("a read is an access").at;
        let thread = trace.thread_of(read);
        let is_private = self.cells_of(at).all(|cell| {
            self.accesses(cell).iter().all(|&access| trace.thread_of(access) == thread)
        });
        !is_private || trace.initial().iter().any(|(place, _)| place.overlaps(at))
    }

    /// Whether something unrecorded wrote what the read saw.
    pub fn has_unknown_writer(&self, read: EventId) -> bool {
        self.unknown.contains(&read)
    }

    /// For each thread, its first read with an unknown writer.
    pub fn first_unknown_writers(&self, trace: &Trace) -> Vec<Option<EventId>> {
        let mut first: Vec<Option<EventId>> = vec![None; trace.threads().len()];
        for &read in &self.unknown {
            let known = &mut first[trace.thread_of(read).index()];
            *known = Some(known.map_or(read, |known| known.min(read)));
        }
        first
    }

    /// How many reads have an unknown writer.
    pub fn unknown_writers(&self) -> usize {
        self.unknown.len()
    }

    /// What a write leaves in the cell.
    pub fn written(&self, trace: &Trace, write: EventId, cell: CellId) -> Identity {
        if self.model.compares_values()
            && let Some(value) = self.value_written(trace, write, cell)
        {
            return Identity::Value(value);
        }
        Identity::Event(write)
    }

    /// What the cell holds at the start.
    pub fn initial(&self, cell: CellId) -> Identity {
        match self.cells[cell.index()].initial {
            Some(value) if self.model.compares_values() => Identity::Value(value),
            _ => Identity::Initial,
        }
    }

    /// What a read with a known writer must find in the cell.
    pub fn expected(&self, trace: &Trace, read: EventId, cell: CellId) -> Identity {
        match self.recorded_writer(trace, read, cell) {
            Some(write) => self.written(trace, write, cell),
            None => self.initial(cell),
        }
    }

    /// How many bytes a cell has.
    pub fn size_of(&self, cell: CellId) -> u32 {
        self.cells[cell.index()].size
    }

    /// What the cell holds at the start, if known.
    pub fn initial_value(&self, cell: CellId) -> Option<u64> {
        self.cells[cell.index()].initial
    }

    /// The bits of a value, stored at `at`, that fall into the cell: the first one, and how many.
    pub fn bits_of(&self, cell: CellId, at: Place) -> (u32, u32) {
        let cell = &self.cells[cell.index()];
        (8 * (cell.offset - at.offset), 8 * cell.size)
    }

    /// The value that a write leaves in the cell, if recorded.
    pub fn value_written(&self, trace: &Trace, write: EventId, cell: CellId) -> Option<u64> {
        let at = trace.access(write).expect("a write is an access").at;
        let value = trace.values(write).1?;
        (at.size <= 8).then(|| self.part(cell, at, value))
    }

    /// The part of a value, stored little-endian at `at`, that falls into the cell.
    pub fn part(&self, cell: CellId, at: Place, value: u64) -> u64 {
        let cell = &self.cells[cell.index()];
        let shifted = value >> (8 * (cell.offset - at.offset));
        if cell.size >= 8 { shifted } else { shifted & ((1 << (8 * cell.size)) - 1) }
    }
}
