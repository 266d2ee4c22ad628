//! Functions that are not in the files: threads, locks, memory, conventions of verification tasks.
//!
//! Creating threads and allocating memory succeed. What a function prints has no effect.

use foretrace_image as image;
use foretrace_program::{
    Callee, MemoryOrder, Mode, Op, Operand, Patience, RegisterId, SyncRef, TerminatorKind,
};
use foretrace_words::BinaryOp;

use crate::function::Body;

/// What `pthread_mutex_trylock` gives if the lock is taken.
const EBUSY: u64 = 16;
/// What `pthread_cond_timedwait` gives if the time is over.
const ETIMEDOUT: u64 = 110;
/// Where the kind of a mutex is in its bytes (glibc, 64 bits).
const MUTEX_KIND: u64 = 16;

/// Functions without effect on what is verified; their results are unknown.
const SILENT: [&str; 22] = [
    "fflush",
    "fprintf",
    "fputc",
    "fputs",
    "nanosleep",
    "perror",
    "printf",
    "pthread_attr_destroy",
    "pthread_attr_init",
    "pthread_attr_setdetachstate",
    "pthread_detach",
    "pthread_yield",
    "putchar",
    "puts",
    "sched_yield",
    "setbuf",
    "setvbuf",
    "sleep",
    "srand",
    "thrd_yield",
    "usleep",
    "write",
];

/// Functions that only begin or end the life of something, and succeed.
const INITIALISING: [&str; 8] = [
    "pthread_cond_destroy",
    "pthread_cond_init",
    "pthread_mutex_destroy",
    "pthread_mutexattr_destroy",
    "pthread_mutexattr_init",
    "sem_destroy",
    "pthread_condattr_init",
    "pthread_condattr_destroy",
];

