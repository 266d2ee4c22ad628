//! Compiled C files as programs: object files with images in, one [`Program`] out. It does not know
//! how the program is verified, and starts no processes.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`object_file`] | reads an object file: tables of the plugin, symbols, contents of variables |
//! | [`recorded`] | the same of a recorded process |
//! | [`executable`] | what the file of such a process says beside that |
//! | [`link`] | which symbol of which file is which function or variable |
//! | [`function`] | instructions of the image as instructions of the program |
//! | [`calls`] | calls of other functions |
//! | [`bits`] | counting bits |
//! | [`wide`] | values of more than 64 bits |
//! | [`records`] | which instructions the runtime of the compiled program sees |
//! | [`library`] | functions that are not in the files: threads, locks, memory, conventions |
//! | [`known`] | names of such functions |
//! | [`models`] | those of them that are programs themselves |
//!
//! Nothing is linked or run, so functions that nobody defines are no problem until they are
//! called: then they are inputs (`__VERIFIER_nondet_int`), known (`pthread_create`), or unknown. A
//! call that is unknown, and every instruction that the program form does not have, becomes an
//! `external` whose name begins with "unknown "; a verifier must stop in front of it.
//!
//! **Invariant.** The program does what the C program does, for sequentially consistent memory, as
//! long as no such external is reached.

mod bits;
mod calls;
mod executable;
mod function;
mod known;
mod library;
mod link;
mod models;
mod object_file;
mod printing;
mod recorded;
mod records;
mod uses;
mod wide;

use foretrace_program::{FunctionId, Program, Site};
use rustc_hash::FxHashSet;

pub use recorded::{Given, lift_recorded};

/// Calls whose names begin with this do something that is not known.
pub const UNKNOWN: &str = "unknown ";

/// Results of calls whose names begin with this are some values; which, is not modelled. So a bug
/// that needs one of them must be seen in the compiled program.
pub const ANY: &str = "any ";

/// Whether a function that nobody defines gives values from outside: any, in the program.
pub fn is_input(name: &str) -> bool {
    name.starts_with("__VERIFIER_nondet_") || name.starts_with("foretrace_input_")
}

/// The function that code calls whose signed arithmetic overflows (`-ftrapv-handler`).
pub const OVERFLOWS: &str = "signed.overflow";

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LiftError {
    /// It is no object file that the reader knows.
    #[error("not an object file: {0}")]
    Object(String),
    /// It has no image.
    #[error("there is no image in it; it must be compiled by `foretrace cc`")]
    NoImage,
    /// Its image cannot be decoded.
    #[error("its image cannot be read; it may come from another version of foretrace")]
    BadImage,
    /// No file has a `main`.
    #[error("no file defines `main`")]
    NoMain,
    /// Two files define the same name.
    #[error("`{0}` is defined twice")]
    Twice(String),
    /// Our own bug.
    #[error("the program that was made of it is not valid: {0}")]
    Invalid(String),
}

/// A program, and what its verification must take into account.
#[derive(Debug, Default)]
pub struct Lifted {
    /// The program.
    pub program: Program,
    /// Whether it follows the conventions of verification tasks: `abort` only ends the process.
    pub is_task: bool,
    /// Instructions that access memory or synchronise, but are not operations of the compiled code
    /// that its runtime sees.
    pub silent: FxHashSet<Site>,
    /// Functions of the C library that are programs here, with other steps than in compiled code.
    pub models: FxHashSet<FunctionId>,
    /// Assertions that stand for undefined behaviour: divisions by zero, shifts by too much.
    pub implicit: FxHashSet<Site>,
    /// Assertions that stand for signed overflow. Some of them are implicit as well: the quotient
    /// of the least number and -1.
    pub overflows: FxHashSet<Site>,
    /// Why nothing can be proved of it.
    pub doubts: Vec<String>,
}

/// One program of object files, each with its name. A property may say which function must not be
/// called; `abort` then only ends the process.
pub fn lift(files: &[(String, Vec<u8>)], error: Option<&str>) -> Result<Lifted, LiftError> {
    let objects: Result<Vec<_>, _> =
        files.iter().map(|(_, bytes)| object_file::read(bytes)).collect();
    link::link(objects?, error, None)
}
