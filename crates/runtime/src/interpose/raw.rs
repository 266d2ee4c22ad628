//! System calls that the program makes by number.

use std::ffi::{c_int, c_long, c_void};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use foretrace_recording::channel::LIBRARY;
use foretrace_recording::channel::direction::{BOTH, TAKES};
use foretrace_recording::file::flags;
use foretrace_recording::record::{handed, kind};

use super::{children, memory, noticed, numbers, process, sending};
use crate::errno::{keeping_errno, set_errno};
use crate::kernel::calls::around;
use crate::kernel::uses::Uses;
use crate::real::{pass_on, real};
use crate::thread::enter;
use crate::world::hold;

mod next {
    use super::*;
    real!(fn syscall(number: c_long, a: c_long, b: c_long, c: c_long, d: c_long, e: c_long,
        f: c_long) -> c_long);
}

/// Those that nobody else notices.
const SILENT: [c_long; 3] = [libc::SYS_sched_yield, libc::SYS_set_robust_list, libc::SYS_rseq];

/// Those that all other threads may notice. (The ones that set users and groups change the calling
/// thread only.)
const NOTICED: [c_long; 4] =
    [libc::SYS_seccomp, libc::SYS_setrlimit, libc::SYS_sethostname, libc::SYS_setdomainname];

/// The commands of `membarrier` that say which barriers the process wants.
const MEMBARRIER_REGISTER: [c_long; 4] = [4, PRIVATE_BARRIERS, 64, 256];
/// `MEMBARRIER_CMD_PRIVATE_EXPEDITED`, and the one that says that it is wanted.
const PRIVATE_BARRIER: c_long = 8;
const PRIVATE_BARRIERS: c_long = 16;
static HAS_BARRIERS: AtomicBool = AtomicBool::new(false);

/// What is certainly no address.
const FIRST_PAGES: c_long = 1 << 16;

