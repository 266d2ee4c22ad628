//! The events of a thread as statements and outcomes.
//!
//! **Computes.** What a thread did in one run: statements in terms of the merged program, equal
//! where the program of the runs has the same statement, and how each one went. Begins, requests
//! and fences without an order are nothing that a program does.
//!
//! **Invariant.** A list ends with [`Statement::End`] or [`Statement::Exit`], or what comes next is
//! not known: behind the last event of a thread that nobody saw end, and behind an assertion or
//! assumption that did not hold, which stops a thread of a program.

#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

use foretrace_trace::expr::{BinaryOp, Expr};
use foretrace_trace::{
    Channels, EventId, MemoryOrder, NameId, Op as Recorded, Patience, Place, ThreadId, Trace,
    WakeReason, ops,
};
use rustc_hash::FxHashMap;

use crate::ir::{GlobalId, LocationId, Op, SyncRef};

use super::cells::Cells;
use super::declared::{Declared, Run};
use super::update::{self, Update};
use super::{MergeError, Spot};

/// A statement, as the program has it.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Statement {
    Read {
        at: Bytes,
        order: MemoryOrder,
        name: Option<NameId>,
    },
    Write {
        at: Bytes,
        order: MemoryOrder,
        value: Value,
    },
    Rmw {
        at: Bytes,
        order: MemoryOrder,
        name: Option<NameId>,
        update: Update,
    },
    /// Nothing, if the value is not known; then nothing uses it that counts.
    Let {
        name: NameId,
        value: Option<Expr>,
    },
    Branch(Condition),
    Assert(Condition),
    Assume(Condition),
    /// An operation that does not give up and gives no value.
    Plain(Op),
    /// An operation that may give up: one bit says whether it did not.
    Attempt(Op),
    Fork {
        child: ThreadId,
    },
    Join {
        child: ThreadId,
    },
    External,
    /// What comes next depends on everything that was read since the last such point.
    Depends,
    /// The thread is at its end.
    End,
    /// The process ends.
    Exit,
}

/// Where an access goes.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Bytes {
    pub(super) global: GlobalId,
    pub(super) offset: u32,
    pub(super) size: u8,
    /// The places that it may be to; then the offset is that of the first one.
    pub(super) cells: Option<Cells>,
}

/// What a write stores.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Value {
    Computed(Expr),
    /// As recorded; it depends on what was read before.
    Recorded(u64),
}

/// What a branch, assertion or assumption tests.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Condition {
    Of(Expr),
    /// As recorded; it depends on what was read before.
    Recorded(bool),
}

/// How a statement went. Runs may part here, and only here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// There is only one way.
    Only,
    /// Whether a branch was taken, an attempt did not give up, or an exchange found what it
    /// expected.
    Yes(bool),
    /// What the reads saw, in order.
    Saw(Vec<u64>),
}

/// A statement that a thread ran.
#[derive(Clone, Debug)]
pub(super) struct ExecutedStatement {
    pub(super) statement: Statement,
    pub(super) location: Option<LocationId>,
    pub(super) outcome: Outcome,
    pub(super) spot: Spot,
}

/// What a name means.
#[derive(Clone, Copy)]
struct Bound {
    /// Whether all reads that it uses have a recorded value.
    counts: bool,
    /// It is below 2^`bits`.
    bits: u32,
}

/// What a thread did in a run. Of a recorded one, the steps before what cannot be said are kept,
/// and `left_out` says what that is.
pub(super) fn steps(
    run: &Run,
    thread: ThreadId,
    declared: &Declared,
    left_out: &mut Vec<MergeError>,
) -> Result<Vec<ExecutedStatement>, MergeError> {
    let mut list = List {
        run,
        declared,
        steps: Vec::new(),
        bound: FxHashMap::default(),
        unused: Vec::new(),
        is_over: false,
    };
    for &event in run.trace.thread_events(thread) {
        if declared.is_preparation(run.number, event) {
            continue;
        }
        match list.recorded_event(event).and_then(|()| list.event(event)) {
            Ok(()) if list.is_over => return Ok(list.steps),
            Ok(()) => {}
            Err(error) if run.is_recorded => {
                left_out.push(error);
                return Ok(list.steps);
            }
            Err(error) => return Err(error),
        }
    }
    if run.joined.contains(&thread) {
        let spot = match run.trace.thread_events(thread).last() {
            Some(&last) => run.spot(last),
            None => Spot::declaration(run.number),
        };
        let (statement, outcome) = (Statement::End, Outcome::Only);
        list.steps.push(ExecutedStatement { statement, location: None, outcome, spot });
    }
    Ok(list.steps)
}

