//! Why there is no report or no explanation.

use std::fmt::Display;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The question cannot be asked so.
    #[error("{message}")]
    Question {
        /// What is wrong with it.
        message: String,
        /// What its author can do about it.
        hint: Option<String>,
    },
    /// Our own bug: what must never happen, happened.
    #[error("{0}")]
    Internal(String),
}

impl Error {
    pub(crate) fn question(message: impl Display) -> Self {
        Error::Question { message: message.to_string(), hint: None }
    }

    pub(crate) fn internal(message: impl Display) -> Self {
        Error::Internal(message.to_string())
    }

    /// What its author can do about it.
    pub(crate) fn hint(self, hint: impl Display) -> Self {
        match self {
            Error::Question { message, .. } => {
                Error::Question { message, hint: Some(hint.to_string()) }
            }
            internal @ Error::Internal(_) => internal,
        }
    }
}
