//! The two tiers of tests: what every change must pass, and what takes hours.

/// The variable that `cargo xtask test --long` sets.
pub const LONG: &str = "FORETRACE_LONG_TESTS";

/// Whether this is the long tier.
pub fn is_long() -> bool {
    std::env::var_os(LONG).is_some()
}

/// How many cases a test tries: so many at every change, and so many in the long tier.
pub fn cases(every_change: u64, long: u64) -> u64 {
    if is_long() { long } else { every_change }
}
