//! Loops whose iterations are handed out piece by piece: dynamic and guided ones, and all that are
//! ordered.
//!
//! A hidden cell has the number of the first iteration that nobody has taken ([`super::cell`]).
//! Once there is none left it does not change any more, so threads that find this out do so in any
//! order.
//!
//! In an ordered loop each iteration waits for a semaphore that the one before it posts. Each
//! semaphore is posted once and waited for once.

use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::Ordering::*;

use super::cell::give;
use super::iterations::{Range, schedule, share};
use super::team::{Shared, current};
use super::{Number, Place};
use crate::futex;
use crate::interpose::process::refuse;
use crate::sync::{self, Patience};
use crate::thread::enter;

/// How iterations are handed out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Schedule {
    /// In turn, or a piece for each.
    Static {
        chunk: Option<u64>,
    },
    Dynamic {
        chunk: u64,
    },
    /// Ever smaller pieces, of at least so many.
    Guided {
        chunk: u64,
    },
}

impl Schedule {
    /// What `OMP_SCHEDULE` says.
    pub(super) fn parse(text: &[u8]) -> Option<Schedule> {
        let text = std::str::from_utf8(text).ok()?.to_ascii_lowercase();
        let text = text.trim();
        let text = text.split_once(':').map_or(text, |(_, behind)| behind);
        let (name, chunk) = match text.split_once(',') {
            Some((name, chunk)) => (name.trim(), chunk.trim().parse().ok().filter(|one| *one > 0)),
            None => (text, None),
        };
        Some(match name {
            "static" => Schedule::Static { chunk },
            "dynamic" => Schedule::Dynamic { chunk: chunk.unwrap_or(1) },
            "guided" => Schedule::Guided { chunk: chunk.unwrap_or(1) },
            "auto" => Schedule::Static { chunk: None },
            _ => return None,
        })
    }

    /// From the numbers of `omp_sched_t`.
    pub(super) fn from_user(kind: c_int, chunk: c_int) -> Option<Schedule> {
        const MONOTONIC: c_int = c_int::MIN;
        let chunk = u64::try_from(chunk).ok().filter(|chunk| *chunk > 0);
        Some(match kind & !MONOTONIC {
            1 => Schedule::Static { chunk },
            2 => Schedule::Dynamic { chunk: chunk.unwrap_or(1) },
            3 => Schedule::Guided { chunk: chunk.unwrap_or(1) },
            4 => Schedule::Static { chunk: None },
            _ => return None,
        })
    }

    pub(super) fn for_user(self) -> (c_int, c_int) {
        match self {
            Schedule::Static { chunk } => (1, chunk.unwrap_or(0) as c_int),
            Schedule::Dynamic { chunk } => (2, chunk as c_int),
            Schedule::Guided { chunk } => (3, chunk as c_int),
        }
    }

    /// From the numbers that LLVM's compiled code has.
    fn from_code(kind: c_int, chunk: u64) -> Schedule {
        match kind {
            schedule::STATIC | schedule::AUTO => Schedule::Static { chunk: None },
            schedule::STATIC_CHUNKED | schedule::BALANCED_CHUNKED => {
                Schedule::Static { chunk: Some(chunk) }
            }
            schedule::DYNAMIC => Schedule::Dynamic { chunk },
            schedule::GUIDED | schedule::GUIDED_SIMD => Schedule::Guided { chunk },
            schedule::RUNTIME | schedule::RUNTIME_SIMD => current().settings.schedule,
            _ => refuse(&format!("an OpenMP loop has a schedule that is not known ({kind})")),
        }
    }
}

/// A loop, as one thread of the team sees it.
pub(super) struct Loop {
    pub(super) range: Range,
    schedule: Schedule,
    shared: Option<Arc<Shared>>,
    /// How many pieces the thread has had.
    pieces: u64,
    /// What is left of the piece that it has, where it takes them one by one.
    left: (u64, u64),
    ordered: Option<Ordered>,
}

