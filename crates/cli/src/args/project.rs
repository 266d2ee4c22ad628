//! What a project keeps beside its sources, and the commands for it.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::reports::Output;

/// Where reports go, and what the project knows already.
#[derive(Args, Clone, Debug)]
pub(crate) struct ProjectOptions {
    /// Write the report in this format to a file, or to standard output; may be repeated
    #[arg(long, value_name = "FORMAT[=FILE]", value_parser = Output::parse)]
    pub(crate) output: Vec<Output>,

    /// The same as --output json=FILE; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Do not report what this file names, in the syntax of ThreadSanitizer; may be repeated
    /// [default: foretrace.supp, if there is one]
    #[arg(long, value_name = "FILE")]
    pub(crate) suppressions: Vec<PathBuf>,

    /// Fail only because of findings that this file does not have: a file of --write-baseline, or a
    /// JSON report
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,

    /// Write what is found as a baseline; findings of --baseline that were just not seen stay in it
    #[arg(long, value_name = "FILE")]
    pub(crate) write_baseline: Option<PathBuf>,
}

/// Do not report a finding any more: append it to the suppressions of the project
///
/// Examples:
///   foretrace suppress report.json#race-1 --reason "statistics may be off by a few"
///   foretrace suppress 283c752cb823c2a8 --reason "see issue 14"
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct SuppressArguments {
    /// A JSON report and one of its findings, or a stable fingerprint
    #[arg(value_name = "REPORT#FINDING|FINGERPRINT")]
    pub(crate) finding: String,

    /// Why it is no problem
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,

    /// The file to append to
    #[arg(long, value_name = "FILE", default_value = "foretrace.supp")]
    pub(crate) file: PathBuf,
}

/// Recipes for continuous integration
#[derive(Subcommand, Debug)]
pub(crate) enum CiCommand {
    Init(InitArguments),
}

/// Write a job for GitHub Actions and one for GitLab, a CMake preset and a CTest wrapper
///
/// Files that exist are left alone, unless --force is given.
#[derive(Args, Debug)]
pub(crate) struct InitArguments {
    /// Which recipes to write
    #[arg(value_enum, value_name = "RECIPE", default_values_t = Recipe::ALL)]
    pub(crate) recipes: Vec<Recipe>,

    /// The folder of the project
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub(crate) folder: PathBuf,

    /// Replace files that exist
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Recipe {
    /// .github/workflows/foretrace.yml
    Github,
    /// .gitlab/foretrace.yml
    Gitlab,
    /// CMakePresets.json and cmake/Foretrace.cmake
    Cmake,
}

impl Recipe {
    pub(crate) const ALL: [Recipe; 3] = [Recipe::Github, Recipe::Gitlab, Recipe::Cmake];
}
