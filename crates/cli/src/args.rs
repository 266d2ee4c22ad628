//! The command line as the user types it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use foretrace_verdict::Property;

mod project;

pub(crate) use project::{CiCommand, InitArguments, ProjectOptions, Recipe, SuppressArguments};

/// Finds concurrency bugs before they happen.
///
/// Foretrace records one run of a concurrent program. It predicts the data races, atomicity
/// violations, deadlocks, lock errors and failing assertions that other schedules of the same
/// events lead to, shows such a schedule, and replays it on the program.
#[derive(Parser, Debug)]
#[command(name = "foretrace", version, max_term_width = 100, args_override_self = true)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  foretrace cc -g -pthread bank.c -o bank     compile for recording
  foretrace test -- ./bank                    find bugs, and replay each
  foretrace test --json r.json -- ./bank      keep the report, then:
  foretrace replay r.json#race-1 --gdb -- ./bank
  foretrace doctor                            what is missing on this machine
  foretrace ci init                           recipes for CI
  foretrace help race                         what a bug is, and how it is mended; also: atomicity,
                                              deadlock, lock, assertion, bugs";

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    Test(TestArguments),
    Run(RunArguments),
    Predict(PredictArguments),
    Explain(ExplainArguments),
    #[command(name = "whatif")]
    WhatIf(WhatIfArguments),
    Fix(FixArguments),
    Encode(EncodeArguments),
    Replay(ReplayArguments),
    Suppress(SuppressArguments),
    Verify(VerifyArguments),
    /// Say what recording needs and what of it is missing, and try the whole way
    ///
    /// Exit status: 0 all that is needed is there and works; 1 something is missing.
    Doctor,
    #[command(subcommand)]
    Ci(CiCommand),
    /// Write manual pages and completions for shells
    #[command(hide = true)]
    Generate {
        /// Where to write
        folder: PathBuf,
    },
    /// Compile and link C for recording, with the arguments of clang: CC="foretrace cc"
    Cc(CompilerArguments),
    /// Compile and link C++ for recording, with the arguments of clang++: CXX="foretrace c++"
    #[command(name = "c++")]
    Cpp(CompilerArguments),
    #[command(subcommand)]
    Trace(TraceCommand),
}

/// Predict the bugs that other schedules of a trace lead to, or all executions of a program
///
/// Several traces count as runs of one program on the same inputs, and are merged.
///
/// Exit status: 0 nothing found and everything decided; 1 bugs found; 2 bad input or usage; 3
/// nothing certain (undecided, or only possible bugs); 70 a bug in foretrace itself.
#[derive(Args, Debug)]
pub(crate) struct PredictArguments {
    /// One or more traces: text, binary (.ftb), recording (.ftrec), STD, RapidBin, RV-Predict
    /// folder, CSV; also gzipped. Or a program (.ftp)
    #[arg(value_name = "TRACE", required = true)]
    pub(crate) traces: Vec<PathBuf>,

    /// The format of the traces [default: detected from their content]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<InputFormat>,

    #[command(flatten)]
    pub(crate) options: PredictionOptions,

    /// Decide with the papers' formula and this SMT-LIB 2 solver, such as "z3 -in" or cvc5, instead
    /// of foretrace's own
    #[arg(long, value_name = "COMMAND")]
    pub(crate) solver: Option<String>,

    /// Also predict under all other models that make sense for the trace, and show which find what
    #[arg(long)]
    pub(crate) compare_models: bool,

    /// Explain why the first N refuted candidates cannot happen [default N: 20]
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "20"
    )]
    pub(crate) why: Option<usize>,
}

