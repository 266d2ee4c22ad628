//! The commands that ask one question about a trace.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use foretrace_verdict::Property;

use super::values::{Implicit, InputFormat, ModelChoice, parse_duration, property};

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

    #[command(flatten)]
    pub(crate) question: QuestionOptions,
}

/// Ask whether events can happen in another order, or a read see a value
///
/// A place is the number of an event, from 0, a source location (bank.c:12), THREAD@LOCATION, or
/// THREAD@begin or THREAD@end. If several events fit, one that can is enough.
///
/// Exit status: 0 no execution does; 1 one does, and is shown; 2 bad input or usage; 3 undecided;
/// 70 a bug in foretrace itself.
#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("question").required(true))]
pub(crate) struct WhatIfArguments {
    /// The trace, in any format
    pub(crate) trace: PathBuf,

    /// Can an event at E1 come before one at E2, that before one at E3, and so on?
    #[arg(long, num_args = 2.., value_names = ["E1", "E2"], group = "question")]
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

    /// Also show the changes that do not mend the finding
    #[arg(long)]
    pub(crate) all: bool,

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

    /// Stop a question after this time: 500ms, 30s, 5m, 1h
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
