//! The one place where the command line meets the libraries that read, write and predict: their
//! errors become messages with hints and exit codes here.

use std::io::{self, Write};
use std::mem::ManuallyDrop;
use std::path::Path;

use foretrace_predict::{Options, Prediction, Progress};
use foretrace_trace::validate::validate;
use foretrace_trace::{Format, OpenError, Opened, Trace, binary, export, open_as, text};

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
    let opened = match format {
        None => foretrace_importer::open(path),
        Some(InputFormat::Recording) => foretrace_importer::open_recording(path),
        Some(InputFormat::Text) => open_as(path, Format::Text),
        Some(InputFormat::Binary) => open_as(path, Format::Binary),
        Some(InputFormat::Std) => open_as(path, Format::Std),
        Some(InputFormat::Rapidbin) => open_as(path, Format::RapidBin),
        Some(InputFormat::Rvpredict) => open_as(path, Format::RvPredict),
        Some(InputFormat::Csv) => open_as(path, Format::Csv),
    };
    opened.map_err(|error: OpenError| {
        let failure = Failure::input(&error);
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    })
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

/// Predicts. Whatever goes wrong there is a bug of ours.
pub(crate) fn predict(
    trace: &Trace,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Prediction, Failure> {
    foretrace_predict::predict(trace, options, progress).map_err(Failure::internal)
}
