//! Counts and names the tests that cannot run here, so that none is skipped silently.

use std::fs::OpenOptions;
use std::io::Write;

/// The variable with the file that `cargo xtask test` reads afterwards.
pub const SKIPPED: &str = "FORETRACE_SKIPPED_TESTS";

/// Says that something is not tested on this machine, and why. The caller returns then.
///
/// # Panics
///
/// If the file that was asked for cannot be written: what is skipped would not be known.
pub fn skip(what: &str, why: &str) {
    eprintln!("skipped: {what}: {why}");
    if let Some(file) = std::env::var_os(SKIPPED) {
        let opened = OpenOptions::new().create(true).append(true).open(file);
        let written = opened.and_then(|mut file| writeln!(file, "{what}: {why}"));
        written.expect("the list of skipped tests can be written");
    }
}
