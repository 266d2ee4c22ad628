//! Opens a trace in whatever format it is.
//!
//! **Computes.** The format, by content: a directory is RV-Predict's, the first bytes tell the
//! binary form and gzip, the lengths in its header tell RapidBin, the first line that is not empty
//! tells STD and CSV. What is left is the text form, whose reader says best what is wrong with it.
//! (Recordings of our runtime are not traces yet: `foretrace_importer` reads them.)
//!
//! **Invariant.** The name of the file is not looked at, so a wrong ending never matters.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::Trace;
use crate::binary::{self, BinaryError};
use crate::import::{ImportError, csv, rapidbin, rapidstd, rvpredict};
use crate::text::{self, Lines};

/// The formats that can be read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Format {
    /// The text form.
    Text,
    /// The binary form (`.ftb`).
    Binary,
    /// RAPID's STD, plain or gzip.
    Std,
    /// RapidBin.
    RapidBin,
    /// A directory of RV-Predict's LLVM recorder.
    RvPredict,
    /// The CSV of SpeedyGo.
    Csv,
}

/// A trace, and how it came.
#[derive(Debug)]
pub struct Opened {
    /// The trace; whether it is valid has not been checked.
    pub trace: Trace,
    /// On which line each event is, if it was in text form.
    pub lines: Option<Lines>,
}

/// Why a trace could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file or directory cannot be read.
    #[error("{}: {error}", path.display())]
    Io {
        /// What was to be read.
        path: PathBuf,
        /// Why it cannot be.
        #[source]
        error: io::Error,
    },
    /// There is nothing in the file.
    #[error("{}: the file is empty", .0.display())]
    Empty(PathBuf),
    /// A compiled program or library.
    #[error("{}: a compiled program, not a trace", .0.display())]
    Program(PathBuf),
    /// Bytes that are no text, and of no known format.
    #[error("{}: not a trace of a known format", .0.display())]
    Unknown(PathBuf),
    /// A directory that holds no trace.
    #[error("{}: a directory without traces", .0.display())]
    NoTraces(PathBuf),
    /// A directory where a file is expected.
    #[error("{}: a directory; this format is a single file", .0.display())]
    Directory(PathBuf),
    /// Not of the format of another tool.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// Not the binary form, or damaged.
    #[error("{}: {error}", path.display())]
    Binary {
        /// The file.
        path: PathBuf,
        /// Where and what.
        #[source]
        error: BinaryError,
    },
    /// Not the text form.
    #[error("{}:{}:{}: {}", path.display(), error.line, error.column, error.message)]
    Text {
        /// The file.
        path: PathBuf,
        /// Where and what.
        #[source]
        error: text::Error,
    },
}

impl OpenError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            OpenError::Io { error, .. } if error.kind() == io::ErrorKind::NotFound => {
                Some("give the path of a recorded trace".into())
            }
            OpenError::Empty(_) => Some("did the recording end before it wrote anything?".into()),
            OpenError::Program(path) => {
                Some(format!("record it first: foretrace test -- {}", path.display()))
            }
            OpenError::Unknown(_) => {
                Some("docs/trace-format.md lists the formats that can be read".into())
            }
            OpenError::NoTraces(_) => {
                Some("a directory of RV-Predict holds files called 0_trace.bin, 1_trace.bin".into())
            }
            OpenError::Directory(_) => Some("only the format of RV-Predict is a directory".into()),
            OpenError::Binary { error: BinaryError::Version(_), .. } => {
                Some("convert the trace to text with the version that wrote it".into())
            }
            OpenError::Binary { error: BinaryError::Damaged { .. }, .. } => Some(
                "the file is damaged or was not copied completely; record or copy it again".into(),
            ),
            OpenError::Text { path, .. } if is_source(path) => Some(
                "this looks like source: compile it with `foretrace cc`, then `foretrace test -- \
                 ./program`; `foretrace verify` takes C files as they are"
                    .into(),
            ),
            OpenError::Text { error, .. } => error.hint.as_ref().map(|hint| hint.to_string()),
            OpenError::Io { .. } | OpenError::Import(_) | OpenError::Binary { .. } => None,
        }
    }
}

/// Opens a trace and finds out its format.
pub fn open(path: impl AsRef<Path>) -> Result<Opened, OpenError> {
    let path = path.as_ref();
    if is_directory(path)? {
        return open_as(path, Format::RvPredict);
    }
    // The binary form is for large files: only its first bytes are read here.
    let mut start = [0; binary::MAGIC.len()];
    let read = fs::File::open(path).and_then(|mut file| read_start(&mut file, &mut start));
    let read = read.map_err(|error| OpenError::Io { path: path.to_path_buf(), error })?;
    if start[..read].starts_with(&binary::MAGIC[..4]) {
        return open_as(path, Format::Binary);
    }
    let bytes = load(path)?;
    let format = detect(&bytes);
    if format == Format::Text && bytes.starts_with(b"\x7fELF") {
        return Err(OpenError::Program(path.to_path_buf()));
    }
    if format == Format::Text && bytes.contains(&0) {
        return Err(OpenError::Unknown(path.to_path_buf()));
    }
    parse(path, &bytes, format)
}

/// Whether a file is called as source of C or C++ is; only to say so.
fn is_source(path: &Path) -> bool {
    let endings = ["c", "cc", "cpp", "cxx", "C", "h", "hh", "hpp"];
    path.extension().is_some_and(|ending| endings.iter().any(|known| ending == *known))
}

