//! Functions that are not in the files: threads, locks, memory, conventions of verification tasks.
//!
//! Creating threads and allocating memory succeed. What a function prints has no effect. Functions
//! that decide something are programs ([`crate::models`]); the others become an instruction or two
//! where they are called.

use foretrace_image as image;
use foretrace_program::{
    Callee, FunctionId, LockId, MemoryOrder, Mode, Op, Operand, Patience, RegisterId, Storage,
    SyncRef, TerminatorKind,
};
use foretrace_words::{BinaryOp, Cast};

use crate::OVERFLOWS;
use crate::function::Body;
use crate::object_file::{Meaning, symbol_of};

/// What a try gives if the lock is taken.
const EBUSY: u64 = 16;
/// The same in C11.
const THRD_BUSY: u64 = 1;
/// What a timed operation gives if the time is over.
const ETIMEDOUT: u64 = 110;
/// The same in C11.
const THRD_TIMEDOUT: u64 = 4;
/// Recursive, as a kind of C11's mutexes.
const MTX_RECURSIVE: u64 = 1;
/// The largest block of which the contents are given one by one: they are not known.
const MOST_UNKNOWN_BYTES: u64 = 64;

/// Functions without effect on what is verified; their results are unknown.
const SILENT: [&str; 26] = [
    "fflush",
    "fprintf",
    "fputc",
    "fputs",
    "fwrite",
    "getpid",
    "gettid",
    "nanosleep",
    "perror",
    "printf",
    "putchar",
    "putc",
    "puts",
    "rand",
    "random",
    "setbuf",
    "setvbuf",
    "sleep",
    "srand",
    "srandom",
    "syslog",
    "thrd_sleep",
    "usleep",
    "vfprintf",
    "vprintf",
    "write",
];

/// Functions that only begin or end the life of something, or ask for what makes no difference,
/// and succeed.
const SUCCEEDING: [&str; 39] = [
    "cnd_destroy",
    "cnd_init",
    "mtx_destroy",
    "pthread_attr_destroy",
    "pthread_attr_init",
    "pthread_attr_setdetachstate",
    "pthread_attr_setinheritsched",
    "pthread_attr_setschedparam",
    "pthread_attr_setschedpolicy",
    "pthread_attr_setscope",
    "pthread_attr_setstacksize",
    "pthread_barrier_destroy",
    "pthread_barrierattr_destroy",
    "pthread_barrierattr_init",
    "pthread_cond_destroy",
    "pthread_cond_init",
    "pthread_condattr_destroy",
    "pthread_condattr_init",
    "pthread_condattr_setclock",
    "pthread_condattr_setpshared",
    "pthread_detach",
    "pthread_key_delete",
    "pthread_mutex_destroy",
    "pthread_mutexattr_destroy",
    "pthread_mutexattr_init",
    "pthread_mutexattr_setprotocol",
    "pthread_mutexattr_setpshared",
    "pthread_rwlock_destroy",
    "pthread_rwlockattr_destroy",
    "pthread_rwlockattr_init",
    "pthread_setconcurrency",
    "pthread_spin_destroy",
    "pthread_spin_init",
    "pthread_yield",
    "sched_yield",
    "sem_destroy",
    "thrd_detach",
    "thrd_yield",
    "tss_delete",
];

/// The names that C11 and others have for the same function.
fn common_name(name: &str) -> &str {
    match name {
        "tss_get" => "pthread_getspecific",
        "tss_set" => "pthread_setspecific",
        "tss_create" => "pthread_key_create",
        "cnd_signal" => "pthread_cond_signal",
        "cnd_broadcast" => "pthread_cond_broadcast",
        "cnd_wait" => "pthread_cond_wait",
        "mtx_lock" => "pthread_mutex_lock",
        "mtx_unlock" => "pthread_mutex_unlock",
        "thrd_current" => "pthread_self",
        "thrd_equal" => "pthread_equal",
        "pthread_spin_lock" => "spin lock",
        "pthread_spin_trylock" => "spin trylock",
        "pthread_spin_unlock" => "spin unlock",
        name => name,
    }
}

