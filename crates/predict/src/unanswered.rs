//! Why a candidate has no verdict.

/// Why a candidate is neither violated nor refuted.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unanswered {
    /// The time is over.
    #[error("the time budget was used up")]
    TimeBudget,
    /// The solver would need more conflicts.
    #[error("the budget of conflicts was used up (--conflicts)")]
    ConflictBudget,
    /// There are too many lock cycles, or too long ones, to list them.
    #[error("more or longer lock cycles than can be listed ({steps} steps, {threads} threads)")]
    LockCycles {
        /// So many steps of the search are allowed.
        steps: u64,
        /// So many threads may be in a cycle.
        threads: usize,
    },
    /// The rules of a condition variable in a stuck state would be too large.
    #[error(
        "condition variable {name} has too many operations for the stuck state ({waits} waits, \
         {signals} signals, {broadcasts} broadcasts)"
    )]
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
    /// The checker found no values that make the assertion fail: what it says.
    #[error("{0}")]
    NoFailingValues(String),
    /// The interpreter of programs judges assertions and races only.
    #[error("only assertions and races")]
    NotInPrograms,
    /// The formula of another solver cannot say it, or is not made for it: why not.
    #[error("{0}")]
    FormulaUnsupported(String),
    /// Another solver gave no answer: what happened.
    #[error("{0}")]
    SolverFailed(String),
}

impl Unanswered {
    /// The stable name, in kebab case.
    pub fn code(&self) -> &'static str {
        match self {
            Unanswered::TimeBudget => "time-budget",
            Unanswered::ConflictBudget => "conflict-budget",
            Unanswered::LockCycles { .. } => "too-many-lock-cycles",
            Unanswered::Notifications { .. } => "too-many-notifications",
            Unanswered::NoFailingValues(_) => "no-failing-values",
            Unanswered::NotInPrograms => "not-in-programs",
            Unanswered::FormulaUnsupported(_) => "formula-unsupported",
            Unanswered::SolverFailed(_) => "solver-failed",
        }
    }
}