struct List<'r, 't> {
    run: &'r Run<'t>,
    declared: &'r Declared,
    steps: Vec<ExecutedStatement>,
    bound: FxHashMap<NameId, Bound>,
    /// What was read since the last [`Statement::Depends`].
    unused: Vec<Option<u64>>,
    is_over: bool,
}

impl List<'_, '_> {
    /// What recorded runs have that a program cannot say, or only these have.
    fn recorded_event(&mut self, event: EventId) -> Result<(), MergeError> {
        let (run, spot) = (self.run, self.run.spot(event));
        if !run.is_recorded {
            return Ok(());
        }
        if let Some(access) = run.trace.access(event) {
            if access.at.size > 8 {
                return spot.unsupported("an access to more than 8 bytes");
            }
            let Some((global, offset)) = run.place(access.at) else {
                return spot.unsupported("an access across a page of a large object");
            };
            let starts = run.ranging.cells.get(&event).map(|cells| cells.starts.clone());
            let is_doubtful = |offset: u32| {
                let at = (global, offset, access.at.size);
                self.declared.is_doubtful(run.number, event, at)
            };
            if access.reads && starts.unwrap_or(vec![offset]).into_iter().any(is_doubtful) {
                return spot.unsupported("a read of something that no recorded write left");
            }
        }
        match run.trace.op(event) {
            Recorded::Wait { .. } => spot.unsupported("a wait for a condition"),
            Recorded::Arrive { .. } => spot.unsupported("a barrier"),
            ops!(memory object data lock sem thread call mark)
            | ops!(Wake Signal Broadcast Leave Request) => Ok(()),
        }
    }

