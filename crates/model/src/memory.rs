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

use rustc_hash::{FxHashMap, FxHashSet};

use foretrace_trace::{EventId, Model, ObjectId, Op, Place, Trace};

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
    /// The recorded writers of the further cells of reads that cover several.
    more_writers: FxHashMap<(EventId, CellId), u32>,
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
            more_writers: FxHashMap::default(),
            unknown: FxHashSet::default(),
        };
        memory.lay_out(trace);
        memory.index_accesses(trace);
        memory.find_writers(trace);
        memory
    }

    /// Cuts objects into cells.
    fn lay_out(&mut self, trace: &Trace) {
        let places = || {
            let accessed = trace.ops().filter_map(|(_, op)| op.access().map(|access| access.at));
            trace.initial().iter().map(|&(place, _)| place).chain(accessed)
        };
        let mut only: Vec<Option<Place>> = vec![None; trace.objects().len()];
        let mut mixed: FxHashMap<ObjectId, Vec<u32>> = FxHashMap::default();
        for place in places() {
            match only[place.object.index()] {
                None => only[place.object.index()] = Some(place),
                Some(known) if known == place => {}
                Some(_) => {
                    mixed.entry(place.object).or_default();
                }
            }
        }
        if !mixed.is_empty() {
            for place in places() {
                if let Some(bounds) = mixed.get_mut(&place.object) {
                    bounds.push(place.offset);
                    bounds.push(place.end());
                }
            }
        }
        for (index, only) in only.iter().enumerate() {
            let object = ObjectId::from(index);
            let first_cell = self.cells.len() as u32;
            let mut layout = Layout { first_cell, bounds: (0, 0) };
            if let Some(bounds) = mixed.get_mut(&object) {
                bounds.sort_unstable();
                bounds.dedup();
                layout.bounds.0 = self.bounds.len() as u32;
                self.bounds.extend_from_slice(bounds);
                layout.bounds.1 = self.bounds.len() as u32;
                for pair in bounds.windows(2) {
                    let (offset, size) = (pair[0], pair[1] - pair[0]);
                    self.cells.push(Cell { object, offset, size, initial: None });
                }
            } else if let Some(place) = only {
                let (offset, size) = (place.offset, place.size);
                self.cells.push(Cell { object, offset, size, initial: None });
            }
            self.objects.push(layout);
        }
    }

    fn index_accesses(&mut self, trace: &Trace) {
        let mut start = vec![0u32; self.cells.len() + 1];
        for (_, op) in trace.ops() {
            if let Some(access) = op.access() {
                for cell in self.cells_of(access.at) {
                    start[cell.index() + 1] += 1;
                }
            }
        }
        for cell in 0..self.cells.len() {
            start[cell + 1] += start[cell];
        }
        let mut next = start.clone();
        self.accesses = vec![EventId(0); start[self.cells.len()] as usize];
        for (event, op) in trace.ops() {
            if let Some(access) = op.access() {
                for cell in self.cells_of(access.at) {
                    self.accesses[next[cell.index()] as usize] = event;
                    next[cell.index()] += 1;
                }
            }
        }
        self.access_start = start;
    }

    fn find_writers(&mut self, trace: &Trace) {
        for &(place, value) in trace.initial() {
            if place.size <= 8 {
                for cell in self.cells_of(place) {
                    let part = self.part(cell, place, value);
                    self.cells[cell.index()].initial = Some(part);
                }
            }
        }
        let declared: Vec<bool> = self.cells.iter().map(|cell| cell.initial.is_some()).collect();
        let mut writer = vec![INITIAL; self.cells.len()];
        for (event, op) in trace.ops() {
            let Some(access) = op.access() else { continue };
            for (nth, cell) in self.cells_of(access.at).enumerate() {
                let at = cell.index();
                if access.reads {
                    let seen = writer[at];
                    if nth == 0 {
                        self.writers[event.index()] = seen;
                    } else if seen != INITIAL {
                        self.more_writers.insert((event, cell), seen);
                    }
                    if let Some(value) = read_value(op) {
                        let value = self.part(cell, access.at, value);
                        let left = if seen == INITIAL {
                            if !declared[at] && self.cells[at].initial.is_none() {
                                self.cells[at].initial = Some(value);
                            }
                            self.cells[at].initial
                        } else {
                            self.value_written(trace, EventId(seen), cell)
                        };
                        if left.is_some_and(|left| left != value) {
                            self.unknown.insert(event);
                        }
                    }
                }
                if access.writes {
                    writer[at] = event.0;
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

    /// The last write of the cell before the read in the recorded run; `None`: the initial contents.
    pub fn recorded_writer(&self, trace: &Trace, read: EventId, cell: CellId) -> Option<EventId> {
        let at = trace.op(read).access().expect("a read is an access").at;
        let writer = if self.cells_of(at).next() == Some(cell) {
            self.writers[read.index()]
        } else {
            self.more_writers.get(&(read, cell)).copied().unwrap_or(INITIAL)
        };
        (writer != INITIAL).then_some(EventId(writer))
    }

    /// Whether the read has an unknown writer that may be another thread, so that everything recorded
    /// before it stays before it.
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

    /// How many reads have an unknown writer.
    pub fn unknown_writers(&self) -> usize {
        self.unknown.len()
    }

    /// What a write leaves in the cell.
    pub fn written(&self, trace: &Trace, write: EventId, cell: CellId) -> Identity {
        if self.model == Model::Values
            && let Some(value) = self.value_written(trace, write, cell)
        {
            return Identity::Value(value);
        }
        Identity::Event(write)
    }

    /// What the cell holds at the start.
    pub fn initial(&self, cell: CellId) -> Identity {
        match self.cells[cell.index()].initial {
            Some(value) if self.model == Model::Values => Identity::Value(value),
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

    /// The value that a write leaves in the cell, if recorded.
    fn value_written(&self, trace: &Trace, write: EventId, cell: CellId) -> Option<u64> {
        let (at, value) = match trace.op(write) {
            Op::Write { at, value, .. } => (at, value?),
            Op::Rmw { at, written, .. } => (at, written?),
            other => unreachable!("{other:?} does not write"),
        };
        (at.size <= 8).then(|| self.part(cell, at, value))
    }

    /// The part of a value, stored little-endian at `at`, that falls into the cell.
    fn part(&self, cell: CellId, at: Place, value: u64) -> u64 {
        let cell = &self.cells[cell.index()];
        let shifted = value >> (8 * (cell.offset - at.offset));
        if cell.size >= 8 { shifted } else { shifted & ((1 << (8 * cell.size)) - 1) }
    }
}

/// What a read saw, if recorded and narrow enough to have a value per byte.
fn read_value(op: Op) -> Option<u64> {
    match op {
        Op::Read { at, value, .. } | Op::Rmw { at, read: value, .. } if at.size <= 8 => value,
        _ => None,
    }
}
