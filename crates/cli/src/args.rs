//! The command line as the user types it.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Finds concurrency bugs before they happen.
///
/// From one recorded run of a concurrent program, foretrace predicts races, atomicity violations,
/// deadlocks and lock errors that another schedule of the same events leads to, and shows that
/// schedule.
#[derive(Parser, Debug)]
#[command(name = "foretrace", version, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    Predict(PredictArguments),
    #[command(subcommand)]
    Trace(TraceCommand),
}

/// Predict the bugs that other schedules of a trace lead to
///
/// Exit status: 0 nothing found and everything decided; 1 bugs found; 2 bad input or usage; 3 nothing
/// certain (undecided, or only possible bugs); 70 a bug of foretrace itself.
#[derive(Args, Debug)]
pub(crate) struct PredictArguments {
    /// The trace: text, binary (.ftb), STD, RapidBin, RV-Predict folder, CSV; also gzipped
    pub(crate) trace: PathBuf,

    /// What to look for
    #[arg(long, value_delimiter = ',', value_name = "PROPERTY,...",
        default_values_t = [Check::Race, Check::Atomicity, Check::Deadlock, Check::Lock])]
    pub(crate) check: Vec<Check>,

    /// What the reads of another schedule must see
    #[arg(long, value_enum, default_value_t = ModelChoice::Auto)]
    pub(crate) model: ModelChoice,

    /// What counts as one candidate
    #[arg(long, value_enum, default_value_t = GranularityChoice::Location)]
    pub(crate) granularity: GranularityChoice,

    /// Take critical sections for atomic regions
    #[arg(long)]
    pub(crate) infer_regions: bool,

    /// Threads that solve; changes nothing in the result [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) jobs: Option<u32>,

    /// Stop after this time: 500ms, 30s, 5m, 1h; what is then open is undecided
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) budget: Option<Duration>,

    /// Give up a candidate when the solver needs more conflicts than this for it
    #[arg(long, value_name = "N")]
    pub(crate) conflicts: Option<u64>,

    /// Write the report as JSON to a file; `-` is standard output, then nothing else goes there
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// The format of the trace, if it is not to be guessed
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<InputFormat>,

    /// Show long schedules whole
    #[arg(long)]
    pub(crate) full_schedule: bool,

    /// Say how long it took, also in the JSON report
    #[arg(long)]
    pub(crate) timing: bool,
}

/// Look at traces and convert them
#[derive(Subcommand, Debug)]
pub(crate) enum TraceCommand {
    /// Print a trace in the text form
    Show(TraceArguments),
    /// Count what is in a trace
    Stats(TraceArguments),
    /// Check that a trace obeys the rules of docs/theory.md
    Validate(TraceArguments),
    /// Write a trace in another format
    Convert(ConvertArguments),
}

#[derive(Args, Debug)]
pub(crate) struct TraceArguments {
    /// The trace
    pub(crate) trace: PathBuf,

    /// The format of the trace, if it is not to be guessed
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<InputFormat>,
}

#[derive(Args, Debug)]
pub(crate) struct ConvertArguments {
    #[command(flatten)]
    pub(crate) input: TraceArguments,

    /// Where to write; `-` is standard output
    pub(crate) output: PathBuf,

    /// The format to write [default: by the extension: .ftb binary, .std STD, else text]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) to: Option<OutputFormat>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Check {
    Race,
    Atomicity,
    Deadlock,
    Lock,
}

impl std::fmt::Display for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.to_possible_value().expect("no variant is hidden").get_name())
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ModelChoice {
    /// `values` if the trace has values, else `reads-from`
    Auto,
    /// The write that they saw
    ReadsFrom,
    /// The value that they saw
    Values,
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
    /// Our text form
    Text,
    /// Our binary form
    Binary,
    /// RAPID's STD, plain or gzipped
    Std,
    /// RAPID's binary form
    Rapidbin,
    /// A folder of RV-Predict's LLVM traces
    Rvpredict,
    /// CSV as SpeedyGo writes it
    Csv,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Our text form
    Text,
    /// Our binary form
    Binary,
    /// RAPID's STD, which has no values
    Std,
}

/// A number and a unit; without a unit seconds are meant.
fn parse_duration(text: &str) -> Result<Duration, String> {
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
    fn the_definition_is_consistent() {
        <Arguments as clap::CommandFactory>::command().debug_assert();
    }
}