    fn event(&mut self, event: EventId) -> Result<(), MergeError> {
        let (run, spot) = (self.run, self.run.spot(event));
        match run.trace.op(event) {
            Recorded::Read { at, value, order } => {
                let name = self.bind(event, at, value);
                self.unused.push(value);
                self.push(event, Statement::Read { at: self.bytes(event, at), order, name });
            }
            Recorded::Write { at, value, order } => {
                let value = match (self.counting(event), value) {
                    (Some(computed), Some(_)) => Value::Computed(computed),
                    (_, Some(recorded)) => {
                        self.depends(event)?;
                        Value::Recorded(recorded)
                    }
                    (_, None) => return spot.unsupported("a write of what is not recorded"),
                };
                self.push(event, Statement::Write { at: self.bytes(event, at), order, value });
            }
            Recorded::Rmw { at, read, written, order } => {
                let name = self.bind(event, at, read);
                let (stored, assumed) = (self.counting(event), run.trace.assumption(event));
                let assumed = assumed.map(|assumed| self.renamed(&assumed.tree()));
                let is_known = assumed.as_ref().is_none_or(|assumed| self.counts(assumed));
                let (Some(stored), Some(_), true) = (stored, written, is_known) else {
                    return spot.unsupported("a read-modify-write that does not say what it does");
                };
                let bits = |expr: &Expr| self.bits(expr);
                let Some(update) = update::update(stored, assumed, name, at.size * 8, bits) else {
                    return spot.unsupported("a read-modify-write that no single instruction does");
                };
                let is_assumed = matches!(update, Update::CompareExchange { is_assumed: true, .. });
                let outcome = if is_assumed { Outcome::Yes(true) } else { Outcome::Only };
                self.unused.push(read);
                let statement = Statement::Rmw { at: self.bytes(event, at), order, name, update };
                self.push_with(event, statement, outcome);
            }
            Recorded::Let => {
                let expr = run.trace.expression(event).map(|expr| self.renamed(&expr.tree()));
                let (Some(name), Some(expr)) = (run.trace.binding(event), expr) else {
                    return spot.unsupported("a name without an expression");
                };
                let name = run.name(name);
                let meant = Bound { counts: self.counts(&expr), bits: self.bits(&expr) };
                self.bound.insert(name, meant);
                let value = meant.counts.then_some(expr);
                self.push(event, Statement::Let { name, value });
            }
            Recorded::Branch { .. } if run.ranging.guards.contains_key(&event) => {
                let cells = &run.ranging.cells[&run.ranging.guards[&event]];
                let condition = Condition::Of(self.renamed(&cells.condition()));
                self.push_with(event, Statement::Branch(condition), Outcome::Yes(true));
            }
            Recorded::Branch { taken } => {
                let condition = self.condition(event, taken)?;
                let (condition, taken) = match condition {
                    // So a value that is as it was, and a compare-and-exchange that failed, have
                    // one form.
                    Condition::Of(Expr::Binary(BinaryOp::Ne, a, b)) if run.is_recorded => {
                        (Condition::Of(Expr::Binary(BinaryOp::Eq, a, b)), !taken)
                    }
                    Condition::Of(_) | Condition::Recorded(_) => (condition, taken),
                };
                let outcome = match condition {
                    Condition::Of(_) => Outcome::Yes(taken),
                    Condition::Recorded(_) => Outcome::Only,
                };
                self.push_with(event, Statement::Branch(condition), outcome);
            }
            Recorded::Assert { holds } => {
                let condition = self.condition(event, holds)?;
                self.push(event, Statement::Assert(condition));
                self.is_over = !holds;
            }
            Recorded::Assume { holds } => {
                let condition = self.condition(event, holds)?;
                self.push(event, Statement::Assume(condition));
                self.is_over = !holds;
            }
            Recorded::External => {
                self.depends(event)?;
                self.push(event, Statement::External);
            }
            Recorded::Fork { child } => {
                self.push(event, Statement::Fork { child: run.thread(child) });
            }
            Recorded::Join { child } => {
                self.push(event, Statement::Join { child: run.thread(child) });
            }
            Recorded::End => {
                self.push(event, Statement::End);
                self.is_over = true;
            }
            Recorded::Exit => {
                self.push(event, Statement::Exit);
                self.is_over = true;
            }
            Recorded::Begin | Recorded::Request(_) | Recorded::EnterCall { .. } => {}
            // Runs do not say what a call would have returned beside the calls of another run.
            Recorded::LeaveCall if takes(run.trace, event) => {
                return spot.unsupported("a call whose result may depend on other threads");
            }
            Recorded::LeaveCall => {}
            // Blocks are variables of their own, and nobody waits who could be woken.
            Recorded::Alloc { .. }
            | Recorded::Free { .. }
            | Recorded::Destroy { .. }
            | Recorded::Signal { .. }
            | Recorded::Broadcast { .. }
            | Recorded::RegionBegin
            | Recorded::RegionEnd
                if run.is_recorded => {}
            Recorded::Alloc { .. } | Recorded::Free { .. } => {
                return spot.unsupported("memory that is allocated");
            }
            Recorded::Destroy { .. } => return spot.unsupported("a lock that is destroyed"),
            other @ (ops!(lock cond sem barrier Fence RegionBegin RegionEnd)) => {
                self.synchronisation(event, other)?
            }
        }
        Ok(())
    }

