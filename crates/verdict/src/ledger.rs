//! What became of every candidate of one property.

use std::ops::{Index, IndexMut};

/// A column of the ledger: what counts as a refutation without the solver (`docs/causality.md`,
/// section 7). A candidate that several refute counts in the first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Column {
    /// Order alone: fork and join, condition variables, semaphores, barriers.
    Order,
    /// Locks alone.
    Locks,
    /// Order and locks together.
    Both,
}

impl Column {
    /// All of them, in the order of reports.
    pub const ALL: [Column; 3] = [Column::Order, Column::Locks, Column::Both];

    /// The name in JSON, after Table 1 of Kahlon and Wang, *Universal Causality Graphs*.
    pub fn name(self) -> &'static str {
        match self {
            Column::Order => "mhb",
            Column::Locks => "lsa",
            Column::Both => "ucg",
        }
    }

    /// What refutes, in a word.
    pub fn word(self) -> &'static str {
        match self {
            Column::Order => "order",
            Column::Locks => "locks",
            Column::Both => "both",
        }
    }
}

/// Something for each column.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Columns<T>([T; Column::ALL.len()]);

impl<T: Copy> Columns<T> {
    /// The same for all columns.
    pub fn all(value: T) -> Self {
        Columns([value; Column::ALL.len()])
    }

    /// What `value` says of each column.
    pub fn new(value: impl FnMut(Column) -> T) -> Self {
        Columns(Column::ALL.map(value))
    }

    /// The columns with what is in them.
    pub fn iter(&self) -> impl Iterator<Item = (Column, T)> {
        Column::ALL.into_iter().zip(self.0)
    }
}

impl Columns<u64> {
    /// All columns together.
    pub fn sum(&self) -> u64 {
        self.0.iter().sum()
    }
}

impl<T> Index<Column> for Columns<T> {
    type Output = T;

    fn index(&self, column: Column) -> &T {
        &self.0[column as usize]
    }
}

impl<T> IndexMut<Column> for Columns<T> {
    fn index_mut(&mut self, column: Column) -> &mut T {
        &mut self.0[column as usize]
    }
}

/// Where every candidate of one property went: `candidates` is the sum of `pruned`, `violated`,
/// `infeasible`, `infeasible_in_bound`, `infeasible_for_recorded_values` and `undecided`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ledger {
    /// How many questions there were.
    pub candidates: u64,
    /// Refuted without the solver: each candidate in its first column.
    pub pruned: Columns<u64>,
    /// With a witness.
    pub violated: u64,
    /// Refuted by what reads need besides, or by the solver.
    pub infeasible: u64,
    /// Refuted by the solver, but only for schedules within the bound on context switches.
    pub infeasible_in_bound: u64,
    /// Refuted, but only for schedules in which every read returns its recorded value.
    pub infeasible_for_recorded_values: u64,
    /// Neither, for a reason that is given.
    pub undecided: u64,
    /// Refuted by what a column counts alone: each candidate in all its columns.
    pub refuted: Columns<u64>,
}

impl Ledger {
    /// Counts one of the candidates as refuted: in these columns, or in none.
    pub fn refute(&mut self, columns: Columns<bool>) {
        for (column, counts) in columns.iter() {
            self.refuted[column] += u64::from(counts);
        }
        match columns.iter().find(|&(_, counts)| counts) {
            Some((first, _)) => self.pruned[first] += 1,
            None => self.infeasible += 1,
        }
    }

    /// How many candidates are left by what a column counts alone.
    pub fn remaining(&self, column: Column) -> u64 {
        self.candidates - self.refuted[column]
    }
}
