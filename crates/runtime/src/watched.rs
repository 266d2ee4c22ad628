//! The memory that a replay is about: blocks that must no longer be used, or arrays that an index
//! must stay within.

use foretrace_recording::plan::{GoalMemory, goal};

use crate::module;
use crate::thread::{Next, Thread};

/// Blocks of the heap that matter, by their first address and size.
pub(crate) struct Watched {
    goal: u64,
    memory: GoalMemory,
    blocks: Vec<(u64, u64)>,
    /// Every block that is freed is kept as it is: a thread whose plan lists no frees may free it
    /// earlier than the plan means, and others may still use it.
    keeps_all: bool,
}

impl Watched {
    pub(crate) fn new(goal: u64, memory: GoalMemory, keeps_all: bool) -> Watched {
        Watched { goal, memory, blocks: Vec::new(), keeps_all }
    }

    /// A block was given out.
    pub(crate) fn allocated(&mut self, start: u64, size: u64) {
        let size = size.max(1);
        if self.goal == goal::BOUNDS && size == self.memory.size {
            self.blocks.push((start, size));
        }
    }

    /// A thread frees a block; whether it must be kept, so that an access to it can only be one
    /// that comes too late.
    pub(crate) fn freed(&mut self, thread: &Thread, start: u64, size: u64) -> bool {
        match self.goal {
            goal::BOUNDS => {
                self.blocks.retain(|&(known, _)| known != start);
                return self.keeps_all;
            }
            goal::FREED => {
                let GoalMemory { thread: planned, from, to, .. } = self.memory;
                if thread.planned == Some(planned) && (from..=to).contains(&thread.ordinal) {
                    self.blocks.push((start, size));
                    return true;
                }
            }
            _ => {}
        }
        if self.keeps_all {
            self.blocks.push((start, size));
        }
        self.keeps_all
    }

    /// Whether a block was freed before, and is kept.
    pub(crate) fn was_freed(&self, start: u64) -> bool {
        self.goal != goal::BOUNDS && self.blocks.iter().any(|&(known, _)| known == start)
    }

    /// Whether an access touches a block that was freed.
    pub(crate) fn is_gone(&self, access: Next) -> bool {
        let touches = |&(start, size): &(u64, u64)| {
            access.address < start + size && start < access.address + access.size
        };
        access.size > 0 && self.blocks.iter().any(touches)
    }

    /// Whether an access lies outside of what it should be in. Where the global variable is not
    /// where it was, or it is a block, which may be anywhere, it must lie outside of everything
    /// that has the size.
    pub(crate) fn is_outside(&self, access: Next) -> bool {
        let GoalMemory { start, size, .. } = self.memory;
        let end = access.address.saturating_add(access.size);
        let is_inside = |&(start, size): &(u64, u64)| {
            start <= access.address && end <= start.saturating_add(size)
        };
        let globals = module::globals_of(size);
        match globals.contains(&(start, size)) {
            true => !is_inside(&(start, size)),
            false => {
                let mut all = self.blocks.iter().chain(&globals).peekable();
                all.peek().is_some() && !all.any(is_inside)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(address: u64, size: u64) -> Next {
        Next { address, size, ..Next::default() }
    }

    #[test]
    fn only_the_block_that_the_plan_means_is_gone() {
        let memory = GoalMemory { thread: 1, from: 3, to: 4, start: 0, size: 16 };
        let mut watched = Watched::new(goal::FREED, memory, false);
        let mut thread = Thread::new(0);
        thread.planned = Some(1);
        assert!(!watched.freed(&thread, 0x100, 16), "too early");
        (0..3).for_each(|_| thread.count());
        assert!(watched.freed(&thread, 0x200, 16));
        thread.planned = Some(2);
        assert!(!watched.freed(&thread, 0x300, 16), "another thread");
        assert!(watched.is_gone(access(0x20f, 1)) && watched.is_gone(access(0x1ff, 2)));
        assert!(!watched.is_gone(access(0x210, 8)) && !watched.is_gone(access(0x1f8, 8)));
        assert!(!watched.is_gone(access(0x300, 8)) && !watched.is_gone(access(0x200, 0)));
    }

    #[test]
    fn a_plan_without_ordinals_keeps_every_block() {
        let mut watched = Watched::new(goal::ASSERTION, GoalMemory::default(), true);
        assert!(!watched.was_freed(0x100));
        assert!(watched.freed(&Thread::new(0), 0x100, 16));
        assert!(watched.was_freed(0x100) && !watched.was_freed(0x200));
    }
}
