//! Cells that say who owns something.
//!
//! **Computes.** For a cell, the holds. Some of what it may hold is *free*, what it holds at first
//! among it. A *take* is a read that finds something free, and the write of something that is not,
//! behind it; a *give* is a write of something free. Between the read and the give, the thread has
//! a hold.
//!
//! **Follows.** Two holds of different threads exclude each other, if each write of something free
//! ends a hold of its own thread, and the takes exclude each other: each is one atomic step, or all
//! hold a common lock from the read to the write. By induction over a schedule, at most one take
//! has been begun (its read is executed, and has found something free) that has not been answered
//! by its give. Where a second one begins, its read finds something free. The first one cannot be
//! between read and write, because its thread has the lock; so it has stored something else, and
//! whoever stores something free after that ends a hold that was begun and not answered: it is the
//! first one itself. Writes of other things by others make no difference: they only keep takes from
//! happening.
//!
//! **Cost.** Linear in the accesses of the cell, times the locks that the first take holds.

use rustc_hash::FxHashMap;

use foretrace_causality::MustHappenBefore;
use foretrace_model::{CellId, Identity, Skeleton};
use foretrace_trace::{EventId, LockId, Op, ThreadId};

use super::latches::Latched;
use super::{behind_first_writes, holds_around};
use crate::fault::{Fault, is_seeded};

/// What a thread has done to the cell so far.
#[derive(Clone, Copy, Default)]
struct Use {
    /// Its last access, if that is a read that may find something free, and what says that it did.
    found: Option<(EventId, EventId)>,
    /// Its hold that has not ended.
    open: Option<usize>,
}

/// The holds of a cell that is used so; `None`: it is not. `found_free`: the event that says, if it
/// is executed, that a read has found something free; `is_free`: whether a write stores that.
pub(super) fn holds(
    skeleton: &Skeleton,
    accesses: &[EventId],
    found_free: impl Fn(EventId) -> Option<EventId>,
    is_free: impl Fn(EventId) -> bool,
) -> Option<Vec<Latched>> {
    let trace = skeleton.trace;
    let mut uses: FxHashMap<ThreadId, Use> = FxHashMap::default();
    let mut holds: Vec<Latched> = Vec::new();
    // The locks that all takes hold; whether one of them is more than one step.
    let mut common: Option<Vec<LockId>> = None;
    let mut is_divided = false;
    for &event in accesses {
        let access = trace.access(event)?;
        let thread = trace.thread_of(event);
        let of_thread = uses.entry(thread).or_default();
        if access.reads {
            of_thread.found = found_free(event).map(|tested| (event, tested));
        }
        if !access.writes {
            continue;
        }
        let found = of_thread.found.take();
        if is_free(event) {
            let ends = |open: &usize| holds[*open].tested < event;
            let Some(open) = of_thread.open.take().filter(ends) else {
                if is_seeded(Fault::GivenByAnyone) {
                    continue;
                }
                return None;
            };
            holds[open].give = Some(event);
        } else if let Some((read, tested)) = found {
            // One that is taken twice was given in between.
            if of_thread.open.is_some() {
                return None;
            }
            let is_one_step = read == event && matches!(trace.op(event), Op::Rmw { .. });
            if !is_one_step && tested > event {
                return None;
            }
            is_divided |= !is_one_step;
            let has = |lock: &LockId| holds_around(skeleton, *lock, read, event);
            match &mut common {
                Some(common) => common.retain(has),
                None => {
                    let locks = (0..trace.locks().len()).map(LockId::from);
                    common = Some(locks.filter(has).collect());
                }
            }
            let is_apart = !is_divided || common.as_ref().is_some_and(|common| !common.is_empty());
            if !is_apart && !is_seeded(Fault::OwnedWithoutLock) {
                return None;
            }
            of_thread.open = Some(holds.len());
            holds.push(Latched { thread, take: read, tested: tested.max(event), give: None });
        }
    }
    (holds.len() > 1).then_some(holds)
}

/// The holds of a cell where every read returns its recorded value. What the first read finds
/// behind which its thread writes the cell is free as well.
pub(super) fn holds_of_owned(
    skeleton: &Skeleton,
    order: &MustHappenBefore,
    cell: CellId,
) -> Option<Vec<Latched>> {
    let (trace, memory) = (skeleton.trace, &skeleton.memory);
    let (first, accesses) = behind_first_writes(skeleton, order, cell);
    let initial =
        first.map_or_else(|| memory.initial(cell), |first| memory.written(trace, first, cell));
    let free = [initial, first_found(skeleton, accesses, cell)?];
    let is_free = |identity: Identity| free.contains(&identity);
    let found_free = |read: EventId| {
        let is_known = !memory.has_unknown_writer(read);
        (is_known && is_free(memory.expected(trace, read, cell))).then_some(read)
    };
    holds(skeleton, accesses, found_free, |write| is_free(memory.written(trace, write, cell)))
}

/// What the first read finds behind which its thread writes the cell.
fn first_found(skeleton: &Skeleton, accesses: &[EventId], cell: CellId) -> Option<Identity> {
    let (trace, memory) = (skeleton.trace, &skeleton.memory);
    let mut last: FxHashMap<ThreadId, EventId> = FxHashMap::default();
    for &event in accesses {
        let access = trace.access(event)?;
        if access.reads && !memory.has_unknown_writer(event) {
            last.insert(trace.thread_of(event), event);
        }
        if access.writes {
            let read = last.get(&trace.thread_of(event))?;
            return Some(memory.expected(trace, *read, cell));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use foretrace_verdict::Model;

    use super::*;
    use crate::cells::latches::Latches;

    const HANDED: &str = "init owner = 0\ninit x = 0\n\
        a: acquire m\na: read owner : 0 atomic\na: write owner = 1 atomic\na: release m\n\
        a: write x = 1\na: write owner = 0 atomic\n\
        b: acquire m\nb: read owner : 0 atomic\nb: write owner = 2 atomic\nb: release m\n\
        b: write x = 2\nb: write owner = 0 atomic\n";

    /// Whether the two writes of `x` exclude each other because of `owner`.
    fn excludes(text: &str) -> bool {
        let trace = foretrace_trace::text::parse(text).unwrap();
        let skeleton = Skeleton::new(&trace, Model::Values);
        let latches = Latches::new(&skeleton, &MustHappenBefore::new(&trace));
        let of_x = |(event, access): (EventId, foretrace_trace::Access)| {
            (trace.objects().get(access.at.object.index()) == "x").then_some(event)
        };
        let writes: Vec<EventId> = trace.accesses().filter_map(of_x).collect();
        latches.exclude(&trace, &writes[..1], &writes[1..])
    }

    #[test]
    fn who_owns_something_has_it_alone() {
        assert!(excludes(HANDED));
        // An initial write is as good as an initial value.
        let written = HANDED.replace(
            "init owner = 0\ninit x = 0\n",
            "main: write owner = 0 atomic\nmain: fork a\nmain: fork b\n",
        );
        assert!(excludes(&written), "{written}");
    }

    #[test]
    fn takes_need_a_common_lock_and_gives_a_hold() {
        let other_lock = HANDED.replace("b: acquire m", "b: acquire n");
        assert!(!excludes(&other_lock.replace("b: release m", "b: release n")));
        assert!(!excludes(&HANDED.replace("a: write x", "b: write owner = 0 atomic\na: write x")));
        assert!(!excludes(&HANDED.replace("a: write owner = 1 atomic\n", "")));
    }
}
