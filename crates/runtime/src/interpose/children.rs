//! Child processes.
//!
//! A recording keeps what `fork`, `posix_spawn`, `system` and the `wait` family answered. If all
//! children were other programs (`foretrace_recording::file::child`), a replay starts none of them:
//! it gives these answers again, and what came through pipes whose other end only they had
//! ([`crate::kernel::given`]). Otherwise it starts them as the recorded run did, and only shows
//! their numbers.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering::Relaxed};

use foretrace_recording::channel::direction::{BOTH, TAKES};
use foretrace_recording::channel::{CHILDREN, NAMES, OUTSIDE};
use foretrace_recording::file::child;
use foretrace_recording::input::{NOTHING_SENT, call, hash};
use foretrace_recording::library;
use foretrace_recording::record::{kind, unseen};
use libc::{id_t, idtype_t, pid_t, siginfo_t};

use super::{numbers, process};
use crate::config::{Mode, mode};
use crate::errno::keeping_errno;
use crate::futex::system_call;
use crate::inputs::Answer;
use crate::kernel::Kernel;
use crate::kernel::exchange::{Areas, Fate, Source, exchange, finish, give, start};
use crate::kernel::uses::Uses;
use crate::log;
use crate::real::{pass_on, real, variants};
use crate::thread::{Thread, enter};
use crate::world::hold;

mod next {
    #![allow(non_snake_case)]
    use super::*;
    real!(fn fork() -> pid_t);
    real!(fn _Fork() -> pid_t);
    real!(fn posix_spawn(child: *mut pid_t, path: *const c_char, actions: *const c_void,
        how: *const c_void, arguments: *const *mut c_char,
        variables: *const *mut c_char) -> c_int);
    real!(fn posix_spawnp(child: *mut pid_t, file: *const c_char, actions: *const c_void,
        how: *const c_void, arguments: *const *mut c_char,
        variables: *const *mut c_char) -> c_int);
    real!(fn system(command: *const c_char) -> c_int);
    real!(fn wait4(process: pid_t, status: *mut c_int, flags: c_int,
        usage: *mut libc::rusage) -> pid_t);
    real!(fn waitid(kind: idtype_t, of: id_t, info: *mut siginfo_t, flags: c_int) -> c_int);
}

// Children make, rename and remove files: another thread that looks for one may learn from it what
// the thread has done that started the child, or waited for it.
// They inherit descriptors and the environment.
const START: &[(u32, u32)] = library::HIDDEN[library::CHILDREN_LIST as usize];
const WAIT: [(u32, u32); 3] = [(CHILDREN, BOTH), (OUTSIDE, TAKES), (NAMES, BOTH)];

fn always(_: &mut Kernel) -> bool {
    true
}

/// Whether children are as in the recorded run without being started.
fn is_answered(kernel: &mut Kernel) -> bool {
    !kernel.objects.children_again
}

fn own_number() -> pid_t {
    system_call(libc::SYS_getpid, [0; 6]) as pid_t
}

/// Copies the process.
fn copy(make: impl FnOnce() -> pid_t) -> pid_t {
    let source = Source { optional: true, ..Source::new(call::FORK, &always) };
    let Some(begun) = start(&source, |_| Uses::of(START), None) else { return make() };
    let result = match &begun.fate {
        Fate::Answered(answer) if answer.result < 0 => {
            give(answer, &|_, _| ());
            -1
        }
        Fate::Answered(answer) => {
            let seen = answer.result as pid_t;
            let again = enter(|_| hold().kernel.objects.children_again).unwrap_or(true);
            match make() {
                // The handlers of `pthread_atfork` have run.
                0 if !again => process::vanish(),
                0 => {
                    numbers::add(own_number(), seen);
                    return 0;
                }
                own if own > 0 && !again => bury(own),
                own => numbers::add(own, seen),
            }
            seen
        }
        _ => make(),
    };
    if result != 0 {
        if result > 0 {
            keeping_errno(|| enter(note_copy));
        }
        finish(&begun, &source, i64::from(result), &|_, _| (), |_| ());
    }
    result
}