/// Where the thread is in an ordered loop.
struct Ordered {
    /// The iteration that it is in.
    iteration: u64,
    /// Its turn has come, and is not over.
    has_turn: bool,
    /// Its turn is over.
    is_done: bool,
    /// Addresses of the semaphores.
    semaphores: usize,
}

impl Loop {
    /// The calling thread begins a loop.
    pub(super) fn begin(range: Range, schedule: Schedule, is_ordered: bool) {
        let member = current();
        let is_shared = member.team.size > 1;
        // Threads may be in different loops at the same time.
        let number = member.next_construct();
        let needs_cell = is_ordered || !matches!(schedule, Schedule::Static { .. });
        let shared = (is_shared && needs_cell).then(|| member.team.construct(number));
        let ordered = shared.as_ref().filter(|_| is_ordered).map(|shared| Ordered {
            iteration: 0,
            has_turn: false,
            is_done: false,
            semaphores: member.team.turns(shared, range.count),
        });
        member.work = Some(Loop { range, schedule, shared, pieces: 0, left: (0, 0), ordered });
    }

    /// The next piece of the calling thread: its first iteration, and how many it has.
    pub(super) fn next(&mut self, threads: u64, thread: u64) -> Option<(u64, u64)> {
        let piece = self.take(threads, thread)?;
        if let Some(ordered) = &mut self.ordered {
            ordered.iteration = piece.0;
        }
        Some(piece)
    }

    /// The next iteration of the calling thread.
    pub(super) fn next_one(&mut self, threads: u64, thread: u64) -> Option<u64> {
        if self.left.1 == 0 {
            self.left = self.next(threads, thread)?;
        }
        let (first, count) = self.left;
        self.left = (first + 1, count - 1);
        Some(first)
    }

    fn take(&mut self, threads: u64, thread: u64) -> Option<(u64, u64)> {
        let all = self.range.count;
        let size = |taken: u64| match self.schedule {
            Schedule::Dynamic { chunk } => chunk,
            Schedule::Guided { chunk } => ((all - taken) / (2 * threads)).max(chunk),
            Schedule::Static { .. } => all,
        };
        let behind = |taken: u64| taken.saturating_add(size(taken)).min(all);
        let turn = self.pieces;
        self.pieces += 1;
        let first = match (self.schedule, &self.shared) {
            (Schedule::Static { chunk: Some(chunk) }, _) => {
                let first = (turn * threads + thread).checked_mul(chunk);
                let first = first.filter(|first| *first < all)?;
                return Some((first, chunk.min(all - first)));
            }
            (Schedule::Static { chunk: None }, _) if turn == 0 => {
                return Some(share(all, threads, thread)).filter(|(_, count)| *count > 0);
            }
            (Schedule::Static { chunk: None }, _) => return None,
            // A team of one thread: it gets all.
            (_, None) => return (turn == 0 && all > 0).then_some((0, all)),
            (_, Some(shared)) => shared.cell.update(behind),
        };
        (first < all).then(|| (first, behind(first) - first))
    }
}

impl Ordered {
    /// Waits until all iterations before this one are done with their ordered part.
    fn await_turn(&mut self, shared: &Shared) {
        if self.has_turn || self.is_done {
            return;
        }
        self.has_turn = true;
        if self.iteration == 0 {
            return;
        }
        let semaphore = self.semaphore(self.iteration);
        let done = enter(|thread| {
            sync::semaphore_declare(thread, semaphore);
            sync::semaphore_wait(thread, semaphore, Patience::Blocking);
            sync::semaphore_destroy(thread, semaphore);
        });
        done.unwrap_or_else(|| {
            // Only the difference matters, and that fits.
            let own = self.iteration as u32;
            loop {
                let turn = shared.turn.load(Acquire);
                if turn == own {
                    break;
                }
                futex::wait(&shared.turn, turn, None);
            }
        });
    }

    /// The next iteration may go on.
    fn pass_on(&mut self, shared: &Shared) {
        (self.has_turn, self.is_done) = (false, true);
        let semaphore = self.semaphore(self.iteration + 1);
        let done = enter(|thread| {
            sync::semaphore_declare(thread, semaphore);
            sync::semaphore_post(thread, semaphore);
        });
        done.unwrap_or_else(|| {
            shared.turn.store((self.iteration + 1) as u32, Release);
            futex::wake(&shared.turn, u32::MAX >> 1);
        });
    }

