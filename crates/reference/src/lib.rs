//! The reference path: the papers' own formula of a trace as SMT-LIB 2, decided by any SMT solver
//! over a pipe. It does not know the model, encoder, solver or checker of the production path.
//!
//! It is the second opinion of the tests and the baseline of the benchmarks, so it shares nothing
//! with the production path: it knows the trace, `docs/theory.md` and the papers, and of `witness`
//! only the names of violations. `candidates` lists what can be asked, `recorded` is section 2 of
//! the theory, `cssa` the formula, `smtlib` its text, `solver` the child process, `decode` the way
//! back to a schedule. What it does not support it says ([`Unsupported`]), and then nothing is
//! known. Schedules are to be checked by the witness checker, as all others.

// The compiler names every `match` that must learn of a new kind of event, property or violation.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod candidates;
pub mod cssa;
pub mod decode;
// Terms and solvers know no events.
#[allow(clippy::wildcard_enum_match_arm)]
mod expression;
pub mod formula;
mod recorded;
#[allow(clippy::wildcard_enum_match_arm)]
pub mod smtlib;
#[allow(clippy::wildcard_enum_match_arm)]
pub mod solver;
#[allow(clippy::wildcard_enum_match_arm)]
mod term;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use foretrace_trace::{EventId, Trace};
use foretrace_verdict::{Model, Violation};

pub use candidates::{Candidates, PROPERTIES, candidates};
pub use cssa::{Options, Scope, encode};
pub use formula::Formula;
pub use solver::{SolverCommand, SolverError};
pub use term::Term;

/// Something that the formula cannot say; what is asked then stays unknown.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the reference encoding does not support {what}{}", .event.map_or(String::new(), |event| format!(" (event {})", event.0)))]
pub struct Unsupported {
    /// What.
    pub what: String,
    /// The first event that needs it, if it is one.
    pub event: Option<EventId>,
}

impl Unsupported {
    pub(crate) fn at(event: EventId, what: &str) -> Unsupported {
        Unsupported { what: what.to_string(), event: Some(event) }
    }

    pub(crate) fn new(what: &str) -> Unsupported {
        Unsupported { what: what.to_string(), event: None }
    }
}

/// What a solver may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// How long it may run, by the clock on the wall.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { time: Duration::from_secs(60) }
    }
}

/// What the reference says of a candidate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// This schedule ends in the violation.
    Feasible(Vec<EventId>),
    /// No schedule does (with a bound: none that has so few switches).
    Infeasible,
    /// It has no answer.
    Unknown(Unknown),
}

/// Why there is no answer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unknown {
    /// The formula cannot say it.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// The solver did not decide it.
    #[error(transparent)]
    Solver(#[from] SolverError),
}

/// Decides whether a feasible schedule of the trace ends in the violation, by a solver of SMT-LIB.
pub fn decide(
    trace: &Trace,
    model: Model,
    violation: &Violation,
    solver: &SolverCommand,
    limits: Limits,
) -> Answer {
    decide_with(trace, violation, &Options::new(model), solver, limits)
}

/// [`decide_with`] for many small questions, which one process of the solver answers. The limit is
/// for all of them together.
pub fn decide_all(
    questions: &[(&Trace, &Violation, &Options)],
    solver: &SolverCommand,
    limits: Limits,
) -> Vec<Answer> {
    let encoded: Vec<Result<Formula, Unsupported>> = questions
        .iter()
        .map(|&(trace, violation, options)| encode(trace, violation, options))
        .collect();
    let is_open = |formula: &&Formula| !formula.is_refuted();
    let open: Vec<Formula> = encoded.iter().flatten().filter(is_open).cloned().collect();
    let mut solved = solver.solve_all(&open, limits).into_iter();
    let each = encoded.into_iter().map(|formula| match formula {
        Err(unsupported) => Answer::Unknown(unsupported.into()),
        Ok(formula) if formula.is_refuted() => Answer::Infeasible,
        Ok(formula) => match solved.next().expect("each open question is answered") {
            Ok(Some(assignment)) => Answer::Feasible(decode::schedule(&formula, &assignment)),
            Ok(None) => Answer::Infeasible,
            Err(error) => Answer::Unknown(error.into()),
        },
    });
    each.collect()
}

/// [`decide`] with a context bound and the other options.
pub fn decide_with(
    trace: &Trace,
    violation: &Violation,
    options: &Options,
    solver: &SolverCommand,
    limits: Limits,
) -> Answer {
    let decided = encode(trace, violation, options).map_err(Unknown::from).and_then(|formula| {
        if formula.is_refuted() {
            return Ok(None);
        }
        let answer = solver.solve(&formula, limits)?;
        Ok(answer.map(|assignment| decode::schedule(&formula, &assignment)))
    });
    match decided {
        Ok(Some(schedule)) => Answer::Feasible(schedule),
        Ok(None) => Answer::Infeasible,
        Err(unknown) => Answer::Unknown(unknown),
    }
}

/// [`decide_with`] for many questions, several at a time, each with the limits for itself. The
/// answers are in the order of the questions, whatever `jobs` is. `decided` hears how many are
/// decided, from several threads.
pub fn decide_in_parallel(
    trace: &Trace,
    questions: &[Violation],
    options: &Options,
    solver: &SolverCommand,
    limits: Limits,
    jobs: usize,
    decided: &(dyn Fn(usize) + Sync),
) -> Vec<Answer> {
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let answers: Mutex<Vec<Option<Answer>>> = Mutex::new(vec![None; questions.len()]);
    let work = || {
        while let Some((at, question)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            questions.get(at).map(|question| (at, question))
        } {
            let answer = decide_with(trace, question, options, solver, limits);
            answers.lock().unwrap_or_else(PoisonError::into_inner)[at] = Some(answer);
            decided(done.fetch_add(1, Ordering::Relaxed) + 1);
        }
    };
    thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, questions.len().max(1)) {
            scope.spawn(work);
        }
    });
    let answers = answers.into_inner().unwrap_or_else(PoisonError::into_inner);
    answers.into_iter().map(|answer| answer.expect("every question is asked")).collect()
}
