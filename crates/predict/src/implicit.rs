//! Implicit checks: assertions that no programmer wrote, about what must not go wrong on the
//! recorded path.
//!
//! **Computes.** Of the guards that the walk has put before the use of a pointer, a divisor or an
//! index (`branch r != 0 : true else null`), assertions. And for accesses to memory that another
//! thread frees later, the assertion that this has not happened yet: a cell of our own says that
//! the block is alive, the free ends that, and the access is preceded by a look at the cell.
//!
//! **Follows.** `docs/theory.md` as it is: cells are read and written like other memory, and
//! atomically, so that they race with nothing. The read belongs to its assertion alone, so no model
//! that knows dependences pins it; what the free stores is a constant. A free needs a live block,
//! hence nobody finds one freed that was not given out. Memory that the run gives out again later
//! is not asked about: a pointer with the same number may then be one to the new block. Each
//! schedule of the trace without the cells is one of the trace with them, and the other way round:
//! where the assertion does not hold, the access behind it is no step either.
//!
//! **Invariant.** The order of the other events stays; their numbers do not, if there is a cell.
//!
//! **Cost.** Linear in the events and in threads × (forks + joins). Accesses that must happen
//! before the free get no assertion.

use std::collections::BTreeMap;

use foretrace_causality::MustHappenBefore;
use foretrace_trace::expr::{BinaryOp, Expr, ExprRef};
use foretrace_trace::provenance::Taken;
use foretrace_trace::*;
use foretrace_verdict::Model;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::whatif::fresh;

/// Why nobody asks whether memory was freed: that is read from a cell of our own. Where all reads
/// are pinned it is always as recorded, and where they are free it is anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FreedNotAsked {
    /// The trace does not record what depends on what was read.
    WithoutDependences,
    /// Of some block it is not known whose memory it was given.
    BlockAsRegion,
    /// The model does not know what was freed.
    UnderControl,
}

impl FreedNotAsked {
    /// The reason, if there is one.
    pub fn why(trace: &Trace, model: Option<Model>) -> Option<FreedNotAsked> {
        if trace.dependences() == Dependences::Unknown {
            Some(FreedNotAsked::WithoutDependences)
        } else if trace.has_fact(Taken::BlockAsRegion) {
            Some(FreedNotAsked::BlockAsRegion)
        } else {
            (model == Some(Model::Control)).then_some(FreedNotAsked::UnderControl)
        }
    }

    /// The stable name, in kebab case.
    pub fn code(self) -> &'static str {
        match self {
            FreedNotAsked::WithoutDependences => "freed-without-dependences",
            FreedNotAsked::BlockAsRegion => Taken::BlockAsRegion.code(),
            FreedNotAsked::UnderControl => "freed-under-control",
        }
    }
}

/// Makes assertions that none of these faults happens, as far as the model can answer that, and
/// says of which.
pub fn ask(
    trace: &mut Trace,
    mut faults: Vec<ImplicitFault>,
    model: Option<Model>,
) -> Vec<ImplicitFault> {
    if FreedNotAsked::why(trace, model).is_some() {
        faults.retain(|&fault| fault != ImplicitFault::Freed);
    }
    assert_no(trace, &faults);
    faults
}

/// Makes assertions that none of these faults happens.
pub fn assert_no(trace: &mut Trace, faults: &[ImplicitFault]) {
    let again = given_out_again(trace);
    if faults.contains(&ImplicitFault::Freed) {
        watch_frees(trace, &again);
    }
    let again: FxHashSet<(u64, u64)> = again.values().copied().collect();
    let is_again = |otherwise: &Otherwise| {
        let (start, size) = otherwise.object.unwrap_or_default();
        otherwise.fault == ImplicitFault::Bounds && again.contains(&(start, start + size))
    };
    let is_asked =
        |otherwise: &Otherwise| faults.contains(&otherwise.fault) && !is_again(otherwise);
    let asked = trace.faults().filter(|(_, otherwise)| is_asked(otherwise));
    for event in asked.map(|(event, _)| event).collect::<Vec<_>>() {
        trace.assert_branch(event);
    }
}

