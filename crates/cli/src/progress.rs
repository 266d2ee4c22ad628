//! Says on standard error how far it is: one line that changes, on a terminal; else a line every
//! ten seconds.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use foretrace_predict::{Phase, Progress};

/// How long to wait before the next line.
const ON_TERMINAL: Duration = Duration::from_millis(100);
const ELSEWHERE: Duration = Duration::from_secs(10);

/// Shows what is being done, and the time since the start. A thread of its own writes, so that a
/// long question keeps nobody waiting for the next line.
pub(crate) struct ProgressLine {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
}

struct Shared {
    start: Instant,
    is_terminal: bool,
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    /// What is being done; `None` if there is nothing to say.
    doing: Option<Doing>,
    /// Whether a line is on the terminal.
    is_shown: bool,
    is_over: bool,
}

#[derive(Clone, Copy)]
enum Doing {
    Preparing,
    Deciding { decided: u64, total: u64 },
    Replaying { number: usize, total: usize },
}

impl ProgressLine {
    pub(crate) fn new() -> Self {
        let shared = Arc::new(Shared {
            start: Instant::now(),
            is_terminal: io::stderr().is_terminal(),
            state: Mutex::default(),
            ended: Condvar::new(),
        });
        let writing = Arc::clone(&shared);
        // Without the thread there is no line, and nothing else is missing.
        let writer = std::thread::Builder::new().spawn(move || writing.write()).ok();
        ProgressLine { shared, writer }
    }

    /// Finding `number` of `total` is being replayed.
    pub(crate) fn replaying(&self, number: usize, total: usize) {
        self.shared.lock().doing = Some(Doing::Replaying { number: number + 1, total });
    }

    /// Takes the line away, until there is more to say.
    pub(crate) fn clear(&self) {
        let mut state = self.shared.lock();
        state.doing = None;
        state.wipe();
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.clear();
        self.shared.lock().is_over = true;
        self.shared.ended.notify_all();
        if let Some(writer) = self.writer.take() {
            // What went wrong there has been said already.
            let _ = writer.join();
        }
    }
}

impl Progress for ProgressLine {
    fn report(&self, phase: Phase, decided: u64, total: u64) {
        let doing = match phase {
            Phase::Preparing => Doing::Preparing,
            Phase::Deciding => Doing::Deciding { decided, total },
        };
        // Another thread that is just telling says enough.
        if let Ok(mut state) = self.shared.state.try_lock() {
            state.doing = Some(doing);
            if self.shared.is_terminal && !state.is_shown {
                self.shared.show(&mut state, doing);
            }
        }
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("no thread panics")
    }

    fn write(&self) {
        let pause = if self.is_terminal { ON_TERMINAL } else { ELSEWHERE };
        let mut state = self.lock();
        while !state.is_over {
            let waited = self.ended.wait_timeout(state, pause).expect("no thread panics");
            state = waited.0;
            if let Some(doing) = state.doing.filter(|_| waited.1.timed_out()) {
                self.show(&mut state, doing);
            }
        }
    }

    fn show(&self, state: &mut State, doing: Doing) {
        let seconds = self.start.elapsed().as_secs_f64();
        let line = doing.in_words();
        // If nobody listens, nothing is missing.
        let _ = match self.is_terminal {
            true => write!(io::stderr(), "\r\x1b[K{line}, {seconds:.1} s"),
            false => writeln!(io::stderr(), "foretrace: {line}, {seconds:.0} s"),
        };
        state.is_shown = self.is_terminal;
    }
}

impl State {
    fn wipe(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

impl Doing {
    fn in_words(self) -> String {
        match self {
            Doing::Preparing => "preparing".to_string(),
            Doing::Deciding { decided, total } => {
                format!("deciding: {decided} of {total} candidates")
            }
            Doing::Replaying { number, total } => format!("replaying {number} of {total}"),
        }
    }
}
