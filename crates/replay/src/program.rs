//! Plans for programs that were verified, not recorded.
//!
//! **Computes.** A plan whose steps have no ordinals: each is the next operation of its thread with
//! this kind at this place. What the compiled program does beside the steps (calls of the C
//! library, allocations) is done on the way, so nobody has to know how the runtime counts it.
//!
//! **Invariant.** The caller lists every step whose instruction makes a record, and no other one.
//! Then a program that behaves as its image says follows the plan; one that does not fails to, or
//! fails to show the violation. What is confirmed has happened, whatever the plan was.

use foretrace_recording::plan::{BY_ITSELF, GoalMemory, NEXT, PlanStep, goal};

use crate::Plan;

/// A step that makes a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ProgramStep {
    /// The thread: the main one is 0, the others are numbered as the plan lists them.
    pub(crate) thread: u32,
    /// What kind of record it makes.
    pub(crate) kind: u8,
    /// Where it is in the source; 0 if unknown.
    pub(crate) place: u64,
    /// Which step of the schedule it is, for messages.
    pub(crate) number: u32,
}

/// What is to be seen behind the steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Aim {
    /// The thread fails before it ends; at this place, if it is not 0.
    Failure {
        /// Who.
        thread: u32,
        /// Where it calls what fails.
        place: u64,
    },
    /// It is next at an access through a null pointer.
    Null(ProgramStep),
    /// It is next at an access to a block that was freed.
    Freed(ProgramStep),
    /// It is next at an access outside of all objects that have so many bytes.
    Outside(ProgramStep, u64),
    /// It is next at a misuse of a lock.
    LockError(ProgramStep),
    /// They are next at accesses that conflict.
    Race(ProgramStep, ProgramStep),
    /// No thread can go on.
    Stuck,
}

impl Plan {
    /// The plan that leads a program through `steps` to `aim`. `threads` has the parent of each
    /// thread, and which of the parent's children it is; `values` the threads and values of their
    /// inputs.
    pub(crate) fn of_program(
        threads: Vec<(u32, u32)>,
        steps: &[ProgramStep],
        aim: Aim,
        values: Vec<(u32, u64)>,
    ) -> Plan {
        let planned = |step: ProgramStep| PlanStep {
            thread: step.thread,
            ordinal: NEXT,
            // A wait that nobody has notified wakes up by itself.
            kind: u32::from(step.kind) | BY_ITSELF,
            event: step.number,
            place: step.place,
        };
        let mut memory = GoalMemory::default();
        let (goal, finals) = match aim {
            Aim::Failure { thread, place } => {
                let last = PlanStep { thread, ordinal: NEXT, kind: 0, event: 0, place };
                (goal::ASSERTION, vec![last])
            }
            Aim::Null(step) => (goal::NULL, vec![planned(step)]),
            Aim::Freed(step) => (goal::FREED, vec![planned(step)]),
            Aim::Outside(step, size) => {
                memory.size = size;
                (goal::BOUNDS, vec![planned(step)])
            }
            Aim::LockError(step) => (goal::LOCK_ERROR, vec![planned(step)]),
            Aim::Race(first, second) => (goal::RACE, vec![planned(first), planned(second)]),
            Aim::Stuck => (goal::STUCK, Vec::new()),
        };
        let steps = steps.iter().copied().map(planned).collect();
        Plan { threads, steps, finals, goal, memory, values }
    }
}