/// Explain why a bug cannot happen, or show how it can
///
/// CANDIDATE is the name that `predict` gives a finding (race-1), or a kind and places: race A B;
/// atomicity A R B, where R is in the other thread; cycle A B ..., where threads take locks; stuck
/// A; lock A; assertion A. A place is the number of an event, from 0, a source location
/// (bank.c:12), or THREAD@LOCATION.
///
/// Exit status: 0 it cannot happen; 1 it can; 2 bad input or usage; 3 undecided, or only possible;
/// 70 a bug in foretrace itself.
#[derive(Args, Debug)]
pub(crate) struct ExplainArguments {
    /// The trace, in any format
    pub(crate) trace: PathBuf,

    /// What to explain: race-1, or race bank.c:12 bank.c:40
    #[arg(value_name = "CANDIDATE", required = true)]
    pub(crate) candidate: Vec<String>,

    /// The format of the trace [default: detected from its content]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<InputFormat>,

    /// What reads may see in another schedule
    #[arg(long, value_enum, default_value_t = ModelChoice::Auto)]
    pub(crate) model: ModelChoice,

    /// Treat critical sections as atomic regions
    #[arg(long)]
    pub(crate) infer_regions: bool,

    /// Check for these errors, as given to predict
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    pub(crate) implicit: Vec<Implicit>,

    /// Write the relevant events and their order as a graph for Graphviz; `-` is standard output,
    /// and the text then goes to standard error
    #[arg(long, value_name = "FILE")]
    pub(crate) dot: Option<PathBuf>,

    /// Stop each candidate after this time: 500ms, 30s, 5m, 1h
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) budget: Option<Duration>,

    /// Give up a candidate after this many conflicts in the solver
    #[arg(long, value_name = "N")]
    pub(crate) conflicts: Option<u64>,

    /// Show a long schedule in full
    #[arg(long)]
    pub(crate) full_schedule: bool,
}

/// Ask whether one event can come before another, or a read see a value
///
/// A place is the number of an event, from 0, a source location (bank.c:12), or THREAD@LOCATION. If
/// several events fit, one that can is enough.
///
/// Exit status: 0 no execution does; 1 one does, and is shown; 2 bad input or usage; 3 undecided;
/// 70 a bug in foretrace itself.
#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("question").required(true))]
pub(crate) struct WhatIfArguments {
    /// The trace, in any format
    pub(crate) trace: PathBuf,

    /// Can an event at E1 come before one at E2?
    #[arg(long, num_args = 2, value_names = ["E1", "E2"], group = "question")]
    pub(crate) before: Option<Vec<String>>,

    /// Can a read at LINE see VALUE?
    #[arg(long, num_args = 2, value_names = ["LINE", "VALUE"], group = "question",
        allow_hyphen_values = true)]
    pub(crate) sees: Option<Vec<String>>,

    #[command(flatten)]
    pub(crate) question: QuestionOptions,
}

/// Propose changes that mend a finding, each tried on the recorded run
///
/// For races, atomicity violations and lock cycles: hold an existing or a new lock around some
/// lines, take locks in another order, make accesses atomic. Nothing is changed.
///
/// Exit status: 0 a change mends it; 2 bad input or usage; 3 none does, or none is proposed; 70 a
/// bug in foretrace itself.
#[derive(Args, Debug)]
pub(crate) struct FixArguments {
    /// A JSON report, or a trace, and one of its findings: report.json#race-1, bank.trace#race-1
    #[arg(value_name = "FILE#FINDING")]
    pub(crate) finding: String,

    /// Treat critical sections as atomic regions
    #[arg(long)]
    pub(crate) infer_regions: bool,

    #[command(flatten)]
    pub(crate) question: QuestionOptions,
}

/// How a single question about a trace is answered.
#[derive(Args, Debug)]
pub(crate) struct QuestionOptions {
    /// The format of the trace [default: detected from its content]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<InputFormat>,

    /// What reads may see in another schedule
    #[arg(long, value_enum, default_value_t = ModelChoice::Auto)]
    pub(crate) model: ModelChoice,

