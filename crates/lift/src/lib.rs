//! Compiled C files as programs: object files with images in, one [`Program`] out.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`object_file`] | reads an object file: tables of the plugin, symbols, contents of variables |
//! | [`link`] | which symbol of which file is which function or variable |
//! | [`function`] | instructions of the image as instructions of the program |
//! | [`library`] | functions that are not in the files: threads, locks, memory, conventions |
//!
//! Nothing is linked or run, so functions that nobody defines are no problem until they are
//! called: then they are inputs (`__VERIFIER_nondet_int`), known (`pthread_create`), or unknown. A
//! call that is unknown, and every instruction that the program form does not have, becomes an
//! `external` whose name begins with "unknown "; a verifier must stop in front of it.
//!
//! **Invariant.** The program does what the C program does, for sequentially consistent memory, as
//! long as no such external is reached.

mod function;
mod library;
mod link;
mod object_file;

use foretrace_program::Program;

/// Calls whose names begin with this do something that is not known.
pub const UNKNOWN: &str = "unknown ";

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
#[derive(Debug)]
pub struct Lifted {
    /// The program.
    pub program: Program,
    /// Whether it follows the conventions of verification tasks: `abort` only ends the process.
    pub is_task: bool,
}

/// One program of object files, each with its name.
pub fn lift(files: &[(String, Vec<u8>)]) -> Result<Lifted, LiftError> {
    let objects: Result<Vec<_>, _> =
        files.iter().map(|(_, bytes)| object_file::read(bytes)).collect();
    link::link(objects?)
}