    fn synchronisation(&mut self, event: EventId, op: Recorded) -> Result<(), MergeError> {
        let (run, spot) = (self.run, self.run.spot(event));
        let next = run.trace.next(event).map(|next| run.trace.op(next));
        let (op, outcome) = match op {
            Recorded::Acquire { lock, mode, patience } => {
                let lock = SyncRef::Named(run.lock(lock));
                (Op::Acquire { lock, mode, patience }, attempt(patience, true))
            }
            Recorded::AcquireFailed { lock, mode, patience } => {
                let lock = SyncRef::Named(run.lock(lock));
                (Op::Acquire { lock, mode, patience }, attempt(patience, false))
            }
            Recorded::Release { lock, mode } => {
                (Op::Release { lock: SyncRef::Named(run.lock(lock)), mode }, Outcome::Only)
            }
            Recorded::Wait { cond, lock, timed } => {
                let outcome = match next {
                    // How it ends is not known, so not even the wait is one of the things that are.
                    None if timed => {
                        self.is_over = true;
                        return Ok(());
                    }
                    None => Outcome::Only,
                    Some(Recorded::Wake { reason: WakeReason::Spurious, .. }) => {
                        return spot.unsupported("a wait that ends without a signal");
                    }
                    Some(Recorded::Wake { reason, .. }) if timed => {
                        Outcome::Yes(reason == WakeReason::Notified)
                    }
                    Some(_) => Outcome::Only,
                };
                let (cond, lock) = (SyncRef::Named(run.cond(cond)), SyncRef::Named(run.lock(lock)));
                (Op::Wait { cond, lock, timed }, outcome)
            }
            Recorded::Arrive { barrier } => {
                if next.is_some_and(|next| next != Recorded::Leave { barrier }) {
                    return spot.unsupported("a thread that does something else inside a barrier");
                }
                (
                    Op::Barrier { barrier: SyncRef::Named(run.barrier(barrier)), parties: None },
                    Outcome::Only,
                )
            }
            // The second halves of what the operation before them has begun.
            Recorded::Wake { .. } | Recorded::Leave { .. } => return Ok(()),
            Recorded::Signal { cond } => {
                (Op::Signal { cond: SyncRef::Named(run.cond(cond)) }, Outcome::Only)
            }
            Recorded::Broadcast { cond } => {
                (Op::Broadcast { cond: SyncRef::Named(run.cond(cond)) }, Outcome::Only)
            }
            Recorded::SemWait { sem, patience } => {
                let sem = SyncRef::Named(run.semaphore(sem));
                (Op::SemWait { sem, patience }, attempt(patience, true))
            }
            Recorded::SemWaitFailed { sem, patience } => {
                let sem = SyncRef::Named(run.semaphore(sem));
                (Op::SemWait { sem, patience }, attempt(patience, false))
            }
            Recorded::SemPost { sem } => {
                (Op::SemPost { sem: SyncRef::Named(run.semaphore(sem)) }, Outcome::Only)
            }
            Recorded::RegionBegin => (Op::RegionBegin, Outcome::Only),
            Recorded::RegionEnd => (Op::RegionEnd, Outcome::Only),
            Recorded::Fence { order: MemoryOrder::Plain } => return Ok(()),
            Recorded::Fence { order } => (Op::Fence { order }, Outcome::Only),
            other @ (ops!(memory object data thread call Destroy Request External)) => {
                unreachable!("{other:?} is no synchronisation")
            }
        };
        match outcome {
            Outcome::Only => self.push(event, Statement::Plain(op)),
            Outcome::Yes(_) | Outcome::Saw(_) => {
                self.push_with(event, Statement::Attempt(op), outcome);
            }
        }
        Ok(())
    }

    fn push(&mut self, event: EventId, statement: Statement) {
        self.push_with(event, statement, Outcome::Only);
    }

    fn push_with(&mut self, event: EventId, statement: Statement, outcome: Outcome) {
        // Where a thread ends is nowhere in the source.
        let location = self.run.location(event).filter(|_| statement != Statement::End);
        self.steps.push(ExecutedStatement {
            statement,
            location,
            outcome,
            spot: self.run.spot(event),
        });
    }

