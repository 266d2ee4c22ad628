//! Why a candidate cannot happen, as a chain of sentences.

use serde::Serialize;

use crate::{Kind, Property};

/// Why one candidate cannot happen.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Explanation {
    /// Of which property.
    pub property: Property,
    /// Of which kind.
    pub kind: Kind,
    /// The events of the candidate.
    pub events: Vec<u32>,
    /// What it would be, and where.
    pub title: String,
    /// What refutes it.
    pub by: Grounds,
    /// What would be the case if it happened.
    pub demand: String,
    /// What follows from that, in order; a step refers to an earlier one by its number, from 1, in
    /// parentheses.
    pub steps: Vec<String>,
    /// What contradicts it.
    pub conclusion: String,
}

/// What a refutation rests on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grounds {
    /// Program order, forks and joins, and waiting for others.
    Order,
    /// Locks.
    Locks,
    /// Order and locks together.
    OrderAndLocks,
    /// What reads need, besides order and locks.
    Reads,
    /// Rules that together leave the solver no schedule.
    Solver,
}

impl Grounds {
    /// In words, behind "refuted by".
    pub fn in_words(self) -> &'static str {
        match self {
            Grounds::Order => "order alone",
            Grounds::Locks => "locks alone",
            Grounds::OrderAndLocks => "order and locks together",
            Grounds::Reads => "what reads need",
            Grounds::Solver => "the solver",
        }
    }
}

/// The refuted candidates of a report, as far as they are to be explained.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explanations {
    /// One for each candidate.
    pub explanations: Vec<Explanation>,
    /// How many more there are.
    pub left_out: u64,
}
