//! The one place where the command line meets the libraries that read and write traces: their
//! errors become messages with hints and exit codes here.

use std::io::{self, Write};
use std::mem::ManuallyDrop;
use std::path::Path;

use foretrace_rewalk::Walker;
use foretrace_trace::validate::validate;
use foretrace_trace::{Format, OpenError, Opened, Trace, binary, export, open_with, text};

use crate::args::{InputFormat, OutputFormat};
use crate::failure::Failure;

/// Reads a trace in any known format.
pub(crate) fn open(path: &Path, format: Option<InputFormat>) -> Result<Trace, Failure> {
    Ok(read(path, format)?.trace)
}

/// Reads a trace and checks it against the rules. It lasts until the process ends, which frees it
/// faster than taking apart each of its expressions would.
pub(crate) fn open_valid(
    path: &Path,
    format: Option<InputFormat>,
) -> Result<ManuallyDrop<Trace>, Failure> {
    let opened = read(path, format)?;
    validate(&opened.trace).map_err(|invalid| {
        let reason = match &opened.lines {
            Some(lines) => invalid.with_lines(lines).to_string(),
            None => invalid.to_string(),
        };
        Failure::input(format_args!("{}: {reason}", path.display()))
            .hint("docs/trace-format.md lists the rules of a valid trace")
    })?;
    Ok(ManuallyDrop::new(opened.trace))
}

fn read(path: &Path, format: Option<InputFormat>) -> Result<Opened, Failure> {
    let mut walker = Walker::default();
    let opened = open_with(path, format.map(library_format), Some(&mut walker));
    opened.map_err(|error: OpenError| {
        let failure = Failure::input(&error);
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    })
}

fn library_format(format: InputFormat) -> Format {
    match format {
        InputFormat::Text => Format::Text,
        InputFormat::Binary => Format::Binary,
        InputFormat::Recording => Format::Recording,
        InputFormat::Std => Format::Std,
        InputFormat::Rapidbin => Format::RapidBin,
        InputFormat::Rvpredict => Format::RvPredict,
        InputFormat::Csv => Format::Csv,
    }
}

/// Writes a trace.
pub(crate) fn write(trace: &Trace, format: OutputFormat, out: &mut dyn Write) -> io::Result<()> {
    match format {
        OutputFormat::Text => text::write(trace, out),
        OutputFormat::Std => export::write_std(trace, out).map_err(|error| match error {
            export::ExportError::Io(error) => error,
            inexpressible => io::Error::other(inexpressible),
        }),
        OutputFormat::Binary => binary::write(trace, out),
    }
}
