//! Calls that open, close and query descriptors.
//!
//! A new descriptor has the lowest number that is free, so that who opens notices who closed.
//! Closing only gives numbers back: two threads that close do not notice each other.

use std::ffi::{c_char, c_int, c_uint, c_ulong};

use foretrace_recording::channel::direction::{BOTH, GIVES, TAKES};
use foretrace_recording::channel::{DESCRIPTORS, NAMES, OUTSIDE, SIGNALS};
use foretrace_recording::input::call;
use libc::{mode_t, off_t};

use super::{clocks, noticed};
use crate::kernel::Kernel;
use crate::kernel::calls::{around, around_then};
use crate::kernel::exchange::{Source, exchange};
use crate::kernel::files::{how_flagged, named_file};
use crate::kernel::given;
use crate::kernel::objects::Kind;
use crate::kernel::timers::Timer;
use crate::kernel::uses::Uses;
use crate::real::{pass_on, real, variants};
use crate::thread::enter;
use crate::world::hold;

/// The kind of request that is one to a userfaultfd.
const OF_USERFAULTFD: c_ulong = 0xaa;

mod next {
    use super::*;
    real!(fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int);
    real!(fn openat(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int);
    real!(fn close(fd: c_int) -> c_int);
    real!(fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int);
    real!(fn closefrom(first: c_int));
    real!(fn dup(fd: c_int) -> c_int);
    real!(fn dup2(fd: c_int, new: c_int) -> c_int);
    real!(fn dup3(fd: c_int, new: c_int, flags: c_int) -> c_int);
    real!(fn pipe2(ends: *mut c_int, flags: c_int) -> c_int);
    real!(fn eventfd(count: c_uint, flags: c_int) -> c_int);
    real!(fn timerfd_create(clock: c_int, flags: c_int) -> c_int);
    real!(fn timerfd_settime(fd: c_int, flags: c_int, new: *const libc::itimerspec,
        old: *mut libc::itimerspec) -> c_int);
    real!(fn timerfd_gettime(fd: c_int, now: *mut libc::itimerspec) -> c_int);
    real!(fn signalfd(fd: c_int, set: *const libc::sigset_t, flags: c_int) -> c_int);
    real!(fn epoll_create1(flags: c_int) -> c_int);
    real!(fn inotify_init1(flags: c_int) -> c_int);
    real!(fn memfd_create(name: *const c_char, flags: c_uint) -> c_int);
    real!(fn lseek(fd: c_int, offset: off_t, from: c_int) -> off_t);
    real!(fn ftruncate(fd: c_int, size: off_t) -> c_int);
    real!(fn fstat(fd: c_int, to: *mut libc::stat) -> c_int);
    real!(fn ioctl(fd: c_int, request: c_ulong, argument: c_ulong) -> c_int);
    real!(fn fcntl(fd: c_int, command: c_int, argument: c_ulong) -> c_int);
}

/// The channels of a call that opens a descriptor.
pub(super) fn opening() -> Uses {
    Uses::of(&[(DESCRIPTORS, BOTH)])
}

/// The channels of a call that gives numbers back: it keeps its order with those who take them.
pub(super) fn closing() -> Uses {
    Uses::of(&[(DESCRIPTORS, TAKES)])
}

/// Makes a call that opens a descriptor.
pub(super) fn open_one(
    uses: impl Fn(&mut Kernel) -> Uses,
    call: impl FnOnce() -> c_int,
    then: impl FnOnce(&mut Kernel, c_int),
) -> c_int {
    let all = |kernel: &mut Kernel| {
        let mut all = opening();
        all.join(&uses(kernel));
        all
    };
    around_then(all, None, call, |kernel, &fd| {
        if fd >= 0 {
            kernel.closed(fd);
            kernel.has_opened(fd);
            then(kernel, fd);
        }
    })
}

/// What opening a file does with the names of files.
fn naming(kernel: &mut Kernel, folder: c_int, path: *const c_char, flags: c_int) -> Uses {
    let creates = flags & (libc::O_CREAT | libc::O_TRUNC | libc::O_TMPFILE) != 0;
    let mut uses = Uses::of(&[(NAMES, if creates { BOTH } else { TAKES })]);
    if creates {
        uses.add(OUTSIDE, GIVES);
    }
    if flags & libc::O_TRUNC != 0 {
        uses.join(&kernel.named_file_in(folder, path, true));
    }
    uses
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    named_file(libc::AT_FDCWD, path, how_flagged(flags), |path| {
        let uses = |kernel: &mut Kernel| naming(kernel, libc::AT_FDCWD, path, flags);
        open_one(uses, || pass_on!(next::open(path, flags, mode)), |_, _| ())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn openat(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mode: mode_t,
) -> c_int {
    named_file(folder, path, how_flagged(flags), |path| {
        let uses = |kernel: &mut Kernel| naming(kernel, folder, path, flags);
        open_one(uses, || pass_on!(next::openat(folder, path, flags, mode)), |_, _| ())
    })
}

/// The last close of an object may be seen at its other end. (Of a file, only who asks for locks
/// notices.)
fn ending(kernel: &mut Kernel, fd: c_int) -> Uses {
    let mut uses = closing();
    uses.join(&kernel.both(fd));
    uses.quiet()
}

/// Makes a call that ends what this number was; `then` says whether it did.
fn giving_back(
    fd: c_int,
    uses: impl Fn(&mut Kernel) -> Uses,
    call: impl FnOnce() -> c_int,
    then: impl FnOnce(&mut Kernel, c_int) -> bool,
) -> c_int {
    let is_shared = given::is_shared(fd);
    let status = around_then(uses, None, call, |kernel, &status| {
        if then(kernel, status) {
            kernel.gave_back(fd);
        }
    });
    if is_shared {
        given::was_closed();
    }
    status
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn close(fd: c_int) -> c_int {
    giving_back(
        fd,
        |kernel| ending(kernel, fd),
        || pass_on!(next::close(fd)),
        |kernel, status| {
            if status == 0 {
                kernel.closed(fd);
            }
            status == 0
        },
    )
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    let call = || pass_on!(next::close_range(first, last, flags));
    let status = around(|_| Uses::every(), None, call);
    given::was_closed();
    status
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn closefrom(first: c_int) {
    around(|_| Uses::every(), None, || pass_on!(next::closefrom(first)));
    given::was_closed();
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dup(fd: c_int) -> c_int {
    open_one(
        |_| Uses::default(),
        || pass_on!(next::dup(fd)),
        |kernel, new| kernel.duplicated(fd, new),
    )
}

/// Makes a call by which `new` is the same as `fd`. It may have been something else before.
fn replace(fd: c_int, new: c_int, call: impl FnOnce() -> c_int) -> c_int {
    let uses = |kernel: &mut Kernel| {
        let mut uses = opening();
        uses.join(&closing());
        uses.join(&kernel.both(fd));
        uses.join(&kernel.both(new));
        uses.quiet()
    };
    giving_back(new, uses, call, |kernel, status| {
        let is_another = status >= 0 && fd != new;
        if is_another {
            kernel.duplicated(fd, new);
        }
        is_another
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dup2(fd: c_int, new: c_int) -> c_int {
    replace(fd, new, || pass_on!(next::dup2(fd, new)))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dup3(fd: c_int, new: c_int, flags: c_int) -> c_int {
    replace(fd, new, || pass_on!(next::dup3(fd, new, flags)))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn pipe2(ends: *mut c_int, flags: c_int) -> c_int {
    around_then(
        |_| opening(),
        None,
        || pass_on!(next::pipe2(ends, flags)),
        |kernel, &status| {
            if status == 0 {
                // SAFETY: the caller gives room for two descriptors, which the call has set.
                kernel.piped(unsafe { [*ends, *ends.add(1)] }, flags);
            }
        },
    )
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn eventfd(count: c_uint, flags: c_int) -> c_int {
    open_one(
        |_| Uses::default(),
        || pass_on!(next::eventfd(count, flags)),
        |kernel, fd| {
            kernel.created(fd, Kind::Counter, "eventfd");
            if count == 0 {
                kernel.counts_from_zero(fd);
            }
        },
    )
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn timerfd_create(clock: c_int, flags: c_int) -> c_int {
    open_one(
        |_| Uses::default(),
        || pass_on!(next::timerfd_create(clock, flags)),
        |kernel, fd| {
            let virtually = clocks::is_virtual();
            kernel.created(fd, if virtually { Kind::Timer } else { Kind::Outside }, "timer");
            if virtually {
                kernel.add_timer(fd, clock);
            }
        },
    )
}

/// Calls `work` with the timer that a descriptor is, if time is virtual, and the time now.
fn with_timer<R>(fd: c_int, work: impl FnOnce(&mut Timer, i64) -> R) -> Option<R> {
    enter(|_| {
        let now = clocks::nanoseconds(crate::futex::now());
        hold().kernel.timer(fd).map(|timer| work(timer, now))
    })
    .flatten()
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn timerfd_settime(
    fd: c_int,
    flags: c_int,
    new: *const libc::itimerspec,
    old: *mut libc::itimerspec,
) -> c_int {
    let set = |timer: &mut Timer, now: i64| {
        // SAFETY: the caller gives a time.
        let (before, new) = (timer.left(now), unsafe { *new });
        let due = match clocks::nanoseconds(new.it_value) {
            0 => None,
            _ if flags & libc::TFD_TIMER_ABSTIME != 0 => {
                Some(clocks::nanoseconds(super::monotonic(timer.clock, new.it_value)))
            }
            length => Some(now.saturating_add(length)),
        };
        timer.set(due, new.it_interval);
        before
    };
    let call = || match with_timer(fd, set) {
        None => pass_on!(next::timerfd_settime(fd, flags, new, old)),
        Some(before) => {
            // SAFETY: the caller gives a place for the old time, or null.
            if let Some(old) = unsafe { old.as_mut() } {
                *old = before;
            }
            0
        }
    };
    around(|kernel| kernel.both(fd), None, call)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn timerfd_gettime(fd: c_int, to: *mut libc::itimerspec) -> c_int {
    let call = || match with_timer(fd, |timer, now| timer.left(now)) {
        None => pass_on!(next::timerfd_gettime(fd, to)),
        Some(left) => {
            // SAFETY: the caller gives a place for the time.
            unsafe { *to = left };
            0
        }
    };
    around(|kernel| kernel.both(fd), None, call)
}

/// The program has read from a descriptor: if that is a timer, how often it has expired.
pub(super) fn timer_read(fd: c_int) -> Option<u64> {
    with_timer(fd, Timer::read)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn signalfd(fd: c_int, set: *const libc::sigset_t, flags: c_int) -> c_int {
    open_one(
        |_| Uses::of(&[(SIGNALS, BOTH)]),
        || pass_on!(next::signalfd(fd, set, flags)),
        |kernel, new| {
            kernel.created(new, Kind::Outside, "signalfd");
            // Who reads from it notices signals that are sent.
            if let Some(slot) = kernel.slot(new) {
                kernel.join(slot.channel, SIGNALS);
            }
        },
    )
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn epoll_create1(flags: c_int) -> c_int {
    open_one(
        |_| Uses::default(),
        || pass_on!(next::epoll_create1(flags)),
        |kernel, fd| kernel.created(fd, Kind::Inside, "epoll"),
    )
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn inotify_init1(flags: c_int) -> c_int {
    open_one(
        |_| Uses::default(),
        || pass_on!(next::inotify_init1(flags)),
        |kernel, fd| {
            kernel.created(fd, Kind::Outside, "inotify");
            if let Some(slot) = kernel.slot(fd) {
                kernel.join(slot.channel, NAMES);
            }
        },
    )
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn memfd_create(name: *const c_char, flags: c_uint) -> c_int {
    open_one(
        |_| Uses::default(),
        || pass_on!(next::memfd_create(name, flags)),
        |kernel, fd| kernel.made_own(fd),
    )
}

/// `F_SETOWN`, `F_SETSIG`, `F_SETOWN_EX`, `F_SETLEASE`, `F_NOTIFY`: the kernel is to send signals.
const SIGNALLING: [c_int; 5] = [8, 10, 15, 1024, 1026];
/// `FIOASYNC`, `FIOSETOWN`, `SIOCSPGRP`.
const SIGNALLING_REQUESTS: [c_ulong; 3] = [0x5452, 0x8901, 0x8902];

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn fcntl(fd: c_int, command: c_int, argument: c_ulong) -> c_int {
    let call = || pass_on!(next::fcntl(fd, command, argument));
    let asks_for_signals = match command {
        libc::F_SETFL => argument as c_int & libc::O_ASYNC != 0,
        _ => SIGNALLING.contains(&command),
    };
    if asks_for_signals {
        enter(|_| hold().kernel.sends_signals = true);
    }
    match command {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => {
            open_one(|_| Uses::default(), call, |kernel, new| kernel.duplicated(fd, new))
        }
        libc::F_GETFD | libc::F_GETFL => {
            let uses = |kernel: &mut Kernel| {
                let mut uses = kernel.question(fd);
                uses.join(&kernel.of_number(fd));
                uses.quiet()
            };
            around(uses, None, call)
        }
        // How many bytes fit into a pipe, or whether it passes on messages.
        libc::F_SETPIPE_SZ => around(|kernel| kernel.both(fd), None, call),
        libc::F_SETFL if argument as c_int & libc::O_DIRECT != 0 => {
            around(|kernel| kernel.both(fd), None, call)
        }
        libc::F_SETFL => around(|kernel| kernel.both(fd).changes_waits(), None, call),
        _ => around(|kernel| kernel.both(fd).quiet(), None, call),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn fstat(fd: c_int, to: *mut libc::stat) -> c_int {
    let outside = |kernel: &mut Kernel| kernel.goes_to_others(fd);
    let areas = |_: i64, visit: &mut dyn FnMut(*mut u8, usize)| {
        visit(to.cast(), size_of::<libc::stat>());
    };
    let source = Source::new(call::ABOUT, &outside);
    let call = || i64::from(pass_on!(next::fstat(fd, to)));
    exchange(&source, |kernel| kernel.question(fd), None, &areas, call) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn ioctl(fd: c_int, request: c_ulong, argument: c_ulong) -> c_int {
    if request >> 8 & 0xff == OF_USERFAULTFD {
        // It may fill pages for which others wait.
        let call = || pass_on!(next::ioctl(fd, request, argument));
        return noticed::noticed_by_all(|| around(|kernel| kernel.both(fd), None, call));
    }
    if SIGNALLING_REQUESTS.contains(&request) {
        enter(|_| hold().kernel.sends_signals = true);
    }
    // How much there is to read depends on who sends it; most others only concern the descriptor.
    let outside =
        |kernel: &mut Kernel| request == libc::FIONREAD && kernel.is_answered_by_others(fd);
    let areas = |result: i64, visit: &mut dyn FnMut(*mut u8, usize)| {
        if result >= 0 && request == libc::FIONREAD {
            visit(argument as *mut u8, size_of::<c_int>());
        }
    };
    let source = Source::new(call::ABOUT, &outside);
    let call = || i64::from(pass_on!(next::ioctl(fd, request, argument)));
    exchange(&source, |kernel| kernel.both(fd), None, &areas, call) as c_int
}

/// What a replay gives instead of reading does not move the place in the file.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn lseek(fd: c_int, offset: off_t, from: c_int) -> off_t {
    let outside = |kernel: &mut Kernel| kernel.is_answered_by_others(fd);
    let source = Source::new(call::ABOUT, &outside);
    let call = || pass_on!(next::lseek(fd, offset, from));
    exchange(&source, |kernel| kernel.both(fd), None, &|_, _| (), call)
}

// The same under other names, and special cases.
variants! {
    fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int = open(path, flags, mode);
    fn openat64(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int
        = openat(folder, path, flags, mode);
    fn __open_2(path: *const c_char, flags: c_int) -> c_int = open(path, flags, 0);
    fn __open64_2(path: *const c_char, flags: c_int) -> c_int = open(path, flags, 0);
    fn __openat_2(folder: c_int, path: *const c_char, flags: c_int) -> c_int
        = openat(folder, path, flags, 0);
    fn __openat64_2(folder: c_int, path: *const c_char, flags: c_int) -> c_int
        = openat(folder, path, flags, 0);
    fn creat(path: *const c_char, mode: mode_t) -> c_int
        = open(path, libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC, mode);
    fn creat64(path: *const c_char, mode: mode_t) -> c_int = creat(path, mode);
    fn pipe(ends: *mut c_int) -> c_int = pipe2(ends, 0);
    fn epoll_create(_: c_int) -> c_int = epoll_create1(0);
    fn inotify_init() -> c_int = inotify_init1(0);
    fn fcntl64(fd: c_int, command: c_int, argument: c_ulong) -> c_int
        = fcntl(fd, command, argument);
    fn fstat64(fd: c_int, to: *mut libc::stat) -> c_int = fstat(fd, to);
    fn ftruncate64(fd: c_int, size: off_t) -> c_int = ftruncate(fd, size);
    fn lseek64(fd: c_int, offset: off_t, from: c_int) -> off_t = lseek(fd, offset, from);
}

/// Who accesses pages that the file no longer has gets a fault.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn ftruncate(fd: c_int, size: off_t) -> c_int {
    let cut = || around(|kernel| kernel.both(fd), None, || pass_on!(next::ftruncate(fd, size)));
    match enter(|_| hold().kernel.is_mapped(fd)) {
        Some(true) => noticed::noticed_by_all(cut),
        _ => cut(),
    }
}

/// Calls that ask or change something about one descriptor: `name(arguments) -> result`, the first
/// argument is the descriptor.
macro_rules! about {
    ($(
        $name:ident $(as $next:ident)? ($fd:ident $(, $argument:ident: $type:ty)*) -> $result:ty;
    )*) => {
        mod about_next {
            use super::*;
            $( about!(@next $name $($next)? ($fd $(, $argument: $type)*) -> $result); )*
        }
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name($fd: c_int $(, $argument: $type)*) -> $result {
                let call = || pass_on!(about_next::$name($fd $(, $argument)*));
                around(|kernel| kernel.both($fd), None, call)
            }
        )*
    };
    (@next $name:ident ($fd:ident $(, $argument:ident: $type:ty)*) -> $result:ty) => {
        real!(fn $name($fd: c_int $(, $argument: $type)*) -> $result);
    };
}

about! {
    fallocate(fd, mode: c_int, offset: off_t, size: off_t) -> c_int;
    fallocate64(fd, mode: c_int, offset: off_t, size: off_t) -> c_int;
    posix_fallocate(fd, offset: off_t, size: off_t) -> c_int;
    posix_fallocate64(fd, offset: off_t, size: off_t) -> c_int;
    flock(fd, operation: c_int) -> c_int;
    lockf(fd, operation: c_int, size: off_t) -> c_int;
    lockf64(fd, operation: c_int, size: off_t) -> c_int;
    fchmod(fd, mode: mode_t) -> c_int;
    fchown(fd, user: libc::uid_t, group: libc::gid_t) -> c_int;
    futimens(fd, times: *const libc::timespec) -> c_int;
    inotify_add_watch(fd, path: *const c_char, mask: u32) -> c_int;
    inotify_rm_watch(fd, watch: c_int) -> c_int;
}
