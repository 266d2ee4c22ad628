//! What a recorded process had loaded, without its events: for the verification of programs.

use std::path::Path;

use foretrace_image::loaded::Loaded;
use foretrace_trace::Deadline;
use foretrace_trace::import::{ImportError, Position, Problem};

use crate::chunks::Recording;
use crate::tables::Tables;

/// Reads code and variables of the process that the recording at a path is of.
pub fn loaded(path: &Path) -> Result<Loaded, ImportError> {
    let io = |error: std::io::Error| Problem::Io(error).at(Position::File).in_file(path);
    let bytes = std::fs::read(path).map_err(io)?;
    let read = || Ok(Tables::parse(&Recording::parse(&bytes, Deadline::NEVER)?)?.loaded());
    read().map_err(|error: ImportError| error.in_file(path))
}
