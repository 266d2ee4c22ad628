//! Until when work may take: a moment, or a flag that somebody sets.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A flag that asks for the work to end early; a signal handler or another thread sets it. The
/// default never does.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stop(Option<&'static AtomicBool>);

impl Stop {
    /// Nobody ever asks for it.
    pub const NEVER: Stop = Stop(None);

    /// As soon as the flag is set.
    pub const fn when(flag: &'static AtomicBool) -> Stop {
        Stop(Some(flag))
    }

    /// Whether the work is to end.
    pub fn is_set(self) -> bool {
        self.0.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// The flag, if there is one.
    pub fn flag(self) -> Option<&'static AtomicBool> {
        self.0
    }
}

/// The same flag, whatever its value is.
impl PartialEq for Stop {
    fn eq(&self, other: &Stop) -> bool {
        self.0.map(std::ptr::from_ref) == other.0.map(std::ptr::from_ref)
    }
}

impl Eq for Stop {}

/// When to stop reading or searching, if at all. What was read by then is a trace by itself, a
/// prefix of the run. The default never passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Deadline {
    moment: Option<Instant>,
    stop: Stop,
}

impl Deadline {
    /// Never.
    pub const NEVER: Deadline = Deadline { moment: None, stop: Stop::NEVER };

    /// At that moment.
    pub fn at(moment: Instant) -> Deadline {
        Deadline { moment: Some(moment), stop: Stop::NEVER }
    }

    /// After that time from now on.
    pub fn after(time: Duration) -> Deadline {
        // What lies beyond all clocks never comes.
        Deadline { moment: Instant::now().checked_add(time), stop: Stop::NEVER }
    }

    /// The same, or earlier if the flag is set.
    pub fn or(self, stop: Stop) -> Deadline {
        Deadline { stop, ..self }
    }

    /// Whether it is over. This asks the clock, so loops ask every thousandth time or so.
    pub fn has_passed(self) -> bool {
        self.stop.is_set() || self.moment.is_some_and(|moment| Instant::now() >= moment)
    }

    /// The deadline of a first part of the work, which may take this share of the time that is
    /// left.
    pub fn share(self, share: f64) -> Deadline {
        let now = Instant::now();
        let part = |moment: Instant| now + moment.duration_since(now).mul_f64(share);
        Deadline { moment: self.moment.map(part), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_ends_before_the_whole() {
        assert!(!Deadline::NEVER.has_passed());
        assert!(!Deadline::NEVER.share(0.5).has_passed());
        assert!(!Deadline::after(Duration::MAX).has_passed());
        let now = Instant::now();
        assert!(Deadline::at(now).has_passed() && Deadline::at(now).share(0.5).has_passed());
        let whole = now + Duration::from_secs(1000);
        let part = Deadline::at(whole).share(0.5).moment.expect("it passes");
        assert!(part > now + Duration::from_secs(400) && part < whole - Duration::from_secs(400));
    }

    #[test]
    fn a_flag_ends_every_share() {
        static FLAG: AtomicBool = AtomicBool::new(false);
        let stop = Stop::when(&FLAG);
        let deadline = Deadline::after(Duration::from_secs(1000)).or(stop).share(0.5);
        assert!(!deadline.has_passed() && !stop.is_set() && !Stop::NEVER.is_set());
        FLAG.store(true, Ordering::Relaxed);
        assert!(deadline.has_passed() && Deadline::NEVER.or(stop).has_passed() && stop.is_set());
    }
}
