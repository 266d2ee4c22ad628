//! The trace, unpacked: what each step needs and does.
//!
//! **Computes.** For each event its operation, its hold, the cells that it reads and writes with
//! what it expects and leaves there, and its conditions as code. For each thread and position,
//! which values are still used.
//!
//! **Invariant.** Cells that do not matter have no slot: nothing is kept of them.

use rustc_hash::{FxHashMap, FxHashSet};

use foretrace_model::{CellId, HoldId, Identity, Skeleton};
use foretrace_trace::{EventId, ObjectId, Op, Trace, ops};

use crate::formula::{Code, Formula, Seen};
use crate::kept::Kept;
use crate::matter::Matter;

/// One event.
#[derive(Debug)]
pub(crate) struct Step<'s> {
    pub(crate) op: Op,
    /// The hold that it opens, deepens, lowers or closes.
    pub(crate) hold: Option<HoldId>,
    /// Its place among the touches, if it is an access.
    touch: Option<u32>,
    /// The condition that it tests.
    pub(crate) test: Option<&'s Formula>,
    /// Whether, under `symbolic`, it depends on all that its thread has read.
    pub(crate) opaque: bool,
}

/// An access.
#[derive(Debug)]
pub(crate) struct Touch<'s> {
    pub(crate) object: ObjectId,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    pub(crate) pin: Pin,
    /// Whether it matters what the read finds.
    pub(crate) looks: bool,
    /// The cells that matter.
    pub(crate) parts: Vec<Part>,
    /// What the read saw in the recorded run.
    pub(crate) recorded: Option<u64>,
    /// Where the value that it sees is kept.
    pub(crate) seen: Option<u32>,
    /// What it stores.
    pub(crate) stored: Option<&'s Formula>,
    /// What a read-modify-write assumes.
    pub(crate) assumed: Option<&'s Formula>,
    /// The asked assertion for which the read is released.
    pub(crate) released_for: Option<EventId>,
}

/// What a read must see.
#[derive(Debug)]
pub(crate) enum Pin {
    /// What memory holds.
    Free,
    /// What it saw in the recorded run.
    Expected,
    /// That as well, but nobody knows who wrote it: so many events of each thread must be executed.
    Unknown(Vec<u32>),
}

/// One cell of an access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// Where its contents are kept.
    pub(crate) cell: u32,
    /// What a read expects.
    pub(crate) expected: Identity,
    /// What a write left in the recorded run.
    pub(crate) left: Identity,
    /// The first bit of the access that falls into the cell, and how many.
    pub(crate) low: u32,
    pub(crate) width: u32,
}

/// The trace, unpacked.
pub(crate) struct Script<'s> {
    pub(crate) skeleton: &'s Skeleton<'s>,
    pub(crate) trace: &'s Trace,
    /// Whether reads with an unknown writer are left out.
    pub(crate) explained: bool,
    /// Whether what is computed depends on what is read.
    pub(crate) is_free: bool,
    /// What is looked at.
    pub(crate) kept: &'s Kept,
    pub(crate) steps: Vec<Step<'s>>,
    touches: Vec<Touch<'s>>,
    /// What the reads saw, or where that is kept.
    pub(crate) seen: Vec<Seen>,
    /// What the cells hold at the start, by slot.
    pub(crate) initial: Vec<Identity>,
    /// The cell of each slot.
    pub(crate) cells: Vec<CellId>,
    /// Which slot a cell has.
    slot_of: FxHashMap<CellId, u32>,
    /// Of each slot, the last position at which a thread looks at it.
    pub(crate) last_looks: Vec<Vec<(u32, u32)>>,
    /// How many values are kept at once.
    pub(crate) value_slots: usize,
    /// For each thread the values that are still used, by position.
    live: Vec<Vec<Vec<u32>>>,
    /// For each thread the position behind its last opaque event.
    pub(crate) opaque_end: Vec<u32>,
    /// How deep each hold is when it is opened.
    pub(crate) first_depth: Vec<u32>,
    /// How many events of each thread are executed at most.
    pub(crate) reach: Vec<u32>,
}

impl<'s> Script<'s> {
    pub(crate) fn new(
        skeleton: &'s Skeleton<'s>,
        code: &'s Code,
        matter: &Matter,
        kept: &'s Kept,
        asked: &FxHashSet<EventId>,
        explained: bool,
    ) -> Self {
        let trace = skeleton.trace;
        let threads = trace.threads().len();
        let mut script = Script {
            skeleton,
            trace,
            explained,
            is_free: skeleton.free_data().is_some(),
            kept,
            steps: Vec::with_capacity(trace.len()),
            touches: Vec::new(),
            seen: Vec::new(),
            initial: Vec::new(),
            cells: Vec::new(),
            slot_of: FxHashMap::default(),
            last_looks: Vec::new(),
            value_slots: 0,
            live: Vec::new(),
            opaque_end: vec![0; threads],
            first_depth: Vec::new(),
            reach: vec![u32::MAX; threads],
        };
        script.give_slots(matter);
        let places = script.give_values(code, matter, asked);
        script.unpack(code, matter, &places, asked);
        script.find_depths();
        script
    }

