//! Several runs of one program as one program without loops.
//!
//! **Computes.** For each thread the prefix tree of what it did in the runs: a statement that several runs share is there once, and
//! where a branch went both ways there are two ways on. Everything that the merged program does up to a violation is something
//! that the program of the runs can do too.
//!
//! **Follows.** Wang, Kundu, Limaye, Ganai, Gupta, *Symbolic Predictive Analysis for Concurrent Programs* (000), section 8, which proposes to merge
//! traces of several runs and to check them together, and leaves open how. Here:
//!
//! 1. Ways do not meet again. Behind a branch that went both ways, what follows is kept for each way, even if it is the same.
//! 2. What no run shows is not known: a way that no run went ends in an assumption, and so does a thread behind the last event that
//!    a run shows of it, unless it ended there.
//! 3. Besides branches there are two other points where runs may part: an operation that may give up or fail, by whether it did; and an opaque event
//!    (see `docs/theory.md`, section 2), by what the thread read before it. The runs show for these values what happens then, and nothing else.
//!
//! **Invariant.** Runs that agree on the outcomes of such points agree on the statement that comes next. Where they do not, they are not runs of one
//! program, or the traces hide a choice: an error says where.
//!
//! | file | what it does |
//! | --- | --- |
//! | `declared` | what the runs share: objects with their contents at the start, locks, counts, threads |
//! | `steps` | the events of a thread as statements and outcomes |
//! | `update` | what a read-modify-write does, as an instruction can say it |
//! | `exchange` | compare-and-exchanges that failed |
//! | `tree` | the prefix tree |
//! | `body` | a tree as a function |
//! | `expression` | expressions of a trace as instructions |
//!
//! **Cost.** Linear in the events, but for the names that are copied where ways part.

mod body;
mod declared;
mod exchange;
mod expression;
mod steps;
mod tree;
mod update;

use std::fmt;

use foretrace_trace::validate::{Invalid, validate};
use foretrace_trace::{Dependences, EventId, Trace};

use crate::ir::*;

use declared::{Declared, Run};
use tree::Tree;

/// Why runs cannot be merged.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// A trace breaks a rule of traces.
    #[error("run {}: {invalid}", run + 1)]
    Invalid {
        /// Which one, from 0.
        run: usize,
        /// The rule.
        invalid: Invalid,
    },
    /// A program cannot say this, or the trace does not say enough.
    #[error("{place}: not supported: {what}")]
    Unsupported {
        /// What it is.
        what: String,
        /// Where it is.
        place: Spot,
    },
    /// Two traces contradict each other.
    #[error("{first} and {second}: {what}; these are not runs of one program")]
    Different {
        /// In what they differ.
        what: String,
        /// Where one of them says so.
        first: Spot,
        /// And where the other one.
        second: Spot,
    },
}

/// A place in one of several runs. Shown with the number of the run from 1 and that of the event from 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spot {
    /// Which run, from 0.
    pub run: usize,
    /// Which event; `None` for a declaration.
    pub event: Option<EventId>,
    /// The source location of the event, if the trace has it.
    pub location: Option<String>,
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "run {}", self.run + 1)?;
        if let Some(event) = self.event {
            write!(f, ", event {}", event.0)?;
        }
        match &self.location {
            Some(location) => write!(f, " ({location})"),
            None => Ok(()),
        }
    }
}

impl Spot {
    fn declaration(run: usize) -> Spot {
        Spot { run, event: None, location: None }
    }

    fn unsupported<T>(self, what: impl Into<String>) -> Result<T, MergeError> {
        Err(MergeError::Unsupported { what: what.into(), place: self })
    }
}

/// One program that can do what its runs did, and every mixture of it.
///
/// Each trace is one run of the same program, with the same inputs. The function of a thread has the name of the thread, if no variable has it.
pub fn merge(traces: &[&Trace]) -> Result<Program, MergeError> {
    let mut declared = Declared::default();
    let mut runs = Vec::new();
    for (number, &trace) in traces.iter().enumerate() {
        validate(trace).map_err(|invalid| MergeError::Invalid { run: number, invalid })?;
        if trace.dependences() == Dependences::Unknown {
            let what = "the trace does not record what depends on what was read";
            return Spot::declaration(number).unsupported(what);
        }
        let run = Run::new(number, trace, &mut declared);
        declared.add(&run)?;
        runs.push(run);
    }
    declared.check_contents()?;
    let mut trees = vec![Tree::default(); declared.threads.len()];
    for run in &runs {
        for thread in run.trace.thread_ids() {
            let name = run.trace.threads().get(thread.index());
            trees[run.thread(thread).index()].insert(name, steps::steps(run, thread)?)?;
        }
    }
    let bodies = trees.iter().zip(declared.function_names());
    let bodies = bodies.map(|(tree, name)| body::function(name, tree, &declared));
    let functions = bodies.collect::<Result<Vec<Function>, MergeError>>()?;
    Ok(declared.program(functions))
}