/// Makes those that move bytes, or change what numbers stand for, by their names: what is known of
/// descriptors must stay true.
///
/// # Safety
///
/// The arguments are those of the system call with this number.
unsafe fn by_name(number: c_long, [a, b, c, d, e, f]: [c_long; 6]) -> Option<c_long> {
    let (fd, second, third) = (a as c_int, b as c_int, c as c_int);
    // SAFETY: the caller says so, and the functions take what the system calls take.
    let result = unsafe {
        match number {
            libc::SYS_read => libc::read(fd, b as *mut _, c as usize) as c_long,
            libc::SYS_write => libc::write(fd, b as *const _, c as usize) as c_long,
            libc::SYS_readv => libc::readv(fd, b as *const _, third) as c_long,
            libc::SYS_writev => libc::writev(fd, b as *const _, third) as c_long,
            libc::SYS_pread64 => libc::pread(fd, b as *mut _, c as usize, d) as c_long,
            libc::SYS_pwrite64 => libc::pwrite(fd, b as *const _, c as usize, d) as c_long,
            libc::SYS_recvmsg => libc::recvmsg(fd, b as *mut _, third) as c_long,
            libc::SYS_sendmsg => libc::sendmsg(fd, b as *const _, third) as c_long,
            libc::SYS_close => libc::close(fd).into(),
            libc::SYS_dup => libc::dup(fd).into(),
            libc::SYS_dup2 => libc::dup2(fd, second).into(),
            libc::SYS_dup3 => libc::dup3(fd, second, third).into(),
            libc::SYS_fcntl => libc::fcntl(fd, second, c).into(),
            libc::SYS_pipe => libc::pipe(a as *mut _).into(),
            libc::SYS_pipe2 => libc::pipe2(a as *mut _, second).into(),
            libc::SYS_socketpair => libc::socketpair(fd, second, third, d as *mut _).into(),
            libc::SYS_eventfd => libc::eventfd(a as _, 0).into(),
            libc::SYS_eventfd2 => libc::eventfd(a as _, second).into(),
            libc::SYS_epoll_create1 => libc::epoll_create1(fd).into(),
            libc::SYS_epoll_ctl => libc::epoll_ctl(fd, second, third, d as *mut _).into(),
            libc::SYS_epoll_wait => libc::epoll_wait(fd, b as *mut _, third, d as c_int).into(),
            libc::SYS_poll => libc::poll(a as *mut _, b as _, third).into(),
            libc::SYS_timerfd_create => libc::timerfd_create(fd, second).into(),
            libc::SYS_clock_gettime => libc::clock_gettime(fd, b as *mut _).into(),
            libc::SYS_gettid => numbers::gettid().into(),
            libc::SYS_getpid => numbers::getpid().into(),
            libc::SYS_getppid => numbers::getppid().into(),
            libc::SYS_getpgid => numbers::getpgid(fd).into(),
            libc::SYS_getpgrp => numbers::getpgrp().into(),
            libc::SYS_getsid => numbers::getsid(fd).into(),
            libc::SYS_setpgid => numbers::setpgid(fd, second).into(),
            libc::SYS_setsid => numbers::setsid().into(),
            libc::SYS_kill => libc::kill(fd, second).into(),
            libc::SYS_tgkill => sending::tgkill(fd, second, third).into(),
            libc::SYS_tkill => sending::tgkill(numbers::getpid(), fd, second).into(),
            libc::SYS_mmap => libc::mmap(a as *mut _, b as usize, third, d as _, e as _, f) as _,
            libc::SYS_munmap => libc::munmap(a as *mut _, b as usize).into(),
            libc::SYS_mremap => {
                libc::mremap(a as *mut _, b as usize, c as usize, d as c_int, e as *mut c_void) as _
            }
            libc::SYS_mprotect => noticed::mprotect(a as *mut _, b as usize, third).into(),
            libc::SYS_pkey_mprotect => {
                noticed::pkey_mprotect(a as *mut _, b as usize, third, d as c_int).into()
            }
            libc::SYS_prlimit64 => {
                noticed::prlimit(fd, b as u32, c as *const _, d as *mut _).into()
            }
            libc::SYS_prctl => process::prctl(fd, b as _, c as _, d as _, e as _).into(),
            _ => return None,
        }
    };
    Some(result)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn syscall(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    let call = || pass_on!(next::syscall(number, a, b, c, d, e, f));
    if let Some(result) = pass_on!(by_name(number, [a, b, c, d, e, f])) {
        return result;
    }
    match number {
        libc::SYS_getrandom => {
            let to = a as *mut std::ffi::c_void;
            (pass_on!(super::random::getrandom(to, b as usize, c as u32))) as c_long
        }
        _ if SILENT.contains(&number) => call(),
        libc::SYS_execve | libc::SYS_execveat => {
            children::becomes_program();
            around(|_| Uses::every(), None, call)
        }
        // Which threads of the process are meant; the result is not what the C library makes of it.
        libc::SYS_sched_getaffinity | libc::SYS_sched_setaffinity => {
            let who = numbers::meant(a as c_int).into();
            unknown([b, c, d, e, f], || pass_on!(next::syscall(number, who, b, c, d, e, f)))
        }
        _ if NOTICED.contains(&number) => noticed::noticed_by_all(call),
        libc::SYS_clock_gettime => {
            let time = b as *mut libc::timespec;
            c_long::from(pass_on!(super::clocks::clock_gettime(a as c_int, time)))
        }
        libc::SYS_io_uring_setup if pass_on!(is_polled(b)) && enter(|_| ()).is_some() => {
            process::refuse("an io_uring whose submissions the kernel polls (IORING_SETUP_SQPOLL)")
        }
        // Barriers fail until the process has said that it wants them.
        libc::SYS_membarrier => {
            let says_so = MEMBARRIER_REGISTER.contains(&a);
            let direction = if says_so { BOTH } else { TAKES };
            around(
                |_| Uses::of(&[(LIBRARY, direction)]),
                None,
                || match a {
                    // The runtime has said it for itself.
                    PRIVATE_BARRIER if !HAS_BARRIERS.load(Relaxed) => {
                        set_errno(libc::EPERM);
                        -1
                    }
                    _ => {
                        HAS_BARRIERS.fetch_or(a == PRIVATE_BARRIERS, Relaxed);
                        call()
                    }
                },
            )
        }
        libc::SYS_futex => around(
            |kernel| {
                let mut uses = Uses::of(&[(kernel.futex(a as u64), BOTH)]);
                // FUTEX_REQUEUE and the like have a second one.
                if b as c_int & 0x7f >= 3 {
                    uses.add(kernel.futex(e as u64), BOTH);
                }
                uses
            },
            None,
            call,
        ),
        _ => unknown([a, b, c, d, e, f], call),
    }
}

/// Whether these parameters of an `io_uring` say that the kernel polls its submissions.
///
/// # Safety
///
/// They are null, or such parameters: numbers of 32 bits, the third of which are the flags.
unsafe fn is_polled(parameters: c_long) -> bool {
    const SQPOLL: u32 = 2;
    let parameters = parameters as *const u32;
    // SAFETY: the caller says so.
    !parameters.is_null() && unsafe { parameters.add(2).read() } & SQPOLL != 0
}

/// A system call of which nothing is known. It may fail for what others did to memory or threads,
/// and use memory at the addresses that it gets.
fn unknown<const N: usize>(arguments: [c_long; N], call: impl FnOnce() -> c_long) -> c_long {
    let hand_over = |what: u8| {
        enter(|thread| {
            let site = thread.call_site;
            crate::log::flag(flags::HANDED);
            for address in arguments.into_iter().filter(|&address| address >= FIRST_PAGES) {
                hold().stamped(thread, kind::HANDED, what, site, [address as u64]);
            }
        });
    };
    let result = around(
        |_| Uses::every(),
        None,
        || {
            hand_over(handed::WRITTEN);
            call()
        },
    );
    keeping_errno(|| {
        hand_over(handed::UNDESCRIBED);
        if result < 0 {
            enter(memory::looked);
        }
    });
    result
}