impl Body<'_> {
    /// A call of a function that no file defines, or of a computed one.
    pub(crate) fn leave(
        &mut self,
        name: &str,
        callee: image::Operand,
        arguments: &[image::Operand],
        result: Option<u32>,
        width: u8,
    ) {
        let to = result.map(RegisterId);
        match name {
            "" => self.indirect(callee, arguments, to),
            "__assert_fail" | "__assert" | "__VERIFIER_error" | "reach_error" => self.fail(),
            "abort" if !self.lifting.is_task => self.fail(),
            "abort" | "exit" | "_exit" | "_Exit" | "quick_exit" => {
                self.ends = Some(TerminatorKind::Exit);
            }
            "pthread_exit" | "thrd_exit" => self.ends = Some(TerminatorKind::ThreadExit),
            "__VERIFIER_assume" if arguments.len() == 1 => {
                let width = self.width(arguments[0]).unwrap_or(32);
                let left = self.operand(arguments[0], width);
                let right = Operand::constant(0, width);
                let condition = self.compute(Op::Binary { op: BinaryOp::Ne, left, right }, 1);
                self.emit(Op::Assume { condition }, None);
            }
            "__VERIFIER_atomic_begin" => self.emit(Op::SectionBegin, None),
            "__VERIFIER_atomic_end" => self.emit(Op::SectionEnd, None),
            _ if name.starts_with("__VERIFIER_nondet_") => {
                if let Some(to) = to
                    && width > 0
                {
                    let name = name.to_string();
                    self.emit(Op::External { name, args: Vec::new() }, Some(to));
                }
            }
            _ if SILENT.contains(&name) => {
                if let Some(to) = to {
                    let name = "indeterminate".to_string();
                    self.emit(Op::External { name, args: Vec::new() }, Some(to));
                }
            }
            _ if INITIALISING.contains(&name) => self.give(to, 0, width),
            _ => self.known(name, arguments, result, width),
        }
    }

    fn known(&mut self, name: &str, arguments: &[image::Operand], result: Option<u32>, width: u8) {
        let to = result.map(RegisterId);
        let exclusive = Mode::Exclusive;
        match (name, arguments) {
            ("pthread_create", &[handle, _, function, argument]) => {
                self.create(handle, function, argument);
                self.give(to, 0, width);
            }
            ("pthread_join", &[thread, image::Operand::Constant(0)]) => {
                let thread = self.address(thread);
                self.emit(Op::Join { thread }, None);
                self.give(to, 0, width);
            }
            ("pthread_mutex_init", &[_, image::Operand::Constant(0)]) => self.give(to, 0, width),
            ("pthread_mutex_lock", &[mutex]) => {
                let Some(lock) = self.mutex(mutex, result) else { return };
                self.emit(
                    Op::Acquire { lock, mode: exclusive, patience: Patience::Blocking },
                    None,
                );
                self.give(to, 0, width);
            }
            ("pthread_mutex_unlock", &[mutex]) => {
                let Some(lock) = self.mutex(mutex, result) else { return };
                self.emit(Op::Release { lock, mode: exclusive }, None);
                self.give(to, 0, width);
            }
            ("pthread_mutex_trylock", &[mutex]) => {
                let Some(lock) = self.mutex(mutex, result) else { return };
                let op = Op::Acquire { lock, mode: exclusive, patience: Patience::Try };
                let has = self.compute(op, 1);
                self.choose(to, has, 0, EBUSY, width);
            }
            ("pthread_cond_wait", &[cond, mutex]) => {
                let Some(lock) = self.mutex(mutex, result) else { return };
                let cond = SyncRef::At(self.address(cond));
                self.emit(Op::Wait { cond, lock, timed: false }, None);
                self.give(to, 0, width);
            }
            ("pthread_cond_timedwait", &[cond, mutex, _]) => {
                let Some(lock) = self.mutex(mutex, result) else { return };
                let cond = SyncRef::At(self.address(cond));
                let woken = self.compute(Op::Wait { cond, lock, timed: true }, 1);
                self.choose(to, woken, 0, ETIMEDOUT, width);
            }
            ("pthread_cond_signal", &[cond]) => {
                let cond = SyncRef::At(self.address(cond));
                self.emit(Op::Signal { cond }, None);
                self.give(to, 0, width);
            }
            ("pthread_cond_broadcast", &[cond]) => {
                let cond = SyncRef::At(self.address(cond));
                self.emit(Op::Broadcast { cond }, None);
                self.give(to, 0, width);
            }
            // A new semaphore is 0.
            ("sem_init", &[sem, _, image::Operand::Constant(count @ 0..=64)]) => {
                let sem = SyncRef::At(self.address(sem));
                (0..count).for_each(|_| self.emit(Op::SemPost { sem }, None));
                self.give(to, 0, width);
            }
            ("sem_post", &[sem]) => {
                let sem = SyncRef::At(self.address(sem));
                self.emit(Op::SemPost { sem }, None);
                self.give(to, 0, width);
            }
            ("sem_wait", &[sem]) => {
                let sem = SyncRef::At(self.address(sem));
                self.emit(Op::SemWait { sem, patience: Patience::Blocking }, None);
                self.give(to, 0, width);
            }
            ("sem_trywait", &[sem]) => {
                let sem = SyncRef::At(self.address(sem));
                let takes = self.compute(Op::SemWait { sem, patience: Patience::Try }, 1);
                self.choose(to, takes, 0, u64::MAX, width);
            }
            ("malloc", &[size]) => {
                let size = self.operand(size, 64);
                let address = to.unwrap_or_else(|| self.register(64));
                self.emit(Op::Alloc { size }, Some(address));
            }
            ("calloc", &[image::Operand::Constant(count), image::Operand::Constant(size)])
                if count.saturating_mul(size) <= 4096 =>
            {
                let bytes = count * size;
                let address = to.unwrap_or_else(|| self.register(64));
                self.emit(Op::Alloc { size: Operand::constant(bytes, 64) }, Some(address));
                self.fill_with(Operand::Register(address), 0, bytes);
            }
            ("free", &[address]) => {
                let address = self.address(address);
                self.emit(Op::Free { address }, None);
            }
            _ => self.unknown(&format!("a call of {name}"), result),
        }
    }

    /// The program fails.
    fn fail(&mut self) {
        self.emit(Op::Assert { condition: Operand::constant(0, 1) }, None);
        self.ends = Some(TerminatorKind::Exit);
    }

    /// Gives a number as the result.
    fn give(&mut self, to: Option<RegisterId>, value: u64, width: u8) {
        if to.is_some() {
            let (left, right) = (Operand::constant(value, width), Operand::constant(0, width));
            self.emit(Op::Binary { op: BinaryOp::Or, left, right }, to);
        }
    }

    /// Gives one of two numbers.
    fn choose(&mut self, to: Option<RegisterId>, condition: Operand, yes: u64, no: u64, width: u8) {
        if to.is_some() {
            let (then, otherwise) = (Operand::constant(yes, width), Operand::constant(no, width));
            self.emit(Op::Select { condition, then, otherwise }, to);
        }
    }

    /// The mutex at an address, if it is of the plain kind.
    fn mutex(
        &mut self,
        mutex: image::Operand,
        result: Option<u32>,
    ) -> Option<SyncRef<foretrace_program::LockId>> {
        let address = self.address(mutex);
        if let Operand::Global { global, offset } = address {
            let bytes = &self.globals[global.index()].initial;
            let kind = bytes.get((offset + MUTEX_KIND) as usize);
            if kind.is_some_and(|&kind| kind != 0) {
                self.unknown("a mutex of another kind than the default one", result);
                return None;
            }
        }
        Some(SyncRef::At(address))
    }

    fn create(
        &mut self,
        handle: image::Operand,
        function: image::Operand,
        argument: image::Operand,
    ) {
        let (handle, function) = (self.address(handle), self.address(function));
        let argument = self.address(argument);
        let (callee, args) = match function {
            Operand::Function(function) => {
                let takes = &self.lifting.signatures[function.index()].0;
                let args = if takes.is_empty() { Vec::new() } else { vec![argument] };
                (Callee::Direct(function), args)
            }
            computed => (Callee::Indirect(computed), vec![argument]),
        };
        let fits = match &callee {
            Callee::Direct(function) => {
                let takes = &self.lifting.signatures[function.index()].0;
                takes.is_empty() || takes[..] == [64]
            }
            Callee::Indirect(_) => true,
        };
        if !fits {
            return self.unknown("a thread whose function takes something else", None);
        }
        let value = self.compute(Op::Fork { callee, args }, 64);
        let order = MemoryOrder::Plain;
        self.emit(Op::Store { address: handle, size: 8, value, order }, None);
    }

    /// A call of a function that a register or variable holds.
    fn indirect(
        &mut self,
        callee: image::Operand,
        arguments: &[image::Operand],
        to: Option<RegisterId>,
    ) {
        let callee = self.address(callee);
        let args = arguments.iter().map(|&argument| {
            let width = self.width(argument).unwrap_or(32);
            self.operand(argument, width)
        });
        let args = args.collect();
        let callee = match callee {
            Operand::Function(function) => Callee::Direct(function),
            computed => Callee::Indirect(computed),
        };
        if let Callee::Direct(_) = callee {
            return self
                .unknown("a call with other types than the function has", to.map(|to| to.0));
        }
        self.emit(Op::Call { callee, args }, to);
    }
}
