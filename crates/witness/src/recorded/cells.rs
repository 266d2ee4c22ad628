//! Cuts each object into cells, so that every access covers whole cells.
//!
//! **Computes.** The cuts are the first bytes of all recorded places and the first bytes behind
//! them. A cell is what lies between two neighbouring cuts of one object, and its number is the
//! place of its first cut among all cuts, so the cells of a place have consecutive numbers.
//!
//! **Invariant.** All bytes of a cell always have the same last writer, and either all of them are
//! valued or none: whatever is true of a byte in `docs/theory.md` is decided once per cell.
//!
//! **Cost.** O(n + p log p) for n events with p distinct places; one cell per distinct place in the
//! usual case that places do not overlap.

use foretrace_trace::{ObjectId, Op, Place, Trace};
use rustc_hash::FxHashMap;

/// The last writer of a cell that nobody has written.
pub(crate) const INITIAL: u32 = u32::MAX;

/// The cells of a trace.
#[derive(Debug)]
pub(crate) struct Cells {
    /// Object in the upper half, offset in the lower one, in order.
    cuts: Vec<u64>,
}

/// The first look at a trace: where its accesses go.
pub(super) struct Layout {
    pub(super) cells: Cells,
    /// For each access the number of its place.
    pub(super) place_of: Vec<u32>,
    /// The span of each place.
    pub(super) spans: Vec<Span>,
    /// Whether each object has a recorded alloc or free.
    pub(super) is_mortal: Vec<bool>,
}

impl Layout {
    pub(super) fn new(trace: &Trace) -> Self {
        let mut places = Places::new(trace);
        let mut is_mortal = vec![false; trace.objects().len()];
        let mut place_of = vec![u32::MAX; trace.len()];
        for (id, op) in trace.ops() {
            if let Some(access) = op.access() {
                place_of[id.index()] = places.number(access.at);
            } else if let Op::Alloc { object, .. } | Op::Free { object } = op {
                is_mortal[object.index()] = true;
            }
        }
        let declared = trace.initial().iter().map(|&(place, _)| place);
        let mut cuts: Vec<u64> = places
            .list
            .iter()
            .copied()
            .chain(declared)
            .flat_map(|at| [key(at.object, at.offset), key(at.object, at.end())])
            .collect();
        cuts.sort_unstable();
        cuts.dedup();
        let cells = Cells { cuts };
        let spans = places.list.iter().map(|&at| cells.span(at)).collect();
        Layout { cells, place_of, spans, is_mortal }
    }
}

/// The cells of one place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) first: u32,
    pub(crate) count: u32,
}

impl Span {
    #[inline]
    pub(crate) fn cells(self) -> std::ops::Range<u32> {
        self.first..self.first + self.count
    }
}

impl Cells {
    /// The cells of a place whose ends are cuts.
    pub(crate) fn span(&self, at: Place) -> Span {
        let cut = |offset| self.cuts.partition_point(|&cut| cut < key(at.object, offset)) as u32;
        let first = cut(at.offset);
        Span { first, count: cut(at.end()) - first }
    }

    pub(crate) fn len(&self) -> usize {
        self.cuts.len()
    }

    /// Where in its object a cell begins.
    pub(crate) fn offset(&self, cell: u32) -> u32 {
        self.cuts[cell as usize] as u32
    }

    /// The part of a place's value that lies in one of its cells. The place has at most 8 bytes.
    pub(crate) fn part(&self, at: Place, value: u64, cell: u32) -> u64 {
        debug_assert!(at.size <= 8);
        let from = self.offset(cell) - at.offset;
        lowest(self.offset(cell + 1) - self.offset(cell), value >> (8 * from))
    }
}

/// The distinct places met so far.
struct Places {
    list: Vec<Place>,
    numbers: FxHashMap<Place, u32>,
    /// The place of each object that was met last, and its number: most objects have but one place,
    /// or are met at the same one several times in a row.
    last: Vec<(Place, u32)>,
}

impl Places {
    fn new(trace: &Trace) -> Self {
        // No access has no bytes.
        let none = Place { object: ObjectId(0), offset: 0, size: 0 };
        let last = vec![(none, u32::MAX); trace.objects().len()];
        Places { list: Vec::new(), numbers: FxHashMap::default(), last }
    }

    #[inline]
    fn number(&mut self, at: Place) -> u32 {
        let (last, number) = self.last[at.object.index()];
        if last == at {
            return number;
        }
        let number = *self.numbers.entry(at).or_insert_with(|| {
            self.list.push(at);
            self.list.len() as u32 - 1
        });
        self.last[at.object.index()] = (at, number);
        number
    }
}

/// The lowest bytes of a value.
pub(super) fn lowest(bytes: u32, value: u64) -> u64 {
    if bytes >= 8 { value } else { value & ((1 << (8 * bytes)) - 1) }
}

fn key(object: ObjectId, offset: u32) -> u64 {
    u64::from(object.0) << 32 | u64::from(offset)
}
