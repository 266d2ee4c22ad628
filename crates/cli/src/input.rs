//! The one place where the command line meets the libraries that read and write traces: their
//! errors become messages with hints and exit codes here.

use std::fs::File;
use std::io::{self, Read, Write};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use foretrace::{Deadline, Format};
use foretrace_trace::{self as trace, Trace, binary, export, text};

use crate::args::{InputFormat, OutputFormat};
use crate::failure::Failure;

/// Reads a trace in any known format.
pub(crate) fn open(path: &Path, format: Option<InputFormat>) -> Result<Trace, Failure> {
    let opened = foretrace::open_unchecked(path, format.map(library_format));
    Ok(opened.map_err(foretrace::Error::from)?.trace)
}

/// Reads a trace and checks it against the rules. It lasts until the process ends, which frees it
/// faster than taking apart each of its expressions would.
pub(crate) fn open_valid(
    path: &Path,
    format: Option<InputFormat>,
) -> Result<ManuallyDrop<Trace>, Failure> {
    open_until(path, format, Deadline::NEVER)
}

/// The same, or the first part of it for which there is time.
pub(crate) fn open_until(
    path: &Path,
    format: Option<InputFormat>,
    deadline: Deadline,
) -> Result<ManuallyDrop<Trace>, Failure> {
    let opened = foretrace::open_until(path, format.map(library_format), deadline);
    Ok(ManuallyDrop::new(opened.map_err(|error| {
        match format.is_none() && is_json_report(path) {
            true => Failure::input(format_args!("{} is a report, not a trace", path.display()))
                .hint(format_args!("its trace is {}, if it was kept", trace_of(path).display())),
            false => error.into(),
        }
    })?))
}

fn is_json_report(path: &Path) -> bool {
    let mut start = [0];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == *b"{" && path.extension().is_some_and(|end| end == "json")
}

/// Where `foretrace test` keeps the trace of a report.
fn trace_of(report: &Path) -> PathBuf {
    report.with_extension("ftb")
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

fn library_format(format: InputFormat) -> Format {
    match format {
        InputFormat::Recording => Format::Recording,
        InputFormat::Text => Format::Trace(trace::Format::Text),
        InputFormat::Binary => Format::Trace(trace::Format::Binary),
        InputFormat::Std => Format::Trace(trace::Format::Std),
        InputFormat::Rapidbin => Format::Trace(trace::Format::RapidBin),
        InputFormat::Rvpredict => Format::Trace(trace::Format::RvPredict),
        InputFormat::Csv => Format::Trace(trace::Format::Csv),
    }
}
