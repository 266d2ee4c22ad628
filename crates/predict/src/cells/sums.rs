//! Cells to which threads only ever add: counters, totals, balances.
//!
//! **Computes.** For a cell all of whose writes, behind a first one, store what the thread has just
//! read there plus something, with no other write in between: the first write, and what each other
//! adds. What a read then sees is the first value plus all that was added before it, in whatever
//! order. This follows from the rules, but no solver finds it by itself: orders of n additions are
//! n! cases to it.
//!
//! **Invariant.** Between the read and the write of an addition no other write of the cell can
//! happen: it is one atomic step; or no addition of another thread overlaps with it in any
//! schedule, by fork and join alone; or it holds a lock, or a cell that is used as one, that all
//! other additions hold of which neither is true.
//!
//! **Cost.** Linear in the accesses, times the threads and the locks that are held.

use rustc_hash::{FxHashMap, FxHashSet};

use foretrace_causality::MustHappenBefore;
use foretrace_model::terms::TermId;
use foretrace_model::{CellId, Skeleton};
use foretrace_trace::{EventId, LockId, Op, ThreadId};

use super::holds_around;
use super::latches::Latches;

/// A cell to which threads only add.
#[derive(Clone, Debug)]
pub(crate) struct Sum {
    /// The write that everything is added to; `None`: the initial state.
    pub(crate) base: Option<EventId>,
    /// The writes that add, and what.
    pub(crate) additions: Vec<(EventId, TermId)>,
    /// The reads that are added to.
    pub(crate) reads: FxHashSet<EventId>,
}

/// All such cells.
#[derive(Default, Debug)]
pub(crate) struct Sums {
    cells: FxHashMap<CellId, Sum>,
}

impl Sums {
    pub(super) fn new(skeleton: &Skeleton, order: &MustHappenBefore, latches: &Latches) -> Self {
        let mut sums = Sums::default();
        if skeleton.free_data().is_none() {
            return sums;
        }
        for cell in (0..skeleton.memory.cell_count() as u32).map(CellId) {
            if let Some(sum) = sum_of(skeleton, order, latches, cell) {
                sums.cells.insert(cell, sum);
            }
        }
        sums
    }

    /// What is known of the cell.
    pub(crate) fn of(&self, cell: CellId) -> Option<&Sum> {
        self.cells.get(&cell)
    }
}

/// What excludes others.
#[derive(Clone, Copy)]
enum Guard {
    Lock(LockId),
    Latch(CellId),
}

