//! Assertions that nobody wrote: what must not go wrong on the recorded path.
//!
//! **Computes.** Of the guards that the walk has put before the use of a pointer, a divisor or an index
//! (`branch r != 0 : true else null`), assertions. And for each access to memory that another thread frees later, the
//! assertion that this has not happened yet: a cell of our own says that the block is alive, the free ends that, and the
//! access is preceded by a look at the cell.
//!
//! **Follows.** `docs/theory.md` as it is: cells are read and written like other memory, and atomically, so that they race with nothing.
//! The read belongs to its assertion alone, so no model that knows dependences pins it; what the free stores is a constant. A free needs a live block, hence nobody finds
//! one freed that was not given out. Each schedule of the trace without the cells is one of the trace with them, and the other way round: where
//! the assertion does not hold, the access behind it is no step either.
//!
//! **Invariant.** The order of the other events stays; their numbers do not, if there is a cell.
//!
//! **Cost.** Linear in the events and in threads × (forks + joins). Accesses that forks and joins put before the free get no assertion.

use std::mem::take;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::event::*;
use crate::expr::{BinaryOp, Expr};
use crate::ids::*;
use crate::store::{Builder, Names, Trace};

/// What follows where a branch goes the other way than in the recorded run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Otherwise {
    /// What goes wrong.
    pub fault: Fault,
    /// In which visible operation of the thread, if that is known.
    pub operation: Option<u32>,
    /// First address and size of the object that the operation was to stay in, if that is known.
    pub object: Option<(u64, u64)>,
}

impl From<Fault> for Otherwise {
    fn from(fault: Fault) -> Otherwise {
        Otherwise { fault, operation: None, object: None }
    }
}

/// How many events of each thread precede for sure.
type Clock = Rc<Vec<u32>>;

impl Trace {
    /// What goes wrong if a branch goes the other way.
    pub fn fault(&self, id: EventId) -> Option<Fault> {
        self.faults.get(&id).map(|otherwise| otherwise.fault)
    }

    /// The same, with what a replay needs to see it.
    pub fn otherwise(&self, id: EventId) -> Option<Otherwise> {
        self.faults.get(&id).copied()
    }

    /// Makes assertions that none of these faults happens.
    pub fn assert_no(&mut self, faults: &[Fault]) {
        if faults.contains(&Fault::Freed) {
            self.watch_frees();
        }
        for (event, otherwise) in &self.faults {
            if faults.contains(&otherwise.fault) {
                self.columns.assert(*event);
            }
        }
    }

    /// Whether the event is part of an assertion that nobody wrote and reads or writes no memory of the program.
    pub fn is_made_up(&self, id: EventId) -> bool {
        let first = |access: Access| self.first_cell.is_some_and(|cell| access.at.object >= cell);
        self.access(id).is_some_and(first) || self.fault(id) == Some(Fault::Freed)
    }

    /// Of the assertion that memory is not freed yet: the access behind it, and the free.
    pub fn access_and_free(&self, assertion: EventId) -> Option<(EventId, EventId)> {
        if self.fault(assertion) != Some(Fault::Freed) {
            return None;
        }
        let access = self.next(assertion)?;
        let object = self.access(access)?.at.object;
        let free = self.other_ops().find(|(_, op)| *op == Op::Free { object })?;
        Some((access, free.0))
    }

    /// Puts a look at whether the memory is still there before accesses that may come too late.
    fn watch_frees(&mut self) {
        let frees = self.frees();
        let late = |(event, access): (EventId, Access)| {
            let (freeing, clock) = frees.get(&access.at.object)?;
            let (thread, position) = (self.thread_of(event), self.position(event) as u32);
            let is_ordered = clock.get(thread.index()).is_some_and(|&known| position < known);
            let is_late = thread != *freeing && !is_ordered && !self.goes_on(event, access);
            is_late.then_some((event, access.at.object))
        };
        let watched: FxHashMap<EventId, ObjectId> = self.accesses().filter_map(late).collect();
        if watched.is_empty() {
            return;
        }
        let mut blocks: Vec<ObjectId> = watched.values().copied().collect();
        blocks.sort_unstable();
        blocks.dedup();
        self.insert_cells(&watched, &blocks);
    }

