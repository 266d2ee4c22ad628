//! Schedules in which one thread sleeps: the recorded order, but before or behind one of its reads
//! a thread stops until the others can do no more.
//!
//! **Computes.** For an assertion, schedules that are worth a try: most bugs need one thread to act
//! on what it read too long ago. Whether a schedule is feasible, and ends in the violation, is for
//! the judge to say, so nothing here needs to be exact.
//!
//! **Follows.** Few context switches find most bugs (Qadeer, Rehof, TACAS 2005), here as points to
//! stop at among the reads on which the assertion depends.
//!
//! **Cost.** A pass over the trace for each point; points are tried as long as there is work left
//! to spend: a little before the solver is asked, and more when it has not answered at once.

use rustc_hash::{FxHashMap, FxHashSet};

use foretrace_causality::MustHappenBefore;
use foretrace_model::{CellId, Skeleton};
use foretrace_trace::{EventId, LockId, Mode, Op, ThreadId, ops};
use foretrace_verdict::Model;

/// How many events all tries for one assertion may have together.
const MOST_STEPS: usize = 2_000_000;

/// And how many before anything else is asked.
const FIRST_STEPS: usize = 10_000;

/// How many schedules to try.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tries {
    /// As many as cost next to nothing.
    Few,
    /// As many as make sense.
    Many,
}

/// Schedules for an assertion, each until it is next.
pub(crate) fn schedules<'s>(
    skeleton: &'s Skeleton<'s>,
    order: &MustHappenBefore,
    assertion: EventId,
    tries: Tries,
) -> impl Iterator<Item = Vec<EventId>> + 's {
    let steps = match tries {
        // Where reads are free, the judge looks for values that fail, which can take long.
        Tries::Few if skeleton.model == Model::Control => 0,
        Tries::Few => FIRST_STEPS,
        Tries::Many => MOST_STEPS,
    };
    let tries = steps / skeleton.trace.len().max(1);
    let mut stops: Vec<Stop> = Vec::new();
    // Without one try, the points are not worth looking for.
    let points = if tries == 0 { Vec::new() } else { points(skeleton, order, assertion) };
    for point in points {
        let thread = skeleton.trace.thread_of(point);
        let counts = outside_of_locks(skeleton, point).into_iter().flatten();
        stops.extend(counts.map(|count| Stop { thread, count }));
    }
    let mut seen = FxHashSet::default();
    stops.retain(|&stop| seen.insert(stop));
    stops.truncate(tries);
    stops.into_iter().map(move |stop| Run::new(skeleton, assertion, stop).finish())
}

/// A thread stops when it has executed so many events.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Stop {
    thread: ThreadId,
    count: usize,
}

/// How many events the thread has executed when it last had no lock before this event, and when it
/// first has none behind it: others can then go on.
fn outside_of_locks(skeleton: &Skeleton, point: EventId) -> [Option<usize>; 2] {
    let trace = skeleton.trace;
    let (mut depth, mut before) = (0, 0);
    for (position, &event) in trace.thread_events(trace.thread_of(point)).iter().enumerate() {
        if event <= point && depth <= 0 {
            before = position;
        }
        match trace.op(event) {
            Op::Acquire { .. } | Op::Wake { .. } => depth += 1,
            Op::Release { .. } | Op::Wait { .. } => depth -= 1,
            ops!(memory object data sem barrier thread call mark AcquireFailed Destroy Signal
                Broadcast Request) => {}
        }
        if event >= point && depth <= 0 {
            return [Some(before), Some(position + 1)];
        }
    }
    [Some(before), None]
}

/// The reads of other threads' writes, behind which a thread may stop, on which the assertion may
/// depend: first those that may come before or after what another thread does to the cell.
fn points(skeleton: &Skeleton, order: &MustHappenBefore, assertion: EventId) -> Vec<EventId> {
    let (trace, memory) = (skeleton.trace, &skeleton.memory);
    let Some(data) = skeleton.free_data() else { return Vec::new() };
    let cells_of = |event: EventId| {
        let access = trace.access(event).expect("a read is an access");
        memory.cells_of(access.at)
    };
    let mut open: Vec<CellId> = data.reads_of(assertion).into_iter().flat_map(cells_of).collect();
    let mut seen: FxHashSet<CellId> = open.iter().copied().collect();
    // With each whether another thread's access may come before or after it.
    let mut points: FxHashMap<EventId, bool> = FxHashMap::default();
    while let Some(cell) = open.pop() {
        let accesses = memory.accesses(cell);
        let threads: FxHashSet<ThreadId> = accesses
            .iter()
            .filter(|&&event| trace.access(event).is_some_and(|access| access.writes))
            .map(|&event| trace.thread_of(event))
            .collect();
        let mut by_thread: FxHashMap<ThreadId, Vec<EventId>> = FxHashMap::default();
        for &event in accesses {
            by_thread.entry(trace.thread_of(event)).or_default().push(event);
        }
        for &event in accesses {
            let access = trace.access(event).expect("a cell has accesses");
            if access.writes {
                for read in data.reads_of(event) {
                    open.extend(cells_of(read).filter(|&cell| seen.insert(cell)));
                }
            }
            if threads.len() > 1 || !threads.contains(&trace.thread_of(event)) {
                let is_open = |(&thread, others): (&ThreadId, &Vec<EventId>)| {
                    let at = others.partition_point(|&other| order.precedes(trace, other, event));
                    thread != trace.thread_of(event)
                        && others.get(at).is_some_and(|&other| !order.precedes(trace, event, other))
                };
                *points.entry(event).or_default() |= by_thread.iter().any(is_open);
            }
        }
    }
    let mut points: Vec<(EventId, bool)> = points.into_iter().collect();
    points.sort_unstable_by_key(|&(event, is_open)| (!is_open, event));
    points.into_iter().map(|(event, _)| event).collect()
}