fn sum_of(
    skeleton: &Skeleton,
    order: &MustHappenBefore,
    latches: &Latches,
    cell: CellId,
) -> Option<Sum> {
    let (trace, memory) = (skeleton.trace, &skeleton.memory);
    let data = skeleton.free_data()?;
    let accesses = memory.accesses(cell);
    let writes = || {
        let access = |event: EventId| trace.access(event).expect("a cell has accesses");
        accesses.iter().copied().filter(move |&event| access(event).writes)
    };
    let is_conditional = |event: EventId| data.occurs(event).is_some();
    let addition = |write: EventId| {
        let at = trace.access(write)?.at;
        data.addition(write).filter(|&(read, _)| {
            memory.size_of(cell) == at.size
                && !is_conditional(read)
                // It has seen what nobody recorded.
                && !memory.has_unknown_writer(read)
                && trace.access(read).is_some_and(|access| access.at == at)
        })
    };
    // From when on until when each write takes.
    let mut updates: FxHashMap<ThreadId, Vec<[EventId; 2]>> = FxHashMap::default();
    for write in writes() {
        let begin = addition(write).map_or(write, |(read, _)| read);
        updates.entry(trace.thread_of(write)).or_default().push([begin, write]);
    }
    let is_alone = |read: EventId, write: EventId| {
        let others = updates.iter().filter(|&(&thread, _)| thread != trace.thread_of(write));
        others.into_iter().all(|(_, updates)| {
            let at = updates.partition_point(|&[_, other]| order.precedes(trace, other, read));
            updates.get(at).is_none_or(|&[begin, _]| order.precedes(trace, write, begin))
        })
    };
    // The common guards of the additions; `None`: each is one atomic step, or alone.
    let mut common: Option<Vec<Guard>> = None;
    let mut is_locked = false;
    let (mut additions, mut bases) = (Vec::new(), Vec::new());
    let mut last_of = FxHashMap::default();
    let mut reads = Vec::new();
    for write in writes() {
        if is_conditional(write) {
            return None;
        }
        let Some((read, what)) = addition(write) else {
            last_of.insert(trace.thread_of(write), write);
            bases.push(write);
            continue;
        };
        let before = last_of.insert(trace.thread_of(write), write);
        // The thread's own write at or behind the read: then the write does not add to what is
        // there.
        if before.is_some_and(|before| before >= read) {
            return None;
        }
        additions.push((write, what));
        reads.push(read);
        if is_alone(read, write) {
            continue;
        }
        let is_atomic = read == write && matches!(trace.op(write), Op::Rmw { .. });
        is_locked |= !is_atomic;
        let holds = |guard: &Guard| match *guard {
            Guard::Lock(lock) => holds_around(skeleton, lock, read, write),
            Guard::Latch(latch) => latches.holds_around(trace, latch, read, write),
        };
        match &mut common {
            Some(common) => common.retain(holds),
            None => {
                let locks = (0..trace.locks().len()).map(|lock| Guard::Lock(LockId::from(lock)));
                let all = locks.chain(latches.cells().map(Guard::Latch));
                common = Some(all.filter(holds).collect());
            }
        }
        if is_locked && common.as_ref().is_some_and(Vec::is_empty) {
            return None;
        }
    }
    if additions.is_empty() || is_locked && common.is_none_or(|common| common.is_empty()) {
        return None;
    }
    // Everything else was written before, one after the other.
    let base = bases.last().copied();
    let is_before = |&other: &EventId| {
        Some(other) == base || base.is_some_and(|base| order.precedes(trace, other, base))
    };
    let is_behind = |&read: &EventId| base.is_none_or(|base| order.precedes(trace, base, read));
    (bases.iter().all(is_before) && reads.iter().all(is_behind)).then(|| Sum {
        base,
        additions,
        reads: reads.iter().copied().collect(),
    })
}

#[cfg(test)]
mod tests {
    use foretrace_verdict::Model;

    use super::*;

    /// How many cells of the trace are sums.
    fn count(text: &str) -> usize {
        let trace = foretrace_trace::text::parse(text).unwrap();
        let skeleton = Skeleton::new(&trace, Model::Symbolic);
        let order = MustHappenBefore::new(&trace);
        Sums::new(&skeleton, &order, &Latches::default()).cells.len()
    }

    #[test]
    fn what_nobody_else_can_disturb_needs_no_lock() {
        let text = "init x = 0\nmain: r = read x : 0\nmain: write x = r + 5\nmain: fork a\nmain: fork b\n\
            a: acquire m\na: r = read x : 5\na: write x = r + 1\na: release m\n\
            b: acquire m\nb: r = read x : 6\nb: write x = r + 1\nb: release m\n";
        assert_eq!(count(text), 1);
        let text = text.replace("main: fork a\n", "").replacen("main:", "main: fork a\nmain:", 1);
        assert_eq!(count(&text), 0, "{text}");
    }

    #[test]
    fn an_addition_that_waits_for_another_one_is_none() {
        // What `a` adds is lost if the main thread has read before.
        let text = "init x = 0\nmain: fork a\na: r = read x : 0\na: write x = r + 1\na: end\n\
            main: acquire m\nmain: r = read x : 1\nmain: join a\nmain: write x = r + 1\nmain: release m\n";
        assert_eq!(count(text), 0);
        let text = text
            .replace("main: join a\n", "")
            .replace("main: acquire m", "main: join a\nmain: acquire m");
        assert_eq!(count(&text), 1, "{text}");
    }
}
