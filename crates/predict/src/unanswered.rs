//! Why a candidate has no verdict. The sentences for it are made where reports are.

use foretrace_solve::Limits;

/// Why a candidate is neither violated nor refuted.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Unanswered {
    /// The time is over.
    TimeBudget,
    /// Somebody asked for an end in the midst.
    Interrupted,
    /// The solver would need more conflicts.
    ConflictBudget,
    /// There are too many lock cycles, or too long ones, to list them.
    LockCycles {
        /// So many steps of the search are allowed.
        steps: u64,
        /// So many threads may be in a cycle.
        threads: usize,
    },
    /// The rules of a condition variable in a stuck state would be too large.
    Notifications {
        /// The condition variable.
        name: String,
        /// How many threads wait for it.
        waits: usize,
        /// How many signals there are.
        signals: usize,
        /// How many broadcasts there are.
        broadcasts: usize,
    },
    /// The formula would be too large for the solver.
    FormulaTooLarge,
    /// The checker found no values that make the assertion fail: what it says.
    NoFailingValues(String),
    /// The interpreter of programs judges assertions and races only.
    NotInPrograms,
    /// The formula of another solver cannot say it, or is not made for it: why not.
    FormulaUnsupported(String),
    /// Another solver gave no answer: what happened.
    SolverFailed(String),
}

impl Unanswered {
    /// Why limits that are over leave a question open.
    pub(crate) fn over(limits: &Limits) -> Unanswered {
        if limits.is_stopped() { Unanswered::Interrupted } else { Unanswered::TimeBudget }
    }

    /// The stable name, in kebab case.
    pub fn code(&self) -> &'static str {
        match self {
            Unanswered::TimeBudget => "time-budget",
            Unanswered::Interrupted => "interrupted",
            Unanswered::ConflictBudget => "conflict-budget",
            Unanswered::LockCycles { .. } => "too-many-lock-cycles",
            Unanswered::Notifications { .. } => "too-many-notifications",
            Unanswered::FormulaTooLarge => "formula-too-large",
            Unanswered::NoFailingValues(_) => "no-failing-values",
            Unanswered::NotInPrograms => "not-in-programs",
            Unanswered::FormulaUnsupported(_) => "formula-unsupported",
            Unanswered::SolverFailed(_) => "solver-failed",
        }
    }
}
