//! Reads the source files that a report mentions.
//!
//! The compiler named them from the folder in which it ran, which need not be ours: a file is
//! looked for there, if that is known, then here, then from the folder of the analysed trace or
//! program. What is below the folder in which we are is named from there: the paths of SARIF and of
//! annotations have to fit every checkout.

use std::fs;
use std::path::{Path, PathBuf};

use foretrace_report::{Report, SourceFile};

/// A source file of more bytes than this is not read: nobody wrote it.
const LARGEST: u64 = 16 << 20;

/// Gives the report its sources, and its findings the fingerprints that depend on them.
pub(crate) fn attach(report: &mut Report) {
    let mut folders: Vec<PathBuf> = report.trace.folders.iter().map(PathBuf::from).collect();
    folders.extend(around(report.trace.path.as_deref()));
    let here = std::env::current_dir().ok();
    let find = |file: &str| {
        let paths = folders.iter().map(|folder| folder.join(file));
        let (text, path) = paths.into_iter().find_map(|path| Some((read(&path)?, path)))?;
        let path = here.as_ref().and_then(|here| path.strip_prefix(here).ok()).unwrap_or(&path);
        let path = Some(path.display().to_string());
        Some(SourceFile { file: file.into(), path, text: Some(text) })
    };
    report.sources = report.files().into_iter().filter_map(find).collect();
    report.fingerprint_stably();
}

/// Where we are, and where the analysed file is.
fn around(analysed: Option<&str>) -> Vec<PathBuf> {
    let beside = analysed.and_then(|path| Path::new(path).parent()).map(Path::to_path_buf);
    [PathBuf::new()].into_iter().chain(beside).collect()
}

fn read(path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > LARGEST {
        return None;
    }
    Some(String::from_utf8_lossy(&fs::read(path).ok()?).into_owned())
}
