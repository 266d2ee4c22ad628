//! What this process has used so far, as Linux counts it.

use std::fs;
use std::time::{Duration, Instant};

/// The time that this thread has run on a core; on other systems, the time that has passed.
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    pub(crate) fn new() -> Clock {
        Clock { start: Instant::now() }
    }

    pub(crate) fn used(&self) -> Duration {
        // The kernel brings the count up to date when the thread gives its core away.
        std::thread::yield_now();
        let running = fs::read_to_string("/proc/thread-self/schedstat").ok().and_then(|text| {
            let nanoseconds: u64 = text.split_whitespace().next()?.parse().ok()?;
            (nanoseconds > 0).then_some(Duration::from_nanos(nanoseconds))
        });
        running.unwrap_or_else(|| self.start.elapsed())
    }
}

/// The most memory that this process has had, in bytes; 0 where it is not known.
pub(crate) fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = peak.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1024
}
