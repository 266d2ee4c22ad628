//! What a picture of the run needs: what events do to memory and locks, and when threads ran.
//!
//! **Cost.** One pass over the trace, and one over each schedule.

#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

use std::collections::HashMap;

use foretrace_predict::Finding;
use foretrace_report::{Effect, EffectKind, EventText, MemoryPlace, Picture};
use foretrace_trace::{EventId, Op, Place, Trace, ops};

use crate::reordering::reorderings;

/// Into so many parts the recorded run is divided.
const PARTS: usize = 240;

/// So many refuted candidates are explained in a picture.
pub const REFUTED_IN_PICTURE: usize = 20;

/// The picture of a trace and of what was found in it.
pub(crate) fn picture(trace: &Trace, excerpt: &[EventText], findings: &[Finding]) -> Picture {
    let mut tables = Tables::default();
    let effects =
        excerpt.iter().map(|text| tables.effect(trace, EventId(text.event))).collect::<Vec<_>>();
    Picture {
        effects,
        places: tables.places,
        names: tables.names,
        lanes: lanes(trace),
        reorderings: findings.iter().map(|finding| reorderings(trace, finding)).collect(),
        refuted: None,
    }
}

/// The picture of a program, of which `trace` is the summary: no run was recorded, and a lock that
/// not every path takes is a variable there, so that only the words of an event say what it does.
pub(crate) fn picture_of_program(trace: &Trace, excerpt: &[EventText]) -> Picture {
    let mut tables = Tables::default();
    let effect = |text: &EventText| {
        let operation = text.operation.as_str();
        let lock = |verb: &str| operation.strip_prefix(verb).map(str::to_string);
        match (lock("acquire "), lock("release ")) {
            (Some(lock), _) => {
                Effect { kind: EffectKind::Acquire, on: tables.name(&lock), with: None }
            }
            (_, Some(lock)) => {
                Effect { kind: EffectKind::Release, on: tables.name(&lock), with: None }
            }
            (None, None) => tables.effect(trace, EventId(text.event)),
        }
    };
    let effects = excerpt.iter().map(effect).collect();
    Picture { effects, places: tables.places, names: tables.names, ..Picture::default() }
}

fn lanes(trace: &Trace) -> Vec<Vec<u32>> {
    let mut lanes = vec![vec![0; PARTS.min(trace.len())]; trace.threads().len()];
    for row in 0..trace.len() {
        let thread = trace.thread_of(EventId::from(row));
        let lane = &mut lanes[thread.index()];
        let part = row * lane.len() / trace.len();
        lane[part] += 1;
    }
    lanes
}

#[derive(Default)]
struct Tables {
    places: Vec<MemoryPlace>,
    place_ids: HashMap<Place, u32>,
    names: Vec<String>,
    name_ids: HashMap<String, u32>,
}

impl Tables {
    fn effect(&mut self, trace: &Trace, event: EventId) -> Effect {
        let lock = |id: foretrace_trace::LockId| trace.locks().get(id.index());
        let cond = |id: foretrace_trace::CondId| trace.conds().get(id.index());
        let sem = |id: foretrace_trace::SemId| trace.semaphores().get(id.index());
        let barrier = |id: foretrace_trace::BarrierId| trace.barriers().get(id.index());
        let (kind, on, with) = match trace.op(event) {
            Op::Read { at, .. } => (EffectKind::Read, self.place(trace, at), None),
            Op::Write { at, .. } => (EffectKind::Write, self.place(trace, at), None),
            Op::Rmw { at, .. } => (EffectKind::Update, self.place(trace, at), None),
            Op::Acquire { lock: id, .. } => (EffectKind::Acquire, self.name(lock(id)), None),
            Op::Release { lock: id, .. } => (EffectKind::Release, self.name(lock(id)), None),
            Op::Wait { cond: on, lock: id, .. } => {
                (EffectKind::Wait, self.name(lock(id)), Some(self.name(cond(on))))
            }
            Op::Wake { cond: on, lock: id, .. } => {
                (EffectKind::Wake, self.name(lock(id)), Some(self.name(cond(on))))
            }
            Op::Signal { cond: id } | Op::Broadcast { cond: id } => {
                (EffectKind::Notify, self.name(cond(id)), None)
            }
            Op::SemPost { sem: id } => (EffectKind::Notify, self.name(sem(id)), None),
            Op::SemWait { sem: id, .. } => (EffectKind::Take, self.name(sem(id)), None),
            Op::Arrive { barrier: id } => (EffectKind::Notify, self.name(barrier(id)), None),
            Op::Leave { barrier: id } => (EffectKind::Take, self.name(barrier(id)), None),
            Op::Fork { child } => (EffectKind::Fork, child.0, None),
            Op::Join { child } => (EffectKind::Join, child.0, None),
            Op::Begin => (EffectKind::Begin, 0, None),
            Op::End => (EffectKind::End, 0, None),
            Op::Branch { .. } | Op::Assert { .. } | Op::Assume { .. } => {
                (EffectKind::Condition, 0, None)
            }
            Op::AcquireFailed { .. }
            | Op::SemWaitFailed { .. }
            | Op::Destroy { .. }
            | Op::Request(_)
            | Op::Exit
            | Op::Let
            | ops!(object mark call) => (EffectKind::Other, 0, None),
        };
        Effect { kind, on, with }
    }

    fn place(&mut self, trace: &Trace, at: Place) -> u32 {
        *self.place_ids.entry(at).or_insert_with(|| {
            let object = trace.objects().get(at.object.index()).to_string();
            self.places.push(MemoryPlace { object, offset: at.offset, size: at.size });
            self.places.len() as u32 - 1
        })
    }

    fn name(&mut self, name: &str) -> u32 {
        if let Some(&id) = self.name_ids.get(name) {
            return id;
        }
        let id = self.names.len() as u32;
        self.names.push(name.to_string());
        self.name_ids.insert(name.to_string(), id);
        id
    }
}
