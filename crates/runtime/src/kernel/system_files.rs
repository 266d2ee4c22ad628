//! Files below `/proc` and `/sys`, whose contents the kernel makes up.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use super::looks::{Found, look_at};
use crate::futex::system_call;

/// How the kernel calls the file systems that consist of such files.
const MADE_UP: [i64; 5] = [
    libc::PROC_SUPER_MAGIC,
    libc::SYSFS_MAGIC,
    libc::CGROUP_SUPER_MAGIC,
    libc::CGROUP2_SUPER_MAGIC,
    libc::DEBUGFS_MAGIC,
];

/// Whether a regular file is of that sort.
pub(super) fn is_made_up(descriptor: i32, found: &Found) -> bool {
    found.is_on_no_device() && is_system(libc::SYS_fstatfs, descriptor as usize)
}

/// The same of the regular file of this name in a folder.
pub(super) fn is_name_made_up(folder: i32, name: *const c_char, found: &Found) -> bool {
    // SAFETY: the file of this name was found, so it is a C string.
    let is_whole = folder == libc::AT_FDCWD || unsafe { *name.cast::<u8>() } == b'/';
    found.is_on_no_device()
        && match is_whole {
            true => is_system(libc::SYS_statfs, name as usize),
            false => is_system(libc::SYS_fstatfs, folder as usize),
        }
}

/// Whether others than the process decide what is read from the file of this name: it is a device,
/// or made up.
pub(crate) fn is_fed(name: *const c_char) -> bool {
    look_at(libc::AT_FDCWD, name).is_some_and(|found| match found.kind {
        libc::S_IFCHR => !found.is_nothing(),
        libc::S_IFREG => is_name_made_up(libc::AT_FDCWD, name, &found),
        _ => false,
    })
}

fn is_system(call: libc::c_long, of: usize) -> bool {
    let mut system = MaybeUninit::<libc::statfs>::zeroed();
    system_call(call, [of, system.as_mut_ptr() as usize, 0, 0, 0, 0]) == 0
        // SAFETY: it was all zeros, which is a `statfs`, and the kernel has set it.
        && MADE_UP.contains(&unsafe { system.assume_init() }.f_type)
}
