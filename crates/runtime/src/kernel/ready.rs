//! Waiting for descriptors. Where threads run one at a time, a call that would block does not: the
//! thread gives up its turn until the kernel says that the call can go on, so that the same seed
//! gives the same run.

use libc::pollfd;

use crate::futex::system_call;

/// What a thread waits for: one of these descriptors. They lie in memory of the thread, which waits
/// meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ready {
    list: *const pollfd,
    count: usize,
    /// Others than this process may make them ready.
    pub(crate) outside: bool,
}

/// Fits on the stack.
const FEW: usize = 32;
/// What happens at once takes no longer.
const SOON: i64 = 100_000_000;

/// Whether a descriptor is ready now.
pub(crate) fn is_ready(descriptor: i32, events: i16) -> bool {
    let mut list = [pollfd { fd: descriptor, events, revents: 0 }];
    look(&mut list, 0)
}

/// Sleeps until a descriptor is ready, which it will be at once.
pub(super) fn wait_until_ready(descriptor: i32, events: i16) {
    let mut list = [pollfd { fd: descriptor, events, revents: 0 }];
    look(&mut list, SOON);
}

fn look(list: &mut [pollfd], nanoseconds: i64) -> bool {
    if nanoseconds == 0 {
        let arguments = [list.as_mut_ptr() as usize, list.len(), 0, 0, 0, 0];
        return system_call(libc::SYS_poll, arguments) != 0;
    }
    let pause = libc::timespec { tv_sec: 0, tv_nsec: nanoseconds };
    let arguments =
        [list.as_mut_ptr() as usize, list.len(), std::ptr::from_ref(&pause) as usize, 0, 0, 0];
    system_call(libc::SYS_ppoll, arguments) != 0
}

impl Ready {
    pub(crate) fn new(list: &[pollfd], outside: bool) -> Ready {
        Ready { list: list.as_ptr(), count: list.len(), outside }
    }

    fn list<'a>(self) -> &'a [pollfd] {
        // SAFETY: the thread that waits has the list, and does not touch it meanwhile. Others look
        // at it only while the world is held and that thread still waits.
        unsafe { std::slice::from_raw_parts(self.list, self.count) }
    }

    /// The descriptors.
    pub(crate) fn descriptors(self) -> impl Iterator<Item = i32> {
        self.list().iter().map(|one| one.fd)
    }

    /// Whether one of them is ready (or is no descriptor any more, which the call itself will say).
    pub(crate) fn is_there(self) -> bool {
        self.wait(0)
    }

    /// The same, after waiting for them for a while.
    pub(crate) fn wait(self, nanoseconds: i64) -> bool {
        let list = self.list();
        let mut few = [pollfd { fd: -1, events: 0, revents: 0 }; FEW];
        if let Some(copy) = few.get_mut(..list.len()) {
            copy.copy_from_slice(list);
            return look(copy, nanoseconds);
        }
        look(&mut list.to_vec(), nanoseconds)
    }
}
