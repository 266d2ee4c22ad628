//! How many threads a region gets and which schedule its loops have: from the environment, and the
//! functions of `omp.h` that ask and tell.

use std::ffi::{c_double, c_int};

use super::cell::give;
use super::dispatch::Schedule;
use super::team::current;
use crate::config::{Mode, mode, number, variable};
use crate::interpose::clocks::clock_gettime;

/// So many threads has a region that is recorded, if nobody asks for a number: the same on every
/// machine.
const RECORDED_THREADS: u32 = 4;

/// What each task has, and hands on to the regions that it begins.
#[derive(Clone, Copy)]
pub(super) struct Settings {
    pub(super) threads: u32,
    /// At most so many threads in one region.
    pub(super) limit: u32,
    /// So many regions with more than one thread may enclose each other.
    pub(super) active_levels: u32,
    dynamic: bool,
    /// For loops with `schedule(runtime)`.
    pub(super) schedule: Schedule,
}

impl Settings {
    pub(super) fn of_environment() -> Settings {
        let default = match mode() {
            Mode::Unset | Mode::Off => processors() as u32,
            Mode::Free | Mode::Scheduled => RECORDED_THREADS,
        };
        let nested = variable(c"OMP_NESTED").is_some_and(is_true);
        let levels = if nested || threads_at(1).is_some() { u64::from(u32::MAX) } else { 1 };
        let levels = number(c"OMP_MAX_ACTIVE_LEVELS").unwrap_or(levels);
        let schedule = variable(c"OMP_SCHEDULE").and_then(Schedule::parse);
        Settings {
            threads: threads_at(0).unwrap_or(default),
            limit: number(c"OMP_THREAD_LIMIT").unwrap_or(0x7fff).clamp(1, 0x7fff) as u32,
            active_levels: levels.min(u64::from(u32::MAX)) as u32,
            dynamic: variable(c"OMP_DYNAMIC").is_some_and(is_true),
            schedule: schedule.unwrap_or(Schedule::Static { chunk: None }),
        }
    }

    /// What the threads of a region have that encloses `level` others.
    pub(super) fn inherited(&self, level: u32) -> Settings {
        Settings { threads: threads_at(level as usize).unwrap_or(self.threads), ..*self }
    }
}

/// `OMP_NUM_THREADS` is a list: one number for each level.
fn threads_at(level: usize) -> Option<u32> {
    let list = std::str::from_utf8(variable(c"OMP_NUM_THREADS")?).ok()?;
    list.split(',').nth(level)?.trim().parse().ok().filter(|threads| *threads > 0)
}

/// Whether a variable of the environment says yes.
pub(super) fn is_true(value: &[u8]) -> bool {
    value.trim_ascii().eq_ignore_ascii_case(b"true") || value.trim_ascii() == b"1"
}

fn processors() -> c_int {
    // SAFETY: only numbers are involved.
    unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }.clamp(1, 0x7fff) as c_int
}

#[unsafe(no_mangle)]
extern "C" fn omp_get_thread_num() -> c_int {
    current().number as c_int
}

#[unsafe(no_mangle)]
extern "C" fn omp_get_num_threads() -> c_int {
    current().team.size as c_int
}

#[unsafe(no_mangle)]
extern "C" fn omp_get_max_threads() -> c_int {
    current().settings.threads as c_int
}

#[unsafe(no_mangle)]
extern "C" fn omp_set_num_threads(threads: c_int) {
    if threads > 0 {
        current().settings.threads = threads as u32;
    }
}

#[unsafe(no_mangle)]
extern "C" fn omp_get_num_procs() -> c_int {
    processors()
}

#[unsafe(no_mangle)]
extern "C" fn omp_in_parallel() -> c_int {
    c_int::from(current().team.active_level > 0)
}

#[unsafe(no_mangle)]
extern "C" fn omp_set_dynamic(dynamic: c_int) {
    current().settings.dynamic = dynamic != 0;
}

