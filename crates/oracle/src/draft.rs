//! A trace that can be edited: the shrinker takes things out of it.

use foretrace_trace::expr::Expr;
use foretrace_trace::*;

/// The parts of a trace, and the trace that names them.
#[derive(Clone)]
pub(crate) struct Draft<'t> {
    original: &'t Trace,
    pub(crate) lines: Vec<Line>,
    pub(crate) declarations: Vec<Declaration>,
}

/// An event with what the trace says beside it.
#[derive(Clone)]
pub(crate) struct Line {
    pub(crate) event: Event,
    pub(crate) binding: Option<NameId>,
    pub(crate) expression: Option<Expr>,
    pub(crate) assumption: Option<Expr>,
}

/// What a trace says beside its events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Declaration {
    Initial(Place, u64),
    Lock(LockId, LockKind),
    Semaphore(SemId, u32),
    Barrier(BarrierId, u32),
    UnknownDependences,
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
        if trace.dependences() == Dependences::Unknown {
            declarations.push(Declaration::UnknownDependences);
        }
        let line = |(id, event): (EventId, Event)| Line {
            event,
            binding: trace.binding(id),
            expression: trace.expression(id).map(|expr| expr.tree()),
            assumption: trace.assumption(id).map(|expr| expr.tree()),
        };
        Draft { original: trace, lines: trace.events().map(line).collect(), declarations }
    }

    /// The trace, with only those names that something still uses. (A thread without events would
    /// even mean something.)
    pub(crate) fn build(&self) -> Trace {
        let mut copy = Copy { from: self.original, to: Trace::builder() };
        for declaration in &self.declarations {
            match *declaration {
                Declaration::Initial(place, value) => {
                    let place = copy.place(place);
                    copy.to.set_initial(place, value);
                }
                Declaration::Lock(lock, kind) => {
                    let lock = copy.lock(lock);
                    copy.to.set_lock_kind(lock, kind);
                }
                Declaration::Semaphore(sem, count) => {
                    let sem = copy.semaphore(sem);
                    copy.to.set_semaphore(sem, count);
                }
                Declaration::Barrier(barrier, parties) => {
                    let barrier = copy.barrier(barrier);
                    copy.to.set_barrier(barrier, parties);
                }
                Declaration::UnknownDependences => {
                    copy.to.set_dependences(Dependences::Unknown);
                }
            }
        }
        for Line { event, binding, expression, assumption } in &self.lines {
            let location = event.location.map(|location| copy.location(location));
            let event =
                Event { thread: copy.thread(event.thread), op: copy.op(event.op), location };
            let id = copy.to.push(event);
            if let Some(name) = binding {
                let name = copy.name(*name);
                copy.to.bind(id, name);
            }
            if let Some(expression) = expression {
                let expression = copy.expression(expression);
                copy.to.express(id, expression);
            }
            if let Some(assumption) = assumption {
                let assumption = copy.expression(assumption);
                copy.to.assume(id, assumption);
            }
        }
        copy.to.finish()
    }
}

/// Carries ids over by their names.
struct Copy<'t> {
    from: &'t Trace,
    to: Builder,
}

impl Copy<'_> {
    fn thread(&mut self, id: ThreadId) -> ThreadId {
        self.to.thread(self.from.name(id))
    }

    fn object(&mut self, id: ObjectId) -> ObjectId {
        self.to.object(self.from.name(id))
    }

    fn lock(&mut self, id: LockId) -> LockId {
        self.to.lock(self.from.name(id))
    }

    fn cond(&mut self, id: CondId) -> CondId {
        self.to.cond(self.from.name(id))
    }

    fn semaphore(&mut self, id: SemId) -> SemId {
        self.to.semaphore(self.from.name(id))
    }

    fn barrier(&mut self, id: BarrierId) -> BarrierId {
        self.to.barrier(self.from.name(id))
    }

    fn channels(&mut self, id: ChannelsId) -> ChannelsId {
        let Channels::Only(list) = self.from.channels_of(id) else {
            return self.to.every_channel();
        };
        let mut copy = Vec::new();
        for &(channel, direction) in list {
            let name = self.from.name(channel);
            copy.push((self.to.channel(name), direction));
        }
        let awaited = self.from.awaited(id).map(|Awaited { source, piece }| {
            let mut copy = |channel: ChannelId| self.to.channel(self.from.name(channel));
            Awaited { source: copy(source), piece: piece.map(copy) }
        });
        self.to.channels_awaiting(&copy, awaited)
    }

    fn location(&mut self, id: LocationId) -> LocationId {
        self.to.location(self.from.name(id))
    }

    fn name(&mut self, id: NameId) -> NameId {
        self.to.name(self.from.name(id))
    }

    fn expression(&mut self, expr: &Expr) -> Expr {
        let mut part = |expr: &Expr| Box::new(self.expression(expr));
        match expr {
            Expr::Literal(word) => Expr::Literal(*word),
            Expr::Name(name) => Expr::Name(self.name(*name)),
            Expr::Unary(op, operand) => Expr::Unary(*op, part(operand)),
            Expr::Binary(op, left, right) => Expr::Binary(*op, part(left), part(right)),
            Expr::IfThenElse(condition, then, otherwise) => {
                Expr::IfThenElse(part(condition), part(then), part(otherwise))
            }
        }
    }

    fn place(&mut self, place: Place) -> Place {
        Place { object: self.object(place.object), ..place }
    }

    fn op(&mut self, mut op: Op) -> Op {
        match &mut op {
            Op::Read { at, .. } | Op::Write { at, .. } | Op::Rmw { at, .. } => {
                *at = self.place(*at)
            }
            Op::Acquire { lock, .. }
            | Op::AcquireFailed { lock, .. }
            | Op::Release { lock, .. }
            | Op::Destroy { lock }
            | Op::Request(Request::Acquire(lock, _)) => *lock = self.lock(*lock),
            Op::Wait { cond, lock, .. } | Op::Wake { cond, lock, .. } => {
                *cond = self.cond(*cond);
                *lock = self.lock(*lock);
            }
            Op::Signal { cond } | Op::Broadcast { cond } => *cond = self.cond(*cond),
            Op::SemWait { sem, .. }
            | Op::SemWaitFailed { sem, .. }
            | Op::SemPost { sem }
            | Op::Request(Request::SemWait(sem)) => *sem = self.semaphore(*sem),
            Op::Arrive { barrier } | Op::Leave { barrier } => *barrier = self.barrier(*barrier),
            Op::Fork { child } | Op::Join { child } | Op::Request(Request::Join(child)) => {
                *child = self.thread(*child);
            }
            Op::Alloc { object, .. } | Op::Free { object } => *object = self.object(*object),
            Op::EnterCall { on, by } => {
                *on = self.channels(*on);
                *by = by.map(|by| self.to.function(self.from.name(by)));
            }
            ops!(data mark Begin End Exit LeaveCall) => {}
        }
        op
    }
}