/// The blocks whose memory was given out again after they were freed, with their first
/// addresses and those behind their last ones.
pub fn given_out_again(trace: &Trace) -> FxHashMap<ObjectId, (u64, u64)> {
    let (mut live, mut again) = (FxHashMap::default(), FxHashMap::default());
    let mut freed: BTreeMap<u64, (u64, ObjectId)> = BTreeMap::new();
    for (_, op) in trace.other_ops() {
        match op {
            Op::Alloc { object, size, address: Some(start) } => {
                let end = start.saturating_add(size.into());
                live.insert(object, (start, end));
                // Those that are freed overlap with none that was freed and not found here
                // before.
                while let Some((&old, &(behind, block))) = freed.range(..end).next_back()
                    && behind > start
                {
                    freed.remove(&old);
                    again.insert(block, (old, behind));
                }
            }
            Op::Free { object } => {
                if let Some((start, end)) = live.remove(&object) {
                    freed.insert(start, (end, object));
                }
            }
            ops!(memory Alloc data sync call mark) => {}
        }
    }
    again
}

/// Puts a look at whether the memory is still there before accesses that may come too late.
fn watch_frees(trace: &mut Trace, again: &FxHashMap<ObjectId, (u64, u64)>) {
    // Memory that was given out again, and nobody has recorded it, is one way to use what was
    // freed.
    let is_unknown = trace.dependences() == Dependences::Unknown;
    if is_unknown || trace.has_fact(Provenance::FreedAccess) {
        return;
    }
    let watched = late_accesses(trace, again);
    if watched.is_empty() {
        return;
    }
    let mut blocks: Vec<ObjectId> = watched.values().copied().collect();
    blocks.sort_unstable();
    blocks.dedup();
    insert_cells(trace, &watched, &blocks);
}

/// The accesses that need not happen before the free of their memory. Of
/// those of one thread to one block between which it changes nothing that others see, and
/// nobody else does anything in the recorded run, the first: where the free comes before a
/// later one, it can come before that one as well. (What others do may be a read that nothing
/// explains, which comes after all that was recorded before it.)
///
/// Blocks whose memory was given out again count only for threads whose addresses do not depend
/// on what they have read: another pointer with the same number may be one to the new block.
fn late_accesses(
    trace: &Trace,
    again: &FxHashMap<ObjectId, (u64, u64)>,
) -> FxHashMap<EventId, ObjectId> {
    let order = MustHappenBefore::new(trace);
    let free = |(event, op)| match op {
        Op::Free { object } => Some((object, event)),
        ops!(memory Alloc data sync call mark) => None,
    };
    let frees: FxHashMap<ObjectId, EventId> = trace.other_ops().filter_map(free).collect();
    let mut late = FxHashMap::default();
    let mut depends = vec![false; trace.threads().len()];
    let (mut known, mut running) = (FxHashSet::default(), None);
    for event in (0..trace.len()).map(EventId::from) {
        let thread = trace.thread_of(event);
        if running.replace(thread) != Some(thread) {
            known.clear();
        }
        depends[thread.index()] |= may_fix_an_address(trace, event);
        let Some(access) = trace.access(event) else {
            if changes_something(trace.op(event)) {
                known.clear();
            }
            continue;
        };
        if let Some(&free) = frees.get(&access.at.object) {
            let is_ordered = order.precedes(trace, event, free);
            let is_same = !again.contains_key(&access.at.object) || !depends[thread.index()];
            let is_other = thread != trace.thread_of(free);
            let is_late = is_other && !is_ordered && is_same && !goes_on(trace, event);
            if is_late && known.insert(access.at.object) {
                late.insert(event, access.at.object);
            }
        }
        if access.writes {
            known.clear();
        }
    }
    late
}

/// Whether an event may say that an address which depends on what was read is as recorded.
fn may_fix_an_address(trace: &Trace, event: EventId) -> bool {
    let is_equality = |condition: ExprRef| {
        let Expr::Binary(op, left, right) = condition.tree() else { return false };
        let is_literal = |of: &Expr| matches!(of, Expr::Literal(_));
        op == BinaryOp::Eq && (is_literal(&left) || is_literal(&right))
    };
    match trace.op(event) {
        Op::External => true,
        Op::Branch { taken: true } => trace.expression(event).is_none_or(is_equality),
        Op::Branch { .. } => trace.expression(event).is_none(),
        ops!(memory object Let Assert Assume sync call RegionBegin RegionEnd Fence) => false,
    }
}

/// Whether the event before is another piece of the same operation.
fn goes_on(trace: &Trace, event: EventId) -> bool {
    let ordinal = trace.previous(event).and_then(|before| trace.ordinal(before));
    ordinal.is_some() && ordinal == trace.ordinal(event)
}