    fn semaphore(&self, iteration: u64) -> usize {
        self.semaphores + 8 * iteration as usize
    }
}

/// The ordered part of an iteration begins.
pub(super) fn begin_ordered() {
    if let Some(Loop { ordered: Some(ordered), shared: Some(shared), .. }) = &mut current().work {
        ordered.await_turn(shared);
    }
}

/// The ordered part of an iteration ends.
pub(super) fn end_ordered() {
    if let Some(Loop { ordered: Some(ordered), shared: Some(shared), .. }) = &mut current().work {
        ordered.await_turn(shared);
        ordered.pass_on(shared);
    }
}

/// An iteration of an ordered loop is over, perhaps without an ordered part.
pub(super) fn end_iteration() {
    if let Some(Loop { ordered: Some(ordered), shared: Some(shared), .. }) = &mut current().work {
        if !ordered.is_done {
            ordered.await_turn(shared);
            ordered.pass_on(shared);
        }
        ordered.is_done = false;
        ordered.iteration += 1;
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_ordered(_: *const Place, _: Number) {
    begin_ordered();
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_end_ordered(_: *const Place, _: Number) {
    end_ordered();
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_dispatch_deinit(_: *const Place, _: Number) {}

macro_rules! loops {
    ($($init:ident, $next:ident, $fini:ident, $type:ty, $signed:ty;)*) => { $(
        #[unsafe(no_mangle)]
        extern "C-unwind" fn $init(
            _: *const Place,
            _: Number,
            kind: c_int,
            lower: $type,
            upper: $type,
            step: $signed,
            chunk: $signed,
        ) {
            let range = Range::new(i128::from(lower), i128::from(upper), i128::from(step));
            let chunk = u64::try_from(chunk).unwrap_or(1).max(1);
            let kind = kind & !schedule::MODIFIERS;
            let is_ordered = kind > schedule::ORDERED && kind < schedule::DISTRIBUTE_CHUNKED;
            let plain = match is_ordered {
                true => kind - schedule::ORDERED + schedule::NOT_ORDERED,
                false => kind,
            };
            Loop::begin(range, Schedule::from_code(plain, chunk), is_ordered);
        }

        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $next(
            _: *const Place,
            _: Number,
            last: *mut c_int,
            lower: *mut $type,
            upper: *mut $type,
            stride: *mut $signed,
        ) -> c_int {
            let member = current();
            let (threads, thread) = (u64::from(member.team.size), u64::from(member.number));
            let Some(work) = &mut member.work else { return 0 };
            let Some((first, count)) = work.next(threads, thread) else {
                member.work = None;
                return 0;
            };
            // SAFETY: compiled code gives places for the bounds of a piece, and for the rest or
            // null.
            unsafe {
                if !last.is_null() {
                    give(last, c_int::from(first + count == work.range.count));
                }
                give(lower, work.range.at(first) as $type);
                give(upper, work.range.at(first + count - 1) as $type);
                if !stride.is_null() {
                    give(stride, work.range.step as $signed);
                }
            }
            1
        }

        #[unsafe(no_mangle)]
        extern "C-unwind" fn $fini(_: *const Place, _: Number) {
            end_iteration();
        }
    )* };
}

loops! {
    __kmpc_dispatch_init_4, __kmpc_dispatch_next_4, __kmpc_dispatch_fini_4, i32, i32;
    __kmpc_dispatch_init_4u, __kmpc_dispatch_next_4u, __kmpc_dispatch_fini_4u, u32, i32;
    __kmpc_dispatch_init_8, __kmpc_dispatch_next_8, __kmpc_dispatch_fini_8, i64, i64;
    __kmpc_dispatch_init_8u, __kmpc_dispatch_next_8u, __kmpc_dispatch_fini_8u, u64, i64;
}
