//! What happens before what in every schedule, by program order, forks and joins alone.
//!
//! **Computes.** The closure ≺* of 003 section 6, as a vector clock for each event.
//!
//! **Cost.** O(n·t) for n events of t threads, in time and memory.

use foretrace_trace::{EventId, Op, Trace};

use crate::recorded::Recorded;

pub(super) struct MustHappenBefore {
    /// For each event and thread, how many of the thread's events are the event itself or before
    /// it.
    known: Vec<Vec<u32>>,
}

impl MustHappenBefore {
    pub(super) fn new(trace: &Trace, recorded: &Recorded) -> MustHappenBefore {
        let mut known: Vec<Vec<u32>> = Vec::with_capacity(trace.len());
        for event in (0..trace.len()).map(EventId::from) {
            let due = recorded.due_before(trace, event);
            let mut clock = match due {
                Some(due) => known[due.index()].clone(),
                None => vec![0; trace.threads().len()],
            };
            if let Op::Join { child } = trace.op(event) {
                let last = trace.thread_events(child).last().copied();
                if let Some(last) = last.or_else(|| recorded.fork(child)) {
                    for (own, other) in clock.iter_mut().zip(&known[last.index()]) {
                        *own = (*own).max(*other);
                    }
                }
            }
            clock[trace.thread_of(event).index()] = trace.position(event) as u32 + 1;
            known.push(clock);
        }
        MustHappenBefore { known }
    }

    /// Whether the one is executed before the other in every schedule that has the other.
    pub(super) fn orders(&self, trace: &Trace, a: EventId, b: EventId) -> bool {
        let known = self.known[b.index()][trace.thread_of(a).index()] as usize;
        a != b && trace.position(a) < known
    }
}