fn insert_cells(trace: &mut Trace, watched: &FxHashMap<EventId, ObjectId>, blocks: &[ObjectId]) {
    let (old, mut builder) = trace.take_events();
    let live = fresh(builder.so_far().names(), "live");
    let live = builder.name(&live);
    let mut cells: FxHashMap<ObjectId, Place> = FxHashMap::default();
    for &block in blocks {
        let names = builder.so_far().objects();
        let name = fresh(names, &format!("life of {}", names.get(block.index())));
        let object = builder.object(&name);
        builder.make_up_from(object);
        let cell = Place { object, offset: 0, size: 1 };
        builder.set_initial(cell, 1);
        cells.insert(block, cell);
    }
    let order = MemoryOrder::SeqCst;
    for row in 0..old.len() {
        let (id, event) = (EventId::from(row), old.event(EventId::from(row)));
        if let Some(block) = watched.get(&id) {
            let op = Op::Read { at: cells[block], value: Some(1), order };
            let read = builder.push(Event { op, ..event });
            builder.bind(read, live);
            let branch = builder.push(Event { op: Op::Branch { taken: true }, ..event });
            let is_live = (Box::new(Expr::Name(live)), Box::new(Expr::Literal(1)));
            builder.express(branch, Expr::Binary(BinaryOp::Eq, is_live.0, is_live.1));
            let otherwise = Otherwise { operation: old.ordinal(id), ..ImplicitFault::Freed.into() };
            builder.fails_otherwise(branch, otherwise);
        }
        builder.push_again(&old, id);
        let Op::Free { object } = event.op else { continue };
        if let Some(&at) = cells.get(&object) {
            let op = Op::Write { at, value: Some(0), order };
            let write = builder.push(Event { op, ..event });
            builder.express(write, Expr::Literal(0));
        }
    }
    *trace = builder.finish();
}

