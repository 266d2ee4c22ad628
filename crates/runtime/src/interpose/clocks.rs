//! Clocks.
//!
//! Where one thread runs at a time, time is *virtual*: it begins with the world's, and from then on
//! only the schedule moves it. Each reading of a clock takes [`STEP`], so that a loop that waits
//! for a time ends. A timed wait is over when nobody can run otherwise, and time jumps to its
//! deadline. While nobody can run since all wait for the outside, time passes as in the world. So
//! the same schedule gives the same times, and time never goes back.
//!
//! With `FORETRACE_TIME=real`, and where threads run all at once, the clocks are the world's, ahead
//! by what timed waits have jumped.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};

use libc::{clockid_t, time_t, timespec, timeval};

use foretrace_recording::channel::CLOCK;
use foretrace_recording::channel::direction::BOTH;
use foretrace_recording::input::call;

use crate::config::{number, variable};
use crate::errno::set_errno;
use crate::futex::system_call;
use crate::kernel::Kernel;
use crate::kernel::exchange::{Fate, Source, finish, start as start_call};
use crate::kernel::uses::Uses;

pub(crate) const SECOND: i64 = 1_000_000_000;
/// How long it takes to read a clock, in virtual time.
const STEP: i64 = 1_000;
/// Waits that are longer than this are meant to be for ever.
const FOR_EVER: i64 = 10 * 365 * 24 * 3600;
/// The monotonic clock of runs whose start is given.
const GIVEN_MONOTONIC: i64 = 1_000 * SECOND;

/// How far the clocks are ahead of the world's, in nanoseconds; for virtual time, how long the run
/// has taken.
static AHEAD: AtomicI64 = AtomicI64::new(0);
static VIRTUAL: AtomicBool = AtomicBool::new(false);
/// What the clocks showed when virtual time began.
static START_WALL: AtomicI64 = AtomicI64::new(0);
static START_MONOTONIC: AtomicI64 = AtomicI64::new(0);
/// Since when nobody can run, by the world's monotonic clock; 0 if somebody can.
static IDLE_SINCE: AtomicI64 = AtomicI64::new(0);

/// Whether only the schedule moves the clocks.
pub(crate) fn is_virtual() -> bool {
    VIRTUAL.load(Relaxed)
}

/// The clocks at the start of the process: wall-clock time, monotonic time.
pub(crate) fn start() -> [i64; 2] {
    match is_virtual() {
        true => [&START_WALL, &START_MONOTONIC].map(|start| start.load(Relaxed)),
        false => [libc::CLOCK_REALTIME, libc::CLOCK_MONOTONIC].map(world_time),
    }
}

/// Virtual time begins, unless the environment says otherwise; in a replay, as in the recorded run.
pub(crate) fn begin(recorded: Option<[i64; 2]>) {
    if variable(c"FORETRACE_TIME") == Some(b"real") {
        return;
    }
    let (wall, monotonic) = match (recorded, number(c"FORETRACE_START_TIME")) {
        (Some([wall, monotonic]), _) => (wall, monotonic),
        (None, Some(wall)) => (wall as i64, GIVEN_MONOTONIC),
        (None, None) => (world_time(libc::CLOCK_REALTIME), world_time(libc::CLOCK_MONOTONIC)),
    };
    START_WALL.store(wall, Relaxed);
    START_MONOTONIC.store(monotonic, Relaxed);
    VIRTUAL.store(true, Relaxed);
}

/// The world's own time.
fn world_time(clock: clockid_t) -> i64 {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    system_call(libc::SYS_clock_gettime, [clock as usize, (&raw mut time) as usize, 0, 0, 0, 0]);
    nanoseconds(time)
}

/// Saturates: deadlines may be absurd.
pub(crate) fn nanoseconds(time: timespec) -> i64 {
    time.tv_sec.saturating_mul(SECOND).saturating_add(time.tv_nsec)
}

pub(crate) fn time_of(nanoseconds: i64) -> timespec {
    timespec { tv_sec: nanoseconds / SECOND, tv_nsec: nanoseconds % SECOND }
}

/// How long the run has taken, in virtual time.
fn elapsed() -> i64 {
    let idle = match IDLE_SINCE.load(Relaxed) {
        0 => 0,
        since => (world_time(libc::CLOCK_MONOTONIC) - since).max(0),
    };
    AHEAD.load(Relaxed) + idle
}

/// From now on nobody can run: time passes as in the world.
pub(crate) fn idle_begins() {
    if is_virtual() && IDLE_SINCE.load(Relaxed) == 0 {
        IDLE_SINCE.store(world_time(libc::CLOCK_MONOTONIC), Relaxed);
    }
}

/// Somebody runs again.
pub(crate) fn idle_ends() {
    let since = IDLE_SINCE.swap(0, Relaxed);
    if since != 0 {
        AHEAD.fetch_add((world_time(libc::CLOCK_MONOTONIC) - since).max(0), Relaxed);
    }
}

