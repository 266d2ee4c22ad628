//! The bit-blaster: circuits over literals of one solver.
//!
//! **Computes.** For each operation on words, the bits of its result, as literals that the
//! solver's clauses tie to the bits of the operands: Tseitin's translation, both directions of
//! each gate, written when the gate is first built.
//!
//! | module | its subject |
//! | --- | --- |
//! | `word` | bits and words, and what needs no gate: parts, extensions, complements |
//! | `gates` | and, xor, if-then-else, parity and majority of three, with structural hashing |
//! | `logic` | bitwise operations, choices, comparisons |
//! | `arithmetic` | sums, products, shifts |
//! | `division` | quotient and remainder, unsigned and signed |
//!
//! **Follows.** SMT-LIB's bit-vectors, with one deviation: signed division by zero gives -1 for
//! every dividend, as unsigned division does, where SMT-LIB gives 1 for a negative one.
//!
//! **Invariant.** Definitions only: whatever the words that a circuit is built on, each
//! assignment to them extends to exactly one of the circuit. So building never makes anything
//! unsatisfiable; only [`Circuits::assert`], [`Circuits::imply`] and their kin do. The same gate
//! on the same bits is the same literal, and a gate on constants is a constant: building a
//! circuit twice, or on constants only, adds nothing.
//!
//! **Cost.** For words of n bits: at most n gates for bitwise operations, comparisons and
//! choices, 2n for sums, n·log n for shifts, about 1.5·n² for products and quotients. A gate is
//! one variable and mostly three to eight clauses; a full adder is two gates and 20 clauses.

mod arithmetic;
mod division;
mod gates;
mod logic;
mod word;

use rustc_hash::FxHashMap;

use crate::{Lit, Solver};
use gates::Gate;

pub use word::{Bit, Word};

/// The gates that were built in one solver so far. Lives as long as the solver does.
#[derive(Default)]
pub struct Gates {
    gates: FxHashMap<Gate, Bit>,
    /// Conjunctions of three or more bits, sorted.
    conjunctions: FxHashMap<Box<[Bit]>, Bit>,
    size: CircuitSize,
}

/// What circuits have added to the solver.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CircuitSize {
    /// Variables: gates and fresh bits.
    pub variables: u64,
    /// Clauses.
    pub clauses: u64,
    /// Literals in these clauses.
    pub literals: u64,
}

impl Gates {
    /// A workbench for building in `solver`, which must be the same one each time.
    pub fn on<'a>(&'a mut self, solver: &'a mut Solver) -> Circuits<'a> {
        assert_eq!(Bit::from(solver.constant(true)), Bit::TRUE, "the first variable is the truth");
        Circuits { gates: self, solver }
    }

    /// What was added so far.
    pub fn size(&self) -> CircuitSize {
        self.size
    }
}

/// Builds circuits in a solver. Made by [`Gates::on`] for as long as both are at hand.
///
/// Binary operations want two words of the same width; shifts take an amount of any width.
///
/// ```
/// use foretrace_solve::{Gates, Limits, Outcome, Solver, Word};
///
/// let (mut solver, mut gates) = (Solver::new(), Gates::default());
/// let mut circuits = gates.on(&mut solver);
/// let x = circuits.fresh(8);
/// let square = circuits.mul(&x, &x);
/// circuits.assert_equal(&square, &Word::constant(8, 113));
/// assert_eq!(solver.solve(&[], &Limits::default()), Outcome::Satisfiable);
/// assert_eq!(x.value(&solver).pow(2) % 256, 113);
/// ```
pub struct Circuits<'a> {
    gates: &'a mut Gates,
    solver: &'a mut Solver,
}

impl Circuits<'_> {
    /// The solver that is built in, for order atoms and clauses in between.
    pub fn solver(&mut self) -> &mut Solver {
        self.solver
    }

    /// A word of new variables, which the solver first tries to make 0.
    pub fn fresh(&mut self, width: usize) -> Word {
        self.fresh_near(width, 0)
    }

    /// A word of new variables, to which the solver first tries to give the value `preferred`.
    pub fn fresh_near(&mut self, width: usize, preferred: u128) -> Word {
        Word::from_fn(width, |at| self.variable(preferred >> at & 1 == 1))
    }

    fn variable(&mut self, phase: bool) -> Bit {
        self.gates.size.variables += 1;
        self.solver.literal_with_phase(phase).into()
    }

    /// From now on, one of these bits is true.
    pub fn clause(&mut self, bits: &[Bit]) {
        if bits.contains(&Bit::TRUE) {
            return;
        }
        let open: Vec<Lit> =
            bits.iter().filter(|&&bit| bit != Bit::FALSE).map(|&bit| bit.lit()).collect();
        self.gates.size.clauses += 1;
        self.gates.size.literals += open.len() as u64;
        self.solver.clause(&open);
    }

    /// From now on, the bit is true.
    pub fn assert(&mut self, bit: Bit) {
        self.clause(&[bit]);
    }

    /// From now on, the two words are equal.
    pub fn assert_equal(&mut self, a: &Word, b: &Word) {
        self.imply_equal(&[], a, b);
    }

    /// From now on, the bit is true whenever all guards are.
    pub fn imply(&mut self, guards: &[Lit], bit: Bit) {
        let mut clause = negated(guards);
        clause.push(bit);
        self.clause(&clause);
    }

    /// From now on, the two words are equal whenever all guards are true.
    ///
    /// Two clauses for each pair of bits, one if one of them is constant, and no gate: cheaper
    /// than [`Circuits::imply`] of [`Circuits::eq`].
    pub fn imply_equal(&mut self, guards: &[Lit], a: &Word, b: &Word) {
        assert_eq!(a.width(), b.width(), "words of one width");
        let mut clause = negated(guards);
        let guard_count = clause.len();
        for (a, b) in a.bits().iter().copied().zip(b.bits().iter().copied()) {
            if a == b {
                continue;
            }
            for (a, b) in [(a, !b), (!a, b)] {
                clause.truncate(guard_count);
                clause.extend([a, b]);
                self.clause(&clause);
            }
        }
    }
}

fn negated(guards: &[Lit]) -> Vec<Bit> {
    guards.iter().map(|&guard| Bit::from(!guard)).collect()
}
