//! Until when reading a trace may take.

use std::time::{Duration, Instant};

/// When to stop reading, if at all: what was read by then is a trace by itself, a prefix of the
/// run. The default never passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Deadline(Option<Instant>);

impl Deadline {
    /// Never.
    pub const NEVER: Deadline = Deadline(None);

    /// At that moment.
    pub fn at(moment: Instant) -> Deadline {
        Deadline(Some(moment))
    }

    /// After that time from now on.
    pub fn after(time: Duration) -> Deadline {
        // What lies beyond all clocks never comes.
        Deadline(Instant::now().checked_add(time))
    }

    /// Whether it is over. This asks the clock, so loops ask every thousandth time or so.
    pub fn has_passed(self) -> bool {
        self.0.is_some_and(|moment| Instant::now() >= moment)
    }

    /// The deadline of a first part of the work, which may take this share of the time that is
    /// left.
    pub fn share(self, share: f64) -> Deadline {
        let now = Instant::now();
        Deadline(self.0.map(|moment| now + moment.duration_since(now).mul_f64(share)))
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
        let Deadline(Some(part)) = Deadline::at(whole).share(0.5) else { panic!("it passes") };
        assert!(part > now + Duration::from_secs(400) && part < whole - Duration::from_secs(400));
    }
}
