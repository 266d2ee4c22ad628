//! What a picture of the run needs: what events do to memory and locks, and when threads ran.
//!
//! **Cost.** One pass over the trace, and one over each schedule.

#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

use std::collections::HashMap;

use foretrace_predict::Finding;
use foretrace_report::{Effect, EffectKind, EventText, MemoryPlace, Operation, Picture};
use foretrace_trace::{EventId, Place, Trace};

use crate::reordering::reorderings;

/// Into so many parts the recorded run is divided.
const PARTS: usize = 240;

/// So many refuted candidates are explained in a picture.
pub const REFUTED_IN_PICTURE: usize = 20;

/// The picture of a trace and of what was found in it.
pub(crate) fn picture(trace: &Trace, excerpt: &[EventText], findings: &[Finding]) -> Picture {
    let mut tables = Tables::default();
    let thread = |name: &str| trace.threads().find(name);
    let effects = excerpt.iter().map(|text| tables.effect(trace, &thread, text)).collect();
    Picture {
        effects,
        places: tables.places,
        names: tables.names,
        lanes: lanes(trace),
        reorderings: findings.iter().map(|finding| reorderings(trace, finding)).collect(),
        refuted: None,
    }
}

/// The picture of a program, of which `trace` is the summary; `threads` are the names of its
/// threads in the report. No run was recorded.
pub(crate) fn picture_of_program(
    trace: &Trace,
    threads: &[String],
    excerpt: &[EventText],
) -> Picture {
    let mut tables = Tables::default();
    let thread = |name: &str| threads.iter().position(|known| known == name);
    let effect = |text| tables.effect(trace, &thread, text);
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
    /// What an event does, with numbers instead of names; `thread` finds a thread by its name.
    fn effect(
        &mut self,
        trace: &Trace,
        thread: &dyn Fn(&str) -> Option<usize>,
        text: &EventText,
    ) -> Effect {
        let Operation { kind, on, .. } = &text.operation;
        let first = on.first().map_or("", String::as_str);
        let (number, with) = match kind {
            EffectKind::Read | EffectKind::Write | EffectKind::Update => {
                let access = trace.access(EventId(text.event));
                (access.map_or(0, |access| self.place(trace, access.at)), None)
            }
            EffectKind::Fork | EffectKind::Join => (thread(first).unwrap_or(0) as u32, None),
            EffectKind::Begin | EffectKind::End | EffectKind::Condition | EffectKind::Other => {
                (0, None)
            }
            EffectKind::Acquire
            | EffectKind::Release
            | EffectKind::Wait
            | EffectKind::Wake
            | EffectKind::Notify
            | EffectKind::Take => {
                let number = self.name(first);
                (number, on.get(1).map(|with| self.name(with)))
            }
        };
        Effect { kind: *kind, on: number, with }
    }

    fn place(&mut self, trace: &Trace, at: Place) -> u32 {
        *self.place_ids.entry(at).or_insert_with(|| {
            let object = trace.name(at.object).to_string();
            let name = trace.source_name(at);
            self.places.push(MemoryPlace { object, offset: at.offset, size: at.size, name });
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
