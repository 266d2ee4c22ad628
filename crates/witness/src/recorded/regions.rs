//! Theory, section 2: regions.
//!
//! **Computes.** Whether two events of one thread lie in one region. Declared regions always count;
//! critical sections do if asked for.
//!
//! **Cost.** O(r log r) for r regions, then O(log r) per question.

use foretrace_trace::{EventId, ThreadId};

/// The regions of each thread: where they begin, and how far those that begin no later reach.
#[derive(Debug)]
pub(crate) struct Regions {
    of_thread: Vec<Vec<(EventId, EventId)>>,
    /// The open outermost declared region and how many are open inside it.
    open: Vec<(EventId, u32)>,
}

/// Later than every event: a region that is never closed reaches to the thread's last event.
const FOREVER: EventId = EventId(u32::MAX);

impl Regions {
    /// Whether one region has both events, the first of which comes first.
    pub(crate) fn share(&self, thread: ThreadId, first: EventId, second: EventId) -> bool {
        let regions = &self.of_thread[thread.index()];
        let begun = regions.partition_point(|&(begin, _)| begin <= first);
        begun > 0 && regions[begun - 1].1 >= second
    }

    pub(super) fn new(threads: usize) -> Self {
        Regions { of_thread: vec![Vec::new(); threads], open: vec![(FOREVER, 0); threads] }
    }

    pub(super) fn add(&mut self, thread: ThreadId, begin: EventId, end: EventId) {
        self.of_thread[thread.index()].push((begin, end));
    }

    pub(super) fn begin(&mut self, thread: ThreadId, at: EventId) {
        let (begin, depth) = &mut self.open[thread.index()];
        if *depth == 0 {
            *begin = at;
        }
        *depth += 1;
    }

    pub(super) fn end(&mut self, thread: ThreadId, at: EventId) {
        let (begin, depth) = self.open[thread.index()];
        if depth == 1 {
            self.add(thread, begin, at);
        }
        self.open[thread.index()].1 = depth.saturating_sub(1);
    }

    /// Closes what is open and makes `share` possible.
    pub(super) fn finish(mut self) -> Self {
        for (regions, &(begin, depth)) in self.of_thread.iter_mut().zip(&self.open) {
            if depth > 0 {
                regions.push((begin, FOREVER));
            }
            regions.sort_unstable();
            let mut reach = EventId(0);
            for (_, end) in regions {
                reach = reach.max(*end);
                *end = reach;
            }
        }
        self
    }
}
