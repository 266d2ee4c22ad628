//! What the terminal can show.

use std::io::{self, IsTerminal};
use std::os::fd::AsRawFd;

use foretrace_report::Style;

/// The narrowest terminal that a report is fitted to.
const NARROWEST: usize = 40;

/// How text may look on standard output, or on standard error; `None`: in a file. The width is that
/// of the terminal, unless `COLUMNS` says another one.
pub(crate) fn style(on_stderr: Option<bool>) -> Style {
    let (is_terminal, descriptor) = match on_stderr {
        Some(true) => (io::stderr().is_terminal(), io::stderr().as_raw_fd()),
        Some(false) => (io::stdout().is_terminal(), io::stdout().as_raw_fd()),
        None => (false, -1),
    };
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let seen = size(descriptor).filter(|_| is_terminal).map(|size| size.ws_col.into());
    let width = told.or(seen).filter(|&columns: &usize| columns >= NARROWEST);
    let width = width.unwrap_or(Style::default().width);
    Style { width, color: is_terminal && !no_color, ..Style::default() }
}

/// How many lines the terminal shows that standard output is, if it says so.
pub(crate) fn lines() -> Option<usize> {
    let size = size(io::stdout().as_raw_fd()).filter(|_| io::stdout().is_terminal())?;
    Some(size.ws_row.into()).filter(|&lines| lines > 0)
}

fn size(descriptor: i32) -> Option<libc::winsize> {
    // SAFETY: all zeros are a size, and the kernel fills in no more than that.
    let (status, size) = unsafe {
        let mut size: libc::winsize = std::mem::zeroed();
        (libc::ioctl(descriptor, libc::TIOCGWINSZ, &mut size), size)
    };
    (status == 0).then_some(size)
}
