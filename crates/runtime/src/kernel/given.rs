//! Pipes and socket pairs whose other end only child processes have: what is read there came from
//! them, and what is written goes to them.
//!
//! **Computes.** From when on that holds of an object which the process has made. Three things must
//! be so: the other end was open when a child was made; no descriptor of the process is that end
//! any more, by what the kernel says of all of them; and no byte is on its way that the process
//! itself has written. The last one is so if nothing is on its way at all, or if there was nothing
//! when the first child was made, and since then the process has written nothing to that end and
//! called no function of which nothing is known.
//!
//! **Invariant.** A recording keeps results of calls on such an object as coming from outside.
//! Where it is not sure, they are not kept. If the process then reads more than it has written,
//! replays have to start the children again.

use foretrace_recording::file::flags;
use foretrace_recording::input::{Input, OF_CHILD, call};

use super::Kernel;
use super::looks::{Identity, look};
use crate::errno::keeping_errno;
use crate::futex::system_call;
use crate::log;
use crate::thread::enter;
use crate::world::hold;

/// A pipe or pair of sockets.
pub(super) struct Piece {
    /// Its ends; of a pipe they are one object.
    ends: [Identity; 2],
    is_pipe: bool,
    /// Children may have it.
    is_inherited: bool,
    /// Bytes of the process itself may be on their way from one end to the other; to the first, to
    /// the second.
    has_own: [bool; 2],
    /// How many bytes the process has written to the first end, to the second, that were on their
    /// way when the first child was made, or came later.
    written: [u64; 2],
    /// And how many it has read from them since then.
    read: [u64; 2],
}

/// A descriptor of the process, and what can be done with it.
struct Open {
    fd: i32,
    identity: Identity,
    reads: bool,
    writes: bool,
}

/// All descriptors, as the kernel says.
fn all_open() -> Vec<Open> {
    let Ok(list) = std::fs::read_dir("/proc/self/fd") else { return Vec::new() };
    let numbers = list.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers
        .filter_map(|fd: i32| {
            let identity = look(fd)?.identity;
            let arguments = [fd as usize, libc::F_GETFL as usize, 0, 0, 0, 0];
            let mode = system_call(libc::SYS_fcntl, arguments) as i32 & libc::O_ACCMODE;
            let (reads, writes) = (mode != libc::O_WRONLY, mode != libc::O_RDONLY);
            Some(Open { fd, identity, reads, writes })
        })
        .collect()
}

/// How many bytes are on their way to a descriptor; `None` if that cannot be told.
fn bytes(fd: i32) -> Option<u64> {
    let mut count = 0i32;
    let arguments = [fd as usize, libc::FIONREAD as usize, (&raw mut count) as usize, 0, 0, 0];
    (system_call(libc::SYS_ioctl, arguments) == 0).then_some(count as u64)
}

fn has_bytes(fd: i32) -> bool {
    bytes(fd) != Some(0)
}

impl Piece {
    /// The descriptors of the first end and of the second. The first end of a pipe is the one that
    /// reads.
    fn open_ends(&self, open: &[Open]) -> [Option<i32>; 2] {
        [0, 1].map(|end| {
            let is_this = |one: &&Open| {
                let does = if end == 0 { one.reads } else { one.writes };
                one.identity == self.ends[end] && (!self.is_pipe || does)
            };
            open.iter().find(is_this).map(|one| one.fd)
        })
    }

    /// Which end an object is.
    fn end(&self, identity: Identity, writes: bool) -> Option<usize> {
        match self.ends.iter().position(|&end| end == identity)? {
            0 if self.is_pipe => Some(usize::from(writes)),
            end => Some(end),
        }
    }
}

impl Kernel {
    /// The process has made a pipe or a pair of sockets.
    pub(super) fn made(&mut self, ends: [i32; 2], is_pipe: bool) {
        let [Some(first), Some(second)] = ends.map(|end| look(end).map(|found| found.identity))
        else {
            return;
        };
        self.objects.pieces.retain(|piece| !piece.ends.contains(&first));
        self.objects.given.retain(|given| ![first, second].contains(given));
        self.objects.pieces.push(Piece {
            ends: [first, second],
            is_pipe,
            is_inherited: false,
            has_own: [false; 2],
            written: [0; 2],
            read: [0; 2],
        });
    }

