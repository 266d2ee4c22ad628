//! Opens a trace in any format, recordings included.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use foretrace_rewalk::Walker;
use foretrace_trace::{Deadline, OpenError, Opened};

use super::{MAGIC, read_until};

/// What a file holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// What our runtime records in the user's process (`.ftrec`).
    Recording,
    /// A trace.
    Trace(foretrace_trace::Format),
}

/// Opens a recording, or a trace in a format that [`foretrace_trace::open`] finds out.
pub fn open(path: impl AsRef<Path>) -> Result<Opened, OpenError> {
    open_until(path.as_ref(), None, Deadline::NEVER)
}

/// Opens a file of a given format.
pub fn open_as(path: &Path, format: Format) -> Result<Opened, OpenError> {
    open_until(path, Some(format), Deadline::NEVER)
}

/// Opens a file of a given format, or else of any. Of a recording for which there is no time the
/// trace has only the first part, and a fact says so.
pub fn open_until(
    path: &Path,
    format: Option<Format>,
    deadline: Deadline,
) -> Result<Opened, OpenError> {
    match format {
        Some(Format::Recording) => open_recording(path, deadline),
        None if is_recording(path) => open_recording(path, deadline),
        None => foretrace_trace::open(path),
        Some(Format::Trace(format)) => foretrace_trace::open_as(path, format),
    }
}

/// Opens a recording, and walks along its paths.
fn open_recording(path: &Path, deadline: Deadline) -> Result<Opened, OpenError> {
    let metadata = fs::metadata(path);
    let metadata = metadata.map_err(|error| OpenError::Io { path: path.to_path_buf(), error })?;
    if metadata.is_dir() {
        return Err(OpenError::Directory(path.to_path_buf()));
    }
    let trace = read_until(path, Some(&mut Walker::default()), deadline)?;
    Ok(Opened { trace, lines: None })
}

/// Whether a file begins as recordings do.
pub fn is_recording(path: &Path) -> bool {
    let mut start = [0; MAGIC.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == MAGIC
}

#[cfg(test)]
mod tests {
    use foretrace_recording::file::{HEADER, VERSION};

    use super::*;

    #[test]
    fn the_content_tells_a_recording() {
        let name = format!("foretrace-import-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        fs::create_dir_all(&directory).unwrap();
        let file = |name: &str, bytes: &[u8]| {
            fs::write(directory.join(name), bytes).unwrap();
            directory.join(name)
        };
        let mut recording = MAGIC.to_vec();
        recording.resize(HEADER, 0);
        recording[8] = VERSION as u8;
        recording[12] = 1;
        assert!(open(file("run.ftrec", &recording)).unwrap().trace.is_empty());
        let cut = open(file("cut.ftrec", &recording[..100])).unwrap_err().to_string();
        assert!(cut.contains("cut.ftrec: byte 0: a file of 100 bytes; expected a recording"));
        let text = open(file("text.ftrec", b"foretrace-trace 1\nt1: read x\n")).unwrap();
        assert_eq!(text.trace.len(), 1);
        let error = |path: &Path| open_recording(path, Deadline::NEVER).unwrap_err().to_string();
        assert!(error(&directory).ends_with("this format is a single file"));
        assert!(error(&directory.join("missing")).contains("No such file"));
        fs::remove_dir_all(&directory).unwrap();
    }
}
