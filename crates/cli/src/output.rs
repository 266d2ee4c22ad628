//! Where results go: standard output or a file.
//!
//! **Invariant.** A file is there whole or not at all: it is written beside its place under another
//! name, synced, and renamed. A reader that closes the pipe has read enough, so that is success.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Whether the user means standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Writes to standard output.
pub(crate) fn to_stdout(
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    let mut writer = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let outcome = content(&mut writer).and_then(|()| writer.flush());
    // What is still buffered must not be written a second time when the buffer is dropped.
    let _ = writer.into_parts();
    match outcome {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::input(format_args!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes to standard error, when standard output is for something else. If it is closed there is
/// nobody to tell.
pub(crate) fn to_stderr(
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    let mut writer = BufWriter::with_capacity(1 << 16, io::stderr().lock());
    let _ = content(&mut writer).and_then(|()| writer.flush());
    let _ = writer.into_parts();
    Ok(())
}

/// Writes a file, or to standard output for `-`.
pub(crate) fn to_path(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    if is_stdout(path) {
        return to_stdout(content);
    }
    // A link stays a link; a device or a pipe is written to and not replaced by a file.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let is_special = fs::metadata(&target).is_ok_and(|metadata| !metadata.is_file());
    let outcome =
        if is_special { write_through(&target, content) } else { replace(&target, content) };
    outcome.map_err(|error| {
        let failure = Failure::input(format_args!("cannot write {}: {error}", path.display()));
        let is_old = !is_special && target.exists();
        if is_old { failure.hint("the file is as it was before") } else { failure }
    })
}

fn write_through(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut writer = BufWriter::new(File::options().write(true).open(path)?);
    content(&mut writer)?;
    writer.flush()
}

fn replace(path: &Path, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let temporary = beside(path)?;
    let written = File::create_new(&temporary).and_then(|file| {
        let mut writer = BufWriter::with_capacity(1 << 16, file);
        content(&mut writer)?;
        writer.into_inner().map_err(|error| error.into_error())?.sync_all()?;
        fs::rename(&temporary, path)
    });
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// A name of our own in the same directory, so that the rename stays in one file system.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::other("not a file name"))?;
    let mut temporary = std::ffi::OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}.tmp", std::process::id()));
    Ok(path.with_file_name(temporary))
}
