//! The one write that leaves what a read expects, if there is no other.

use rustc_hash::FxHashMap;

use foretrace_model::{CellId, Identity, Skeleton};
use foretrace_trace::EventId;

/// For each read of a cell that several threads touch: the one write that leaves what it expects,
/// if there is no other and the initial contents differ.
pub(super) fn only_writes(skeleton: &Skeleton) -> FxHashMap<EventId, Vec<EventId>> {
    let (trace, memory) = (skeleton.trace, &skeleton.memory);
    let mut needed: FxHashMap<EventId, Vec<EventId>> = FxHashMap::default();
    let mut leaving: FxHashMap<Identity, Option<EventId>> = FxHashMap::default();
    for cell in (0..memory.cell_count() as u32).map(CellId) {
        let accesses = memory.accesses(cell);
        let first = accesses.first().map(|&access| trace.thread_of(access));
        if accesses.iter().all(|&access| Some(trace.thread_of(access)) == first) {
            continue;
        }
        leaving.clear();
        leaving.insert(memory.initial(cell), None);
        for &access in accesses {
            if trace.op(access).access().is_some_and(|access| access.writes) {
                let left = memory.written(trace, access, cell);
                leaving.entry(left).and_modify(|only| *only = None).or_insert(Some(access));
            }
        }
        for &access in accesses {
            if trace.op(access).access().is_some_and(|access| access.reads)
                && !memory.has_unknown_writer(access)
                && let Some(&Some(write)) = leaving.get(&memory.expected(trace, access, cell))
            {
                needed.entry(access).or_default().push(write);
            }
        }
    }
    needed
}