/// Time goes on to `time`, of the monotonic clock.
pub(crate) fn jump(time: timespec) {
    let now = crate::futex::now();
    let seconds = time.tv_sec.saturating_sub(now.tv_sec);
    if seconds < FOR_EVER {
        AHEAD.fetch_add((seconds * SECOND + time.tv_nsec - now.tv_nsec).max(0), Relaxed);
    }
}

/// What the program reads from a clock, or the error. Time never goes back: who reads a clock
/// notices who has read it before. In a replay clocks show what they showed in the recorded run,
/// and go on from there.
fn read(clock: clockid_t) -> Result<timespec, c_int> {
    let always = |_: &mut Kernel| true;
    let source = Source { optional: true, ..Source::new(call::CLOCK, &always) };
    let now = || {
        if is_virtual() {
            AHEAD.fetch_add(STEP, Relaxed);
        }
        get(clock).map_or_else(|errno| -i64::from(errno), nanoseconds)
    };
    let uses = |_: &mut Kernel| Uses::of(&[(CLOCK, BOTH)]);
    let Some(begun) = start_call(&source, uses, None) else { return get(clock) };
    let time = match &begun.fate {
        Fate::Answered(answer) => {
            go_on_from(clock, answer.result);
            answer.result
        }
        _ => now(),
    };
    finish(&begun, &source, time, &|_, _| (), |_| ());
    if time < 0 { Err(-time as c_int) } else { Ok(time_of(time)) }
}

/// A clock shows this: none shows an earlier time from now on.
fn go_on_from(clock: clockid_t, time: i64) {
    let start = match base(clock) {
        Some(start) if is_virtual() => start.load(Relaxed),
        _ => return,
    };
    AHEAD.fetch_max(time.saturating_sub(start), Relaxed);
}

/// Where a clock began; `None` for those of the processor.
fn base(clock: clockid_t) -> Option<&'static AtomicI64> {
    match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI => Some(&START_WALL),
        libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID | ..0 => None,
        _ => Some(&START_MONOTONIC),
    }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    match read(clock) {
        Ok(now) => {
            // SAFETY: the caller gives a place for the time.
            unsafe { *time = now };
            0
        }
        Err(errno) => {
            set_errno(errno);
            // The clock of a thread that has ended.
            super::memory::seen_by(-1)
        }
    }
}

/// The time of a clock, for us; or the error.
pub(crate) fn get(clock: clockid_t) -> Result<timespec, c_int> {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    let arguments = [clock as usize, (&raw mut time) as usize, 0, 0, 0, 0];
    let status = system_call(libc::SYS_clock_gettime, arguments);
    if status < 0 {
        return Err(-status as c_int);
    }
    Ok(match (is_virtual(), base(clock)) {
        (true, None) => time_of(elapsed()),
        (true, Some(start)) => time_of(start.load(Relaxed).saturating_add(elapsed())),
        (false, None) => time,
        (false, Some(_)) => time_of(nanoseconds(time).saturating_add(AHEAD.load(Relaxed))),
    })
}

fn wall() -> timespec {
    read(libc::CLOCK_REALTIME).unwrap_or(timespec { tv_sec: 0, tv_nsec: 0 })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gettimeofday(time: *mut timeval, _: *mut c_void) -> c_int {
    let now = wall();
    // SAFETY: the caller gives a place for the time, or null.
    if let Some(time) = unsafe { time.as_mut() } {
        *time = timeval { tv_sec: now.tv_sec, tv_usec: now.tv_nsec / 1000 };
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn time(seconds: *mut time_t) -> time_t {
    let now = wall().tv_sec;
    // SAFETY: the caller gives a place for the time, or null.
    if let Some(seconds) = unsafe { seconds.as_mut() } {
        *seconds = now;
    }
    now
}

#[unsafe(no_mangle)]
unsafe extern "C" fn timespec_get(time: *mut timespec, base: c_int) -> c_int {
    const UTC: c_int = 1;
    if base != UTC {
        return 0;
    }
    // SAFETY: the caller gives a place for the time.
    unsafe { *time = wall() };
    base
}

/// What the clock of the processor shows (`rdtsc`): that of one which counts nanoseconds.
#[unsafe(no_mangle)]
extern "C" fn ft_time_stamp() -> u64 {
    read(libc::CLOCK_MONOTONIC).map_or(0, |now| nanoseconds(now) as u64)
}

/// The time of the processor, in microseconds.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock() -> libc::clock_t {
    let used = read(libc::CLOCK_PROCESS_CPUTIME_ID);
    used.map_or(-1, |used| nanoseconds(used) / 1000)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn times(to: *mut libc::tms) -> libc::clock_t {
    /// Nanoseconds of a tick.
    const TICK: i64 = SECOND / 100;
    let (used, now) = (read(libc::CLOCK_PROCESS_CPUTIME_ID), read(libc::CLOCK_MONOTONIC));
    let ticks = |time: Result<timespec, c_int>| time.map_or(0, |time| nanoseconds(time) / TICK);
    // SAFETY: the caller gives a place for the times, or null.
    if let Some(to) = unsafe { to.as_mut() } {
        *to = libc::tms { tms_utime: ticks(used), tms_stime: 0, tms_cutime: 0, tms_cstime: 0 };
    }
    ticks(now)
}
