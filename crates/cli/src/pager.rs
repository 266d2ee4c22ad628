//! A pager for reports that are longer than the terminal, as git has it.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::failure::Failure;
use crate::{output, terminal};

/// Shows what is written: through `$PAGER`, or else less, if it does not fit on the terminal.
pub(crate) fn show(content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let Some(lines) = terminal::lines() else { return output::to_stdout(content) };
    let mut text = Vec::new();
    content(&mut text).map_err(|error| Failure::input(format_args!("the report: {error}")))?;
    let is_long = text.iter().filter(|&&byte| byte == b'\n').count() >= lines;
    if is_long && page(&text) {
        return Ok(());
    }
    output::to_stdout(|writer| writer.write_all(&text))
}

/// Gives a text to the pager, and waits until the reader has had enough; says whether there is a
/// pager.
fn page(text: &[u8]) -> bool {
    let chosen = std::env::var("PAGER").unwrap_or_default();
    let command = if chosen.is_empty() { "less" } else { &chosen };
    if command == "cat" || which(command).is_none() {
        return false;
    }
    let mut pager = Command::new("/bin/sh");
    pager.args(["-c", command]).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        // Not if it fits, in colour, and left on the screen.
        pager.env("LESS", "FRX");
    }
    let Ok(mut child) = pager.spawn() else { return false };
    if let Some(mut input) = child.stdin.take() {
        // Whoever leaves the pager early has read enough.
        let _ = input.write_all(text);
    }
    child.wait().is_ok()
}

/// Where the program is that the first word of a command names.
fn which(command: &str) -> Option<PathBuf> {
    let name = command.split_whitespace().next()?;
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut paths = std::env::split_paths(&folders).map(|folder| folder.join(name));
    paths.find(|path| path.is_file())
}
