//! Values that options of several commands take.

use std::time::Duration;

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use foretrace_verdict::Property;

/// What goes wrong without an assertion.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Implicit {
    /// A null pointer is used
    Null,
    /// A number is divided by zero
    Division,
    /// An index is outside of its global array or heap block
    Bounds,
    /// Memory is used after another thread has freed it
    Freed,
    /// All of these
    All,
    /// None of these
    None,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ModelChoice {
    /// `symbolic` if the trace has expressions, `values` if it has values, else `reads-from`
    Auto,
    /// The write that they saw in the recorded run
    ReadsFrom,
    /// The value that they saw in the recorded run
    Values,
    /// Whatever memory holds, as long as every condition then goes the recorded way
    Symbolic,
    /// Anything: data is ignored, so findings are only possible, not proved feasible
    Control,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum GranularityChoice {
    /// Each tuple of source locations on one object
    Location,
    /// Each tuple of events
    Event,
    /// Each object
    Variable,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum InputFormat {
    /// The text form of foretrace
    Text,
    /// The binary form of foretrace
    Binary,
    /// The recording that the runtime writes while a program runs
    Recording,
    /// RAPID's STD, plain or gzipped
    Std,
    /// RAPID's binary form
    Rapidbin,
    /// A folder of RV-Predict's LLVM traces
    Rvpredict,
    /// SpeedyGo's CSV
    Csv,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The text form of foretrace
    Text,
    /// The binary form of foretrace
    Binary,
    /// RAPID's STD, which has no values
    Std,
}

/// A number of bytes, with a unit of 1024, 1024^2 or 1024^3 of them.
pub(super) fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        _ => return Err(format!("unknown unit `{unit}`; use k, M or G")),
    };
    let number: u64 = number.parse().map_err(|_| "expected a number and a unit".to_string())?;
    number.checked_mul(1 << shift).ok_or_else(|| "too large".to_string())
}

/// A number and a unit; without a unit seconds are meant.
pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("unknown unit `{unit}`; use ms, s, m or h")),
    };
    let number: f64 = number.parse().map_err(|_| "expected a number and a unit".to_string())?;
    Duration::try_from_secs_f64(number * scale).map_err(|error| error.to_string())
}

/// What `verify` can look for.
pub(crate) const VERIFIED: [Property; 4] =
    [Property::Race, Property::Deadlock, Property::Lock, Property::Assertion];

pub(super) fn verified_property() -> impl TypedValueParser<Value = Property> {
    PossibleValuesParser::new(VERIFIED.map(Property::name))
        .try_map(|name| Property::of_name(&name).ok_or("there is no such property"))
}

/// Properties by their names.
pub(super) fn property() -> impl TypedValueParser<Value = Property> {
    PossibleValuesParser::new(Property::ALL.map(Property::name))
        .try_map(|name| Property::of_name(&name).ok_or("there is no such property"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        assert_eq!(parse_duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("2"), Ok(Duration::from_secs(2)));
        assert!(parse_duration("s").is_err());
        assert!(parse_duration("3 parsecs").is_err());
        assert!(parse_duration("-1s").is_err());
    }

    #[test]
    fn sizes() {
        assert_eq!(parse_size("4096"), Ok(4096));
        assert_eq!(parse_size("20M"), Ok(20 << 20));
        assert!(parse_size("M").is_err() && parse_size("1T").is_err());
    }
}
