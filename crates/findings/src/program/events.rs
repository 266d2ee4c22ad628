//! Events of a program in words: the program text at that place, and what happens there in a
//! schedule.

use foretrace_program::run::Action;
use foretrace_program::{
    Callee, Function, Instruction, LockId, MemoryOrder, Op, Program, RmwOp, SemId, Site, SyncRef,
    TerminatorKind,
};
use foretrace_report::{Access, EffectKind, Operation};
use foretrace_summarise::{Part, Summary};
use foretrace_trace as trace;
use foretrace_trace::{EventId, Place};

use super::expression::{number, place, show};
use crate::describe::{eager, shared};

/// The events of a program and their names.
pub(super) struct ProgramEvents<'a> {
    pub(super) program: &'a Program,
    pub(super) summary: &'a Summary,
    /// Of the summary's threads: as declared, or that of the parent, a slash, and what the fork
    /// calls it; of merged runs as recorded.
    pub(super) threads: Vec<String>,
}

impl<'a> ProgramEvents<'a> {
    pub(super) fn new(program: &'a Program, summary: &'a Summary, is_recorded: bool) -> Self {
        let mut threads: Vec<String> = Vec::new();
        for (thread, fork) in summary.forks.iter().enumerate() {
            let name = match fork {
                None => summary.trace.threads().get(thread).to_string(),
                // Its function has the name that the thread has in the runs.
                Some(fork) if is_recorded => callee(program, summary, *fork).to_string(),
                Some(fork) => child_name(program, summary, &threads, *fork),
            };
            threads.push(name);
        }
        ProgramEvents { program, summary, threads }
    }

    pub(super) fn site(&self, event: EventId) -> Site {
        self.summary.origins[event.index()].site
    }

    /// Where the event is in the source, if the program says so.
    pub(super) fn location(&self, event: EventId) -> Option<String> {
        self.program.location(self.site(event)).map(str::to_string)
    }

    /// Whether a schedule shows the event: not what stands for the start and the end of a thread,
    /// nor checks that hold.
    pub(super) fn is_step(&self, event: EventId) -> bool {
        match self.summary.origins[event.index()].part {
            Part::Step | Part::Input | Part::Assertion => true,
            Part::DoubleLock | Part::NotHeld | Part::Unreachable | Part::End => false,
            Part::Local => {
                let local = self.program.instruction(self.site(event));
                let shown =
                    |op: &Op| matches!(op, Op::Assume { .. } | Op::RegionBegin | Op::RegionEnd);
                let op = self.summary.trace.op(event);
                let is_begin = matches!(op, trace::Op::Begin | trace::Op::Rmw { .. });
                !is_begin && (op == trace::Op::Exit || local.is_some_and(|local| shown(&local.op)))
            }
        }
    }

    /// What the program has there.
    pub(super) fn operation(&self, event: EventId) -> Operation {
        self.described(event, None)
    }

    /// What happens there.
    pub(super) fn happening(&self, event: EventId, action: Action) -> Operation {
        self.described(event, Some(action))
    }

    fn described(&self, event: EventId, action: Option<Action>) -> Operation {
        let origin = self.summary.origins[event.index()];
        let function = self.program.function(origin.site.function);
        let of_thread =
            |text: &str, kind| Operation { text: text.to_string(), kind, ..Operation::default() };
        if origin.part == Part::End {
            return of_thread("end", EffectKind::End);
        }
        if self.summary.trace.op(event) == trace::Op::Begin {
            return of_thread("begin", EffectKind::Begin);
        }
        let Some(instruction) = self.program.instruction(origin.site) else {
            return match function.block(origin.site.block).terminator.kind {
                TerminatorKind::Exit => of_thread("exit", EffectKind::Other),
                TerminatorKind::Unreachable => of_thread("unreachable", EffectKind::Other),
                _ => of_thread("end", EffectKind::End),
            };
        };
        let name = instruction.result.and_then(|result| {
            function.registers[result.index()].name.as_ref().map(|name| format!("{name} = "))
        });
        // The thread that it starts has the name.
        let name = name.filter(|_| !matches!(instruction.op, Op::Fork { .. }));
        let text = self.instruction(event, function, instruction, action);
        let (kind, on) = self.effect(event, &instruction.op, action);
        let text = format!("{}{text}", name.unwrap_or_default());
        Operation { text, kind, on, access: self.accessed(event, &instruction.op, action) }
    }

