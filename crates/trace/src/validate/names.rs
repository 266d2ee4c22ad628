//! Names: ids inside their tables, and expressions over names that are bound.
//!
//! **Computes.** Whether every id of an event has a name; whether the names in an expression are
//! bound by earlier reads of the same thread; and whether a recorded value or outcome is the one
//! that its expression gives, where the reads' values are known.
//!
//! **Cost.** Nothing but a few comparisons for events without expressions and bindings.

use rustc_hash::FxHashMap;

use crate::event::*;
use crate::expr::ExprRef;
use crate::ids::*;
use crate::ops;
use crate::store::{Names, Trace};
use crate::text::{MAX_DEPTH, eval, show_value};

use super::invalid::{Breach, breach};
use super::rule::Rule;

/// Whether every id of an event is inside its table.
#[inline]
pub(super) fn check_ids(trace: &Trace, event: Event) -> Result<(), Breach> {
    let threads = |id: ThreadId| inside(id.0, trace.threads(), "thread");
    let objects = |id: ObjectId| inside(id.0, trace.objects(), "object");
    let locks = |id: LockId| inside(id.0, trace.locks(), "lock");
    let conds = |id: CondId| inside(id.0, trace.conds(), "condition variable");
    let semaphores = |id: SemId| inside(id.0, trace.semaphores(), "semaphore");
    let barriers = |id: BarrierId| inside(id.0, trace.barriers(), "barrier");
    let functions = |id: FunctionId| inside(id.0, trace.functions(), "function");
    if let Some(location) = event.location {
        inside(location.0, trace.locations(), "location")?;
    }
    match event.op {
        Op::Read { at, .. } | Op::Write { at, .. } | Op::Rmw { at, .. } => objects(at.object),
        Op::Alloc { object, .. } | Op::Free { object } => objects(object),
        Op::Acquire { lock, .. }
        | Op::AcquireFailed { lock, .. }
        | Op::Release { lock, .. }
        | Op::Destroy { lock }
        | Op::Request(Request::Acquire(lock, _)) => locks(lock),
        Op::Wait { cond, lock, .. } | Op::Wake { cond, lock, .. } => {
            conds(cond).and_then(|()| locks(lock))
        }
        Op::Signal { cond } | Op::Broadcast { cond } => conds(cond),
        Op::SemWait { sem, .. }
        | Op::SemWaitFailed { sem, .. }
        | Op::SemPost { sem }
        | Op::Request(Request::SemWait(sem)) => semaphores(sem),
        Op::Arrive { barrier } | Op::Leave { barrier } => barriers(barrier),
        Op::Fork { child } | Op::Join { child } | Op::Request(Request::Join(child)) => {
            threads(child)
        }
        Op::EnterCall { on, by } => {
            check_channels(trace, on)?;
            by.map_or(Ok(()), functions)
        }
        ops!(data mark Begin End Exit LeaveCall) => Ok(()),
    }
}

fn check_channels(trace: &Trace, on: ChannelsId) -> Result<(), Breach> {
    let count = trace.channel_list_count();
    if on.index() >= count {
        let why = format!("there is no list {} of channels; there are {count}", on.0);
        return Err(breach(Rule::UnknownId, why));
    }
    if let Some(Awaited { source, piece }) = trace.awaited(on) {
        let both = piece.into_iter().chain([source]);
        for channel in both {
            inside(channel.0, trace.channels(), "channel")?;
        }
    }
    match trace.channels_of(on) {
        Channels::Every => Ok(()),
        Channels::Only(list) => {
            list.iter().try_for_each(|(channel, _)| inside(channel.0, trace.channels(), "channel"))
        }
    }
}

#[inline]
fn inside(id: u32, names: &Names, what: &str) -> Result<(), Breach> {
    if (id as usize) < names.len() {
        return Ok(());
    }
    Err(breach(Rule::UnknownId, format!("{what} {id} has no name; there are {}", names.len())))
}