    /// A child is about to be made: it has all that is open.
    pub(crate) fn inherit(&mut self) {
        self.objects.forked = true;
        if self.objects.pieces.is_empty() {
            return;
        }
        let open = all_open();
        for piece in &mut self.objects.pieces {
            let ends = piece.open_ends(&open);
            if let ([Some(first), Some(second)], false) = (ends, piece.is_inherited) {
                piece.is_inherited = true;
                // What is written to the second end goes to the first.
                piece.has_own = [has_bytes(first), !piece.is_pipe && has_bytes(second)];
                let on_their_way = |fd: i32| bytes(fd).unwrap_or(0);
                piece.written =
                    [if piece.is_pipe { 0 } else { on_their_way(second) }, on_their_way(first)];
            }
        }
        self.objects.pieces.retain(|piece| piece.open_ends(&open) != [None, None]);
    }

    fn shared_piece(&mut self, descriptor: i32) -> Option<(Identity, &mut Piece)> {
        if !self.objects.forked || self.objects.pieces.is_empty() {
            return None;
        }
        let identity = self.look(descriptor)?.identity;
        let mut pieces = self.objects.pieces.iter_mut();
        let piece = pieces.find(|piece| piece.is_inherited && piece.ends.contains(&identity))?;
        Some((identity, piece))
    }

    /// The process has written so many bytes.
    pub(crate) fn wrote(&mut self, descriptor: i32, size: u64) {
        let Some((identity, piece)) = self.shared_piece(descriptor) else { return };
        if let Some(end) = piece.end(identity, true) {
            piece.written[end] += size;
            piece.has_own[1 - end] = true;
        }
    }

    /// A library may write there.
    pub(crate) fn may_write(&mut self, descriptor: i32) {
        self.wrote(descriptor, 0);
    }

    /// So may a function of which nothing is known, anywhere.
    pub(super) fn anybody_may_have_written(&mut self) {
        for piece in self.objects.pieces.iter_mut().filter(|piece| piece.is_inherited) {
            piece.has_own = [true; 2];
        }
    }

    /// The process has read so many bytes from an object that it shares with children. If they
    /// cannot all be its own, a replay needs the children.
    pub(crate) fn has_read(&mut self, descriptor: i32, size: u64) {
        let Some((identity, piece)) = self.shared_piece(descriptor) else { return };
        let Some(end) = piece.end(identity, false) else { return };
        piece.read[end] += size;
        if piece.read[end] > piece.written[1 - end] {
            log::flag(flags::CHILDREN_AGAIN);
        }
    }

    /// Whether only children have the other end.
    pub(crate) fn is_given(&mut self, descriptor: i32) -> bool {
        !self.objects.given.is_empty()
            && self
                .look(descriptor)
                .is_some_and(|found| self.objects.given.contains(&found.identity))
    }

    /// The descriptors whose other ends only children have by now.
    fn find_given(&mut self) -> Vec<i32> {
        let open = all_open();
        let mut given = Vec::new();
        self.objects.pieces.retain(|piece| {
            let ends = piece.open_ends(&open);
            let left = match ends {
                [Some(first), None] => (first, piece.has_own[0] && has_bytes(first)),
                // From a pipe the process has then nothing to read.
                [None, Some(second)] if piece.is_pipe => (second, false),
                [None, Some(second)] => (second, piece.has_own[1] && has_bytes(second)),
                _ => return ends != [None, None],
            };
            if let (fd, false) = left
                && piece.is_inherited
            {
                given.push(fd);
            }
            !piece.is_inherited || left.1
        });
        given
    }
}

/// Whether closing a descriptor may leave the other end to children. Asked before it is closed.
pub(crate) fn is_shared(descriptor: i32) -> bool {
    keeping_errno(|| enter(|_| hold().kernel.shared_piece(descriptor).is_some())).unwrap_or(false)
}

/// Such a descriptor was closed.
pub(crate) fn was_closed() {
    keeping_errno(|| {
        enter(|thread| {
            let mut world = hold();
            if world.replay.is_some() {
                // As it was in the recorded run.
                while let Some(answer) = world.answer(thread, thread.ordinal, call::GIVEN) {
                    world.kernel.give(answer.result as i32);
                }
                return;
            }
            for fd in world.kernel.find_given() {
                world.kernel.give(fd);
                let input = Input {
                    thread: thread.index,
                    call: call::GIVEN,
                    ordinal: thread.ordinal,
                    errno: OF_CHILD,
                    result: i64::from(fd),
                    sent: 0,
                };
                world.keep_input(&input, &[]);
            }
        })
    });
}
