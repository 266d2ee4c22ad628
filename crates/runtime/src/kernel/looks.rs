//! What the kernel says of a descriptor.
//!
//! One call asks for it several times, and each time is a system call. So the last answer is kept
//! as long as nothing can have changed it: from the beginning of a call until the kernel does what
//! it is asked for, and no longer than until another call begins or ends.

use std::ffi::c_char;

use libc::pollfd;

use super::Kernel;
use super::ready::{self, Ready};
use crate::futex::system_call;

/// Device and inode.
pub(super) type Identity = (u64, u64);

/// What is known of a file, or another object of the kernel.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub(super) identity: Identity,
    /// One of `S_IFREG`, `S_IFIFO`, ...
    pub(super) kind: u32,
    /// The numbers of the device that it is on, and of the one that it is.
    on: [u32; 2],
    is: [u32; 2],
}

#[derive(Default)]
pub(super) struct Looks {
    is_kept: bool,
    last: Option<(i32, Option<Found>)>,
    /// Whether something can be written to it.
    has_room: Option<(i32, bool)>,
}

impl Kernel {
    /// Until [`Kernel::look_anew`], a number stands for what it stands for now.
    pub(super) fn keep_looks(&mut self) {
        self.looks = Looks { is_kept: true, ..Looks::default() };
    }

    /// From now on it may stand for something else at any time.
    pub(crate) fn look_anew(&mut self) {
        self.looks.is_kept = false;
    }

    /// What a descriptor stands for; `None` if it is not open.
    pub(super) fn look(&mut self, descriptor: i32) -> Option<Found> {
        match self.looks.last {
            Some((last, found)) if self.looks.is_kept && last == descriptor => found,
            _ => {
                let found = look(descriptor);
                self.looks.last = Some((descriptor, found));
                found
            }
        }
    }

    /// Whether something can be written to a descriptor.
    pub(super) fn has_room(&mut self, descriptor: i32) -> bool {
        match self.looks.has_room {
            Some((last, room)) if self.looks.is_kept && last == descriptor => room,
            _ => {
                let room = ready::is_ready(descriptor, libc::POLLOUT);
                self.looks.has_room = Some((descriptor, room));
                room
            }
        }
    }

    /// Whether one of these descriptors is ready.
    pub(super) fn is_there(&mut self, list: &[pollfd]) -> bool {
        match list {
            [one] if self.look(one.fd).is_some_and(|found| found.is_on_disk()) => true,
            [pollfd { fd, events: libc::POLLOUT, .. }] => self.has_room(*fd),
            _ => Ready::new(list, false).is_there(),
        }
    }
}

/// The same, whatever is known already.
pub(super) fn look(descriptor: i32) -> Option<Found> {
    ask(descriptor, c"".as_ptr(), libc::AT_EMPTY_PATH)
}

/// The file of a name in a folder.
pub(super) fn look_at(folder: i32, name: *const c_char) -> Option<Found> {
    ask(folder, name, 0)
}

/// Not for its times: who asks for those makes the next write to the file a slow one.
fn ask(folder: i32, name: *const c_char, flags: i32) -> Option<Found> {
    let mut found = std::mem::MaybeUninit::<libc::statx>::zeroed();
    let wanted = (libc::STATX_TYPE | libc::STATX_INO) as usize;
    let to = found.as_mut_ptr() as usize;
    let arguments = [folder as usize, name as usize, flags as usize, wanted, to, 0];
    if system_call(libc::SYS_statx, arguments) != 0 {
        return None;
    }
    // SAFETY: it is all zeros at least, and those are a `statx`.
    let found = unsafe { found.assume_init() };
    let on = [found.stx_dev_major, found.stx_dev_minor];
    Some(Found {
        identity: (libc::makedev(on[0], on[1]), found.stx_ino),
        kind: u32::from(found.stx_mode) & libc::S_IFMT,
        on,
        is: [found.stx_rdev_major, found.stx_rdev_minor],
    })
}

impl Found {
    /// `/dev/random`, `/dev/urandom`.
    pub(super) fn is_random(&self) -> bool {
        matches!(self.is, [MEMORY, 8 | 9])
    }

    /// `/dev/null`, `/dev/zero`, `/dev/full`.
    pub(super) fn is_nothing(&self) -> bool {
        matches!(self.is, [MEMORY, 3 | 5 | 7])
    }

    /// Reading it, or writing to it, never waits.
    fn is_on_disk(&self) -> bool {
        self.kind == libc::S_IFREG && !self.is_on_no_device()
    }

    pub(super) fn is_on_no_device(&self) -> bool {
        self.on[0] == 0
    }
}

/// The devices that are none.
const MEMORY: u32 = 1;

/// The name of the file that a descriptor stands for.
pub(super) fn path(descriptor: i32) -> String {
    let link = format!("/proc/self/fd/{descriptor}\0");
    let mut text = [0u8; 256];
    let arguments = [link.as_ptr() as usize, text.as_mut_ptr() as usize, text.len(), 0, 0, 0];
    let length = system_call(libc::SYS_readlink, arguments);
    let text = &text[..usize::try_from(length).unwrap_or(0)];
    let text = String::from_utf8_lossy(text);
    if text.is_empty() { format!("file of descriptor {descriptor}") } else { text.into_owned() }
}
