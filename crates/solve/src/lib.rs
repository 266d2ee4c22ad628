//! CaDiCaL with an order theory. It does not know traces, programs or properties: only literals,
//! and *order atoms*, which are literals that say which of two nodes comes first.
//!
//! | module | its subject |
//! | --- | --- |
//! | `ids` | literals and nodes |
//! | `chains` | which nodes a thread has so far |
//! | `ladder` | one node against a whole chain: monotone atoms, absorbed edges |
//! | `order` | the incremental topological order (Pearce and Kelly) |
//! | `theory` | CaDiCaL's external propagator: trail, levels, conflicts |
//! | `limits` | conflict limit, deadline, stop flag |
//! | `solver` | the public interface |
//! | `bits` | circuits: words of bits and the operations on them |
//!
//! ```
//! use foretrace_solve::{Limits, Outcome, Solver};
//!
//! let mut solver = Solver::new();
//! let first = solver.node(0, 0, 0);
//! let second = solver.node(0, 1, 1);
//! let other = solver.node(1, 0, 2);
//! let (overtakes, lags) = (solver.before(other, first), solver.before(second, other));
//! assert_eq!(solver.solve(&[overtakes], &Limits::default()), Outcome::Satisfiable);
//! assert!(!solver.value(lags));
//! assert_eq!(solver.solve(&[overtakes, lags], &Limits::default()), Outcome::Unsatisfiable);
//! ```

mod bits;
mod chains;
mod ids;
mod ladder;
mod limits;
mod order;
mod solver;
mod theory;

pub use bits::{Bit, CircuitSize, Circuits, Gates, Word};
pub use ids::{Lit, Node};
pub use limits::Limits;
pub use solver::{Outcome, Solver, Statistics};
