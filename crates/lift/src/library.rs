//! Functions that are not in the files: threads, locks, memory, conventions of verification tasks.
//!
//! Creating threads and allocating memory succeed. What a function prints has no effect. Functions
//! that decide something are programs ([`crate::models`]); the others become an instruction or two
//! where they are called.

use foretrace_image as image;
use foretrace_program::{
    Callee, LockId, MemoryOrder, Mode, Op, Operand, Patience, RegisterId, Storage, SyncRef,
    TerminatorKind,
};
use foretrace_words::{BinaryOp, Cast};

use crate::function::Body;
use crate::known::{
    PRINTING, SILENT, START_THREAD, SUCCEEDING, common_name, keeps_errno, texts_of,
};
use crate::link::SINGLE_THREADED;
use crate::models::{FORGET, READ, SET_ERRNO, STARTS};
use crate::uses::{only_looks, reads};
use crate::{OVERFLOWS, is_input};

/// The least size of a stack, and what a smaller one gives.
const LEAST_STACK: u64 = 16384;
const EINVAL: u64 = 22;
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

/// An argument that is not there.
const NOWHERE: image::Operand = image::Operand::Constant(0);

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
            "__assert_fail" | "__assert" if !self.asserts_count => {
                self.ends = Some(TerminatorKind::Exit);
            }
            "__assert_fail" | "__assert" | "_ZSt9terminatev" => self.fail(),
            OVERFLOWS => self.overflows(),
            _ if self.lifting.errors.iter().any(|error| error == name) => self.fail(),
            "abort" if !self.lifting.is_task => self.fail(),
            "abort" | "exit" | "_exit" | "_Exit" | "quick_exit" => {
                if let ("exit", Some(function)) = (name, self.lifting.names.at_end()) {
                    self.call(function, &[], None, 0);
                }
                self.ends = Some(TerminatorKind::Exit);
            }
            "pthread_exit" | "thrd_exit" => {
                if self.lifting.names.at_end().is_some() {
                    self.unknown("the last thread ends, and runs what was asked for at exit", None);
                }
                let value = arguments.first().map(|&value| self.word(value));
                self.ends = Some(TerminatorKind::ThreadExit(value));
            }
            "__VERIFIER_assume" | "foretrace_assume" if arguments.len() == 1 => {
                self.assume(arguments[0])
            }
            "__VERIFIER_atomic_begin" | "foretrace_exclusive_begin" => {
                self.emit(Op::SectionBegin, None);
            }
            "__VERIFIER_atomic_end" | "foretrace_exclusive_end" => {
                self.emit(Op::SectionEnd, None);
            }
            _ if is_input(name) => {
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
        let name = common_name(name);
        self.library_call(name, arguments, result, width);
        if !keeps_errno(name)
            && let Some(&model) = self.lifting.names.models.get(SET_ERRNO)
        {
            self.call(model, &[], None, 0);
        }
    }

    fn library_call(
        &mut self,
        name: &str,
        arguments: &[image::Operand],
        result: Option<u32>,
        width: u8,
    ) {
        let to = result.map(RegisterId);
        if name == "qsort" && !arguments.get(3).is_some_and(|&by| only_looks(self.lifting.file, by))
        {
            return self.unknown("qsort compares with a function that does more", result);
        }
        let is_looked_at = result.is_some_and(|register| reads(self.function, register));
        if name == "pthread_mutex_destroy" && self.is_plain() && is_looked_at {
            let model = self.lifting.names.models[&format!("{name} with result")];
            return self.call(model, arguments, to, width);
        }
        if let Some(&model) = self.lifting.names.models.get(name) {
            if name == START_THREAD {
                self.starts_thread();
            }
            return self.call_model(model, arguments, to, width);
        }
        if PRINTING.contains(&name) {
            // A stream gives itself.
            let stream = arguments.first().map_or(image::Operand::Constant(0), |&stream| stream);
            let left = self.operand(stream, 64);
            if let Some(to) = to {
                let right = Operand::constant(0, 64);
                self.emit(Op::Binary { op: BinaryOp::Add, left, right }, Some(to));
            }
            return;
        }
        if SILENT.contains(&name) {
            let Some(read) = self.printed(name, arguments) else {
                return self.unknown(&format!("what {name} reads"), result);
            };
            for text in read {
                let model = self.lifting.names.models[READ];
                self.call(model, &[text], None, 0);
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
            // Only kinds make a difference.
            ("pthread_mutex_init", &[_, _]) if self.is_plain() => (),
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
            ("pthread_mutex_timedlock" | "mtx_timedlock", &[mutex, ..]) if self.is_plain() => {
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
            ("pthread_rwlock_timedrdlock", &[lock, ..]) => {
                let has = self.attempt(lock, Mode::Shared, Patience::Timed);
                return self.choose(to, has, 0, ETIMEDOUT, width);
            }
            ("pthread_cond_wait", &[cond, mutex]) => {
                let (cond, lock) = (self.address(cond), self.address(mutex));
                let (cond, lock) = (SyncRef::At(cond), SyncRef::At(lock));
                self.emit(Op::Wait { cond, lock, timed: false }, None);
            }
            ("pthread_cond_timedwait" | "cnd_timedwait", &[cond, mutex, ..])
                if self.is_plain() && arguments.len() >= 3 =>
            {
                let (cond, lock) = (self.address(cond), self.address(mutex));
                let (cond, lock) = (SyncRef::At(cond), SyncRef::At(lock));
                let woken = self.compute(Op::Wait { cond, lock, timed: true }, 1);
                let no = if name == "cnd_timedwait" { THRD_TIMEDOUT } else { ETIMEDOUT };
                return self.choose(to, woken, 0, no, width);
            }
            // Less is refused.
            ("pthread_attr_setstacksize", &[_, size]) => {
                let (left, right) = (Operand::constant(LEAST_STACK, 64), self.operand(size, 64));
                let is_enough = self.compute(Op::Binary { op: BinaryOp::Ule, left, right }, 1);
                return self.choose(to, is_enough, 0, EINVAL, width);
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
            ("_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE", &[cond, lock])
                if self.is_plain() =>
            {
                let address = self.address(lock);
                let order = MemoryOrder::Plain;
                let mutex = self.compute(Op::Load { address, size: 8, order }, 64);
                let (cond, lock) = (SyncRef::At(self.address(cond)), SyncRef::At(mutex));
                self.emit(Op::Wait { cond, lock, timed: false }, None);
            }
            ("sscanf" | "fscanf" | "scanf", _) => {
                let Some(&model) = self.lifting.names.models.get(&format!("{name} into places"))
                else {
                    return Outcome::Unknown;
                };
                let mut given = arguments.to_vec();
                given.resize(self.lifting.signatures[model.index()].0.len(), NOWHERE);
                self.call(model, &given, to, width);
                return Outcome::Given;
            }
            ("__cxa_atexit", &[function, argument, _]) => {
                let model = self.lifting.names.models[&format!("{name} with argument")];
                self.call(model, &[function, argument], to, width);
                return Outcome::Given;
            }
            (
                "snprintf",
                &[
                    buffer,
                    image::Operand::Constant(size @ 1..=MOST_UNKNOWN_BYTES),
                    ref printed @ ..,
                ],
            ) => {
                let format = printed.first().and_then(|&format| self.constant(format).flatten());
                let Some(read) = format.and_then(texts_of) else { return Outcome::Unknown };
                for number in read {
                    let Some(&text) = printed.get(1 + number) else { return Outcome::Unknown };
                    if self.constant(text).is_none() {
                        let model = self.lifting.names.models[READ];
                        self.call(model, &[text], None, 0);
                    }
                }
                let place = self.address(buffer);
                self.print_into(place, size);
                if let Some(to) = to {
                    let name = "any length of a text".to_string();
                    self.emit(Op::External { name, args: Vec::new() }, Some(to));
                }
                return Outcome::Given;
            }
            ("malloc", &[size, ..])
            | ("aligned_alloc", &[_, size])
            | ("operator new with alignment", &[size, _]) => {
                let size = self.word(size);
                let address = to.unwrap_or_else(|| self.register(64));
                self.emit(Op::Alloc { size, storage: Storage::Heap }, Some(address));
                match Self::as_constant(size) {
                    Some(bytes @ ..=MOST_UNKNOWN_BYTES) => {
                        self.forget(Operand::Register(address), bytes, "indeterminate");
                    }
                    Some(_) => (),
                    None => {
                        let callee = Callee::Direct(self.lifting.names.models[FORGET]);
                        let args = vec![Operand::Register(address), size];
                        self.emit(Op::Call { callee, args }, None);
                    }
                }
                return Outcome::Given;
            }
            ("free", &[address, ..]) => {
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
    fn forget(&mut self, place: Operand, bytes: u64, name: &str) {
        for (offset, size) in Self::words(bytes) {
            let name = name.to_string();
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
        self.starts_thread();
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

    /// From now on there may be several threads.
    fn starts_thread(&mut self) {
        let names = self.lifting.names;
        if let (Some(model), Some(place)) =
            (names.models.get(STARTS), names.library(SINGLE_THREADED))
        {
            let callee = Callee::Direct(*model);
            self.emit(Op::Call { callee, args: vec![place] }, None);
        }
    }
}
