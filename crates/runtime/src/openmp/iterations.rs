//! Loops whose iterations are shared out by the number of the thread alone: nothing is recorded,
//! since nothing depends on the schedule.

use std::ffi::c_int;

use super::cell::give;
use super::team::current;
use super::{Number, Place};
use crate::interpose::process::refuse;

/// The iterations of a loop: `first`, `first + step`, and so on. Wide enough for every type of the
/// loop's variable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) first: i128,
    pub(super) step: i128,
    pub(super) count: u64,
}

impl Range {
    pub(super) fn new(first: i128, last: i128, step: i128) -> Range {
        let distance = if step < 0 { first - last } else { last - first };
        let count = if distance < 0 { 0 } else { distance / step.abs().max(1) + 1 };
        Range { first, step, count: u64::try_from(count).unwrap_or(u64::MAX) }
    }

    /// The value of the loop's variable in an iteration.
    pub(super) fn at(&self, iteration: u64) -> i128 {
        self.first + i128::from(iteration) * self.step
    }
}

/// The iterations of one thread if each gets one piece, all about the same: first and number.
pub(super) fn share(count: u64, threads: u64, thread: u64) -> (u64, u64) {
    let (piece, left) = (count / threads, count % threads);
    let first = thread * piece + thread.min(left);
    (first, piece + u64::from(thread < left))
}

/// Numbers that LLVM has for schedules.
pub(super) mod schedule {
    #![allow(missing_docs)]
    pub(crate) const STATIC_CHUNKED: i32 = 33;
    pub(crate) const STATIC: i32 = 34;
    pub(crate) const DYNAMIC: i32 = 35;
    pub(crate) const GUIDED: i32 = 36;
    pub(crate) const RUNTIME: i32 = 37;
    pub(crate) const AUTO: i32 = 38;
    pub(crate) const BALANCED_CHUNKED: i32 = 45;
    pub(crate) const GUIDED_SIMD: i32 = 46;
    pub(crate) const RUNTIME_SIMD: i32 = 47;
    /// The same for ordered loops.
    pub(crate) const ORDERED: i32 = 64;
    pub(crate) const NOT_ORDERED: i32 = 32;
    /// Between teams, of which there is one.
    pub(crate) const DISTRIBUTE_CHUNKED: i32 = 91;
    pub(crate) const DISTRIBUTE: i32 = 92;
    /// `monotonic` and `nonmonotonic`.
    pub(crate) const MODIFIERS: i32 = 3 << 29;
}

/// Whether this is the last piece, its bounds, and how far it is to the thread's next piece.
struct Piece {
    last: bool,
    lower: i128,
    upper: i128,
    stride: i128,
}

fn piece(kind: c_int, lower: i128, upper: i128, step: i128, chunk: i128) -> Piece {
    let all = Range::new(lower, upper, step);
    if all.count == 0 {
        return Piece { last: false, lower, upper, stride: step };
    }
    let member = current();
    let team = (u64::from(member.team.size), u64::from(member.number));
    let kind = kind & !schedule::MODIFIERS;
    let (threads, thread) = if kind >= schedule::DISTRIBUTE_CHUNKED { (1, 0) } else { team };
    let chunk = u64::try_from(chunk).unwrap_or(1).max(1);
    match kind {
        schedule::STATIC | schedule::AUTO | schedule::DISTRIBUTE => {
            let (first, count) = share(all.count, threads, thread);
            let last = count > 0 && first + count == all.count;
            // A thread that gets nothing has bounds in the wrong order.
            let upper = if count > 0 { all.at(first + count - 1) } else { all.at(first) - step };
            let stride = all.at(all.count) - all.first;
            Piece { last, lower: all.at(first), upper, stride }
        }
        schedule::STATIC_CHUNKED | schedule::DISTRIBUTE_CHUNKED => {
            chunked(&all, chunk, threads, thread)
        }
        schedule::BALANCED_CHUNKED => {
            let each = all.count.div_ceil(threads).next_multiple_of(chunk);
            let mut piece = chunked(&all, each, threads, thread);
            if i128::from(thread) * i128::from(each) + i128::from(each) > i128::from(all.count) {
                piece.upper = upper;
            }
            piece
        }
        _ => refuse(&format!("an OpenMP loop has a schedule that is not known ({kind})")),
    }
}

/// Pieces of `chunk` iterations in turn. The compiled code cuts the last one off at the end of the
/// loop.
fn chunked(all: &Range, chunk: u64, threads: u64, thread: u64) -> Piece {
    let span = i128::from(chunk) * all.step;
    let lower = all.first + i128::from(thread) * span;
    let last = (all.count - 1) / chunk % threads == thread;
    Piece { last, lower, upper: lower + span - all.step, stride: i128::from(threads) * span }
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_for_static_fini(_: *const Place, _: Number) {}

macro_rules! loops {
    ($($init:ident, $type:ty, $signed:ty;)*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $init(
            _: *const Place,
            _: Number,
            kind: c_int,
            last: *mut c_int,
            lower: *mut $type,
            upper: *mut $type,
            stride: *mut $signed,
            step: $signed,
            chunk: $signed,
        ) {
            // SAFETY: compiled code gives the bounds of the loop and places for what becomes of
            // them, all its own; for `last` perhaps null.
            unsafe {
                let bounds = (i128::from(*lower), i128::from(*upper));
                let piece = piece(kind, bounds.0, bounds.1, i128::from(step), i128::from(chunk));
                if !last.is_null() {
                    give(last, c_int::from(piece.last));
                }
                give(lower, piece.lower as $type);
                give(upper, piece.upper as $type);
                give(stride, piece.stride as $signed);
            }
        }
    )* };
}

loops! {
    __kmpc_for_static_init_4, i32, i32;
    __kmpc_for_static_init_4u, u32, i32;
    __kmpc_for_static_init_8, i64, i64;
    __kmpc_for_static_init_8u, u64, i64;
}
