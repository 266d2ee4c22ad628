//! The thread that would end the process comes last among those that can run.
//!
//! A program whose `main` returns without joining its threads would often be recorded without them.
//! That the end comes earlier is predicted anyway, so the recorded run lets the others go on first:
//! until they have ended, block or sleep.
//!
//! **Bounds.** The process must end although others spin for ever. Each of the others has
//! [`ALLOWANCE`] visible operations; one that gives way [`PATIENCE`] times (it spins on an atomic,
//! or yields) is not waited for; and one that does nothing visible is left to the watchdog. Time
//! does not pass for them: a thread that sleeps in a loop keeps nobody from ending.
//!
//! In a replay the plan says who goes first; a thread at its end waits until the plan is over, or
//! its own turn comes.

use crate::config::{Mode, mode};
use crate::explore;
use crate::schedule;
use crate::thread::{Next, Thread};
use crate::world::{World, hold};

/// So many visible operations each of the others may do before the process ends.
const ALLOWANCE: u32 = 10_000;
/// A thread that gives way so often while another one wants to end the process is not waited for.
const PATIENCE: u32 = 16;

/// The thread is about to end the process: returns when it may.
pub(crate) fn come_last(thread: &mut Thread) {
    if mode() != Mode::Scheduled || explore::is_on() {
        return;
    }
    let mut world = hold();
    let entry = world.entry(thread.index);
    entry.next = Next::default();
    entry.ordinal = thread.ordinal;
    if world.replay.is_some() {
        schedule::let_plan_pass(world, thread);
        return;
    }
    world.entry(thread.index).ends_process = true;
    if !std::mem::replace(&mut world.scheduler.is_ending, true) {
        for entry in &mut world.threads {
            (entry.gave_way, entry.before_end) = (0, entry.operations());
        }
    }
    let mut world = schedule::pass_turn(world, thread);
    world.entry(thread.index).ends_process = false;
    world.scheduler.is_ending = world.threads.iter().any(|entry| entry.ends_process);
}

impl World {
    /// How many visible operations a thread has left if another one wants to end the process.
    pub(crate) fn allowance(&self, thread: u32) -> u64 {
        let entry = &self.threads[thread as usize];
        if !self.scheduler.is_ending || entry.ends_process {
            return u64::MAX;
        }
        let done = entry.operations().wrapping_sub(entry.before_end);
        if entry.gave_way < PATIENCE { u64::from(ALLOWANCE.saturating_sub(done)) } else { 0 }
    }

    /// Those among the threads that can run who go first.
    pub(crate) fn before_end(&self, can: Vec<u32>) -> Vec<u32> {
        if !self.scheduler.is_ending {
            return can;
        }
        let ends = |&thread: &u32| self.threads[thread as usize].ends_process;
        let (last, mut first): (Vec<u32>, Vec<u32>) = can.iter().copied().partition(ends);
        first.retain(|&thread| self.allowance(thread) > 0);
        match (&first[..], &last[..]) {
            ([_, ..], _) => first,
            ([], [_, ..]) => last,
            ([], []) => can,
        }
    }
}
