//! Several runs of one program as one program without loops.
//!
//! **Computes.** For each thread the prefix tree of what it did in the runs: a statement that
//! several runs share is there once, and where a branch went both ways there are two ways on.
//! Everything that the merged program does up to a violation is something that the program of the
//! runs can do too.
//!
//! **Follows.** Wang, Kundu, Limaye, Ganai, Gupta, *Symbolic Predictive Analysis for Concurrent
//! Programs* (000), section 8, which proposes to merge traces of several runs and to check them
//! together, and leaves open how. Here:
//!
//! 1. Ways do not meet again. Behind a branch that went both ways, what follows is kept for each
//!    way, even if it is the same.
//! 2. What no run shows is not known: a way that no run went ends in an assumption, and so does a
//!    thread behind the last event that a run shows of it, unless it ended there.
//! 3. Besides branches there are two other points where runs may part: an operation that may give
//!    up or fail, by whether it did; and an opaque event (see `docs/theory.md`, section 2), by what
//!    the thread read before it. The runs show for these values what happens then, and nothing
//!    else.
//!
//! Recorded runs are merged with less: what cannot be merged ends its thread there, and is told.
//! Where runs part for a reason that they do not show (the result of a call that is not
//! instrumented, for example) their ways must not be mixed, so both end there; but where each says
//! that a value is what it was, and these values differ, the value decides.
//!
//! **Invariant.** Runs that agree on the outcomes of such points agree on the statement that comes
//! next. Where they do not, they are not runs of one program, or the traces hide a choice: an error
//! says where.
//!
//! | file | what it does |
//! | --- | --- |
//! | `declared` | what the runs share: objects with their contents at the start, locks, counts, threads |
//! | `steps` | the events of a thread as statements and outcomes |
//! | `cells` | accesses whose address is computed from what was read |
//! | `settled` | reads that can see only a few numbers |
//! | `update` | what a read-modify-write does, as an instruction can say it |
//! | `exchange` | compare-and-exchanges that failed |
//! | `tree` | the prefix tree |
//! | `body` | a tree as a function |
//! | `expression` | expressions of a trace as instructions |
//! | `mix` | a schedule of the merged program, back in terms of the runs |
//!
//! **Cost.** Linear in the events, but for the names that are copied where ways part.

mod body;
mod cells;
mod declared;
mod exchange;
mod expression;
mod mix;
mod settled;
mod steps;
mod tree;
mod update;

pub use mix::{MixedTrace, Mixture};

use std::collections::BTreeMap;
use std::fmt;

use foretrace_trace::validate::{Invalid, validate};
use foretrace_trace::{Dependences, EventId, Trace};

use crate::ir::*;

use declared::{Declared, Run};
use tree::{NodeId, Tree};

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

impl MergeError {
    /// The same, of recorded runs, of which the rest is used.
    fn in_a_recorded_run(&self) -> String {
        match self {
            MergeError::Different { what, first, second } => {
                let place =
                    first.location.clone().unwrap_or_else(|| format!("{first} and {second}"));
                format!("{what} at {place}; what comes behind that is left out")
            }
            MergeError::Unsupported { what, place } => {
                let place = place.location.clone().unwrap_or_else(|| place.to_string());
                format!(
                    "{what} at {place} is not supported; what comes behind it in its thread is left out"
                )
            }
            MergeError::Invalid { .. } => self.to_string(),
        }
    }
}

/// A place in one of several runs. Shown with the number of the run from 1 and that of the event
/// from 0.
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
/// Each trace is one run of the same program, with the same inputs. The function of a thread has
/// the name of the thread, if no variable has it.
pub fn merge(traces: &[&Trace]) -> Result<Program, MergeError> {
    merge_as(traces, false).map(|merged| merged.program)
}

/// Runs that our runtime recorded, as one program.
///
/// They have the same binary, but what is not instrumented may differ from run to run. What a
/// program cannot say, or where runs part for a reason that they do not show, is left out, with all
/// that comes behind it in its thread.
pub fn merge_recorded(traces: &[&Trace]) -> Result<Merged, MergeError> {
    merge_as(traces, true)
}

/// Something for each instruction and end of a block, by function and block.
type BySite<T> = Vec<Vec<Vec<T>>>;

/// A program made of runs.
#[derive(Clone, Debug)]
pub struct Merged {
    /// The program.
    pub program: Program,
    /// What of the runs is not in it, and why.
    pub left_out: Vec<String>,
    /// How many addresses that depend on reads are fixed to their recorded values though their
    /// objects are wholly known, by the reason.
    pub kept_addresses: Vec<(String, u64)>,
    /// How many accesses range over their objects.
    pub ranging_accesses: u64,
    /// By function and block, of which events of which runs each instruction is, the end of the
    /// block last.
    origins: BySite<Vec<(usize, EventId)>>,
    /// By run, which function each thread runs.
    threads: Vec<Vec<usize>>,
}

impl Merged {
    /// The events that are the instruction at a site, each with its run, from 0.
    pub fn origins(&self, site: Site) -> &[(usize, EventId)] {
        let block = &self.origins[site.function.index()][site.block.index()];
        block.get(site.index as usize).map_or(&[], Vec::as_slice)
    }
}

fn merge_as(traces: &[&Trace], is_recorded: bool) -> Result<Merged, MergeError> {
    let mut declared = Declared::default();
    declared.is_recorded = is_recorded;
    declared.is_alone = is_recorded && traces.len() == 1;
    if is_recorded {
        declared.paged = traces.iter().flat_map(|trace| Declared::too_large(trace)).collect();
    }
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
    let mut errors = Vec::new();
    for run in &runs {
        for thread in run.trace.thread_ids() {
            let name = run.trace.name(thread);
            let tree = &mut trees[run.thread(thread).index()];
            let steps = steps::steps(run, thread, &declared, &mut errors)?;
            match is_recorded {
                true => errors.extend(tree.insert_recorded(name, steps)),
                false => tree.insert(name, steps)?,
            }
        }
    }
    let (mut functions, mut origins) = (Vec::new(), Vec::new());
    for (tree, name) in trees.iter().zip(declared.function_names()) {
        let (function, nodes) = body::function(name, tree, &declared, &mut errors)?;
        let events = |node: NodeId| tree.node(node).events.clone();
        let blocks = nodes.into_iter().map(|block| block.into_iter().map(events).collect());
        origins.push(blocks.collect());
        functions.push(function);
    }
    let mut left_out: Vec<String> = errors.iter().map(MergeError::in_a_recorded_run).collect();
    let unknown = declared.taken_as_zero();
    if !unknown.is_empty() {
        let names = unknown.join(", ");
        left_out.push(format!("no run shows what is there at the start in {names}: taken as 0"));
    }
    left_out.sort();
    left_out.dedup();
    let functions_of =
        |run: &Run| run.trace.thread_ids().map(|thread| run.thread(thread).index()).collect();
    let threads = runs.iter().map(functions_of).collect();
    let mut kept: BTreeMap<String, u64> = BTreeMap::new();
    for (why, count) in runs.iter().flat_map(|run| &run.ranging.kept) {
        *kept.entry(why.to_string()).or_default() += count;
    }
    let kept_addresses = kept.into_iter().collect();
    let ranging_accesses = runs.iter().map(|run| run.ranging.cells.len() as u64).sum();
    let program = declared.program(functions);
    Ok(Merged { program, left_out, kept_addresses, ranging_accesses, origins, threads })
}
