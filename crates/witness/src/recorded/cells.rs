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

use foretrace_trace::{ObjectId, Place, Trace};
use rustc_hash::FxHashMap;

/// The last writer of a cell that nobody has written.
pub(crate) const INITIAL: u32 = u32::MAX;

/// The cells of a trace.
#[derive(Debug)]
pub(crate) struct Cells {
    /// Object in the upper half, offset in the lower one, in order.
    cuts: Vec<u64>,
}

/// The cells of one place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) first: u32,
    pub(crate) count: u32,
}

impl Cells {
    /// The cells, for each access the number of its place, and the span of each place.
    pub(crate) fn new(trace: &Trace) -> (Cells, Vec<u32>, Vec<Span>) {
        let mut numbers: FxHashMap<Place, u32> = FxHashMap::default();
        let mut places: Vec<Place> = Vec::new();
        let mut place_of = vec![u32::MAX; trace.len()];
        for (id, event) in trace.events() {
            let Some(access) = event.op.access() else { continue };
            place_of[id.index()] = *numbers.entry(access.at).or_insert_with(|| {
                places.push(access.at);
                places.len() as u32 - 1
            });
        }
        let declared = trace.initial().iter().map(|&(place, _)| place);
        let mut cuts: Vec<u64> = places
            .iter()
            .copied()
            .chain(declared)
            .flat_map(|at| [key(at.object, at.offset), key(at.object, at.end())])
            .collect();
        cuts.sort_unstable();
        cuts.dedup();
        let cells = Cells { cuts };
        let spans = places.iter().map(|&at| cells.span(at)).collect();
        (cells, place_of, spans)
    }

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
        let bits = 8 * (self.offset(cell + 1) - self.offset(cell));
        let kept = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
        (value >> (8 * from)) & kept
    }
}

fn key(object: ObjectId, offset: u32) -> u64 {
    u64::from(object.0) << 32 | u64::from(offset)
}