/// Opens a trace in a given format.
pub fn open_as(path: impl AsRef<Path>, format: Format) -> Result<Opened, OpenError> {
    let path = path.as_ref();
    match (format, is_directory(path)?) {
        (Format::RvPredict, _) => {
            let trace = rvpredict::read(path).map_err(|error| match has_traces(path) {
                Ok(false) => OpenError::NoTraces(path.to_path_buf()),
                _ => OpenError::Import(error),
            })?;
            Ok(Opened { trace, lines: None })
        }
        (_, true) => Err(OpenError::Directory(path.to_path_buf())),
        (Format::Binary, false) => {
            let trace = binary::read(path)
                .map_err(|error| OpenError::Binary { path: path.to_path_buf(), error })?;
            Ok(Opened { trace, lines: None })
        }
        _ => parse(path, &load(path)?, format),
    }
}

/// The format of a file that is neither binary nor empty.
fn detect(bytes: &[u8]) -> Format {
    if bytes.starts_with(&rapidstd::GZIP_MAGIC) {
        return Format::Std;
    }
    if rapidbin::is_rapidbin(bytes) {
        return Format::RapidBin;
    }
    let first = bytes.split(|&byte| byte == b'\n').find(|line| !line.trim_ascii().is_empty());
    match first.and_then(|line| std::str::from_utf8(line).ok()).map(str::trim_end) {
        Some(line) if rapidstd::is_event(line) => Format::Std,
        Some(line) if csv::is_event(line) => Format::Csv,
        _ => Format::Text,
    }
}

fn parse(path: &Path, bytes: &[u8], format: Format) -> Result<Opened, OpenError> {
    let imported = match format {
        Format::Std => rapidstd::parse(bytes),
        Format::RapidBin => rapidbin::parse(bytes),
        Format::Csv => csv::parse(bytes),
        // The others are not read from bytes: `open_as` has dealt with them.
        Format::Text | Format::Binary | Format::RvPredict => {
            let (trace, lines) = text::parse_with_lines(bytes)
                .map_err(|error| OpenError::Text { path: path.to_path_buf(), error })?;
            return Ok(Opened { trace, lines: Some(lines) });
        }
    };
    let trace = imported.map_err(|error| error.in_file(path))?;
    Ok(Opened { trace, lines: None })
}

fn load(path: &Path) -> Result<Vec<u8>, OpenError> {
    let bytes =
        fs::read(path).map_err(|error| OpenError::Io { path: path.to_path_buf(), error })?;
    if bytes.is_empty() {
        return Err(OpenError::Empty(path.to_path_buf()));
    }
    Ok(bytes)
}

fn is_directory(path: &Path) -> Result<bool, OpenError> {
    let metadata = fs::metadata(path);
    let metadata = metadata.map_err(|error| OpenError::Io { path: path.to_path_buf(), error })?;
    Ok(metadata.is_dir())
}

fn has_traces(directory: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(directory)? {
        if entry?.file_name().to_string_lossy().ends_with(rvpredict::TRACE_SUFFIX) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Fills the buffer as far as the file goes.
fn read_start(file: &mut fs::File, start: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < start.len() {
        match io::Read::read(file, &mut start[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::{Format, OpenError, detect, open, open_as};
    use crate::binary;

    #[test]
    fn the_content_tells_the_format() {
        let mut rapidbin = vec![0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1];
        rapidbin.extend((2u64 << 10).to_be_bytes());
        for (bytes, format) in [
            (&b"A|r(x)|1\n"[..], Format::Std),
            (b"\n\nA|r(x)|1\r\n", Format::Std),
            (b"\x1f\x8b\x08", Format::Std),
            (b"1,RD,1,nil,1", Format::Csv),
            (b"t1: write x = a|b : 1\n", Format::Text),
            (b"t1: read x\n", Format::Text),
            (b"\xff\xff", Format::Text),
            (&rapidbin, Format::RapidBin),
        ] {
            assert_eq!(detect(bytes), format, "{bytes:?}");
        }
    }

    #[test]
    fn what_cannot_be_opened_is_explained() {
        let directory = std::env::temp_dir().join(format!("foretrace-open-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let file = |name: &str, bytes: &[u8]| {
            std::fs::write(directory.join(name), bytes).unwrap();
            directory.join(name)
        };
        let hinted = |error: OpenError| (error.to_string(), error.hint().is_some());
        let missing = hinted(open(directory.join("missing")).unwrap_err());
        assert!(missing.0.contains("No such file") && missing.1);
        let empty = hinted(open(file("empty", b"")).unwrap_err());
        assert!(empty.0.ends_with("empty: the file is empty") && empty.1);
        let nothing = hinted(open(&directory).unwrap_err());
        assert!(nothing.0.ends_with("a directory without traces") && nothing.1);
        let directory_as_std = hinted(open_as(&directory, Format::Std).unwrap_err());
        assert!(directory_as_std.0.ends_with("this format is a single file") && directory_as_std.1);
        let line = open(file("broken.std", b"A|r(x)|1\nA|x|1\n")).unwrap_err();
        assert!(line.to_string().contains("broken.std: line 2: `A|x|1`; expected"));

        let mut bytes = binary::encode(&crate::Trace::builder().finish()).unwrap();
        assert!(open(file("good", &bytes)).unwrap().trace.is_empty());
        bytes[8] = 2;
        let checksum = crc32fast::hash(&bytes[..12]).to_le_bytes();
        bytes[12..16].copy_from_slice(&checksum);
        let version = hinted(open(file("new.ftb", &bytes)).unwrap_err());
        assert!(version.0.contains("version 2 of the binary form") && version.1);
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