/// One schedule in the making.
struct Run<'s> {
    skeleton: &'s Skeleton<'s>,
    /// What must not happen, but be next.
    target: EventId,
    schedule: Vec<EventId>,
    done: Vec<usize>,
    /// Who has which lock, and how.
    holds: Vec<(LockId, ThreadId, Mode)>,
    counts: Vec<u32>,
}

impl<'s> Run<'s> {
    /// Runs until the others can do no more while one thread has stopped.
    fn new(skeleton: &'s Skeleton<'s>, target: EventId, stop: Stop) -> Self {
        let trace = skeleton.trace;
        let counts = (0..trace.semaphores().len())
            .map(|sem| skeleton.waiting.semaphore(foretrace_trace::SemId::from(sem)).initial)
            .collect();
        let mut run = Run {
            skeleton,
            target,
            schedule: Vec::new(),
            done: vec![0; trace.threads().len()],
            holds: Vec::new(),
            counts,
        };
        run.advance(Some(stop));
        run
    }

    /// Wakes the sleeper, and runs until nothing is left but what the target keeps back.
    fn finish(mut self) -> Vec<EventId> {
        self.advance(None);
        self.schedule
    }

    /// Goes on in recorded order, again and again, as long as anything happens.
    fn advance(&mut self, sleeper: Option<Stop>) {
        let trace = self.skeleton.trace;
        loop {
            let before = self.schedule.len();
            // Threads that are blocked stay so until the next pass.
            let mut blocked = vec![false; self.done.len()];
            for event in (0..trace.len()).map(EventId::from) {
                let thread = trace.thread_of(event);
                let position = trace.position(event);
                if event == self.target
                    || position != self.done[thread.index()]
                    || sleeper.is_some_and(|stop| stop.thread == thread && position >= stop.count)
                    || blocked[thread.index()]
                {
                    continue;
                }
                if self.is_enabled(event) {
                    self.execute(event);
                } else {
                    blocked[thread.index()] = true;
                }
            }
            if self.schedule.len() == before {
                return;
            }
        }
    }

    fn is_executed(&self, event: EventId) -> bool {
        let trace = self.skeleton.trace;
        trace.position(event) < self.done[trace.thread_of(event).index()]
    }

    /// Whether others let the event happen, roughly.
    fn is_enabled(&self, event: EventId) -> bool {
        let trace = self.skeleton.trace;
        let thread = trace.thread_of(event);
        let is_started = self.skeleton.fork_of(thread).is_none_or(|fork| self.is_executed(fork));
        is_started
            && match trace.op(event) {
                Op::Acquire { lock, mode, .. } => {
                    let clashes = |&(held, by, how): &(LockId, ThreadId, Mode)| {
                        held == lock && by != thread && how.conflicts(mode)
                    };
                    !self.holds.iter().any(clashes)
                }
                Op::Wake { lock, .. } => !self.holds.iter().any(|&(held, ..)| held == lock),
                Op::SemWait { sem, .. } => self.counts[sem.index()] > 0,
                Op::Join { child } => self.done[child.index()] == trace.thread_events(child).len(),
                Op::LeaveCall => {
                    let needed = self.skeleton.calls.needed_by(event);
                    needed.iter().all(|&enter| self.is_executed(enter))
                }
                Op::Exit => false,
                ops!(memory object data barrier mark AcquireFailed Release Destroy Wait Signal
                    Broadcast SemWaitFailed SemPost Request Fork Begin End EnterCall) => true,
            }
    }

    fn execute(&mut self, event: EventId) {
        let trace = self.skeleton.trace;
        let thread = trace.thread_of(event);
        self.schedule.push(event);
        self.done[thread.index()] += 1;
        match trace.op(event) {
            Op::Acquire { lock, mode, .. } => self.holds.push((lock, thread, mode)),
            Op::Wake { lock, .. } => self.holds.push((lock, thread, Mode::Exclusive)),
            Op::Release { lock, .. } | Op::Wait { lock, .. } => {
                let own =
                    self.holds.iter().rposition(|&(held, by, _)| held == lock && by == thread);
                own.map(|at| self.holds.swap_remove(at));
            }
            Op::SemWait { sem, .. } => self.counts[sem.index()] -= 1,
            Op::SemPost { sem } => self.counts[sem.index()] += 1,
            ops!(memory object data barrier thread call mark AcquireFailed Destroy Signal Broadcast
                SemWaitFailed Request) => {}
        }
    }
}