    /// Stop after this time: 500ms, 30s, 5m, 1h
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) budget: Option<Duration>,

    /// Give up a question after this many conflicts in the solver
    #[arg(long, value_name = "N")]
    pub(crate) conflicts: Option<u64>,

    /// Show a long schedule in full
    #[arg(long)]
    pub(crate) full_schedule: bool,
}

/// Write one question about a trace as SMT-LIB 2, in the formula of the papers
///
/// Exit status: 0 written; 2 bad input or usage; 3 the formula cannot express the question.
#[derive(Args, Debug)]
pub(crate) struct EncodeArguments {
    /// The trace, in any format
    pub(crate) trace: PathBuf,

    /// The format of the formula
    #[arg(long, value_enum, default_value_t = FormulaFormat::Smt2)]
    pub(crate) format: FormulaFormat,

    /// List the candidates with their numbers
    #[arg(long)]
    pub(crate) list: bool,

    /// Write the candidate with this number
    #[arg(long, value_name = "N", conflicts_with_all = ["list", "property"])]
    pub(crate) finding: Option<usize>,

    /// Write a candidate of this property, chosen by --index
    #[arg(long, value_parser = property(), conflicts_with = "list")]
    pub(crate) property: Option<Property>,

    /// The number of the candidate among those of --property
    #[arg(long, value_name = "I", requires = "property", default_value_t = 1)]
    pub(crate) index: usize,

    /// What reads may see in another schedule
    #[arg(long, value_enum, default_value_t = ModelChoice::Auto)]
    pub(crate) model: ModelChoice,

    /// Consider only schedules with at most this many context switches
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub(crate) context_bound: Option<u32>,

    /// Where to write the formula; `-` is standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum FormulaFormat {
    /// SMT-LIB 2
    Smt2,
}

/// Record a program, predict the bugs of other schedules, and replay each finding
///
/// Compile the program with `foretrace cc` or `foretrace c++` first.
///
/// Exit status: 0 nothing found and everything decided; 1 bugs found; 2 bad input or usage; 3
/// nothing certain (undecided, not confirmed, or only one thread ran); 4 the recorded run itself
/// failed; 70 a bug in foretrace itself.
#[derive(Args, Debug)]
pub(crate) struct TestArguments {
    #[command(flatten)]
    pub(crate) record: RecordOptions,

    #[command(flatten)]
    pub(crate) prediction: PredictionOptions,

    /// Record this many runs, with the seed of --seed and the seeds that follow it; predict from
    /// each run alone and from all of them together
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    pub(crate) runs: u32,

    /// Keep the trace in this file (.ftb); several runs go to NAME.1.ftb and so on
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,

    /// Replay at most this many findings
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(crate) replays: usize,

    /// Expected exit statuses of the recorded run; any other makes `test` end with status 4
    #[arg(long, value_name = "STATUS,...", value_delimiter = ',', default_value = "0")]
    pub(crate) expect_status: Vec<u8>,

    /// Let replays use the network, real clocks, other programs and files instead of recorded input
    #[arg(long)]
    pub(crate) live: bool,

    /// Kill a replay after this time
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "60s")]
    pub(crate) replay_timeout: Duration,

    /// The program and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    pub(crate) command: Vec<OsString>,
}

/// Run a program and record it
///
/// The exit status is that of the program; 124 if it deadlocked, 125 if recording failed.
#[derive(Args, Debug)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) record: RecordOptions,

    /// Where to write the trace, or with the extension .ftrec the recording [default: PROGRAM.ftb]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// The program and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    pub(crate) command: Vec<OsString>,
}

/// Replay a finding: force its schedule on the program
///
/// Exit status: 1 confirmed; 0 the program ran without the bug; 3 it diverged from the schedule.
#[derive(Args, Debug)]
pub(crate) struct ReplayArguments {
    /// A JSON report and one of its findings: report.json#race-1 [default: all findings]
    #[arg(value_name = "REPORT[#FINDING]")]
    pub(crate) report: String,

