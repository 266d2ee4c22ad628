//! Filling a trace, event by event.

use std::collections::TryReserveError;
use std::mem::take;

use super::*;
use crate::expr::Node;
use crate::expr::nodes::encode;

impl Trace {
    /// Takes the events out, to append them again with others between them: a trace that has
    /// nothing else, and a builder of what is left.
    pub fn take_events(&mut self) -> (Trace, Builder) {
        let events = Trace {
            columns: take(&mut self.columns),
            written: take(&mut self.written),
            bindings: take(&mut self.bindings),
            expressions: take(&mut self.expressions),
            assumptions: take(&mut self.assumptions),
            faults: take(&mut self.faults),
            ordinals: take(&mut self.ordinals),
            record_kinds: take(&mut self.record_kinds),
            stacks: self.stacks.take_events(),
            ..Trace::default()
        };
        (events, Builder { trace: take(self) })
    }
}

/// Fills a trace event by event.
#[derive(Debug)]
pub struct Builder {
    pub(crate) trace: Trace,
}

impl Builder {
    /// The thread of that name.
    pub fn thread(&mut self, name: &str) -> ThreadId {
        ThreadId::from(self.trace.threads.intern(name))
    }

    /// The memory object of that name.
    pub fn object(&mut self, name: &str) -> ObjectId {
        ObjectId::from(self.trace.objects.intern(name))
    }

    /// The lock of that name.
    pub fn lock(&mut self, name: &str) -> LockId {
        LockId::from(self.trace.locks.intern(name))
    }

    /// Calls locks otherwise: names for all of them, each another one.
    pub fn rename_locks(&mut self, names: &[String]) {
        let mut table = Names::default();
        names.iter().for_each(|name| _ = table.intern(name));
        assert_eq!(table.len(), self.trace.locks.len(), "each lock has a name of its own");
        self.trace.locks = table;
    }

    /// Calls condition variables otherwise: names for all of them, each another one.
    pub fn rename_conds(&mut self, names: &[String]) {
        let mut table = Names::default();
        names.iter().for_each(|name| _ = table.intern(name));
        assert_eq!(table.len(), self.trace.conds.len(), "each one has a name of its own");
        self.trace.conds = table;
    }

    /// The condition variable of that name.
    pub fn cond(&mut self, name: &str) -> CondId {
        CondId::from(self.trace.conds.intern(name))
    }

    /// The semaphore of that name.
    pub fn semaphore(&mut self, name: &str) -> SemId {
        SemId::from(self.trace.semaphores.intern(name))
    }

    /// The barrier of that name.
    pub fn barrier(&mut self, name: &str) -> BarrierId {
        BarrierId::from(self.trace.barriers.intern(name))
    }

    /// The source location written so.
    pub fn location(&mut self, name: &str) -> LocationId {
        LocationId::from(self.trace.locations.intern(name))
    }

    /// The read name written so.
    pub fn name(&mut self, name: &str) -> NameId {
        NameId::from(self.trace.names.intern(name))
    }

    /// Appends an event.
    pub fn push(&mut self, event: Event) -> EventId {
        let id = EventId::from(self.trace.len());
        let row = pack(event.op);
        if let Op::Rmw { written: Some(written), .. } = event.op {
            self.trace.written.insert(id, written);
        }
        let columns = &mut self.trace.columns;
        columns.kind.push(row.kind as u8);
        columns.detail.push(row.detail);
        columns.thread.push(event.thread.0);
        columns.location.push(event.location.map_or(NO_LOCATION, |location| location.0));
        columns.target.push(row.target);
        columns.operand.push(row.operand);
        columns.size.push(row.size);
        columns.value.push(row.value);
        self.pad_anchors();
        id
    }

    /// Appends an event of another trace with the same names, and all that is known of it.
    pub fn push_again(&mut self, from: &Trace, id: EventId) {
        self.push_as(from, id, from.event(id));
    }

    /// Appends an event in place of one of another trace, with all that is known of that one.
    pub fn push_as(&mut self, from: &Trace, id: EventId, event: Event) {
        let new = match (from.ordinal(id), from.record_kind(id)) {
            (Some(ordinal), Some(kind)) => self.push_recorded(event, ordinal, kind),
            _ => self.push(event),
        };
        if let Some(name) = from.bindings.get(id) {
            self.bind(new, *name);
        }
        if let Some(of) = from.expressions.get(id) {
            self.trace.expressions.insert(new, |code| code.extend_from_slice(of.code()));
        }
        if let Some(of) = from.assumptions.get(id) {
            self.trace.assumptions.insert(new, |code| code.extend_from_slice(of.code()));
        }
        if let Some(&otherwise) = from.faults.get(id) {
            self.fails_otherwise(new, otherwise);
        }
        if let Some(stack) = from.stacks.of(id) {
            self.trace.stacks.set(new, stack);
        }
    }

    /// Appends many rows at once. Their ids are in the tables: the reader has checked them.
    pub(crate) fn append(&mut self, rows: &Columns) {
        let columns = &mut self.trace.columns;
        columns.kind.extend_from_slice(&rows.kind);
        columns.detail.extend_from_slice(&rows.detail);
        columns.thread.extend_from_slice(&rows.thread);
        columns.location.extend_from_slice(&rows.location);
        columns.target.extend_from_slice(&rows.target);
        columns.operand.extend_from_slice(&rows.operand);
        columns.size.extend_from_slice(&rows.size);
        columns.value.extend_from_slice(&rows.value);
    }