    /// The event is as recorded only if all reads before it are.
    fn depends(&mut self, event: EventId) -> Result<(), MergeError> {
        let spot = self.run.spot(event);
        let Some(saw) = self.unused.drain(..).collect::<Option<Vec<u64>>>() else {
            let what = "an event that depends on a read whose value is not recorded";
            return spot.unsupported(what);
        };
        if !saw.is_empty() {
            // The event itself says where it is.
            let (statement, outcome) = (Statement::Depends, Outcome::Saw(saw));
            self.steps.push(ExecutedStatement { statement, location: None, outcome, spot });
        }
        Ok(())
    }

    fn condition(&mut self, event: EventId, recorded: bool) -> Result<Condition, MergeError> {
        match self.counting(event) {
            Some(expr) => Ok(Condition::Of(expr)),
            None => {
                self.depends(event)?;
                Ok(Condition::Recorded(recorded))
            }
        }
    }

    /// The name that a read binds, if it does.
    fn bind(&mut self, event: EventId, at: Place, value: Option<u64>) -> Option<NameId> {
        let name = self.run.name(self.run.trace.binding(event)?);
        self.bound.insert(name, Bound { counts: value.is_some(), bits: at.size * 8 });
        Some(name)
    }

    /// The expression of an event, if it counts.
    fn counting(&self, event: EventId) -> Option<Expr> {
        let expr = self.renamed(&self.run.trace.expression(event)?.tree());
        self.counts(&expr).then_some(expr)
    }

    fn counts(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Literal(_) => true,
            Expr::Name(name) => self.bound.get(name).is_some_and(|bound| bound.counts),
            Expr::Unary(_, a) => self.counts(a),
            Expr::Binary(_, a, b) => self.counts(a) && self.counts(b),
            Expr::IfThenElse(a, b, c) => self.counts(a) && self.counts(b) && self.counts(c),
        }
    }

    /// The value of the expression is below 2 to this power.
    fn bits(&self, expr: &Expr) -> u32 {
        match expr {
            Expr::Literal(word) => 64 - word.leading_zeros(),
            Expr::Name(name) => self.bound.get(name).map_or(64, |bound| bound.bits),
            Expr::Binary(BinaryOp::And, a, b) => self.bits(a).min(self.bits(b)),
            Expr::IfThenElse(_, a, b) => self.bits(a).max(self.bits(b)),
            Expr::Unary(..) | Expr::Binary(..) => 64,
        }
    }

    /// The same expression with the names of the merged program.
    fn renamed(&self, expr: &Expr) -> Expr {
        let boxed = |expr: &Expr| Box::new(self.renamed(expr));
        match expr {
            Expr::Literal(word) => Expr::Literal(*word),
            Expr::Name(name) => Expr::Name(self.run.name(*name)),
            Expr::Unary(op, a) => Expr::Unary(*op, boxed(a)),
            Expr::Binary(op, a, b) => Expr::Binary(*op, boxed(a), boxed(b)),
            Expr::IfThenElse(a, b, c) => Expr::IfThenElse(boxed(a), boxed(b), boxed(c)),
        }
    }

    fn bytes(&self, event: EventId, at: Place) -> Bytes {
        let size = u8::try_from(at.size).expect("larger accesses are refused before");
        let (global, offset) = self.run.place(at).expect("others are refused before");
        let cells = self
            .run
            .ranging
            .cells
            .get(&event)
            .map(|cells| Cells { offset: self.renamed(&cells.offset), ..cells.clone() });
        let offset = cells.as_ref().map_or(offset, |cells| cells.starts[0]);
        Bytes { global, offset, size, cells }
    }
}

/// How an operation that waits went.
fn attempt(patience: Patience, got: bool) -> Outcome {
    if patience == Patience::Blocking { Outcome::Only } else { Outcome::Yes(got) }
}

/// Whether the result of a call, given by its end, may depend on other calls.
fn takes(trace: &Trace, leave: EventId) -> bool {
    match trace.enter_of(leave).map(|enter| trace.op(enter)) {
        Some(Recorded::EnterCall { on, .. }) => match trace.channels_of(on) {
            Channels::Only(list) => list.iter().any(|(_, direction)| direction.takes()),
            Channels::Every => true,
        },
        _ => true,
    }
}