    /// Let the program use the network, real clocks, other programs and files instead of recorded
    /// input
    #[arg(long)]
    pub(crate) live: bool,

    /// Stop in gdb at the bug
    #[arg(long)]
    pub(crate) gdb: bool,

    /// Kill the program after this time
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "60s")]
    pub(crate) timeout: Duration,

    /// The program and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    pub(crate) command: Vec<OsString>,
}

/// Verify a C program without running it: all schedules and all inputs
///
/// The program must have a `main`. Functions that no file defines are inputs
/// (`__VERIFIER_nondet_int`), known (`pthread_create`), or make the answer unknown if they can be
/// called. Checked are assertions, error functions, wrong use of locks, accesses outside of live
/// objects, division by zero and shifts by too much; not yet data races and deadlocks.
///
/// Exit status: 0 proved; 1 a bug, confirmed by the interpreter; 2 bad input or usage; 3 no bug up
/// to a bound, or unknown; 70 a bug in foretrace itself.
#[derive(Args, Debug)]
pub(crate) struct VerifyArguments {
    /// C files; or one program (.ftp)
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Unfold this many turns of each loop [default: as many as are needed]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) unwind: Option<u32>,

    /// Give up after this time: 500ms, 30s, 5m, 1h
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "60s")]
    pub(crate) budget: Duration,

    /// Unfold only as much as fits into about this much memory: 500M, 4G
    #[arg(long, value_name = "BYTES", value_parser = parse_size, default_value = "4G")]
    pub(crate) memory: u64,

    /// Print the program that the files become, in the program form, instead of verifying it
    #[arg(long)]
    pub(crate) print_program: bool,

    /// Arguments for the compiler, such as -I and -D
    #[arg(last = true, value_name = "CC FLAGS")]
    pub(crate) flags: Vec<OsString>,
}

#[derive(Args, Debug)]
pub(crate) struct CompilerArguments {
    /// The arguments of clang
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    pub(crate) arguments: Vec<OsString>,
}

/// How a program is recorded.
#[derive(Args, Clone, Debug)]
pub(crate) struct RecordOptions {
    /// Which thread runs when: one at a time, chosen by foretrace, or all at once
    #[arg(long, value_enum, default_value_t = ScheduleChoice::Random)]
    pub(crate) schedule: ScheduleChoice,

    /// Seed of the random choices: the same seed gives the same run
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// What the clocks of the program follow, if one thread runs at a time
    #[arg(long, value_enum, default_value_t = TimeChoice::Virtual)]
    pub(crate) time: TimeChoice,

    /// Stop recording (not the program) when the recording has this size: 500k, 20M, 4G
    #[arg(long, value_name = "BYTES", value_parser = parse_size)]
    pub(crate) max_size: Option<u64>,

    /// Do not record the path of the program (branches, calls, returns), nor its code
    #[arg(long)]
    pub(crate) no_control_flow: bool,

    /// Kill the program after this time, and keep what it did until then
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) timeout: Option<Duration>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum TimeChoice {
    /// The schedule: the same seed gives the same times
    Virtual,
    /// The real clocks
    Real,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ScheduleChoice {
    /// One at a time, chosen at random
    Random,
    /// One at a time, by priorities that change at a few random points
    Pct,
    /// One at a time, in turn
    RoundRobin,
    /// All at once, as without foretrace
    Free,
}

impl ScheduleChoice {
    /// The name that the runtime knows.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ScheduleChoice::Random => "random",
            ScheduleChoice::Pct => "pct",
            ScheduleChoice::RoundRobin => "round-robin",
            ScheduleChoice::Free => "free",
        }
    }
}

