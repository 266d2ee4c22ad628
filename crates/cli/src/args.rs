//! The command line as the user types it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use foretrace_verdict::Property;

mod project;
mod questions;
mod values;

pub(crate) use project::{CiCommand, InitArguments, ProjectOptions, Recipe, SuppressArguments};
pub(crate) use questions::{
    EncodeArguments, ExplainArguments, FixArguments, QuestionOptions, WhatIfArguments,
};
pub(crate) use values::VERIFIED;
pub(crate) use values::{GranularityChoice, Implicit, InputFormat, ModelChoice, OutputFormat};
use values::{parse_duration, parse_size, property, verified_property};

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
  foretrace cc -pthread bank.c -o bank        compile for recording
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
    /// each run alone and from all of them together [default: 1, and up to two more if the first
    /// one is short, shows nothing, and got nothing from outside]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: Option<u32>,

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
/// called. Checked are assertions, error functions, data races, deadlocks, wrong use of locks,
/// accesses outside of live objects, division by zero and shifts by too much.
///
/// Exit status: 0 proved; 1 a bug, confirmed by the interpreter; 2 bad input or usage; 3 no bug up
/// to a bound, or unknown; 70 a bug in foretrace itself.
#[derive(Args, Debug)]
pub(crate) struct VerifyArguments {
    /// C files; or one program (.ftp). Without any, the program behind `--` is run and verified
    #[arg(value_name = "FILE", required_unless_present = "flags")]
    pub(crate) files: Vec<PathBuf>,

    /// What to look for [default: race,deadlock,lock,assertion; for programs that use
    /// `__VERIFIER_*` functions, assertion]; undefined behaviour counts as a violated assertion
    #[arg(long, value_delimiter = ',', value_name = "PROPERTY,...", value_parser = verified_property())]
    pub(crate) check: Vec<Property>,

    /// Count signed overflow as a violation; otherwise it wraps
    #[arg(long, conflicts_with = "property")]
    pub(crate) overflow: bool,

    /// Ask what this property file of the verification competition names, and nothing else
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    pub(crate) property: Option<PathBuf>,

    /// Write a witness of the verdict in the format of the verification competition (GraphML)
    #[arg(long, value_name = "FILE")]
    pub(crate) witness: Option<PathBuf>,

    /// Print the answer as JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Unfold this many turns of each loop [default: as many as are needed]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) unwind: Option<u32>,

    /// Give up after this time: 500ms, 30s, 5m, 1h
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "60s")]
    pub(crate) budget: Duration,

    /// Unfold only as much as fits into about this much memory: 500M, 4G
    #[arg(long, value_name = "BYTES", value_parser = parse_size, default_value = "4G")]
    pub(crate) memory: u64,

    /// Do not force the schedule of a bug on the compiled program
    #[arg(long)]
    pub(crate) no_replay: bool,

    /// Show all steps of the schedule of a bug, not only those that matter
    #[arg(long)]
    pub(crate) full_schedule: bool,

    /// Print the program that the files become, in the program form, instead of verifying it
    #[arg(long)]
    pub(crate) print_program: bool,

    /// Kill a run of the program after this time
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "10s")]
    pub(crate) timeout: Duration,

    /// Arguments for the compiler, such as -I and -D; without files, a program that was compiled by
    /// `foretrace cc`, and its arguments
    #[arg(last = true, value_name = "CC FLAGS | PROGRAM")]
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
    #[arg(long, value_name = "BYTES", value_parser = parse_size, default_value = "8G")]
    pub(crate) max_size: u64,

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

#[cfg(test)]
mod tests {
    use super::*;

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