/// The copy has the memory of this moment: what other threads have written so far, and no more.
fn note_copy(thread: &mut Thread) {
    let mut world = hold();
    if world.kernel.has_several_threads {
        let site = thread.call_site;
        world.stamped(thread, kind::UNSEEN, unseen::COPIED, site, []);
    }
}

/// A child that has done nothing is gone, and leaves no trace: not its signal either.
fn bury(child: pid_t) {
    const ANY_KIND: usize = 0x4000_0000; // __WALL
    keeping_errno(|| {
        while system_call(libc::SYS_wait4, [child as usize, 0, ANY_KIND, 0, 0, 0])
            == -(libc::EINTR as isize)
        {}
        let ends = 1u64 << (libc::SIGCHLD - 1);
        let mut pending = 0u64;
        system_call(libc::SYS_rt_sigpending, [(&raw mut pending) as usize, 8, 0, 0, 0, 0]);
        if pending & ends != 0 {
            let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            let (set, time) = ((&raw const ends) as usize, (&raw const at_once) as usize);
            system_call(libc::SYS_rt_sigtimedwait, [set, 0, time, 8, 0, 0]);
        }
    });
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn fork() -> pid_t {
    copy(|| pass_on!(next::fork()))
}

/// Without the handlers of the program.
fn copy_quietly() -> pid_t {
    process::before_fork();
    // SAFETY: it takes nothing, and the locks of the runtime are held or free in the copy.
    let child = unsafe { next::_Fork() };
    match child {
        0 => process::in_child(),
        _ => keeping_errno(|| process::behind_fork()),
    }
    child
}

#[allow(non_snake_case)]
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _Fork() -> pid_t {
    copy(copy_quietly)
}

/// A copy does, too: what the child may do by the rules before it becomes another program does not
/// touch memory of the parent's.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn vfork() -> pid_t {
    copy(copy_quietly)
}

/// Which child this process is, and its number; 0 if it is the recorded process.
static PLACE: AtomicUsize = AtomicUsize::new(0);
static NUMBER: AtomicI32 = AtomicI32::new(0);

/// In a new child.
pub(super) fn is_child(place: usize) {
    PLACE.store(place, Relaxed);
    NUMBER.store(own_number(), Relaxed);
}

/// The functions by which a process becomes another program. Some of them have any number of
/// arguments.
static BECOMES: [(&CStr, AtomicUsize); 9] = [
    (c"execve", AtomicUsize::new(0)),
    (c"execv", AtomicUsize::new(0)),
    (c"execvp", AtomicUsize::new(0)),
    (c"execvpe", AtomicUsize::new(0)),
    (c"fexecve", AtomicUsize::new(0)),
    (c"execveat", AtomicUsize::new(0)),
    (c"execl", AtomicUsize::new(0)),
    (c"execlp", AtomicUsize::new(0)),
    (c"execle", AtomicUsize::new(0)),
];

/// Looks up these functions: in a child, others may have been looking up.
pub(super) fn look_up() {
    for (name, known) in &BECOMES {
        if known.load(Relaxed) == 0 {
            // SAFETY: the name is a C string.
            let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
            known.store(found as usize, Relaxed);
        }
    }
}

/// The process is about to become another program. Its children are not the recorded process's.
pub(super) fn becomes_program() {
    let number = NUMBER.load(Relaxed);
    if number != 0 && number == own_number() {
        log::set_child(PLACE.load(Relaxed), child::PROGRAM);
    }
}

/// Returns the C library's own function.
extern "C" fn become_program(which: usize) -> usize {
    becomes_program();
    look_up();
    BECOMES[which].1.load(Relaxed)
}

macro_rules! becomes {
    ($($which:literal $name:ident;)*) => { $(
        /// Goes on to the C library's own function, with all arguments as they are.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "push rax",
                concat!("mov edi, ", $which),
                "call {mark}",
                "mov r11, rax",
                "pop rax", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
                "jmp r11",
                mark = sym become_program,
            )
        }
    )* };
}

