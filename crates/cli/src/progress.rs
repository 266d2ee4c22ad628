//! A progress line on standard error, if a terminal shows it.

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use foretrace_predict::{Phase, Progress};

const PAUSE: Duration = Duration::from_millis(100);

/// Shows the phase, how many candidates are decided, and the time since the start.
pub(crate) struct ProgressLine {
    start: Instant,
    /// When the line was last written; `None` if nobody looks.
    written: Option<Mutex<Option<Instant>>>,
}

impl ProgressLine {
    /// A line that shows itself only on a terminal.
    pub(crate) fn new() -> Self {
        let written = io::stderr().is_terminal().then(|| Mutex::new(None));
        ProgressLine { start: Instant::now(), written }
    }

    /// Finding `number` of `total` is being replayed.
    pub(crate) fn replaying(&self, number: usize, total: usize) {
        if let Some(written) = &self.written {
            *written.lock().unwrap() = Some(Instant::now());
            let seconds = self.start.elapsed().as_secs_f64();
            let _ =
                write!(io::stderr(), "\r\x1b[Kreplaying {} of {total}, {seconds:.1} s", number + 1);
        }
    }

    /// Takes the line away.
    pub(crate) fn clear(&self) {
        let shown = self.written.as_ref().is_some_and(|written| written.lock().unwrap().is_some());
        if shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

impl Progress for ProgressLine {
    fn report(&self, phase: Phase, decided: u64, total: u64) {
        let Some(written) = &self.written else { return };
        // Another thread that is just writing says enough.
        let Ok(mut written) = written.try_lock() else { return };
        if written.is_some_and(|last| last.elapsed() < PAUSE) {
            return;
        }
        *written = Some(Instant::now());
        let seconds = self.start.elapsed().as_secs_f64();
        let line = match phase {
            Phase::Preparing => "preparing".to_string(),
            Phase::Deciding => format!("deciding: {decided} of {total} candidates"),
        };
        let _ = write!(io::stderr(), "\r\x1b[K{line}, {seconds:.1} s");
    }
}
