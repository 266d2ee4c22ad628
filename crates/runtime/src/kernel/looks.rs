//! What the kernel says about a descriptor, cached.
//!
//! Each time that it is asked is a system call, so its answers are kept as long as nothing can have
//! changed them.
//!
//! Calls that only move bytes, or look whether they could, do not change what a number stands for.
//! All others may, anywhere between their beginning and their end; so may code of which nothing is
//! known, whatever it calls. Therefore:
//!
//! - While no other call is open, answers are kept.
//! - Where threads run one at a time, they are kept until such a call ends: it has its turn from
//!   before its effect until after it.
//! - Else they are kept within one call, until the kernel does what it is asked for, and no longer
//!   than until another call begins or ends.

use std::ffi::c_char;

use libc::pollfd;

use super::Kernel;
use super::limits;
use super::ready::{self, Ready};
use crate::config::{Mode, mode};
use crate::futex::system_call;

/// Device and inode.
pub(crate) type Identity = (u64, u64);

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

/// An answer of the kernel.
#[derive(Clone, Copy)]
struct Look {
    /// It holds in this period.
    period: u64,
    found: Found,
    /// Whether reading waits until something is there.
    waits: Option<bool>,
}

#[derive(Default)]
pub(super) struct Looks {
    /// Of each number the last answer.
    of: Vec<Option<Look>>,
    /// Counts up whenever a number may stand for something else.
    period: u64,
    /// In the midst of a call.
    is_calling: bool,
    /// A thread is, or was, in the kernel while others have the turn.
    is_unsure: bool,
    /// So many calls have begun, and not ended, that may change what numbers stand for.
    changing: u32,
    /// Whether something can be written to it.
    has_room: Option<(i32, bool)>,
}

impl Looks {
    /// Answers hold from one call to the next.
    fn last(&self) -> bool {
        self.changing == 0 || (mode() == Mode::Scheduled && !self.is_unsure)
    }

    fn known(&mut self, descriptor: i32) -> Option<&mut Look> {
        let at = usize::try_from(descriptor).ok()?;
        let is_kept = self.is_calling || self.last();
        let period = self.period;
        self.of.get_mut(at)?.as_mut().filter(|look| is_kept && look.period == period)
    }

    fn keep(&mut self, descriptor: i32, found: Found) {
        let Ok(at) = usize::try_from(descriptor) else { return };
        if self.of.len() <= at {
            self.of.resize(at + 1, None);
        }
        self.of[at] = Some(Look { period: self.period, found, waits: None });
    }
}

impl Kernel {
    /// A call is about to begin: until it is made, a number stands for what it stands for now.
    pub(super) fn keep_looks(&mut self, changes: bool) {
        self.looks.is_calling = true;
        self.looks.has_room = None;
        self.looks.period += u64::from(changes || !self.looks.last());
    }

    /// Calls have begun, or ended, that may change what numbers stand for.
    pub(super) fn changing(&mut self, more: i32) {
        self.looks.changing = self.looks.changing.saturating_add_signed(more);
    }

    /// From now on a number may stand for something else.
    pub(crate) fn look_anew(&mut self) {
        self.looks.is_calling = false;
        self.looks.has_room = None;
        self.looks.period += 1;
    }

    /// A call has moved bytes, or looked whether it could, and changed nothing else.
    pub(super) fn moved_bytes(&mut self) {
        if self.looks.last() {
            self.looks.is_calling = false;
            self.looks.has_room = None;
        } else {
            self.look_anew();
        }
    }

    /// A thread that is in the kernel loses its turn: whatever it does there happens at any time.
    pub(crate) fn is_unsure(&mut self) {
        self.looks.is_unsure = true;
        self.look_anew();
    }

    /// What a descriptor stands for; `None` if it is not open.
    pub(super) fn look(&mut self, descriptor: i32) -> Option<Found> {
        if let Some(known) = self.looks.known(descriptor) {
            return Some(known.found);
        }
        let found = look(descriptor)?;
        self.looks.keep(descriptor, found);
        Some(found)
    }

    /// Whether reading from a descriptor waits until something is there, however long that takes.
    pub(crate) fn waits_for_input(&mut self, descriptor: i32) -> bool {
        if let Some(waits) = self.looks.known(descriptor).and_then(|known| known.waits) {
            return waits;
        }
        let is_socket = self.look(descriptor).is_some_and(|found| found.kind == libc::S_IFSOCK);
        let has_limit = || matches!(limits::of(descriptor, libc::SO_RCVTIMEO), Some(Some(_)));
        let waits = limits::is_blocking(descriptor) && !(is_socket && has_limit());
        if let Some(known) = self.looks.known(descriptor) {
            known.waits = Some(waits);
        }
        waits
    }

    /// Whether something can be written to a descriptor.
    pub(super) fn has_room(&mut self, descriptor: i32) -> bool {
        match self.looks.has_room {
            Some((last, room)) if self.looks.is_calling && last == descriptor => room,
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

/// What time it is, as files say it.
pub(super) fn now() -> (i64, u32) {
    // SAFETY: the kernel fills in a local variable.
    let now = unsafe {
        let mut now: libc::timespec = std::mem::zeroed();
        let to = &raw mut now as usize;
        let clock = libc::CLOCK_REALTIME_COARSE as usize;
        system_call(libc::SYS_clock_gettime, [clock, to, 0, 0, 0, 0]);
        now
    };
    (now.tv_sec, now.tv_nsec as u32)
}

/// When the file of a descriptor, or of a name, was last changed.
pub(super) fn last_change(folder: i32, name: Option<*const c_char>) -> Option<(i64, u32)> {
    let mut found = std::mem::MaybeUninit::<libc::statx>::zeroed();
    let (name, flags) = name.map_or((c"".as_ptr(), libc::AT_EMPTY_PATH), |name| (name, 0));
    let (wanted, to) = (libc::STATX_CTIME as usize, found.as_mut_ptr() as usize);
    let arguments = [folder as usize, name as usize, flags as usize, wanted, to, 0];
    if system_call(libc::SYS_statx, arguments) != 0 {
        return None;
    }
    // SAFETY: it is all zeros at least, and those are a `statx`.
    let time = unsafe { found.assume_init() }.stx_ctime;
    Some((time.tv_sec, time.tv_nsec))
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
