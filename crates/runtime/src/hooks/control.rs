//! Branches, calls, fences.

use std::ffi::c_void;

use foretrace_recording::record::kind;
use foretrace_recording::site::{SYSTEM, Site};

use crate::config;
use crate::thread::enter;

/// Records that say which way the program went are kept only if they are asked for.
#[inline(always)]
fn follow(record: impl FnOnce(&mut crate::thread::Thread)) {
    if config::keeps_control_flow() {
        enter(record);
    }
}

#[unsafe(no_mangle)]
extern "C" fn __ft_branch(site: *const Site, taken: u32) {
    follow(|thread| thread.record(kind::BRANCH, (taken & 1) as u8, site as u64, []));
}

#[unsafe(no_mangle)]
extern "C" fn __ft_switch(site: *const Site, value: u64) {
    follow(|thread| thread.record(kind::SWITCH, 0, site as u64, [value]));
}

#[unsafe(no_mangle)]
extern "C" fn __ft_fence(site: *const Site, order: u32) {
    enter(|thread| {
        let site = thread.site(site);
        thread.point(kind::FENCE, site, 0, 0);
        thread.record(kind::FENCE, order as u8, site, []);
    });
}

/// The user's code calls into code that is not his: what happens there happens here.
#[unsafe(no_mangle)]
extern "C" fn __ft_at(site: *const Site) {
    enter(|thread| thread.call_site = site as u64);
}

#[unsafe(no_mangle)]
extern "C" fn __ft_call(site: *const Site, target: *const c_void) {
    enter(|thread| {
        let system = unsafe { (*site).column } & SYSTEM != 0;
        if !system || thread.call_site == 0 {
            thread.call_site = site as u64;
        }
        if config::keeps_control_flow() {
            thread.record(kind::CALL, 0, site as u64, [target as u64]);
        }
    });
}

#[unsafe(no_mangle)]
extern "C" fn __ft_return(site: *const Site, value: u64) {
    follow(|thread| thread.record(kind::RETURN, 0, site as u64, [value]));
}
