//! Exit codes, and what the user reads when a command fails.

use std::fmt::Display;
use std::io::Write;
use std::panic::PanicHookInfo;

/// The exit status. The numbers are an interface: `docs/command-line.md`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Status {
    /// Nothing was found, and everything was decided.
    Nothing = 0,
    /// Bugs that can happen.
    Found = 1,
    /// The input or the usage is wrong.
    BadInput = 2,
    /// Nothing certain: undecided candidates, or only possible bugs.
    Uncertain = 3,
    /// The recorded run itself failed, and shows no bug.
    RunFailed = 4,
    /// A bug of our own.
    Internal = 70,
}

/// A command that could not do its work.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    message: String,
    hint: Option<String>,
}

impl Failure {
    /// The user's input cannot be worked with.
    pub(crate) fn input(message: impl Display) -> Self {
        Failure { status: Status::BadInput, message: message.to_string(), hint: None }
    }

    /// There is no answer.
    pub(crate) fn uncertain(message: impl Display) -> Self {
        Failure { status: Status::Uncertain, message: message.to_string(), hint: None }
    }

    /// One of our own invariants is broken.
    pub(crate) fn internal(message: impl Display) -> Self {
        Failure { status: Status::Internal, message: message.to_string(), hint: None }
    }

    /// What the user can do about it.
    pub(crate) fn hint(self, hint: impl Display) -> Self {
        Failure { hint: Some(hint.to_string()), ..self }
    }

    /// Tells the user.
    pub(crate) fn print(&self) {
        let mut text = format!("error: {}\n", self.message);
        if let Some(hint) = &self.hint {
            text.push_str(&format!("hint: {hint}\n"));
        }
        if self.status == Status::Internal {
            text.push_str(REQUEST);
        }
        to_stderr(&text);
    }
}

const REQUEST: &str = concat!(
    "This is a bug in foretrace ",
    env!("CARGO_PKG_VERSION"),
    ", not in your program.\n",
    "Please report it with the trace and the command line; no verdict of this run counts.\n",
);

impl From<foretrace_findings::Error> for Failure {
    fn from(error: foretrace_findings::Error) -> Self {
        match error {
            foretrace_findings::Error::Question { message, hint } => {
                Failure { hint, ..Failure::input(message) }
            }
            error => Failure::internal(error),
        }
    }
}

impl From<foretrace::Error> for Failure {
    fn from(error: foretrace::Error) -> Self {
        Failure { hint: error.hint(), ..Failure::input(error) }
    }
}

/// Whatever goes wrong in a prediction is a bug of ours.
impl From<foretrace_predict::PredictError> for Failure {
    fn from(error: foretrace_predict::PredictError) -> Self {
        Failure::internal(error)
    }
}

/// The panic hook: says the same as an internal error.
pub(crate) fn print_panic(info: &PanicHookInfo<'_>) {
    let place = info.location().map_or(String::new(), |location| format!(" at {location}"));
    let message = info.payload_as_str().unwrap_or("panic");
    let mut text = format!("error: internal error{place}: {message}\n{REQUEST}");
    if std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0") {
        text.push_str(&std::backtrace::Backtrace::force_capture().to_string());
    }
    to_stderr(&text);
}

/// When standard error is closed there is nobody to tell.
fn to_stderr(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}