/// The first event with a name or an expression that its kind has no room for.
pub(super) fn misplaced(trace: &Trace) -> Option<(EventId, Breach)> {
    let op = |id: &EventId| (id.index() < trace.len()).then(|| trace.op(*id));
    let binds = |id: &EventId| matches!(op(id), Some(Op::Read { .. } | Op::Rmw { .. } | Op::Let));
    let assumes = |id: &EventId| matches!(op(id), Some(Op::Rmw { .. }));
    let computes = |id: &EventId| {
        matches!(
            op(id),
            Some(
                Op::Write { .. }
                    | Op::Rmw { .. }
                    | Op::Branch { .. }
                    | Op::Assert { .. }
                    | Op::Assume { .. }
                    | Op::Let
            )
        )
    };
    let bindings = trace.bindings.keys().filter(|id| !binds(id));
    let expressions = trace.expressions.keys().filter(|id| !computes(id));
    let assumptions = trace.assumptions.keys().filter(|id| !assumes(id));
    let first = bindings.chain(expressions).chain(assumptions).min()?;
    let why = "it has a name or an expression, which only accesses and conditions have";
    Some((first, breach(Rule::Misplaced, why)))
}

/// What the names mean at this point: per thread and name, what the latest read saw.
#[derive(Default)]
pub(super) struct Bound {
    values: FxHashMap<(ThreadId, NameId), Option<u64>>,
}

impl Bound {
    /// Checks the values of an access, and binds its name.
    #[inline]
    pub(super) fn access(
        &mut self,
        trace: &Trace,
        id: EventId,
        thread: ThreadId,
        op: Op,
    ) -> Result<(), Breach> {
        let (size, read, stored) = match op {
            Op::Read { at, value, .. } => (at.size, value, None),
            Op::Write { at, value, .. } => (at.size, None, value),
            Op::Rmw { at, read, written, .. } => (at.size, read, written),
            ops!(object data sync call mark) => return Ok(()),
        };
        for value in [read, stored].into_iter().flatten() {
            if eval::truncate(value, size) != value {
                let why = format!("{value} does not fit in the {size}-byte place");
                return Err(breach(Rule::ValueSize, why));
            }
        }
        if !matches!(op, Op::Write { .. })
            && let Some(name) = trace.binding(id)
        {
            inside(name.0, trace.names(), "read name")?;
            self.values.insert((thread, name), eval::bound_value(read, size));
        }
        if matches!(op, Op::Read { .. }) {
            return Ok(());
        }
        if let Some(assumption) = trace.assumption(id)
            && self.evaluate(trace, thread, assumption)? == Some(0)
        {
            return Err(breach(Rule::ValueMismatch, "what it assumes does not hold"));
        }
        let Some(expr) = trace.expression(id) else { return Ok(()) };
        let computed = self.evaluate(trace, thread, expr)?.map(|word| eval::truncate(word, size));
        match (computed, stored) {
            (Some(computed), Some(stored)) if computed != stored => {
                let why = format!("the expression gives {}", show_value(computed, size));
                Err(breach(Rule::ValueMismatch, why))
            }
            _ => Ok(()),
        }
    }

    /// Computes a local variable, and binds its name.
    pub(super) fn local(
        &mut self,
        trace: &Trace,
        id: EventId,
        thread: ThreadId,
    ) -> Result<(), Breach> {
        let (Some(name), Some(expr)) = (trace.binding(id), trace.expression(id)) else {
            return Err(breach(Rule::Misplaced, "a `let` has a name and an expression"));
        };
        inside(name.0, trace.names(), "name")?;
        let value = self.evaluate(trace, thread, expr)?;
        self.values.insert((thread, name), value);
        Ok(())
    }

    /// Checks the outcome of a condition.
    #[inline]
    pub(super) fn condition(
        &self,
        trace: &Trace,
        id: EventId,
        thread: ThreadId,
        outcome: bool,
    ) -> Result<(), Breach> {
        let Some(expr) = trace.expression(id) else { return Ok(()) };
        match self.evaluate(trace, thread, expr)?.map(|word| word != 0) {
            Some(computed) if computed != outcome => {
                Err(breach(Rule::ValueMismatch, format!("the condition is {computed}")))
            }
            _ => Ok(()),
        }
    }

    fn evaluate(
        &self,
        trace: &Trace,
        thread: ThreadId,
        expr: ExprRef<'_>,
    ) -> Result<Option<u64>, Breach> {
        if expr.depth() > MAX_DEPTH {
            let why = format!("an expression is more than {MAX_DEPTH} operators deep");
            return Err(breach(Rule::ExpressionDepth, why));
        }
        let is_bound = |name: &NameId| self.values.contains_key(&(thread, *name));
        if let Some(name) = expr.names().find(|name| !is_bound(name)) {
            inside(name.0, trace.names(), "read name")?;
            let name = trace.name(name);
            let why = format!("no earlier read of the thread binds the name {name}");
            return Err(breach(Rule::UnboundName, why));
        }
        Ok(expr.evaluate(&|name| self.values.get(&(thread, name)).copied().flatten()))
    }
}
