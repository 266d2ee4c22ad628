//! The functions of the C library that the runtime interposes. Each does its work through
//! [`crate::sync`] while the runtime is on, and calls the C library's own when it is off, or from
//! within the runtime.

pub(crate) mod barriers;
mod between;
mod c11;
pub(crate) mod cancellation;
mod children;
pub(crate) mod clocks;
mod conditions;
mod containers;
mod descriptors;
mod files;
mod lists;
mod measures;
pub(crate) mod memory;
mod messages;
pub(crate) mod mutexes;
mod noticed;
pub(crate) mod numbers;
mod once;
mod own_streams;
mod polling;
mod ports;
pub(crate) mod process;
mod random;
mod raw;
mod resolving;
mod rwlocks;
pub(crate) mod semaphores;
mod sending;
pub(crate) mod signals;
mod sleeping;
mod sockets;
pub(crate) mod standard_input;
pub(crate) mod stream_buffers;
pub(crate) mod streams;
pub(crate) mod threads;
mod transfers;
mod transfers_variants;
mod twice;

/// An absolute time of a clock, as monotonic time.
fn monotonic(clock: libc::clockid_t, time: libc::timespec) -> libc::timespec {
    if clock == libc::CLOCK_MONOTONIC {
        return time;
    }
    let here = crate::futex::now();
    let there = clocks::get(clock).unwrap_or(here);
    let nanoseconds =
        |time: libc::timespec| i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec);
    let sum = (nanoseconds(here) + nanoseconds(time) - nanoseconds(there)).max(0);
    libc::timespec { tv_sec: (sum / 1_000_000_000) as i64, tv_nsec: (sum % 1_000_000_000) as i64 }
}
