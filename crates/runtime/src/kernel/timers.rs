//! Timers with a descriptor, in virtual time.
//!
//! The kernel's timer is not set to the time that the program wants. When virtual time comes to it,
//! the runtime lets it expire at once, so that the descriptor is ready for `read`, `poll` and
//! `epoll` as usual. How often it has expired is computed when the program reads it.

use libc::{itimerspec, timespec};

use super::Kernel;
use super::ready;
use crate::futex::system_call;
use crate::interpose::clocks::{nanoseconds, time_of};

/// A timer of the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer {
    descriptor: i32,
    /// The channel that its descriptors have.
    channel: u32,
    pub(crate) clock: i32,
    /// When it expires next, or did without being read, in nanoseconds of the monotonic clock.
    due: Option<i64>,
    interval: i64,
    /// The kernel's timer has expired.
    expired: bool,
}

fn set_kernel(descriptor: i32, time: timespec) {
    let none = timespec { tv_sec: 0, tv_nsec: 0 };
    let new = itimerspec { it_interval: none, it_value: time };
    let arguments = [descriptor as usize, 0, std::ptr::from_ref(&new) as usize, 0, 0, 0];
    system_call(libc::SYS_timerfd_settime, arguments);
}

impl Kernel {
    /// A new timer.
    pub(crate) fn add_timer(&mut self, descriptor: i32, clock: i32) {
        let Some(slot) = self.slot(descriptor) else { return };
        let (channel, due) = (slot.channel, None);
        self.timers.push(Timer { descriptor, channel, clock, due, interval: 0, expired: false });
    }

    pub(super) fn remove_timer(&mut self, descriptor: i32) {
        self.timers.retain(|timer| timer.descriptor != descriptor);
    }

    /// The timer that a descriptor is.
    pub(crate) fn timer(&mut self, descriptor: i32) -> Option<&mut Timer> {
        if self.timers.is_empty() {
            return None;
        }
        let channel = self.slot(descriptor)?.channel;
        self.timers.iter_mut().find(|timer| timer.channel == channel)
    }

    /// Lets those timers expire whose time has come.
    fn expire(&mut self, now: i64) {
        for timer in &mut self.timers {
            if !timer.expired && timer.due.is_some_and(|due| due <= now) {
                timer.expired = true;
                set_kernel(timer.descriptor, time_of(1));
                ready::wait_until_ready(timer.descriptor, libc::POLLIN);
            }
        }
    }

    /// The same, for now.
    pub(crate) fn expire_if_any(&mut self) {
        if !self.timers.is_empty() {
            self.expire(nanoseconds(crate::futex::now()));
        }
    }

    /// When the first timer expires for which somebody waits who waits for these descriptors.
    pub(crate) fn first_timer(&mut self, awaited: &[i32]) -> Option<i64> {
        if self.timers.is_empty() {
            return None;
        }
        let mut channels = Vec::new();
        for &descriptor in awaited {
            channels.extend(self.slot(descriptor).map(|slot| self.find(slot.channel)));
        }
        let is_awaited =
            |timer: &&Timer| !timer.expired && channels.contains(&self.find(timer.channel));
        self.timers.iter().filter(is_awaited).filter_map(|timer| timer.due).min()
    }
}

impl Timer {
    /// Sets it to expire at `due`, of the monotonic clock, and from then on again and again.
    pub(crate) fn set(&mut self, due: Option<i64>, interval: timespec) {
        (self.due, self.interval, self.expired) = (due, nanoseconds(interval), false);
        set_kernel(self.descriptor, time_of(0));
    }

    /// How long it will take, and how long each time after that.
    pub(crate) fn left(&self, now: i64) -> itimerspec {
        let left = self.due.map_or(0, |due| match self.interval {
            interval if interval > 0 && due <= now => interval - (now - due) % interval,
            _ => (due - now).max(0),
        });
        itimerspec { it_interval: time_of(self.interval), it_value: time_of(left) }
    }

    /// The program has read from it: how often it has expired since the last time.
    pub(crate) fn read(&mut self, now: i64) -> u64 {
        self.expired = false;
        let Some(due) = self.due.take() else { return 1 };
        if self.interval == 0 {
            return 1;
        }
        let times = (now - due).max(0) / self.interval + 1;
        self.due = Some(due + times * self.interval);
        times as u64
    }
}
