//! A trace that can be edited: the shrinker takes things out of it.

use foretrace_trace::*;

/// The parts of a trace, and the trace that names them.
#[derive(Clone)]
pub(crate) struct Draft<'t> {
    original: &'t Trace,
    pub(crate) events: Vec<Event>,
    pub(crate) declarations: Vec<Declaration>,
}

/// What a trace says beside its events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Declaration {
    Initial(Place, u64),
    Lock(LockId, LockKind),
    Semaphore(SemId, u32),
    Barrier(BarrierId, u32),
}

impl<'t> Draft<'t> {
    pub(crate) fn of(trace: &'t Trace) -> Self {
        let mut declarations = Vec::new();
        for &(place, value) in trace.initial() {
            declarations.push(Declaration::Initial(place, value));
        }
        for lock in (0..trace.locks().len()).map(LockId::from) {
            if trace.lock_kind(lock) != LockKind::Unknown {
                declarations.push(Declaration::Lock(lock, trace.lock_kind(lock)));
            }
        }
        for sem in (0..trace.semaphores().len()).map(SemId::from) {
            let count = trace.semaphore_count(sem);
            declarations.extend(count.map(|count| Declaration::Semaphore(sem, count)));
        }
        for barrier in (0..trace.barriers().len()).map(BarrierId::from) {
            let parties = trace.barrier_parties(barrier);
            declarations.extend(parties.map(|parties| Declaration::Barrier(barrier, parties)));
        }
        let events = trace.events().map(|(_, event)| event).collect();
        Draft { original: trace, events, declarations }
    }

    /// The trace. All tables keep their order, so that ids stay; but a thread that nothing names any
    /// more is gone, since one without events means something of its own.
    pub(crate) fn build(&self) -> Trace {
        let mut trace = Trace::builder();
        let names = self.original;
        for name in names.objects().iter() {
            trace.object(name);
        }
        for name in names.locks().iter() {
            trace.lock(name);
        }
        for name in names.conds().iter() {
            trace.cond(name);
        }
        for name in names.semaphores().iter() {
            trace.semaphore(name);
        }
        for name in names.barriers().iter() {
            trace.barrier(name);
        }
        for name in names.locations().iter() {
            trace.location(name);
        }
        for declaration in &self.declarations {
            match *declaration {
                Declaration::Initial(place, value) => trace.set_initial(place, value),
                Declaration::Lock(lock, kind) => trace.set_lock_kind(lock, kind),
                Declaration::Semaphore(sem, count) => trace.set_semaphore(sem, count),
                Declaration::Barrier(barrier, parties) => trace.set_barrier(barrier, parties),
            }
        }
        for event in &self.events {
            let mut thread = |id: ThreadId| trace.thread(names.threads().get(id.index()));
            let op = match event.op {
                Op::Fork { child } => Op::Fork { child: thread(child) },
                Op::Join { child } => Op::Join { child: thread(child) },
                Op::Request(Request::Join(child)) => Op::Request(Request::Join(thread(child))),
                op => op,
            };
            let event = Event { thread: thread(event.thread), op, location: event.location };
            trace.push(event);
        }
        trace.finish()
    }
}
