//! Parallel regions. Each has threads of its own, which end with it: the recording has their
//! creation and their joins.

use std::arch::naked_asm;
use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;

use super::gnu::Work;
use super::settings::Settings;
use super::team::{Member, Team, current, leave, numbers};
use super::{Number, Place};
use crate::interpose::process::refuse;
use crate::interpose::threads::{pthread_create, pthread_join};
use crate::thread::enter;

/// The body of a region, and what it is called with.
#[derive(Clone)]
pub(super) enum Body {
    /// Of LLVM: two pointers to numbers, then the variables.
    Microtask { code: *const c_void, arguments: Arc<[usize]> },
    /// Of GNU: a pointer to a structure of variables. Each thread may find itself in a loop at
    /// once.
    Function { code: extern "C-unwind" fn(*mut c_void), data: *mut c_void, work: Option<Work> },
}

/// At least so many words are there for [`call`] to load.
const REGISTERS: usize = 4;

impl Body {
    /// Takes the variables from where the caller of a variadic function put them.
    ///
    /// # Safety
    ///
    /// There are so many: three in registers, the rest on the stack. The code takes as many.
    unsafe fn microtask(
        code: *const c_void,
        count: usize,
        in_registers: *const usize,
        on_stack: *const usize,
    ) -> Body {
        // SAFETY: the caller says so.
        let argument = |at: usize| unsafe {
            if at < 3 { in_registers.add(at).read() } else { on_stack.add(at - 3).read() }
        };
        let words = (0..count).map(argument).chain(std::iter::repeat_n(0, REGISTERS));
        Body::Microtask { code, arguments: words.collect() }
    }

    pub(super) fn run(&self) {
        match self {
            Body::Microtask { code, arguments } => {
                let own: *mut c_int = numbers().cast();
                let count = arguments.len() - REGISTERS;
                // SAFETY: compiled code has given this function and its arguments, and there are
                // [`REGISTERS`] words more.
                unsafe { call(*code, own, own.add(1), arguments.as_ptr(), count) };
            }
            Body::Function { code, data, work } => {
                work.iter().for_each(|work| work.begin());
                code(*data);
            }
        }
    }
}

/// Calls a microtask with that many variables. `words` has at least [`REGISTERS`] words.
#[unsafe(naked)]
unsafe extern "C-unwind" fn call(
    code: *const c_void,
    number: *mut c_int,
    number_in_team: *mut c_int,
    words: *const usize,
    count: usize,
) {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov r10, rcx",
        // What does not fit into registers goes on the stack, which stays aligned.
        "sub r8, 4",
        "jle 3f",
        "lea rcx, [r8 + 1]",
        "and rcx, -2",
        "shl rcx, 3",
        "sub rsp, rcx",
        "2:",
        "mov rcx, [r10 + 8 * r8 + 24]",
        "mov [rsp + 8 * r8 - 8], rcx",
        "dec r8",
        "jnz 2b",
        "3:",
        "mov rdx, [r10]",
        "mov rcx, [r10 + 8]",
        "mov r8, [r10 + 16]",
        "mov r9, [r10 + 24]",
        "call rax",
        "leave",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}

/// What a new thread of a team begins with.
struct Birth {
    team: Arc<Team>,
    number: u32,
    settings: Settings,
    body: Body,
}

extern "C-unwind" fn born(birth: *mut c_void) -> *mut c_void {
    // SAFETY: `Workers::begin` has made it, for this thread alone.
    let Birth { team, number, settings, body } = *unsafe { Box::from_raw(birth.cast::<Birth>()) };
    Member::new(team, number, settings).enter();
    body.run();
    is_idle();
    leave();
    null_mut()
}

/// The calling thread is behind its last operation in the region: others may run tasks in its
/// place.
fn is_idle() {
    let member = current();
    if let Some(pool) = &member.team.pool {
        pool.is_idle(member.number);
    }
}

/// The threads of a team that are not its first, between their creation and their joins.
pub(super) struct Workers {
    handles: Vec<libc::pthread_t>,
    /// Where the region is.
    site: u64,
}

impl Workers {
    /// Begins a region of `size` threads; the caller becomes the first of them.
    pub(super) fn begin(size: u32, body: &Body) -> Workers {
        let site = enter(|thread| thread.call_site).unwrap_or(0);
        let founder = current();
        founder.wanted = None;
        let team = Team::new(size, Some(founder));
        let settings = founder.settings.inherited(team.level);
        let mut handles = Vec::new();
        for number in 1..size {
            let body = body.clone();
            let birth = Box::new(Birth { team: team.clone(), number, settings, body });
            let mut handle = 0;
            let birth = Box::into_raw(birth).cast();
            // SAFETY: the handle is a local variable, and the thread takes what was made for it.
            if unsafe { pthread_create(&mut handle, null(), born, birth) } != 0 {
                refuse("a thread of an OpenMP region cannot be created");
            }
            handles.push(handle);
        }
        Member::new(team, 0, settings).enter();
        Workers { handles, site }
    }

