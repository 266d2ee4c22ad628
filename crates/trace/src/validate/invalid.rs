//! What is reported about a trace that breaks a rule.
//!
//! Messages name other events; a caller that has read a text wants lines instead. So a message is
//! kept in pieces until it is shown.

use std::fmt;

use crate::ids::{EventId, ThreadId};
use crate::store::Trace;
use crate::text::{self, Lines};

use super::rule::Rule;

/// The first place where a trace breaks a rule.
///
/// Shows as `event 12 (t2): acquire m, but t1 has held it since event 9 [lock-held]`.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}", self.render(&|event| format!("event {}", event.0)))]
#[non_exhaustive]
pub struct Invalid {
    /// Which rule.
    pub rule: Rule,
    /// Which event breaks it; `None` if a declaration does.
    pub event: Option<EventId>,
    /// The thread of the event.
    pub thread: Option<ThreadId>,
    /// What is wrong, with the thread and the event in words.
    pub message: Vec<Piece>,
}

/// A part of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Piece {
    /// Words.
    Text(String),
    /// Another event.
    Event(EventId),
}

impl Invalid {
    /// The message with lines of the text instead of numbers of events.
    pub fn with_lines<'a>(&'a self, lines: &'a Lines) -> impl fmt::Display + 'a {
        self.render(&|event| format!("line {}", lines.line(event)))
    }

    fn render(&self, name: &dyn Fn(EventId) -> String) -> String {
        let mut out = self.event.map_or("declarations: ".to_string(), name);
        for piece in &self.message {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Event(event) => out.push_str(&name(*event)),
            }
        }
        out + " [" + self.rule.code() + "]"
    }

    pub(super) fn declaration(breach: Breach) -> Invalid {
        Invalid { rule: breach.rule, event: None, thread: None, message: breach.reason }
    }

    pub(super) fn event(trace: &Trace, id: EventId, breach: Breach) -> Invalid {
        let thread = trace.thread_of(id);
        let name = trace.name(thread);
        let mut lead = format!(" ({name}): ");
        // An event whose names do not resolve, or whose expression has no end, cannot be shown.
        use Rule::{ExpressionDepth, Misplaced, UnboundName, UnknownId};
        if !matches!(breach.rule, UnknownId | UnboundName | ExpressionDepth | Misplaced) {
            lead += &format!("{}, but ", text::describe(trace, id));
        }
        let mut message = vec![Piece::Text(lead)];
        message.extend(breach.reason);
        Invalid { rule: breach.rule, event: Some(id), thread: Some(thread), message }
    }
}

/// A broken rule and why; which event breaks it, the caller knows.
pub(super) struct Breach {
    rule: Rule,
    reason: Vec<Piece>,
}

pub(super) fn breach(rule: Rule, reason: impl Into<String>) -> Breach {
    Breach { rule, reason: vec![Piece::Text(reason.into())] }
}

impl Breach {
    pub(super) fn event(mut self, event: EventId) -> Breach {
        self.reason.push(Piece::Event(event));
        self
    }

    pub(super) fn text(mut self, text: impl Into<String>) -> Breach {
        self.reason.push(Piece::Text(text.into()));
        self
    }
}