    /// What kind of effect it has, and on what.
    fn effect(&self, event: EventId, op: &Op, action: Option<Action>) -> (EffectKind, Vec<String>) {
        let object = || match self.summary.trace.access(event) {
            Some(access) => vec![self.program.globals[access.at.object.index()].name.clone()],
            None => Vec::new(),
        };
        match op {
            Op::Load { .. } => (EffectKind::Read, object()),
            Op::Store { .. } => (EffectKind::Write, object()),
            Op::Rmw { .. } | Op::CompareExchange { .. } => (EffectKind::Update, object()),
            Op::Acquire { lock, .. } => match action {
                Some(Action::AcquireFailed { .. }) => (EffectKind::Other, vec![self.lock(lock)]),
                _ => (EffectKind::Acquire, vec![self.lock(lock)]),
            },
            Op::Release { lock, .. } => (EffectKind::Release, vec![self.lock(lock)]),
            Op::SemWait { sem, .. } => match action {
                Some(Action::SemWaitFailed { .. }) => {
                    (EffectKind::Other, vec![self.semaphore(sem)])
                }
                _ => (EffectKind::Take, vec![self.semaphore(sem)]),
            },
            Op::SemPost { sem } => (EffectKind::Notify, vec![self.semaphore(sem)]),
            Op::Fork { .. } => (EffectKind::Fork, vec![self.forked(event).to_string()]),
            Op::Join { .. } => (EffectKind::Join, vec![self.joined(event).to_string()]),
            Op::Assert { .. } | Op::Assume { .. } => (EffectKind::Condition, Vec::new()),
            // Nothing else becomes an event.
            _ => (EffectKind::Other, Vec::new()),
        }
    }

    /// What an access finds and leaves.
    fn accessed(&self, event: EventId, op: &Op, action: Option<Action>) -> Option<Access> {
        op.access()?;
        let (place, size) = self.place(event);
        let shown = |value: Option<u64>| value.map(|value| number(value, size as u8 * 8));
        let (seen, stored) = match action {
            Some(Action::Read { value, .. }) => (shown(value), None),
            Some(Action::Write { value, .. }) => (None, shown(value)),
            Some(Action::Rmw { read, written, .. }) => (shown(read), shown(written)),
            _ => (None, None),
        };
        let is_plain = match op {
            Op::Load { order, .. } | Op::Store { order, .. } => *order == MemoryOrder::Plain,
            _ => false,
        };
        Some(Access { place, seen, stored, is_plain })
    }

    fn instruction(
        &self,
        event: EventId,
        function: &Function,
        instruction: &Instruction,
        action: Option<Action>,
    ) -> String {
        let expression = |operand| show(self.program, function, operand).text;
        let failed = |is_failed: bool| if is_failed { " : fail" } else { "" };
        match &instruction.op {
            Op::Load { order, .. } => {
                let (at, size) = self.place(event);
                let seen = match action {
                    Some(Action::Read { value, .. }) => valued(" : ", value, size),
                    _ => String::new(),
                };
                format!("load {}{at}{seen}", order_word(*order, MemoryOrder::Plain))
            }
            Op::Store { value, order, .. } => {
                let (at, size) = self.place(event);
                let stored = match action {
                    Some(Action::Write { value, .. }) => valued(" : ", value, size),
                    _ => format!(", {}", expression(*value)),
                };
                format!("store {}{at}{stored}", order_word(*order, MemoryOrder::Plain))
            }
            Op::Rmw { op, value, order, .. } => {
                let order = order_word(*order, MemoryOrder::SeqCst);
                let operand = expression(*value);
                let (at, change) = self.change(event, action);
                format!("rmw {} {order}{at}, {operand}{change}", rmw_word(*op))
            }
            Op::CompareExchange { expected, new, order, .. } => {
                let order = order_word(*order, MemoryOrder::SeqCst);
                let (expected, new) = (expression(*expected), expression(*new));
                let (at, change) = self.change(event, action);
                format!("cmpxchg {order}{at}, {expected}, {new}{change}")
            }
            Op::Acquire { lock, mode, patience } => {
                let failed = failed(matches!(action, Some(Action::AcquireFailed { .. })));
                let (eager, shared) = (eager(*patience), shared(*mode));
                format!("{eager}acquire {shared}{}{failed}", self.lock(lock))
            }
            Op::Release { lock, mode } => {
                format!("release {}{}", shared(*mode), self.lock(lock))
            }
            Op::SemWait { sem, patience } => {
                let failed = failed(matches!(action, Some(Action::SemWaitFailed { .. })));
                format!("{}semwait {}{failed}", eager(*patience), self.semaphore(sem))
            }
            Op::SemPost { sem } => format!("sempost {}", self.semaphore(sem)),
            Op::External { name, args } => {
                let args: Vec<String> = args.iter().map(|&arg| expression(arg)).collect();
                match args.is_empty() {
                    true => format!("external {name}"),
                    false => format!("external {name}({})", args.join(", ")),
                }
            }
            Op::Fork { .. } => format!("fork {}", self.forked(event)),
            Op::Join { .. } => format!("join {}", self.joined(event)),
            Op::Assert { condition } => format!("assert {}", expression(*condition)),
            Op::Assume { condition } => format!("assume {}", expression(*condition)),
            Op::RegionBegin => "region begin".to_string(),
            Op::RegionEnd => "region end".to_string(),
            // Nothing else becomes an event.
            _ => foretrace_program::text::describe(self.program, self.site(event)),
        }
    }

