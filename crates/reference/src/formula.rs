//! A formula: what is declared, what is asserted, and which constants say what schedule a solution
//! is.

use foretrace_trace::EventId;

use crate::term::Term;

/// The logic of a formula with clocks and bit-vectors: every solver knows it, while the smaller
/// ones have several names.
pub(crate) const ALL_THEORIES: &str = "ALL";
/// The logic of a formula in which clocks are only compared.
pub(crate) const DIFFERENCES: &str = "QF_IDL";
/// The logic of a formula with counts.
pub(crate) const INTEGERS: &str = "QF_LIA";

/// What a constant stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    /// A clock or a count.
    Int,
    /// A value of so many bits.
    BitVec(u32),
    /// A path condition.
    Bool,
}

/// One line of a formula.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Item {
    /// For readers.
    Comment(String),
    /// A constant that the solver is to find.
    Declare { symbol: String, sort: Sort },
    /// A short name for a term.
    Define { symbol: String, sort: Sort, term: Term },
    /// What must hold.
    Assert(Term),
}

/// What a π-variable stands for: what a read sees in some bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pi {
    /// The read.
    pub read: EventId,
    /// The first byte, counted from the first one of the read.
    pub offset: u32,
    /// The constant.
    pub symbol: String,
}

/// A question to a solver. Satisfiable iff a schedule of the asked kind exists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Formula {
    /// SMT-LIB's name of the smallest logic that has it.
    pub logic: &'static str,
    /// In the order in which they must be written.
    pub items: Vec<Item>,
    /// The clock of each event, by its id.
    pub clocks: Vec<String>,
    /// The moment X: events with a smaller clock are the schedule.
    pub horizon: String,
    /// What the reads see that are not bound to what they saw.
    pub pis: Vec<Pi>,
}

impl Formula {
    /// How many assertions there are.
    pub fn assertions(&self) -> usize {
        self.items.iter().filter(|item| matches!(item, Item::Assert(_))).count()
    }

    /// Whether it asserts `false`: what was asked for is no candidate at all, and needs no solver.
    pub fn is_refuted(&self) -> bool {
        self.items.contains(&Item::Assert(Term::FALSE))
    }

    /// Whether values of programs occur, and not only clocks and counts.
    pub fn has_vectors(&self) -> bool {
        self.items.iter().any(|item| match item {
            Item::Comment(_) => false,
            Item::Declare { sort, .. } => matches!(sort, Sort::BitVec(_)),
            Item::Define { term, .. } | Item::Assert(term) => {
                term.any(&|part| matches!(part, Term::Word { .. } | Term::Indexed(..)))
            }
        })
    }

    /// Whether an operation occurs.
    pub(crate) fn applies(&self, op: &str) -> bool {
        self.items.iter().any(|item| match item {
            Item::Comment(_) | Item::Declare { .. } => false,
            Item::Define { term, .. } | Item::Assert(term) => {
                term.any(&|part| matches!(part, Term::Apply(applied, _) if *applied == op))
            }
        })
    }

    /// The constants whose values tell the schedule and what it reads, in this order.
    pub fn asked(&self) -> impl Iterator<Item = &str> {
        let pis = self.pis.iter().map(|pi| &*pi.symbol);
        std::iter::once(&*self.horizon).chain(self.clocks.iter().map(|clock| &**clock)).chain(pis)
    }
}
