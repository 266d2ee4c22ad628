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
}

impl Watched {
    pub(crate) fn new(goal: u64, memory: GoalMemory) -> Watched {
        Watched { goal, memory, blocks: Vec::new() }
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
            goal::BOUNDS => self.blocks.retain(|&(known, _)| known != start),
            goal::FREED => {
                let GoalMemory { thread: planned, from, to, .. } = self.memory;
                if thread.planned == Some(planned) && (from..=to).contains(&thread.ordinal) {
                    self.blocks.push((start, size));
                    return true;
                }
            }
            _ => {}
        }
        false
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
        let mut watched = Watched::new(goal::FREED, memory);
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
}