    /// The place of an access and its size.
    fn place(&self, event: EventId) -> (String, u32) {
        match self.summary.trace.access(event) {
            Some(access) => {
                let Place { object, offset, size } = access.at;
                (place(self.program, object.index(), offset, size), size)
            }
            None => ("?".to_string(), 8),
        }
    }

    /// The place of a read-modify-write, and what it finds and leaves.
    fn change(&self, event: EventId, action: Option<Action>) -> (String, String) {
        let (at, size) = self.place(event);
        let change = match action {
            Some(Action::Rmw { read, written, .. }) => {
                format!("{}{}", valued(" : ", read, size), valued(" -> ", written, size))
            }
            Some(Action::Read { value, .. }) => valued(" : ", value, size),
            _ => String::new(),
        };
        (at, change)
    }

    /// The lock that an event takes or gives back.
    pub(super) fn lock_of(&self, event: EventId) -> Option<String> {
        match &self.program.instruction(self.site(event))?.op {
            Op::Acquire { lock, .. } | Op::Release { lock, .. } => Some(self.lock(lock)),
            _ => None,
        }
    }

    fn lock(&self, lock: &SyncRef<LockId>) -> String {
        match lock {
            SyncRef::Named(lock) => self.program.locks[lock.index()].name.clone(),
            SyncRef::At(_) => "?".to_string(),
        }
    }

    fn semaphore(&self, semaphore: &SyncRef<SemId>) -> String {
        match semaphore {
            SyncRef::Named(semaphore) => self.program.semaphores[semaphore.index()].name.clone(),
            SyncRef::At(_) => "?".to_string(),
        }
    }

    fn forked(&self, event: EventId) -> &str {
        let child = self.summary.forks.iter().position(|&fork| fork == Some(event));
        child.map_or("?", |child| &self.threads[child])
    }

    fn joined(&self, event: EventId) -> &str {
        self.summary.joins.get(&event).map_or("?", |child| &self.threads[child.index()])
    }
}

/// The name of a thread that this event starts.
fn child_name(program: &Program, summary: &Summary, known: &[String], fork: EventId) -> String {
    let parent = &known[summary.trace.thread_of(fork).index()];
    let site = summary.origins[fork.index()].site;
    let instruction = program.instruction(site).expect("a fork is an instruction");
    let registers = &program.function(site.function).registers;
    let result = instruction.result.and_then(|result| registers[result.index()].name.as_deref());
    let hint = result.unwrap_or_else(|| callee(program, summary, fork));
    let first = format!("{parent}/{hint}");
    let others = (2..).map(|count| format!("{first}.{count}"));
    let mut names = [first.clone()].into_iter().chain(others);
    names.find(|name| !known.contains(name)).expect("there are always more names")
}

/// The function of the thread that this event starts.
fn callee<'p>(program: &'p Program, summary: &Summary, fork: EventId) -> &'p str {
    let instruction = program.instruction(summary.origins[fork.index()].site);
    match instruction.map(|instruction| &instruction.op) {
        Some(Op::Fork { callee: Callee::Direct(callee), .. }) => &program.function(*callee).name,
        _ => "thread",
    }
}

fn valued(sign: &str, value: Option<u64>, size: u32) -> String {
    value.map_or(String::new(), |value| format!("{sign}{}", number(value, size as u8 * 8)))
}

fn order_word(order: MemoryOrder, default: MemoryOrder) -> &'static str {
    match order {
        _ if order == default => "",
        MemoryOrder::Plain => "plain ",
        _ => "atomic ",
    }
}

fn rmw_word(op: RmwOp) -> &'static str {
    match op {
        RmwOp::Exchange => "xchg",
        RmwOp::Add => "add",
        RmwOp::Sub => "sub",
        RmwOp::And => "and",
        RmwOp::Nand => "nand",
        RmwOp::Or => "or",
        RmwOp::Xor => "xor",
        RmwOp::Max => "max",
        RmwOp::Min => "min",
        RmwOp::UMax => "umax",
        RmwOp::UMin => "umin",
    }
}