#[unsafe(no_mangle)]
extern "C" fn omp_get_dynamic() -> c_int {
    c_int::from(current().settings.dynamic)
}

#[unsafe(no_mangle)]
extern "C" fn omp_set_nested(nested: c_int) {
    let levels = if nested != 0 { u32::MAX } else { 1 };
    current().settings.active_levels = levels;
}

#[unsafe(no_mangle)]
extern "C" fn omp_get_nested() -> c_int {
    c_int::from(current().settings.active_levels > 1)
}

#[unsafe(no_mangle)]
extern "C" fn omp_set_max_active_levels(levels: c_int) {
    if let Ok(levels) = u32::try_from(levels) {
        current().settings.active_levels = levels;
    }
}

#[unsafe(no_mangle)]
extern "C" fn omp_get_max_active_levels() -> c_int {
    current().settings.active_levels.min(c_int::MAX as u32) as c_int
}

#[unsafe(no_mangle)]
extern "C" fn omp_get_supported_active_levels() -> c_int {
    c_int::MAX
}

#[unsafe(no_mangle)]
extern "C" fn omp_get_thread_limit() -> c_int {
    current().settings.limit as c_int
}

#[unsafe(no_mangle)]
extern "C" fn omp_set_schedule(kind: c_int, chunk: c_int) {
    if let Some(schedule) = Schedule::from_user(kind, chunk) {
        current().settings.schedule = schedule;
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn omp_get_schedule(kind: *mut c_int, chunk: *mut c_int) {
    let (own_kind, own_chunk) = current().settings.schedule.for_user();
    // SAFETY: the program gives places for both.
    unsafe {
        give(kind, own_kind);
        give(chunk, own_chunk);
    }
}

#[unsafe(no_mangle)]
extern "C" fn omp_get_level() -> c_int {
    current().team.level as c_int
}

#[unsafe(no_mangle)]
extern "C" fn omp_get_active_level() -> c_int {
    current().team.active_level as c_int
}

/// Number and size of the team at a level around the caller, or the caller's own.
fn ancestor(level: c_int) -> Option<(u32, u32)> {
    let member = current();
    let level = usize::try_from(level).ok()?;
    let own = (member.number, member.team.size);
    // The outermost is the team of the thread that began it all.
    member.team.ancestors.iter().copied().chain([own]).nth(level)
}

#[unsafe(no_mangle)]
extern "C" fn omp_get_ancestor_thread_num(level: c_int) -> c_int {
    ancestor(level).map_or(-1, |(number, _)| number as c_int)
}

#[unsafe(no_mangle)]
extern "C" fn omp_get_team_size(level: c_int) -> c_int {
    ancestor(level).map_or(-1, |(_, size)| size as c_int)
}

#[unsafe(no_mangle)]
extern "C" fn omp_get_wtime() -> c_double {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is a local variable.
    unsafe { clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as c_double + time.tv_nsec as c_double * 1e-9
}

#[unsafe(no_mangle)]
extern "C" fn omp_get_wtick() -> c_double {
    1e-9
}

#[unsafe(no_mangle)]
extern "C" fn omp_in_final() -> c_int {
    c_int::from(current().task.is_final())
}

/// Functions that always give the same.
macro_rules! constant {
    ($($name:ident = $value:expr;)*) => { $(
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> c_int {
            $value
        }
    )* };
}

constant! {
    omp_get_cancellation = 0;
    omp_get_proc_bind = 0;
    omp_get_num_places = 0;
    omp_get_place_num = -1;
    omp_get_num_teams = 1;
    omp_get_team_num = 0;
    omp_get_max_teams = 1;
    omp_get_teams_thread_limit = 0;
    omp_get_num_devices = 0;
    omp_get_default_device = 0;
    omp_get_initial_device = 0;
    omp_get_device_num = 0;
    omp_is_initial_device = 1;
    omp_get_max_task_priority = 0;
}

#[unsafe(no_mangle)]
extern "C" fn omp_set_default_device(_: c_int) {}