/// Whether other threads may see that a thread has done this, which is no access.
fn changes_something(op: Op) -> bool {
    !matches!(
        op,
        Op::Let
            | Op::Branch { .. }
            | Op::Assert { .. }
            | Op::Assume { .. }
            | Op::RegionBegin
            | Op::RegionEnd
            | Op::Fence { .. }
            | Op::External
    )
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use foretrace_trace::validate::validate;

    use super::*;

    /// Shows what becomes of a trace, which stays valid.
    fn check(input: &str, faults: &[ImplicitFault], expected: Expect) {
        let mut trace = text::parse(input).unwrap();
        validate(&trace).unwrap();
        assert_no(&mut trace, faults);
        validate(&trace).unwrap_or_else(|invalid| panic!("{invalid}"));
        let shown = text::print(&trace);
        expected.assert_eq(shown.strip_prefix("foretrace-trace 1\n").unwrap());
    }

    const GUARDS: &str = "init x = 5
        t1: r = read x : 5
        t1: branch r != 0 : true else null
        t1: branch r + 1 != 0 : true else division
        t1: branch r <=u 8 : true else bounds
        t1: branch r > 1 : true";

    /// The second thread may read the pointer to the new block.
    #[test]
    fn memory_that_is_given_out_again_is_watched_only_through_pointers_that_were_not_read() {
        let run = |guard: &str| {
            let text = format!(
                "t0: alloc A size 4 at 4096\nt0: write g = 4096\nt0: fork t1\nt1: p = read g : 4096\n{guard}\
                 t1: read A[0:4] : 0\nt0: free A\nt0: alloc B size 8 at 4092\nt0: write g = 4096\nt0: join t1"
            );
            let mut trace = text::parse(&text).unwrap();
            validate(&trace).unwrap();
            assert_eq!(given_out_again(&trace).len(), 1);
            assert_no(&mut trace, &[ImplicitFault::Freed]);
            trace.events().filter(|(_, event)| matches!(event.op, Op::Assert { .. })).count()
        };
        assert_eq!(run("t1: branch p == 4096 : true\n"), 0);
        assert_eq!(run("t1: external\n"), 0);
        assert_eq!(run("t1: branch p > 0 : true\n"), 1);
    }

    #[test]
    fn guards_become_assertions_if_that_is_asked_for() {
        check(
            GUARDS,
            &[ImplicitFault::Null, ImplicitFault::Bounds],
            expect![[r#"
                init x = 5
                t1: r = read x : 5
                t1: assert r != 0 : true
                t1: branch r + 1 != 0 : true else division
                t1: assert r <=u 8 : true
                t1: branch r > 1 : true
            "#]],
        );
        check(
            GUARDS,
            &[],
            expect![[r#"
            init x = 5
            t1: r = read x : 5
            t1: branch r != 0 : true else null
            t1: branch r + 1 != 0 : true else division
            t1: branch r <=u 8 : true else bounds
            t1: branch r > 1 : true
        "#]],
        );
    }

    #[test]
    fn memory_that_another_thread_frees_has_a_cell() {
        check(
            "t1: alloc p size 16
             t1: fork t2
             t2: live = read p[0:4] : 0
             t2: write p[0:4] = live + 1 : 1
             t2: write p[8:4] = 2 : 2
             t1: write p[4:4] = 3 : 3
             t1: free p",
            &[ImplicitFault::Freed],
            expect![[r#"
                object p
                object "life of p"
                name live
                name live'
                init "life of p"[0:1] = 1
                t1: alloc p size 16
                t1: fork t2
                t2: "live'" = read "life of p"[0:1] : 1 atomic seq_cst
                t2: assert "live'" == 1 : true
                t2: live = read p[0:4] : 0
                t2: write p[0:4] = live + 1 : 1
                t2: "live'" = read "life of p"[0:1] : 1 atomic seq_cst
                t2: assert "live'" == 1 : true
                t2: write p[8:4] = 2
                t1: write p[4:4] = 3
                t1: free p
                t1: write "life of p"[0:1] = 0 atomic seq_cst
            "#]],
        );
    }

    #[test]
    fn what_forks_and_joins_put_before_the_free_has_none() {
        let ordered = "t1: write p = 1 : 1
            t1: fork t2
            t2: fork t3
            t3: write p = 2 : 2
            t3: end
            t2: join t3
            t2: free p";
        let mut trace = text::parse(ordered).unwrap();
        assert_no(&mut trace, &[ImplicitFault::Freed]);
        assert_eq!(trace, text::parse(ordered).unwrap());
        let late = format!("{}\nt1: write x", ordered.replace("t2: join t3", ""));
        let mut trace = text::parse(&late).unwrap();
        assert_no(&mut trace, &[ImplicitFault::Freed]);
        let assertions = trace.ops().filter(|(_, op)| matches!(op, Op::Assert { .. }));
        let threads: Vec<ThreadId> = assertions.map(|(event, _)| trace.thread_of(event)).collect();
        assert_eq!(threads, [ThreadId(2)], "t1 has forked whoever forked the thread that frees");
    }

    #[test]
    fn all_that_is_known_of_events_moves_with_them() {
        let mut builder = Trace::builder();
        let [one, two] = ["a", "b"].map(|name| builder.thread(name));
        let at = Place { object: builder.object("p"), offset: 0, size: 8 };
        let order = MemoryOrder::SeqCst;
        let event = |thread, op| Event { thread, op, location: None };
        let rmw = Op::Rmw { at, read: Some(3), written: Some(4), order };
        let update = builder.push_recorded(event(one, rmw), 7, 42);
        let name = builder.name("r");
        builder.bind(update, name);
        builder.express(update, expr::Expr::Literal(4));
        builder.assume(update, expr::Expr::Name(name));
        let branch = builder.push(event(one, Op::Branch { taken: true }));
        builder.express(branch, expr::Expr::Name(name));
        let otherwise = Otherwise {
            fault: ImplicitFault::Bounds,
            operation: Some(8),
            object: Some((0x5000, 16)),
        };
        builder.fails_otherwise(branch, otherwise);
        builder.push(event(two, Op::Free { object: at.object }));
        let plain = builder.finish();
        let mut trace = plain.clone();
        assert_no(&mut trace, &[ImplicitFault::Freed]);
        assert_eq!(trace.len(), plain.len() + 3);
        let [update, branch, free] = [2, 3, 4].map(EventId);
        assert_eq!((trace.op(update), trace.ordinal(update)), (rmw, Some(7)));
        assert_eq!((trace.record_kind(update), trace.binding(update)), (Some(42), Some(name)));
        assert_eq!(trace.expression(update).map(|of| of.tree()), Some(expr::Expr::Literal(4)));
        assert_eq!(trace.assumption(update).map(|of| of.tree()), Some(expr::Expr::Name(name)));
        assert_eq!(trace.otherwise(branch), Some(otherwise));
        assert_eq!(trace.otherwise(EventId(1)).unwrap().operation, Some(7));
        assert_eq!(trace.access_and_free(EventId(1)), Some((update, free)));
        let is_made_up = |at: &u32| trace.is_made_up(EventId(*at));
        assert_eq!((0..6).filter(is_made_up).collect::<Vec<_>>(), [0, 1, 5]);
    }
}