    /// The region is over: all its threads are, and the caller is what it was before.
    pub(super) fn end(self) {
        // What the body called is not where the region ends.
        enter(|thread| thread.call_site = self.site);
        is_idle();
        for handle in self.handles {
            // SAFETY: the thread was created in `begin`, and is joined once.
            unsafe { pthread_join(handle, null_mut()) };
        }
        if let Some(pool) = &current().team.pool {
            pool.end_all();
        }
        leave();
    }
}

/// How many threads the next parallel region of the caller has.
pub(super) fn team_size(wanted: Option<u32>) -> u32 {
    let member = current();
    let settings = &member.settings;
    if member.team.active_level >= settings.active_levels {
        return 1;
    }
    wanted.or(member.wanted).unwrap_or(settings.threads).clamp(1, settings.limit)
}

/// Runs a region from its beginning to its end.
pub(super) fn run(size: u32, body: &Body) {
    let workers = Workers::begin(size, body);
    body.run();
    workers.end();
}

unsafe extern "C-unwind" fn fork(
    _: *const Place,
    count: c_int,
    code: *const c_void,
    in_registers: *const usize,
    on_stack: *const usize,
) {
    // SAFETY: the entry below has put the arguments of its caller there.
    let body = unsafe { Body::microtask(code, count as usize, in_registers, on_stack) };
    run(team_size(None), &body);
}

/// A league of teams may have one team only, and its first thread runs the body.
unsafe extern "C-unwind" fn fork_teams(
    _: *const Place,
    count: c_int,
    code: *const c_void,
    in_registers: *const usize,
    on_stack: *const usize,
) {
    let wanted = current().wanted.take();
    // SAFETY: the entry below has put the arguments of its caller there.
    let body = unsafe { Body::microtask(code, count as usize, in_registers, on_stack) };
    let own = current();
    let before = own.settings.threads;
    // `thread_limit` is for the parallel regions inside.
    if let Some(wanted) = wanted {
        own.settings.threads = wanted;
    }
    body.run();
    current().settings.threads = before;
}

/// Defines a variadic function whose unnamed arguments are all words: collects them, and calls
/// `$to`.
macro_rules! variadic {
    ($name:ident, $to:ident) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(place: *const Place, count: c_int, code: *const c_void) {
            naked_asm!(
                ".cfi_startproc",
        "push rbp",
                ".cfi_def_cfa_offset 16",
                ".cfi_offset rbp, -16",
                "mov rbp, rsp",
                ".cfi_def_cfa_register rbp",
                "sub rsp, 32",
                "mov [rsp], rcx",
                "mov [rsp + 8], r8",
                "mov [rsp + 16], r9",
                "mov rcx, rsp",
                "lea r8, [rbp + 16]",
                "call {to}",
                "leave",
                ".cfi_def_cfa rsp, 8",
                "ret",
        ".cfi_endproc",
                to = sym $to,
            )
        }
    };
}

variadic!(__kmpc_fork_call, fork);
variadic!(__kmpc_fork_teams, fork_teams);

/// A region with an `if` clause.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __kmpc_fork_call_if(
    _: *const Place,
    count: c_int,
    code: *const c_void,
    condition: c_int,
    argument: usize,
) {
    let words = [argument, 0, 0];
    // SAFETY: compiled code gives at most one argument to such a region.
    let body = unsafe { Body::microtask(code, count as usize, words.as_ptr(), null()) };
    run(if condition == 0 { 1 } else { team_size(None) }, &body);
}

/// A region whose `if` clause says no: the compiled code calls its body itself.
#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_serialized_parallel(_: *const Place, _: Number) {
    let founder = current();
    founder.wanted = None;
    let team = Team::new(1, Some(founder));
    let settings = founder.settings.inherited(team.level);
    Member::new(team, 0, settings).enter();
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_end_serialized_parallel(_: *const Place, _: Number) {
    leave();
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_push_num_threads(_: *const Place, _: Number, wanted: c_int) {
    current().wanted = u32::try_from(wanted).ok().filter(|wanted| *wanted > 0);
}

/// How many teams is at most how many there are; how many threads each of them may have.
#[unsafe(no_mangle)]
extern "C" fn __kmpc_push_num_teams(_: *const Place, _: Number, _: c_int, threads: c_int) {
    current().wanted = u32::try_from(threads).ok().filter(|wanted| *wanted > 0);
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_push_proc_bind(_: *const Place, _: Number, _: c_int) {}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_begin(_: *const Place, _: c_int) {}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_end(_: *const Place) {}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_ok_to_fork(_: *const Place) -> c_int {
    1
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_global_thread_num(_: *const Place) -> Number {
    0
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_global_num_threads(_: *const Place) -> Number {
    current().team.size as Number
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_bound_thread_num(_: *const Place) -> Number {
    current().number as Number
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_bound_num_threads(_: *const Place) -> Number {
    current().team.size as Number
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_in_parallel(_: *const Place) -> c_int {
    c_int::from(current().team.active_level > 0)
}
