//! The rules for accesses: what reads see, what writes leave.
//!
//! **Follows.** The first lines of the table of `docs/theory.md`, section 3, and what section 4
//! says of released reads.
//!
//! **Invariant.** Only cells that matter are looked at.

use foretrace_model::Identity;
use foretrace_trace::EventId;

use crate::fault::{Fault, is_seeded};
use crate::script::{Part, Pin, Script, Touch};
use crate::world::{Mode, Ready, World};

impl Script<'_> {
    /// Whether an access that is next is enabled.
    pub(crate) fn may_access(
        &self,
        world: &mut World,
        event: EventId,
        scratch: &mut Vec<u128>,
    ) -> Ready {
        let touch = self.touch(event).expect("it is an access");
        if !self.is_live(world, touch.object) {
            return Ready::Blocked;
        }
        if !touch.reads {
            return Ready::Now;
        }
        match &touch.pin {
            Pin::Unknown(before) => {
                let mut counts = world.cut.iter().zip(before);
                let is_late = counts.all(|(&cut, &before)| cut >= before)
                    || is_seeded(Fault::UnknownWriterFree);
                match is_late && !self.explained {
                    true => self.assumes(world, touch, scratch),
                    false => Ready::Blocked,
                }
            }
            Pin::Expected => {
                if self.is_as_recorded(world, touch) {
                    return Ready::Now;
                }
                let Some(assertion) = touch.released_for else { return Ready::Blocked };
                let released = Mode::Released(assertion);
                let is_possible = world.mode == Mode::Plain || world.mode == released;
                if is_possible
                    && self.finds_values(world, touch)
                    && !is_seeded(Fault::NothingReleased)
                {
                    return Ready::Otherwise(released);
                }
                Ready::Blocked
            }
            Pin::Free => {
                if touch.looks && !self.finds_values(world, touch) {
                    return Ready::Blocked;
                }
                // Behind what is opaque nothing strays.
                if self.step(event).opaque && !self.is_as_recorded(world, touch) {
                    return Ready::Blocked;
                }
                self.assumes(world, touch, scratch)
            }
        }
    }

    /// Whether what a read-modify-write assumes holds of what it sees.
    fn assumes(&self, world: &mut World, touch: &Touch, scratch: &mut Vec<u128>) -> Ready {
        let Some(assumed) = &touch.assumed else { return Ready::Now };
        // Its place among the values is its own from here on.
        if let Some(slot) = touch.seen {
            world.values[slot as usize] = self.sees(world, touch);
        }
        match assumed.value(&world.values, &self.seen, scratch) {
            0 => Ready::Blocked,
            _ => Ready::Now,
        }
    }

    /// Whether each cell holds what the read expects.
    fn is_as_recorded(&self, world: &World, touch: &Touch) -> bool {
        touch.parts.iter().all(|part| world.cells[part.cell as usize] == part.expected)
    }

    /// Whether each cell holds a value, or what the read expects.
    fn finds_values(&self, world: &World, touch: &Touch) -> bool {
        touch.parts.iter().all(|part| {
            world.cells[part.cell as usize] == part.expected || self.holds(world, part).is_some()
        })
    }

    /// The value that a cell holds.
    fn holds(&self, world: &World, part: &Part) -> Option<u64> {
        let (memory, cell) = (&self.skeleton.memory, self.cells[part.cell as usize]);
        match world.cells[part.cell as usize] {
            Identity::Value(value) => Some(value),
            Identity::Event(write) => memory.value_written(self.trace, write, cell),
            Identity::Initial => memory.initial_value(cell),
        }
    }

    /// What a read sees.
    fn sees(&self, world: &World, touch: &Touch) -> u64 {
        let Some(mut value) = touch.recorded else { return 0 };
        if matches!(touch.pin, Pin::Unknown(_)) {
            return value;
        }
        for part in &touch.parts {
            // What has no value is seen only as recorded.
            let is_expected = world.cells[part.cell as usize] == part.expected;
            if let Some(held) = self.holds(world, part).filter(|_| !is_expected) {
                let mask = mask(part.width) << part.low;
                value = value & !mask | held << part.low & mask;
            }
        }
        value
    }

    /// The effect of an access.
    pub(crate) fn access(&self, world: &mut World, event: EventId, scratch: &mut Vec<u128>) {
        let touch = self.touch(event).expect("it is an access");
        let thread = self.trace.thread_of(event).index();
        if touch.reads {
            let is_unknown = matches!(touch.pin, Pin::Unknown(_));
            if self.is_free && !is_unknown && touch.looks && !self.is_as_recorded(world, touch) {
                world.strayed[thread] = true;
            }
            if let Some(slot) = touch.seen {
                world.values[slot as usize] = self.sees(world, touch);
            }
        }
        if touch.writes {
            let stored = touch
                .stored
                .as_ref()
                .map(|stored| stored.value(&world.values, &self.seen, scratch));
            for part in &touch.parts {
                world.cells[part.cell as usize] = match stored {
                    Some(value) => Identity::Value((value >> part.low) as u64 & mask(part.width)),
                    None => part.left,
                };
            }
        }
    }
}

fn mask(width: u32) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}
