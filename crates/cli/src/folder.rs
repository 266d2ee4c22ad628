//! A folder for what is needed only while a command works: recordings, plans, outcomes of replays.
//!
//! **Invariant.** A folder is locked as long as its command lives, and removed at its end. If a
//! command is killed, its folder stays without the lock, and a later command removes it: programs
//! that spin fill gigabytes in a minute.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::failure::Failure;

/// The folder; it is removed when this is dropped.
pub(crate) struct Folder {
    path: PathBuf,
    _locked: Option<File>,
}

/// How the names of such folders begin.
const FOLDER: &str = "foretrace-work-";

/// A folder is made before it is locked, so a new one is left alone.
const NEW: Duration = Duration::from_secs(60);

impl Folder {
    pub(crate) fn create() -> Result<Folder, Failure> {
        let base = std::env::temp_dir();
        remove_abandoned(&base);
        for number in 0..1000 {
            let path = base.join(format!("{FOLDER}{}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => {
                    let locked = lock(&path);
                    return Ok(Folder { path, _locked: locked });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(Failure::input(format_args!("{}: {error}", path.display()))
                        .hint("set TMPDIR to a folder that can be written to"));
                }
            }
        }
        Err(Failure::input(format_args!("{}: too many folders called {FOLDER}*", base.display())))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Locks a folder for as long as the file is open. No lock if somebody else has it, or if the file
/// system has no locks.
fn lock(folder: &Path) -> Option<File> {
    let file = File::open(folder).ok()?;
    file.try_lock().ok().map(|()| file)
}

/// Removes folders of this user whose commands were killed.
fn remove_abandoned(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else { return };
    // SAFETY: a system call without pointers, which cannot fail.
    let user = unsafe { libc::geteuid() };
    for entry in entries.flatten() {
        if !entry.file_name().to_string_lossy().starts_with(FOLDER) {
            continue;
        }
        let Ok(about) = entry.metadata() else { continue };
        let is_old = about.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age > NEW));
        if about.is_dir() && about.uid() == user && is_old && lock(&entry.path()).is_some() {
            // What cannot be removed stays, as before.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that stays behind does no harm.
        let _ = fs::remove_dir_all(&self.path);
    }
}
