//! Must-happen-before by program order, fork and join.
//!
//! **Computes.** For each event, how many events of each other thread must be executed before it
//! can be next.
//!
//! **Follows.** 002 section 2.2, the partial order of a trace, restricted to what prefix semantics
//! keeps: a thread's events need its fork, a join needs all events of the child.
//!
//! **Invariant.** If `precedes(a, b)`, then no feasible schedule includes b, or is next at b,
//! without having executed a.
//!
//! **Cost.** A clock is stored only where it changes: O(n + (forks + joins) · threads).

use foretrace_trace::{EventId, Op, ThreadId, Trace, ops};

/// The relation, as vector clocks of segments.
#[derive(Debug)]
pub struct MustHappenBefore {
    threads: usize,
    /// For each thread, the positions at which its clock changes, with the index of the clock.
    segments: Vec<Vec<(u32, u32)>>,
    /// Clocks, `threads` numbers each: how many events of each thread must precede.
    clocks: Vec<u32>,
}

impl MustHappenBefore {
    /// Computes the relation for a valid trace.
    pub fn new(trace: &Trace) -> Self {
        let threads = trace.threads().len();
        let mut relation = MustHappenBefore {
            threads,
            segments: vec![vec![(0, 0)]; threads],
            clocks: vec![0; threads],
        };
        for (event, op) in trace.other_ops() {
            match op {
                // The fork itself precedes all of the child, so the child's first clock is set.
                Op::Fork { child } => {
                    let position = trace.position(event) as u32;
                    relation.inherit(child, 0, trace.thread_of(event), position, position + 1);
                }
                // What follows the join follows all of the child; the join itself is no access.
                Op::Join { child } => {
                    let count = trace.thread_events(child).len() as u32;
                    let after = trace.position(event) as u32 + 1;
                    relation.inherit(trace.thread_of(event), after, child, count, count);
                }
                ops!(memory object data lock cond sem barrier call mark Request Begin End
                    Exit) => {}
            }
        }
        relation
    }

    /// From `position` of `thread` on, everything that precedes `source_position` of `source`
    /// precedes too, and so do the first `count` events of `source`.
    fn inherit(
        &mut self,
        thread: ThreadId,
        position: u32,
        source: ThreadId,
        source_position: u32,
        count: u32,
    ) {
        let old = self.clock_index(thread, position) * self.threads;
        let from = self.clock_index(source, source_position) * self.threads;
        let new = self.clocks.len();
        for other in 0..self.threads {
            let clock = self.clocks[old + other].max(self.clocks[from + other]);
            self.clocks.push(clock);
        }
        let own = &mut self.clocks[new + source.index()];
        *own = (*own).max(count);
        let index = (new / self.threads) as u32;
        let segments = &mut self.segments[thread.index()];
        match segments.last_mut() {
            Some(last) if last.0 == position => last.1 = index,
            _ => segments.push((position, index)),
        }
    }

    fn clock_index(&self, thread: ThreadId, position: u32) -> usize {
        let segments = &self.segments[thread.index()];
        let at = segments.partition_point(|&(from, _)| from <= position) - 1;
        segments[at].1 as usize
    }

    /// How many events of each thread must be executed before the event at that position can be
    /// next. (Program order is not in it: the entry of its own thread is not meaningful.)
    pub fn clock(&self, thread: ThreadId, position: usize) -> &[u32] {
        let at = self.clock_index(thread, position as u32) * self.threads;
        &self.clocks[at..at + self.threads]
    }

    /// Whether `a` is executed whenever `b` is next.
    pub fn precedes(&self, trace: &Trace, a: EventId, b: EventId) -> bool {
        let (source, thread) = (trace.thread_of(a), trace.thread_of(b));
        if source == thread {
            return trace.position(a) < trace.position(b);
        }
        self.clock(thread, trace.position(b))[source.index()] > trace.position(a) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretrace_trace::{Event, Trace};

    #[test]
    fn fork_and_join_order_threads_transitively() {
        let mut builder = Trace::builder();
        let threads = ["m", "a", "b"].map(|name| builder.thread(name));
        let mut push = |thread: usize, op: Op| {
            builder.push(Event { thread: threads[thread], op, location: None })
        };
        let before = push(0, Op::External);
        push(0, Op::Fork { child: threads[1] });
        let beside = push(0, Op::External);
        let in_a = push(1, Op::External);
        push(1, Op::Fork { child: threads[2] });
        let late_in_a = push(1, Op::External);
        let in_b = push(2, Op::External);
        push(0, Op::Join { child: threads[2] });
        let after = push(0, Op::External);
        let trace = builder.finish();
        let order = MustHappenBefore::new(&trace);
        let precedes = |a, b| order.precedes(&trace, a, b);
        let unordered = |a, b| !precedes(a, b) && !precedes(b, a);
        assert!(precedes(before, in_b));
        assert!(precedes(in_a, in_b));
        assert!(unordered(beside, in_b));
        assert!(unordered(late_in_a, in_b));
        assert!(precedes(in_b, after));
        assert!(precedes(in_a, after));
        assert!(unordered(late_in_a, after));
    }
}