    /// Whether the event before is a piece of the same access.
    fn goes_on(&self, event: EventId, access: Access) -> bool {
        let before = self.previous(event).filter(|&before| {
            self.ordinal(before).is_some() && self.ordinal(before) == self.ordinal(event)
        });
        let object = before.and_then(|before| self.access(before)).map(|access| access.at.object);
        object == Some(access.at.object)
    }

    /// Who frees an object, and what forks and joins put before that.
    fn frees(&self) -> FxHashMap<ObjectId, (ThreadId, Clock)> {
        let mut frees = FxHashMap::default();
        let mut clocks: Vec<Clock> =
            vec![Rc::new(vec![0; self.threads().len()]); self.threads().len()];
        for (event, op) in self.other_ops() {
            let thread = self.thread_of(event);
            match op {
                Op::Fork { child } => {
                    let mut clock = clocks[thread.index()].to_vec();
                    clock[thread.index()] = self.position(event) as u32 + 1;
                    clocks[child.index()] = Rc::new(clock);
                }
                Op::Join { child } => {
                    let mut clock = clocks[thread.index()].to_vec();
                    clock[child.index()] = self.thread_events(child).len() as u32;
                    let known = clock.iter_mut().zip(clocks[child.index()].iter());
                    known.for_each(|(mine, &other)| *mine = (*mine).max(other));
                    clocks[thread.index()] = Rc::new(clock);
                }
                Op::Free { object } => {
                    frees.insert(object, (thread, clocks[thread.index()].clone()));
                }
                _ => {}
            }
        }
        frees
    }

    fn insert_cells(&mut self, watched: &FxHashMap<EventId, ObjectId>, blocks: &[ObjectId]) {
        let mut old = Trace::default();
        old.columns = take(&mut self.columns);
        old.written = take(&mut self.written);
        old.bindings = take(&mut self.bindings);
        old.expressions = take(&mut self.expressions);
        old.assumptions = take(&mut self.assumptions);
        old.faults = take(&mut self.faults);
        old.ordinals = take(&mut self.ordinals);
        old.record_kinds = take(&mut self.record_kinds);
        let mut builder = Builder { trace: take(self) };
        let live = fresh(builder.trace.names(), "live");
        let live = builder.name(&live);
        let mut cells: FxHashMap<ObjectId, Place> = FxHashMap::default();
        for &block in blocks {
            let names = builder.trace.objects();
            let name = fresh(names, &format!("life of {}", names.get(block.index())));
            let object = builder.object(&name);
            builder.trace.first_cell.get_or_insert(object);
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
                let otherwise = Otherwise { operation: old.ordinal(id), ..Fault::Freed.into() };
                builder.fails_otherwise(branch, otherwise);
            }
            old.move_event(id, event, &mut builder);
            let Op::Free { object } = event.op else { continue };
            if let Some(&at) = cells.get(&object) {
                let op = Op::Write { at, value: Some(0), order };
                let write = builder.push(Event { op, ..event });
                builder.express(write, Expr::Literal(0));
            }
        }
        *self = builder.finish();
    }

    /// Appends an event with all that is known of it.
    fn move_event(&mut self, id: EventId, event: Event, builder: &mut Builder) {
        let new = match (self.ordinal(id), self.record_kind(id)) {
            (Some(ordinal), Some(kind)) => builder.push_recorded(event, ordinal, kind),
            _ => builder.push(event),
        };
        if let Some(name) = self.bindings.get(&id) {
            builder.bind(new, *name);
        }
        if let Some(expression) = self.expressions.remove(&id) {
            builder.express(new, expression);
        }
        if let Some(assumed) = self.assumptions.remove(&id) {
            builder.assume(new, assumed);
        }
        if let Some(&otherwise) = self.faults.get(&id) {
            builder.fails_otherwise(new, otherwise);
        }
    }
}

/// A name that nothing has.
fn fresh(names: &Names, wanted: &str) -> String {
    let mut name = wanted.to_string();
    while names.find(&name).is_some() {
        name.push('\'');
    }
    name
}
