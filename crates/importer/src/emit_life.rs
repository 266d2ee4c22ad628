//! Events of allocations and frees, and of threads that begin and end.

use foretrace_recording::record::kind;
use foretrace_trace::import::ImportError;
use foretrace_trace::provenance::{LeftOut, Taken};
use foretrace_trace::*;

use super::emit::{Emit, Now};
use super::objects::{Change, Found, What};
use super::survey::{Life, Survey};

impl Emit<'_> {
    pub(super) fn heap(&mut self, now: Now, change: Change) {
        match change {
            Change::Alloc { block, gone } => {
                let overwritten = gone.len() as u64;
                if overwritten > 0 {
                    // Somebody has given the old one back unseen, or a part of it: all that was
                    // done there comes before.
                    self.builder.tell(Taken::BlockWithoutFree, overwritten);
                    self.pin(now);
                }
                let (start, size) = (now.record.word(0), now.record.word(1));
                self.sync.forget(start, start.saturating_add(size));
                match block {
                    None => self.builder.tell(Taken::BlockAsRegion, 1),
                    // That memory which is in the trace is given out again matters whoever uses it
                    // then.
                    Some(block)
                        if !self.survey.shadow.is_kept(block.object)
                            && !self.is_given_out_again(block.start, block.end) =>
                    {
                        self.counts.blocks += 1
                    }
                    Some(block) => {
                        let (object, start) = (block.object, block.start);
                        let found =
                            Found { object, start, end: block.end, what: What::Heap(block) };
                        let object = self.object(&found);
                        self.benign_in(&found);
                        let size = (block.end - block.start) as u32;
                        self.push(now, Op::Alloc { object, size, address: Some(start) });
                    }
                }
            }
            Change::Free(Some(block)) => {
                self.sync.forget(block.start, block.end);
                if let Some(&object) = self.object_ids.get(&block.object) {
                    self.push(now, Op::Free { object });
                    self.given_back.insert(block.start, block.end);
                }
            }
            Change::Free(None) if now.record.word(0) != 0 => {
                self.builder.tell(Taken::FreeOfUnknownBlock, 1);
            }
            Change::None | Change::Free(None) | Change::Begin { .. } => {}
        }
    }

    /// Whether these addresses were those of a block of the trace.
    fn is_given_out_again(&mut self, start: u64, end: u64) -> bool {
        let mut is_again = false;
        while let Some((&old, &behind)) = self.given_back.range(..end).next_back()
            && behind > start
        {
            self.given_back.remove(&old);
            // What is left of it may be given out later.
            if old < start {
                self.given_back.insert(old, start);
            }
            if behind > end {
                self.given_back.insert(end, behind);
            }
            is_again = true;
        }
        is_again
    }

    /// Forks, joins, beginnings and ends.
    pub(super) fn life(&mut self, now: Now, change: Change) -> Result<(), ImportError> {
        let whole =
            |survey: &Survey, thread: u32| survey.threads.get(&thread).copied().unwrap_or_default();
        match now.record.kind {
            kind::BEGIN => {
                if let Change::Begin { known: false, .. } = change {
                    self.builder.tell(Taken::UnknownStack, 1);
                }
                if self.row(now.thread).events > 0 {
                    self.builder.tell(LeftOut::LateBegin, 1);
                    return Ok(());
                }
                self.push(now, Op::Begin);
                if !self.row(now.thread).forked && now.thread != 0 {
                    self.leave_out(now, Taken::ThreadWithoutFork);
                }
            }
            kind::END => {
                let Life { after_end, .. } = whole(self.survey, now.thread);
                match after_end {
                    true => self.builder.tell(LeftOut::EarlyEnd, 1),
                    false => {
                        self.push(now, Op::End);
                        self.row(now.thread).ended = true;
                    }
                }
            }
            kind::FORK => {
                let child = now.record.thread()?;
                let row = self.row(child);
                if row.forked || row.joined || row.events > 0 || child == now.thread {
                    self.leave_out(now, LeftOut::RepeatedFork);
                    return Ok(());
                }
                let id = self.thread(child);
                self.push(now, Op::Fork { child: id });
                self.row(child).forked = true;
            }
            kind::JOIN => {
                let child = now.record.thread()?;
                let all = whole(self.survey, child).records;
                if self.row(child).records < all || child == now.thread {
                    self.leave_out(now, LeftOut::EarlyJoin);
                    return Ok(());
                }
                self.out_of_calls(child);
                let id = self.thread(child);
                self.push(now, Op::Join { child: id });
                self.row(child).joined = true;
            }
            kind::REQUEST_JOIN => {
                let child = now.record.thread()?;
                let child = self.thread(child);
                self.push(now, Op::Request(Request::Join(child)));
            }
            _ => {
                self.push(now, Op::Exit);
                self.exited = true;
            }
        }
        Ok(())
    }
}
