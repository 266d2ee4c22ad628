//! The names that gcc calls. `foretrace cc` is clang, so these come from objects and libraries that
//! gcc has compiled: they are not instrumented, but their threads, barriers and locks are seen, and
//! they agree with `omp_get_thread_num` and its relatives.

use std::cell::Cell;
use std::ffi::{c_long, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::atomic::Ordering::*;

use super::blocks::is_chosen;
use super::dispatch::{Loop, Schedule};
use super::iterations::Range;
use super::locks::{acquire_plain, release_plain};
use super::parallel::{Body, Workers, run, team_size};
use super::team::current;

type Code = extern "C-unwind" fn(*mut c_void);

/// What each thread of a region begins with: a loop, if the region is one.
#[derive(Clone, Copy)]
pub(super) struct Work {
    range: Range,
    schedule: Option<Schedule>,
}

impl Work {
    /// The calling thread begins its loop.
    pub(super) fn begin(self) {
        Loop::begin(self.range, self.schedule.unwrap_or(current().settings.schedule), false);
    }
}

/// 0 asks for as many threads as there are otherwise.
fn size(wanted: c_uint) -> u32 {
    team_size(Some(wanted).filter(|wanted| *wanted > 0))
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_parallel(code: Code, data: *mut c_void, wanted: c_uint, _: c_uint) {
    run(size(wanted), &Body::Function { code, data, work: None });
}

thread_local! {
    static BEGUN: Cell<*mut Begun> = const { Cell::new(null_mut()) };
}

/// The regions that the calling thread has begun, innermost first.
struct Begun {
    workers: Workers,
    outer: *mut Begun,
}

/// Begins a region; the caller runs its body itself, then calls [`GOMP_parallel_end`].
#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_parallel_start(code: Code, data: *mut c_void, wanted: c_uint) {
    let workers = Workers::begin(size(wanted), &Body::Function { code, data, work: None });
    BEGUN.set(Box::into_raw(Box::new(Begun { workers, outer: BEGUN.get() })));
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_parallel_end() {
    if BEGUN.get().is_null() {
        return;
    }
    // SAFETY: `GOMP_parallel_start` has made it, on this thread, and it leaves the list now.
    let begun = unsafe { Box::from_raw(BEGUN.get()) };
    BEGUN.set(begun.outer);
    begun.workers.end();
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_barrier() {
    current().team.meet();
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_barrier_cancel() -> bool {
    current().team.meet();
    false
}

/// The locks behind `critical` without a name, and behind `atomic` of what the machine has no
/// instruction for.
static mut CRITICAL: u64 = 0;
static mut ATOMIC: u64 = 0;

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_critical_start() {
    acquire_plain((&raw mut CRITICAL).cast());
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_critical_end() {
    release_plain((&raw mut CRITICAL).cast());
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_atomic_start() {
    acquire_plain((&raw mut ATOMIC).cast());
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_atomic_end() {
    release_plain((&raw mut ATOMIC).cast());
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_critical_name_start(name: *mut c_void) {
    acquire_plain(name);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_critical_name_end(name: *mut c_void) {
    release_plain(name);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_single_start() -> bool {
    is_chosen()
}

/// Null for the thread that runs the block; the others get what it has computed.
#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_single_copy_start() -> *mut c_void {
    if is_chosen() {
        return null_mut();
    }
    let team = current().team.clone();
    team.meet();
    team.copied.load(Acquire)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_single_copy_end(data: *mut c_void) {
    let team = current().team.clone();
    team.copied.store(data, Release);
    team.meet();
}

/// From `first` up to `end`, without it.
fn range(first: c_long, end: c_long, step: c_long) -> Range {
    let last = if step < 0 { i128::from(end) + 1 } else { i128::from(end) - 1 };
    Range::new(i128::from(first), last, i128::from(step))
}

/// The same of unsigned numbers.
fn range_up_or_down(is_up: bool, first: u64, end: u64, step: u64) -> Range {
    let (step, last) = match is_up {
        true => (i128::from(step), i128::from(end) - 1),
        false => (i128::from(step as i64), i128::from(end) + 1),
    };
    Range::new(i128::from(first), last, step)
}

/// The next piece of the caller's loop: first value, and the one behind the last.
fn next() -> Option<(i128, i128)> {
    let member = current();
    let (threads, thread) = (u64::from(member.team.size), u64::from(member.number));
    let work = member.work.as_mut()?;
    let Some((first, count)) = work.next(threads, thread) else {
        member.work = None;
        return None;
    };
    Some((work.range.at(first), work.range.at(first + count)))
}

fn chunk(chunk: u64) -> u64 {
    chunk.max(1)
}

fn in_turn(chunk: u64) -> Option<Schedule> {
    Some(Schedule::Static { chunk: Some(chunk).filter(|chunk| *chunk > 0) })
}

fn dynamic(size: u64) -> Option<Schedule> {
    Some(Schedule::Dynamic { chunk: chunk(size) })
}

fn guided(size: u64) -> Option<Schedule> {
    Some(Schedule::Guided { chunk: chunk(size) })
}

/// With `schedule(runtime)`, the user says it.
fn runtime() -> Option<Schedule> {
    None
}

/// The functions for loops of one schedule; `(chunk)`: they are told the size of a chunk.
macro_rules! loops {
    ($(
        $schedule:ident($($chunk:ident)?): $start:ident $next:ident $ull_start:ident
            $ull_next:ident $parallel:ident;
    )*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $start(
            first: c_long,
            end: c_long,
            step: c_long,
            $($chunk: c_long,)?
            lower: *mut c_long,
            upper: *mut c_long,
        ) -> bool {
            let schedule = $schedule($($chunk.max(0) as u64)?);
            Work { range: range(first, end, step), schedule }.begin();
            // SAFETY: compiled code gives places for the bounds.
            unsafe { $next(lower, upper) }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $next(lower: *mut c_long, upper: *mut c_long) -> bool {
            // SAFETY: compiled code gives places for the bounds.
            unsafe { give_next(lower, upper) }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $ull_start(
            is_up: bool,
            first: u64,
            end: u64,
            step: u64,
            $($chunk: u64,)?
            lower: *mut u64,
            upper: *mut u64,
        ) -> bool {
            let range = range_up_or_down(is_up, first, end, step);
            Work { range, schedule: $schedule($($chunk)?) }.begin();
            // SAFETY: compiled code gives places for the bounds.
            unsafe { $ull_next(lower, upper) }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $ull_next(lower: *mut u64, upper: *mut u64) -> bool {
            // SAFETY: compiled code gives places for the bounds.
            unsafe { give_next(lower.cast(), upper.cast()) }
        }

        #[unsafe(no_mangle)]
        extern "C-unwind" fn $parallel(
            code: Code,
            data: *mut c_void,
            wanted: c_uint,
            first: c_long,
            end: c_long,
            step: c_long,
            $($chunk: c_long,)?
            _: c_uint,
        ) {
            let schedule = $schedule($($chunk.max(0) as u64)?);
            let work = Some(Work { range: range(first, end, step), schedule });
            run(size(wanted), &Body::Function { code, data, work });
        }
    )* };
}

loops! {
    in_turn(chunk): GOMP_loop_static_start GOMP_loop_static_next
        GOMP_loop_ull_static_start GOMP_loop_ull_static_next GOMP_parallel_loop_static;
    dynamic(chunk): GOMP_loop_dynamic_start GOMP_loop_dynamic_next
        GOMP_loop_ull_dynamic_start GOMP_loop_ull_dynamic_next GOMP_parallel_loop_dynamic;
    guided(chunk): GOMP_loop_guided_start GOMP_loop_guided_next
        GOMP_loop_ull_guided_start GOMP_loop_ull_guided_next GOMP_parallel_loop_guided;
    dynamic(chunk): GOMP_loop_nonmonotonic_dynamic_start GOMP_loop_nonmonotonic_dynamic_next
        GOMP_loop_ull_nonmonotonic_dynamic_start GOMP_loop_ull_nonmonotonic_dynamic_next
        GOMP_parallel_loop_nonmonotonic_dynamic;
    guided(chunk): GOMP_loop_nonmonotonic_guided_start GOMP_loop_nonmonotonic_guided_next
        GOMP_loop_ull_nonmonotonic_guided_start GOMP_loop_ull_nonmonotonic_guided_next
        GOMP_parallel_loop_nonmonotonic_guided;
    runtime(): GOMP_loop_runtime_start GOMP_loop_runtime_next
        GOMP_loop_ull_runtime_start GOMP_loop_ull_runtime_next GOMP_parallel_loop_runtime;
    runtime(): GOMP_loop_nonmonotonic_runtime_start GOMP_loop_nonmonotonic_runtime_next
        GOMP_loop_ull_nonmonotonic_runtime_start GOMP_loop_ull_nonmonotonic_runtime_next
        GOMP_parallel_loop_nonmonotonic_runtime;
    runtime(): GOMP_loop_maybe_nonmonotonic_runtime_start GOMP_loop_maybe_nonmonotonic_runtime_next
        GOMP_loop_ull_maybe_nonmonotonic_runtime_start GOMP_loop_ull_maybe_nonmonotonic_runtime_next
        GOMP_parallel_loop_maybe_nonmonotonic_runtime;
}

/// Bounds of the next piece for the caller, who is not instrumented.
///
/// # Safety
///
/// There is room for them.
unsafe fn give_next(lower: *mut c_long, upper: *mut c_long) -> bool {
    let Some((first, end)) = next() else { return false };
    // SAFETY: the caller says so.
    unsafe { (*lower, *upper) = (first as c_long, end as c_long) };
    true
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_loop_end() {
    current().team.meet();
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_loop_end_cancel() -> bool {
    current().team.meet();
    false
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_loop_end_nowait() {}

/// Sections are the iterations of a loop, counted from 1.
fn sections(count: c_uint) -> Work {
    let range = Range::new(1, i128::from(count), 1);
    Work { range, schedule: dynamic(1) }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_sections_start(count: c_uint) -> c_uint {
    sections(count).begin();
    GOMP_sections_next()
}

/// The next section of the caller; 0 if there is none.
#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_sections_next() -> c_uint {
    // A thread that is alone in its team gets all of them as one piece.
    let member = current();
    let (threads, thread) = (u64::from(member.team.size), u64::from(member.number));
    let Some(work) = &mut member.work else { return 0 };
    match work.next_one(threads, thread) {
        Some(section) => section as c_uint + 1,
        None => {
            member.work = None;
            0
        }
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_sections_end() {
    current().team.meet();
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_sections_end_cancel() -> bool {
    current().team.meet();
    false
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_sections_end_nowait() {}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_parallel_sections(
    code: Code,
    data: *mut c_void,
    wanted: c_uint,
    count: c_uint,
    _: c_uint,
) {
    run(size(wanted), &Body::Function { code, data, work: Some(sections(count)) });
}
