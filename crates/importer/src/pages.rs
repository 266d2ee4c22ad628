//! Pages that can change without a recorded store: those of a file that is mapped twice or written
//! by calls, and those that child processes share.
//!
//! **Invariant.** A read of such pages that the thread's own process has not written there, as far
//! as was recorded, is followed by a pin: who wrote what it saw is not known.

use foretrace_recording::file::flags;
use foretrace_recording::record::alloc;
use foretrace_trace::provenance::Taken;

use super::emit::{Emit, Now};
use super::objects::{Block, Found, What};
use super::records::Touch;

/// Longer accesses are not looked at byte by byte.
const LONGEST: u64 = 4096;

impl Found {
    /// The block of memory that it is in.
    pub(super) fn block(&self) -> Option<Block> {
        if let What::Heap(block) = self.what { Some(block) } else { None }
    }
}

impl Block {
    /// Whether it is such pages.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self.detail, alloc::SHARED | alloc::INHERITED)
    }
}

impl Emit<'_> {
    /// After an access to such pages.
    pub(super) fn shared_pages(&mut self, now: Now, touch: &Touch, block: Block) {
        if block.detail == alloc::INHERITED && self.recording.flags & flags::FORKED == 0 {
            return;
        }
        let bytes = touch.address..touch.address + touch.size.min(LONGEST);
        let key = |address: u64| (block.object, address);
        let is_known = touch.size <= LONGEST
            && bytes.clone().all(|address| self.stored_in_pages.contains(&key(address)));
        if touch.reads.is_some() && !is_known {
            self.leave_out(now, Taken::SharedPages);
        }
        if touch.writes.is_some() {
            self.stored_in_pages.extend(bytes.map(key));
        }
    }
}