/// What became of a call.
enum Outcome {
    /// It gives 0.
    Succeeds,
    /// Its result, if it has one, is there.
    Given,
    /// Nothing: the function is not known.
    Unknown,
}

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
            "__assert_fail" | "__assert" => self.fail(),
            OVERFLOWS => self.overflows(),
            _ if self.lifting.errors.iter().any(|error| error == name) => self.fail(),
            "abort" if !self.lifting.is_task => self.fail(),
            "abort" | "exit" | "_exit" | "_Exit" | "quick_exit" => {
                self.ends = Some(TerminatorKind::Exit);
            }
            "pthread_exit" | "thrd_exit" => {
                let value = arguments.first().map(|&value| self.word(value));
                self.ends = Some(TerminatorKind::ThreadExit(value));
            }
            "__VERIFIER_assume" if arguments.len() == 1 => self.assume(arguments[0]),
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
            _ => match self.lifting.names.function(self.lifting.number, name) {
                Some(function) => self.call(function, arguments, to, width),
                None => self.library(name, arguments, result, width),
            },
        }
    }

    /// A call of a function of the C library.
    pub(crate) fn library(
        &mut self,
        name: &str,
        arguments: &[image::Operand],
        result: Option<u32>,
        width: u8,
    ) {
        let to = result.map(RegisterId);
        let name = common_name(name);
        if let Some(&model) = self.lifting.names.models.get(name) {
            return self.call(model, arguments, to, width);
        }
        if SILENT.contains(&name) {
            if self.prints_memory(name, arguments) {
                return self.unknown(&format!("what {name} reads"), result);
            }
            if let Some(to) = to {
                self.emit(Op::External { name: name.to_string(), args: Vec::new() }, Some(to));
            }
            if let (Some(to), "rand" | "random") = (to, name) {
                let (left, right) = (Operand::constant(0, width), Operand::Register(to));
                let op = Op::Binary { op: BinaryOp::Sle, left, right };
                let condition = self.compute(op, 1);
                self.emit(Op::Assume { condition }, None);
            }
            return;
        }
        if SUCCEEDING.contains(&name) {
            return self.give(to, 0, width);
        }
        match self.known(name, arguments, to, width) {
            Outcome::Succeeds => self.give(to, 0, width),
            Outcome::Given => (),
            Outcome::Unknown => self.unknown(&format!("a call of {name}"), result),
        }
    }

    /// Whether a function without effect may read memory that somebody can write.
    fn prints_memory(&self, name: &str, arguments: &[image::Operand]) -> bool {
        let text = match name {
            "fputs" | "fwrite" | "perror" | "printf" | "puts" => 0,
            "fprintf" | "syslog" | "write" => 1,
            _ => return matches!(name, "vprintf" | "vfprintf"),
        };
        let Some((&text, others)) = arguments.get(text..).and_then(<[_]>::split_first) else {
            return true;
        };
        let Some(text) = self.constant(text) else { return true };
        if !matches!(name, "printf" | "fprintf" | "syslog") {
            return false;
        }
        // Only numbers are printed: `s`, `S` and `n` want addresses.
        let text = text.map(String::from_utf8_lossy);
        let conversions = text.as_ref().map(|text| text.split('%').skip(1));
        let are_numbers = conversions.is_some_and(|mut conversions| {
            conversions.all(|conversion| {
                let is_flag = |c: char| c.is_ascii_digit() || " #+-.*hljztLq'$".contains(c);
                let kind = conversion.trim_start_matches(is_flag).chars().next();
                kind.is_none_or(|kind| !matches!(kind, 's' | 'S' | 'n'))
            })
        });
        let may_be_address = |&other: &image::Operand| match other {
            image::Operand::Constant(_) => false,
            image::Operand::Register(_) => self.width(other) == Some(64),
            image::Operand::Address(_) => self.constant(other).is_none(),
            image::Operand::Unknown => true,
        };
        !are_numbers && others.iter().any(may_be_address)
    }

    /// Memory that nobody can write, if an operand is the address of such: its contents as far as
    /// they are known.
    fn constant(&self, operand: image::Operand) -> Option<Option<&[u8]>> {
        let image::Operand::Address(address) = operand else { return None };
        let (symbol, behind) = symbol_of(address);
        let file = self.lifting.file;
        match file.symbols.get(symbol)? {
            Meaning::Variable(variable, at) => {
                let variable = &file.variables[*variable];
                let at = at.wrapping_add(behind) as usize;
                variable.is_constant.then(|| variable.bytes.get(at..))
            }
            Meaning::Unknown if file.others_are_constant => Some(None),
            _ => None,
        }
    }

    /// What a function does that becomes a few instructions.
    fn known(
        &mut self,
        name: &str,
        arguments: &[image::Operand],
        to: Option<RegisterId>,
        width: u8,
    ) -> Outcome {
        let exclusive = Mode::Exclusive;
        match (name, arguments) {
            ("pthread_create", &[handle, _, function, argument])
            | ("thrd_create", &[handle, function, argument]) => {
                self.create(handle, function, argument);
            }
            ("pthread_join" | "thrd_join", &[thread, image::Operand::Constant(0)]) => {
                let thread = self.address(thread);
                self.emit(Op::Join { thread }, None);
            }
            ("pthread_join" | "thrd_join", &[_, _]) => {
                let model = self.lifting.names.models[&format!("{name} with result")];
                self.call(model, arguments, to, width);
                return Outcome::Given;
            }
            ("pthread_self", []) => return self.result(Op::Current, to),
            ("pthread_equal", &[one, other]) => {
                let (left, right) = (self.address(one), self.address(other));
                let same = self.compute(Op::Binary { op: BinaryOp::Eq, left, right }, 1);
                return self.result(Op::Cast { cast: Cast::ZeroExtend, value: same }, to);
            }
            ("pthread_mutex_init", &[_, image::Operand::Constant(0)]) => (),
            ("mtx_init", &[_, image::Operand::Constant(kind)]) if kind & MTX_RECURSIVE == 0 => (),
            ("pthread_mutex_lock" | "spin lock", &[mutex]) => {
                self.acquire(mutex, exclusive, Patience::Blocking);
            }
            ("pthread_mutex_unlock" | "spin unlock", &[mutex]) => {
                let lock = SyncRef::At(self.address(mutex));
                self.emit(Op::Release { lock, mode: exclusive }, None);
            }
            ("pthread_mutex_trylock" | "spin trylock", &[mutex]) => {
                let has = self.attempt(mutex, exclusive, Patience::Try);
                return self.choose(to, has, 0, EBUSY, width);
            }
            ("mtx_trylock", &[mutex]) => {
                let has = self.attempt(mutex, exclusive, Patience::Try);
                return self.choose(to, has, 0, THRD_BUSY, width);
            }
            ("pthread_mutex_timedlock" | "mtx_timedlock", &[mutex, _]) if self.is_plain() => {
                let has = self.attempt(mutex, exclusive, Patience::Timed);
                let no = if name == "mtx_timedlock" { THRD_TIMEDOUT } else { ETIMEDOUT };
                return self.choose(to, has, 0, no, width);
            }
            ("pthread_rwlock_rdlock", &[lock]) => {
                self.acquire(lock, Mode::Shared, Patience::Blocking);
            }
            ("pthread_rwlock_tryrdlock", &[lock]) => {
                let has = self.attempt(lock, Mode::Shared, Patience::Try);
                return self.choose(to, has, 0, EBUSY, width);
            }
            ("pthread_rwlock_timedrdlock", &[lock, _]) => {
                let has = self.attempt(lock, Mode::Shared, Patience::Timed);
                return self.choose(to, has, 0, ETIMEDOUT, width);
            }
            ("pthread_cond_wait", &[cond, mutex]) => {
                let (cond, lock) = (self.address(cond), self.address(mutex));
                let (cond, lock) = (SyncRef::At(cond), SyncRef::At(lock));
                self.emit(Op::Wait { cond, lock, timed: false }, None);
            }
            ("pthread_cond_timedwait" | "cnd_timedwait", &[cond, mutex, _]) if self.is_plain() => {
                let (cond, lock) = (self.address(cond), self.address(mutex));
                let (cond, lock) = (SyncRef::At(cond), SyncRef::At(lock));
                let woken = self.compute(Op::Wait { cond, lock, timed: true }, 1);
                let no = if name == "cnd_timedwait" { THRD_TIMEDOUT } else { ETIMEDOUT };
                return self.choose(to, woken, 0, no, width);
            }
            ("pthread_cond_signal", &[cond]) => {
                let cond = SyncRef::At(self.address(cond));
                self.emit(Op::Signal { cond }, None);
            }
            ("pthread_cond_broadcast", &[cond]) => {
                let cond = SyncRef::At(self.address(cond));
                self.emit(Op::Broadcast { cond }, None);
            }
            ("sem_post", &[sem]) => {
                let sem = SyncRef::At(self.address(sem));
                self.emit(Op::SemPost { sem }, None);
            }
            ("sem_wait", &[sem]) => {
                let sem = SyncRef::At(self.address(sem));
                self.emit(Op::SemWait { sem, patience: Patience::Blocking }, None);
            }
            ("sem_trywait", &[sem]) => {
                let sem = SyncRef::At(self.address(sem));
                let takes = self.compute(Op::SemWait { sem, patience: Patience::Try }, 1);
                return self.choose(to, takes, 0, u64::MAX, width);
            }
            ("malloc", &[size]) | ("aligned_alloc", &[_, size]) => {
                let size = self.operand(size, 64);
                let address = to.unwrap_or_else(|| self.register(64));
                self.emit(Op::Alloc { size, storage: Storage::Heap }, Some(address));
                if let Some(bytes) = Self::as_constant(size).filter(|&b| b <= MOST_UNKNOWN_BYTES) {
                    self.forget(Operand::Register(address), bytes);
                }
                return Outcome::Given;
            }
            ("free", &[address]) => {
                let address = self.address(address);
                self.emit(Op::Free { address }, None);
            }
            _ => return Outcome::Unknown,
        }
        Outcome::Succeeds
    }

    /// The result is that of an instruction.
    fn result(&mut self, op: Op, to: Option<RegisterId>) -> Outcome {
        if let Some(to) = to {
            self.emit(op, Some(to));
        }
        Outcome::Given
    }

    /// Whether all mutexes are of the default kind.
    fn is_plain(&self) -> bool {
        !self.lifting.has_kinds
    }

    /// Only executions count in which the argument is not 0.
    pub(crate) fn assume(&mut self, argument: image::Operand) {
        let width = self.width(argument).unwrap_or(32);
        let left = self.operand(argument, width);
        let right = Operand::constant(0, width);
        let condition = self.compute(Op::Binary { op: BinaryOp::Ne, left, right }, 1);
        self.emit(Op::Assume { condition }, None);
    }

    /// Memory whose contents are not known.
    fn forget(&mut self, place: Operand, bytes: u64) {
        for (offset, size) in Self::words(bytes) {
            let name = "indeterminate".to_string();
            let value = self.compute(Op::External { name, args: Vec::new() }, 8 * size);
            let address = self.at(place, offset);
            self.emit(Op::Store { address, size, value, order: MemoryOrder::Plain }, None);
        }
    }

    fn acquire(&mut self, lock: image::Operand, mode: Mode, patience: Patience) {
        let lock: SyncRef<LockId> = SyncRef::At(self.address(lock));
        self.emit(Op::Acquire { lock, mode, patience }, None);
    }

    fn attempt(&mut self, lock: image::Operand, mode: Mode, patience: Patience) -> Operand {
        let lock = SyncRef::At(self.address(lock));
        self.compute(Op::Acquire { lock, mode, patience }, 1)
    }

    /// The program fails.
    pub(crate) fn fail(&mut self) {
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
    fn choose(
        &mut self,
        to: Option<RegisterId>,
        condition: Operand,
        yes: u64,
        no: u64,
        width: u8,
    ) -> Outcome {
        let width = width.max(1);
        let (then, otherwise) = (Operand::constant(yes, width), Operand::constant(no, width));
        self.result(Op::Select { condition, then, otherwise }, to)
    }

    /// An argument as a word of 64 bits.
    fn word(&mut self, argument: image::Operand) -> Operand {
        let width = self.width(argument).unwrap_or(64);
        let value = self.operand(argument, width);
        self.resized(value, width, 64)
    }

    /// A value in another number of bits.
    pub(crate) fn resized(&mut self, value: Operand, from: u8, to: u8) -> Operand {
        match from.cmp(&to) {
            std::cmp::Ordering::Equal => value,
            std::cmp::Ordering::Less => {
                self.compute(Op::Cast { cast: Cast::ZeroExtend, value }, to)
            }
            std::cmp::Ordering::Greater => {
                self.compute(Op::Cast { cast: Cast::Truncate, value }, to)
            }
        }
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
                let args = match takes[..] {
                    [] => Vec::new(),
                    [width] => vec![self.resized(argument, 64, width)],
                    _ => {
                        return self
                            .unknown("a thread whose function takes several arguments", None);
                    }
                };
                (Callee::Direct(function), args)
            }
            computed => (Callee::Indirect(computed), vec![argument]),
        };
        let value = self.compute(Op::Fork { callee, args }, 64);
        let order = MemoryOrder::Plain;
        self.emit(Op::Store { address: handle, size: 8, value, order }, None);
    }

    /// A call of a function of the program, which may have more arguments than the function takes.
    pub(crate) fn call(
        &mut self,
        function: FunctionId,
        arguments: &[image::Operand],
        to: Option<RegisterId>,
        width: u8,
    ) {
        let (params, gives) = self.lifting.signatures[function.index()].clone();
        let fits = params.len() <= arguments.len()
            && (to.is_none() || gives == Some(width))
            && arguments
                .iter()
                .zip(&params)
                .all(|(&argument, &param)| self.width(argument).is_none_or(|own| own == param));
        if !fits {
            return self
                .unknown("a call with other types than the function has", to.map(|to| to.0));
        }
        let args = arguments.iter().zip(params);
        let args = args.map(|(&arg, width)| self.operand(arg, width)).collect();
        self.emit(Op::Call { callee: Callee::Direct(function), args }, to);
    }

    /// A call of a function that a register or variable holds.
    fn indirect(
        &mut self,
        callee: image::Operand,
        arguments: &[image::Operand],
        to: Option<RegisterId>,
    ) {
        let callee = match self.address(callee) {
            Operand::Function(function) => {
                let result = to.and_then(|to| self.width(image::Operand::Register(to.0)));
                return self.call(function, arguments, to, result.unwrap_or(0));
            }
            computed => computed,
        };
        // The image does not say how wide constants are; functions that may be meant do.
        let own: Vec<Option<u8>> = arguments.iter().map(|&arg| self.width(arg)).collect();
        let fits = |params: &&Vec<u8>| {
            let mut pairs = params.iter().zip(&own);
            params.len() == own.len()
                && pairs.all(|(&param, own)| own.is_none_or(|own| own == param))
        };
        let known = self.lifting.signatures.iter().map(|(params, _)| params).find(fits).cloned();
        let widths: Vec<u8> =
            known.unwrap_or_else(|| own.iter().map(|own| own.unwrap_or(32)).collect());
        let args = arguments.iter().zip(widths);
        let args = args.map(|(&argument, width)| self.operand(argument, width)).collect();
        self.emit(Op::Call { callee: Callee::Indirect(callee), args }, to);
    }
}