becomes! {
    0 execve;
    1 execv;
    2 execvp;
    3 execvpe;
    4 fexecve;
    5 execveat;
    6 execl;
    7 execlp;
    8 execle;
}

/// A program is about to be started.
fn started() {
    keeping_errno(|| {
        enter(|_| {
            hold().kernel.inherit();
            log::add_child(child::PROGRAM);
        })
    });
}

/// The hash of a list of texts that ends with a null pointer.
///
/// # Safety
///
/// All are C strings or null, and so is `first`; the list may be null as well.
unsafe fn hash_of_texts(first: *const c_char, list: *const *mut c_char) -> u64 {
    let of = |so_far: u64, text: *const c_char| match text.is_null() {
        true => so_far,
        // SAFETY: the caller says so.
        false => hash(so_far, unsafe { CStr::from_ptr(text) }.to_bytes_with_nul()),
    };
    let mut all = of(NOTHING_SENT, first);
    if list.is_null() {
        return all;
    }
    // SAFETY: the caller says so: none is looked at behind the null pointer.
    let texts = (0..).map(|at| unsafe { *list.add(at) });
    for text in texts.take_while(|text| !text.is_null()) {
        all = of(all, text);
    }
    all
}

/// Starts a program. `make` puts its number where it is told to.
fn spawn(child: *mut pid_t, sent: u64, make: impl FnOnce(*mut pid_t) -> c_int) -> c_int {
    let number = Cell::new(0);
    let areas = |result: i64, visit: &mut dyn FnMut(*mut u8, usize)| {
        if result == 0 {
            visit(number.as_ptr().cast(), size_of::<pid_t>());
        }
    };
    let sent = || sent;
    let source = Source { optional: true, sent: Some(&sent), ..Source::new(call::SPAWN, &always) };
    let Some(begun) = start(&source, |_| Uses::of(START), None) else { return make(child) };
    started();
    let status = match &begun.fate {
        Fate::Answered(answer) => {
            give(answer, &areas);
            let again = enter(|_| hold().kernel.objects.children_again).unwrap_or(true);
            let mut own = 0;
            if again && answer.result == 0 && make(&mut own) == 0 {
                numbers::add(own, number.get());
            }
            answer.result as c_int
        }
        _ => make(number.as_ptr()),
    };
    finish(&begun, &source, i64::from(status), &areas, |_| ());
    if status == 0 && !child.is_null() {
        // SAFETY: the caller of `posix_spawn` gives a place for the number, or null.
        unsafe { *child = number.get() };
    }
    status
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn posix_spawn(
    child: *mut pid_t,
    path: *const c_char,
    actions: *const c_void,
    how: *const c_void,
    arguments: *const *mut c_char,
    variables: *const *mut c_char,
) -> c_int {
    let sent = pass_on!(hash_of_texts(path, arguments));
    spawn(child, sent, |child| {
        pass_on!(next::posix_spawn(child, path, actions, how, arguments, variables))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn posix_spawnp(
    child: *mut pid_t,
    file: *const c_char,
    actions: *const c_void,
    how: *const c_void,
    arguments: *const *mut c_char,
    variables: *const *mut c_char,
) -> c_int {
    let sent = pass_on!(hash_of_texts(file, arguments));
    spawn(child, sent, |child| {
        pass_on!(next::posix_spawnp(child, file, actions, how, arguments, variables))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn system(command: *const c_char) -> c_int {
    let sent = || pass_on!(hash_of_texts(command, std::ptr::null()));
    let source = Source {
        sent: Some(&sent),
        of_child: Some(&always),
        ..Source::new(call::SYSTEM, &is_answered)
    };
    let call = || {
        started();
        i64::from(pass_on!(next::system(command)))
    };
    exchange(&source, |_| Uses::of(START), None, &|_, _| (), call) as c_int
}

/// Waits for a child. Where children were started again, `again` waits for the one that the
/// recorded run got here, by its number now: several may have ended.
fn wait_for(
    areas: Areas,
    child: impl FnOnce(&Answer) -> pid_t,
    make: impl FnOnce() -> i64,
    again: impl FnOnce(pid_t) -> i64,
) -> i64 {
    let source = Source::new(call::WAIT, &is_answered);
    let Some(begun) = start(&source, |_| Uses::of(&WAIT), None) else { return make() };
    let result = match &begun.fate {
        Fate::Answered(answer) => {
            let is_again = enter(|_| hold().kernel.objects.children_again).unwrap_or(true);
            match child(answer) {
                child @ 1.. if is_again => again(numbers::meant(child)),
                _ => {
                    give(answer, areas);
                    answer.result
                }
            }
        }
        _ => make(),
    };
    finish(&begun, &source, result, areas, |_| ());
    result
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn wait4(
    process: pid_t,
    status: *mut c_int,
    flags: c_int,
    usage: *mut libc::rusage,
) -> pid_t {
    let areas = |result: i64, visit: &mut dyn FnMut(*mut u8, usize)| {
        if result > 0 && !status.is_null() {
            visit(status.cast(), size_of::<c_int>());
        }
        if result > 0 && !usage.is_null() {
            visit(usage.cast(), size_of::<libc::rusage>());
        }
    };
    let meant = numbers::process_or_group(process);
    let wait = |process: pid_t, flags: c_int| {
        i64::from(numbers::seen(pass_on!(next::wait4(process, status, flags, usage))))
    };
    wait_for(
        &areas,
        |answer| answer.result as pid_t,
        || wait(meant, flags),
        |child| wait(child, flags & !libc::WNOHANG),
    ) as pid_t
}

variants! {
    fn waitpid(process: pid_t, status: *mut c_int, flags: c_int) -> pid_t
        = wait4(process, status, flags, std::ptr::null_mut());
    fn wait(status: *mut c_int) -> pid_t = wait4(-1, status, 0, std::ptr::null_mut());
    fn wait3(status: *mut c_int, flags: c_int, usage: *mut libc::rusage) -> pid_t
        = wait4(-1, status, flags, usage);
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn waitid(
    kind: idtype_t,
    of: id_t,
    info: *mut siginfo_t,
    flags: c_int,
) -> c_int {
    let areas = |result: i64, visit: &mut dyn FnMut(*mut u8, usize)| {
        if result == 0 && !info.is_null() {
            visit(info.cast(), size_of::<siginfo_t>());
        }
    };
    let meant = match kind {
        libc::P_PID => numbers::meant(of as pid_t) as id_t,
        libc::P_PGID => numbers::group_meant(of as pid_t) as id_t,
        _ => of,
    };
    let wait = |kind: idtype_t, of: id_t, flags: c_int| {
        let status = pass_on!(next::waitid(kind, of, info, flags));
        // SAFETY: the caller gives a place for the answer, or null.
        if let (0, Some(info)) = (status, unsafe { info.as_mut() }) {
            numbers::show_sender(info);
        }
        i64::from(status)
    };
    wait_for(
        &areas,
        |answer| match answer.data.as_ptr().cast::<siginfo_t>() {
            // SAFETY: there are so many bytes, which the kernel set in the recorded run.
            told if answer.data.len() >= size_of::<siginfo_t>() => unsafe {
                told.read_unaligned().si_pid()
            },
            _ => 0,
        },
        || wait(kind, meant, flags),
        |child| wait(libc::P_PID, child as id_t, flags & !libc::WNOHANG),
    ) as c_int
}

/// Makes a call about a process that may be a child.
pub(super) fn about(process: pid_t, call: impl FnOnce() -> i64) -> i64 {
    if process == 0 || process == own_number() || mode() == Mode::Off {
        return call();
    }
    let source = Source { of_child: Some(&always), ..Source::new(call::CHILD, &is_answered) };
    exchange(&source, |_| Uses::default(), None, &|_, _| (), call)
}
