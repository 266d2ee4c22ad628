//! Functions whose effect every thread may notice, whatever it does then: it gets a fault where it
//! got none, is refused a file that it could open, or has no memory, descriptors or letters left.
//!
//! A record before and behind the call says so. Each other thread keeps its order with both at its
//! next operation.

use std::ffi::{c_char, c_int, c_void};

use foretrace_recording::record::{kind, unseen};
use libc::{gid_t, pid_t, rlimit, size_t, uid_t};

use super::numbers::meant;
use crate::errno::keeping_errno;
use crate::real::{pass_on, real, variants};
use crate::thread::{Thread, enter};
use crate::world::hold;

/// Makes a call that all threads may notice.
pub(super) fn noticed_by_all<R>(call: impl FnOnce() -> R) -> R {
    let say = |thread: &mut Thread| {
        let site = thread.call_site;
        let mut world = hold();
        if world.kernel.has_several_threads {
            world.stamped(thread, kind::UNSEEN, unseen::NOTICED, site, []);
        }
    };
    enter(say);
    let result = call();
    keeping_errno(|| enter(say));
    result
}

macro_rules! noticed {
    ($($(#[$attribute:meta])* fn $name:ident($($argument:ident: $type:ty),*);)*) => {
        mod next { use super::*; $( real!(fn $name($($argument: $type),*) -> c_int); )*
            real!(fn setlocale(category: c_int, name: *const c_char) -> *mut c_char);
            real!(fn prlimit(process: pid_t, resource: u32, new: *const rlimit,
                old: *mut rlimit) -> c_int);
        }
        $(
            $(#[$attribute])*
            #[unsafe(no_mangle)]
            pub(super) unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
                noticed_by_all(|| pass_on!(next::$name($($argument),*)))
            }
        )*
    };
}

noticed! {
    /// Pages become readable, or no longer are.
    fn mprotect(start: *mut c_void, size: size_t, access: c_int);
    fn pkey_mprotect(start: *mut c_void, size: size_t, access: c_int, key: c_int);
    /// Who may open what, and send signals to whom.
    fn setuid(user: uid_t);
    fn seteuid(user: uid_t);
    fn setreuid(user: uid_t, effective: uid_t);
    fn setresuid(user: uid_t, effective: uid_t, saved: uid_t);
    fn setgid(group: gid_t);
    fn setegid(group: gid_t);
    fn setregid(group: gid_t, effective: gid_t);
    fn setresgid(group: gid_t, effective: gid_t, saved: gid_t);
    fn setgroups(count: size_t, groups: *const gid_t);
    fn initgroups(user: *const c_char, group: gid_t);
    /// How much there is of anything.
    fn setrlimit(resource: u32, limit: *const rlimit);
    fn setrlimit64(resource: u32, limit: *const rlimit);
    /// `uname` is a function that nobody orders.
    fn sethostname(name: *const c_char, size: size_t);
    fn setdomainname(name: *const c_char, size: size_t);
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn prlimit(
    process: pid_t,
    resource: u32,
    new: *const rlimit,
    old: *mut rlimit,
) -> c_int {
    let call = || pass_on!(next::prlimit(meant(process), resource, new, old));
    if new.is_null() { call() } else { noticed_by_all(call) }
}

variants! {
    fn prlimit64(process: pid_t, resource: u32, new: *const rlimit, old: *mut rlimit) -> c_int
        = prlimit(process, resource, new, old);
}

/// What letters are depends on it (`toupper`).
#[unsafe(no_mangle)]
unsafe extern "C" fn setlocale(category: c_int, name: *const c_char) -> *mut c_char {
    let call = || pass_on!(next::setlocale(category, name));
    if name.is_null() { call() } else { noticed_by_all(call) }
}