    /// Lets threads go only so far.
    pub(crate) fn stop_at(&mut self, reach: Vec<u32>) {
        for last in &mut self.last_looks {
            last.retain(|&(thread, _)| reach[thread as usize] > 0);
        }
        self.reach = reach;
    }

    pub(crate) fn step(&self, event: EventId) -> &Step<'s> {
        &self.steps[event.index()]
    }

    /// The access that an event is.
    pub(crate) fn touch(&self, event: EventId) -> Option<&Touch<'s>> {
        self.steps[event.index()].touch.map(|at| &self.touches[at as usize])
    }

    /// The values that a thread at this position still uses.
    pub(crate) fn live(&self, thread: usize, position: u32) -> &[u32] {
        &self.live[thread][position as usize]
    }

    /// The slot of a cell, if it matters.
    pub(crate) fn slot(&self, cell: CellId) -> Option<u32> {
        self.slot_of.get(&cell).copied()
    }

    fn give_slots(&mut self, matter: &Matter) {
        let memory = &self.skeleton.memory;
        for (index, &matters) in matter.cells.iter().enumerate() {
            let cell = CellId(index as u32);
            if !matters || !self.kept.cell(cell) {
                continue;
            }
            let mut last: Vec<(u32, u32)> = Vec::new();
            for &access in memory.accesses(cell).iter().rev() {
                let thread = self.trace.thread_of(access).0;
                if last.iter().all(|&(known, _)| known != thread) && self.looks(matter, access) {
                    last.push((thread, self.trace.position(access) as u32));
                }
            }
            self.slot_of.insert(cell, self.initial.len() as u32);
            self.initial.push(memory.initial(cell));
            self.cells.push(cell);
            self.last_looks.push(last);
        }
    }

    /// Whether a read looks at memory. Where what it sees is computed with, it sees all or nothing.
    fn looks(&self, matter: &Matter, read: EventId) -> bool {
        let at = || self.trace.access(read).expect("a read is an access").at;
        let is_kept = |cell: CellId| self.kept.cell(cell) || !matter.cells[cell.index()];
        matter.looks.contains(&read)
            && (!self.is_free || self.skeleton.memory.cells_of(at()).all(is_kept))
    }

    /// What is computed of an event: what it stores or tests, and what it assumes.
    fn computed(
        &self,
        event: EventId,
        code: &'s Code,
        matter: &Matter,
        asked: &FxHashSet<EventId>,
    ) -> [Option<&'s Formula>; 2] {
        // What depends on memory that is not kept is not known.
        let is_known = |formula: &&Formula| {
            formula.reads.iter().all(|read| {
                !self.is_free || !matter.values.contains(read) || self.looks(matter, *read)
            })
        };
        let result = code.result(event).filter(|_| match self.trace.op(event) {
            Op::Write { at, .. } | Op::Rmw { at, .. } => {
                let mut cells = self.skeleton.memory.cells_of(at);
                self.is_free && cells.any(|cell| self.slot(cell).is_some())
            }
            ops!(object data sync call mark Read) => self.is_free || asked.contains(&event),
        });
        let assumed = code.assumed(event).filter(|_| self.is_free);
        [result.filter(is_known), assumed.filter(is_known)]
    }

    /// Gives each value that is computed with a place of its own, as long as it is used.
    fn give_values(
        &mut self,
        code: &'s Code,
        matter: &Matter,
        asked: &FxHashSet<EventId>,
    ) -> FxHashMap<EventId, u32> {
        let mut last_use: FxHashMap<EventId, u32> = FxHashMap::default();
        for (event, _) in self.trace.ops() {
            for formula in self.computed(event, code, matter, asked).into_iter().flatten() {
                for &read in &formula.reads {
                    last_use.insert(read, self.trace.position(event) as u32);
                }
            }
        }
        let mut places = FxHashMap::default();
        for thread in self.trace.thread_ids() {
            let events = self.trace.thread_events(thread);
            let mut live: Vec<(u32, u32)> = Vec::new();
            let mut lists = vec![Vec::new()];
            let mut unused: Vec<u32> = Vec::new();
            for (position, &event) in events.iter().enumerate() {
                live.retain(|&(last, slot)| {
                    if last < position as u32 {
                        unused.push(slot);
                    }
                    last >= position as u32
                });
                if let Some(&last) = last_use.get(&event)
                    && matter.values.contains(&event)
                    && self.looks(matter, event)
                {
                    let slot = unused.pop().unwrap_or_else(|| {
                        self.value_slots += 1;
                        self.value_slots as u32 - 1
                    });
                    places.insert(event, slot);
                    live.push((last, slot));
                }
                let used = live.iter().filter(|&&(last, _)| last > position as u32);
                lists.push(used.map(|&(_, slot)| slot).collect());
            }
            self.live.push(lists);
        }
        places
    }

    fn unpack(
        &mut self,
        code: &'s Code,
        matter: &Matter,
        places: &FxHashMap<EventId, u32>,
        asked: &FxHashSet<EventId>,
    ) {
        let (skeleton, trace) = (self.skeleton, self.trace);
        for (event, op) in trace.ops() {
            let [result, assumed] = self.computed(event, code, matter, asked);
            self.seen.push(match places.get(&event) {
                Some(&slot) => Seen::Slot(slot),
                None if trace.is_access(event) => {
                    Seen::Recorded(trace.values(event).0.unwrap_or(0))
                }
                None => Seen::Recorded(0),
            });
            let is_free = self.is_free;
            let data = skeleton.data.as_ref().filter(|_| is_free);
            let opaque = data.is_some_and(|data| data.is_opaque(trace, event));
            if opaque {
                let end = &mut self.opaque_end[trace.thread_of(event).index()];
                *end = trace.position(event) as u32 + 1;
            }
            let hold = skeleton.locks.hold_at(event);
            let (touch, test) = match op.access() {
                Some(_) => {
                    let touch = self.unpack_access(event, matter, places, asked);
                    self.touches.push(Touch { stored: result, assumed, ..touch });
                    (Some(self.touches.len() as u32 - 1), None)
                }
                None => (None, result),
            };
            self.steps.push(Step { op, hold, touch, test, opaque });
        }
    }

    fn unpack_access(
        &self,
        event: EventId,
        matter: &Matter,
        places: &FxHashMap<EventId, u32>,
        asked: &FxHashSet<EventId>,
    ) -> Touch<'s> {
        let (skeleton, trace) = (self.skeleton, self.trace);
        let memory = &skeleton.memory;
        let access = trace.access(event).expect("it is an access");
        let pin = if access.reads && memory.has_unknown_writer(event) {
            let everything = memory.follows_everything(trace, event);
            let before = |thread| {
                let events = trace.thread_events(thread);
                events.partition_point(|&other| other < event) as u32
            };
            Pin::Unknown(trace.thread_ids().map(before).filter(|_| everything).collect())
        } else if self.is_free {
            Pin::Free
        } else {
            Pin::Expected
        };
        let part = |cell| {
            let slot = self.slot(cell)?;
            let (low, width) = memory.bits_of(cell, access.at);
            let expected = match access.reads {
                true => memory.expected(trace, event, cell),
                false => Identity::Initial,
            };
            let left = match access.writes {
                true => memory.written(trace, event, cell),
                false => Identity::Initial,
            };
            Some(Part { cell: slot, expected, left, low, width })
        };
        let data = skeleton.data.as_ref().filter(|_| !self.is_free);
        let released_for = data.and_then(|data| data.released_for(event));
        Touch {
            object: access.at.object,
            reads: access.reads,
            writes: access.writes,
            pin,
            looks: access.reads && self.looks(matter, event),
            parts: memory.cells_of(access.at).filter_map(part).collect(),
            recorded: trace.values(event).0.filter(|_| access.at.size <= 8),
            seen: places.get(&event).copied(),
            stored: None,
            assumed: None,
            released_for: released_for.filter(|assertion| asked.contains(assertion)),
        }
    }

    /// A wake takes its lock again as deep as the wait had it.
    fn find_depths(&mut self) {
        let (trace, locks) = (self.trace, &self.skeleton.locks);
        for index in 0..locks.len() {
            let id = HoldId(index as u32);
            let given_back = trace.previous(locks.hold(id).open).filter(|&wait| {
                matches!(trace.op(wait), Op::Wait { .. })
                    && matches!(trace.op(locks.hold(id).open), Op::Wake { .. })
            });
            let closed = given_back.and_then(|wait| locks.hold_at(wait));
            let depth = closed.map_or(1, |closed| self.depth(closed, |_| true));
            self.first_depth.push(depth);
        }
    }

    /// How deep a hold is if these of its changes are executed.
    pub(crate) fn depth(&self, hold: HoldId, is_executed: impl Fn(EventId) -> bool) -> u32 {
        let mut depth = self.first_depth[hold.index()];
        for &change in self.skeleton.locks.inner(hold) {
            if is_executed(change) {
                let deepens = matches!(self.trace.op(change), Op::Acquire { .. });
                depth = if deepens { depth + 1 } else { depth - 1 };
            }
        }
        depth
    }
}