    /// Makes room for so many events, or says that there is not enough memory.
    pub(crate) fn try_reserve(&mut self, events: usize) -> Result<(), TryReserveError> {
        let columns = &mut self.trace.columns;
        columns.kind.try_reserve_exact(events)?;
        columns.detail.try_reserve_exact(events)?;
        columns.thread.try_reserve_exact(events)?;
        columns.location.try_reserve_exact(events)?;
        columns.target.try_reserve_exact(events)?;
        columns.operand.try_reserve_exact(events)?;
        columns.size.try_reserve_exact(events)?;
        columns.value.try_reserve_exact(events)
    }

    /// Records what a read-modify-write stored.
    pub(crate) fn set_written(&mut self, event: EventId, value: u64) {
        self.trace.written.insert(event, value);
    }

    /// What has been filled in so far. (Its thread index is made by `finish`.)
    pub fn so_far(&self) -> &Trace {
        &self.trace
    }

    /// Gives a read its name.
    pub fn bind(&mut self, event: EventId, name: NameId) {
        self.trace.bindings.insert(event, name);
    }

    /// Gives a write, branch, assertion or assumption its expression.
    pub fn express(&mut self, event: EventId, expression: Expr) {
        self.trace.expressions.insert(event, |code| put(code, &expression));
    }

    /// The same with the nodes of an expression, the operands before their operator.
    pub(crate) fn express_nodes(&mut self, event: EventId, nodes: &[Node]) {
        self.trace.expressions.insert(event, |code| put_nodes(code, nodes));
    }

    /// Says what goes wrong if a branch goes the other way.
    pub fn fails_otherwise(&mut self, branch: EventId, otherwise: impl Into<Otherwise>) {
        self.trace.faults.insert(branch, otherwise.into());
    }

    /// Says what a read-modify-write assumes of what it sees.
    pub fn assume(&mut self, event: EventId, expression: Expr) {
        self.trace.assumptions.insert(event, |code| put(code, &expression));
    }

    /// The same with the nodes of an expression, the operands before their operator.
    pub(crate) fn assume_nodes(&mut self, event: EventId, nodes: &[Node]) {
        self.trace.assumptions.insert(event, |code| put_nodes(code, nodes));
    }

    /// Says whether the trace tells what depends on what was read.
    pub fn set_dependences(&mut self, dependences: Dependences) {
        self.trace.dependences = dependences;
    }

    /// Declares what a place holds at the start.
    pub fn set_initial(&mut self, place: Place, value: u64) {
        self.trace.initial.push((place, value));
    }

    /// This object and those that come after it are no memory of the program.
    pub fn make_up_from(&mut self, object: ObjectId) {
        self.trace.first_cell.get_or_insert(object);
    }

    /// Declares a lock's kind.
    pub fn set_lock_kind(&mut self, lock: LockId, kind: LockKind) {
        match kind {
            // Unknown is what an undeclared lock is, so that equal traces compare equal.
            LockKind::Unknown => self.trace.lock_kinds.remove(&lock),
            LockKind::Plain | LockKind::Recursive => self.trace.lock_kinds.insert(lock, kind),
        };
    }

    /// Declares a semaphore's initial count.
    pub fn set_semaphore(&mut self, sem: SemId, count: u32) {
        self.trace.semaphore_counts.insert(sem, count);
    }

    /// Declares how many threads a barrier waits for.
    pub fn set_barrier(&mut self, barrier: BarrierId, parties: u32) {
        self.trace.barrier_parties.insert(barrier, parties);
    }

    /// What the program got from outside, for replays.
    pub fn set_inputs(&mut self, inputs: Vec<u8>) {
        self.trace.inputs = inputs;
    }

    /// Counts a fact about where the trace comes from.
    pub fn tell(&mut self, fact: impl Into<Provenance>, count: u64) {
        let fact = fact.into();
        match self.trace.provenance.iter_mut().find(|(known, _)| *known == fact) {
            Some((_, total)) => *total += count,
            None => self.trace.provenance.push((fact, count)),
        }
    }

    /// The trace, with its thread index.
    pub fn finish(self) -> Trace {
        let mut trace = self.trace;
        let mut start = vec![0u32; trace.threads.len() + 1];
        for &thread in &trace.columns.thread {
            start[thread as usize + 1] += 1;
        }
        for thread in 0..trace.threads.len() {
            start[thread + 1] += start[thread];
        }
        let mut filled = vec![0u32; trace.threads.len()];
        trace.by_thread = vec![EventId(0); trace.len()];
        trace.position = vec![0; trace.len()];
        for (row, &thread) in trace.columns.thread.iter().enumerate() {
            let thread = thread as usize;
            trace.by_thread[(start[thread] + filled[thread]) as usize] = EventId::from(row);
            trace.position[row] = filled[thread];
            filled[thread] += 1;
        }
        trace.thread_start = start;
        trace
    }
}

fn put(code: &mut Vec<u8>, expression: &Expr) {
    expression.for_each_node(|node| encode(code, node));
}

fn put_nodes(code: &mut Vec<u8>, nodes: &[Node]) {
    nodes.iter().for_each(|node| encode(code, *node));
}