/// What is predicted, and how it is reported.
#[derive(Args, Clone, Debug)]
pub(crate) struct PredictionOptions {
    /// What to look for
    #[arg(long, value_delimiter = ',', value_name = "PROPERTY,...",
        value_parser = property(), default_values = Property::ALL.map(Property::name))]
    pub(crate) check: Vec<Property>,

    /// What reads may see in another schedule
    #[arg(long, value_enum, default_value_t = ModelChoice::Auto)]
    pub(crate) model: ModelChoice,

    /// What counts as one candidate
    #[arg(long, value_enum, default_value_t = GranularityChoice::Location)]
    pub(crate) granularity: GranularityChoice,

    /// Treat critical sections as atomic regions
    #[arg(long)]
    pub(crate) infer_regions: bool,

    /// Also ask the solver about what order and locks refute; changes no verdict
    #[arg(long)]
    pub(crate) no_prune: bool,

    /// Check recorded programs for these errors, which no assertion names [default: freed, as far
    /// as the answer costs little]
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    pub(crate) implicit: Vec<Implicit>,

    /// Predict once more, in a separate report, with addresses that depend on a read pointing
    /// anywhere in their objects; for recordings only
    #[arg(long)]
    pub(crate) symbolic_addresses: bool,

    /// Number of solver threads; does not change the result [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) jobs: Option<u32>,

    /// Stop after this time: 500ms, 30s, 5m, 1h; what is then open is undecided
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) budget: Option<Duration>,

    /// Give up a candidate after this many conflicts in the solver
    #[arg(long, value_name = "N")]
    pub(crate) conflicts: Option<u64>,

    /// Count as undecided what is refuted only for schedules in which reads return their recorded
    /// values
    #[arg(long)]
    pub(crate) strict: bool,

    /// Consider only schedules with at most this many context switches
    #[arg(long, value_name = "N", conflicts_with = "iterate_bound",
        value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub(crate) context_bound: Option<u32>,

    /// Find schedules with the fewest context switches, by trying the bounds from 0 upward
    #[arg(long)]
    pub(crate) iterate_bound: bool,

    #[command(flatten)]
    pub(crate) project: ProjectOptions,

    /// Show all findings in full, and how the answers were found
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) verbose: bool,

    /// Show one line for each finding, and the verdict
    #[arg(long)]
    pub(crate) quiet: bool,

    /// Do not show a long report in a pager
    #[arg(long)]
    pub(crate) no_pager: bool,

    /// Show long schedules in full
    #[arg(long)]
    pub(crate) full_schedule: bool,

    /// Report how long it took, also in the JSON report
    #[arg(long)]
    pub(crate) timing: bool,
}

/// Show, check and convert traces
#[derive(Subcommand, Debug)]
pub(crate) enum TraceCommand {
    /// Print a trace in the text form
    Show(TraceArguments),
    /// Count the events, threads and objects of a trace
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

    /// The format of the trace [default: detected from its content]
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
fn parse_size(text: &str) -> Result<u64, String> {
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

/// Properties by their names.
fn property() -> impl TypedValueParser<Value = Property> {
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

    #[test]
    fn programs_need_no_dashes_before_them() {
        use clap::Parser;
        for line in [
            &["foretrace", "test", "--seed", "3", "./p", "-x", "--seed", "4"][..],
            &["foretrace", "test", "--seed", "3", "--", "./p", "-x", "--seed", "4"],
        ] {
            let Command::Test(test) = Arguments::parse_from(line).command else { panic!() };
            assert_eq!(test.record.seed, 3);
            assert_eq!(test.command, ["./p", "-x", "--seed", "4"]);
        }
    }

    #[test]
    fn an_unknown_option_is_not_a_program() {
        use clap::Parser;
        for line in
            [&["foretrace", "test", "--why", "./p"][..], &["foretrace", "run", "-x", "--", "./p"]]
        {
            let error = Arguments::try_parse_from(line).unwrap_err();
            assert_eq!(error.kind(), clap::error::ErrorKind::UnknownArgument);
        }
    }

    #[test]
    fn the_definition_is_consistent() {
        <Arguments as clap::CommandFactory>::command().debug_assert();
    }
}
