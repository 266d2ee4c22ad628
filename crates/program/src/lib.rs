//! Programs: functions over bit-vectors and memory that threads execute. It does not know solvers
//! or reports, nor where programs come from, other than from traces.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`ir`] | what a program is made of; its control-flow and call graphs |
//! | [`text`] | the text form: parser and printer |
//! | [`mod@validate`] | whether a program is well formed; whether it is free of loops and recursion |
//! | [`run`] | a concrete interpreter in small steps |
//! | [`mod@explore`] | the oracle: all interleavings of a small program |
//! | [`mod@merge`] | several recorded runs of one program as one program |
//!
//! An analysis goes through the blocks of a function in an order in which each comes after its
//! predecessors:
//!
//! ```
//! use foretrace_program::{Op, Operand, parse, validate};
//!
//! let program = parse("global x; thread t { if load x == 0 { store x, 1 } }").unwrap();
//! validate(&program).unwrap();
//! let function = program.function(program.threads[0].function);
//! let mut accesses = Vec::new();
//! for block in function.topological_order().expect("no loops") {
//!     for instruction in &function.block(block).instructions {
//!         if let Some((Operand::Global { global, .. }, _)) = instruction.op.access() {
//!             let writes = matches!(instruction.op, Op::Store { .. });
//!             accesses.push((program.global(global).name.as_str(), writes));
//!         }
//!     }
//! }
//! assert_eq!(accesses, [("x", false), ("x", true)]);
//! ```
//!
//! `docs/program-form.md` is normative for what a program means.

pub mod explore;
pub mod ir;
pub mod merge;
pub mod run;
pub mod text;
pub mod validate;

pub use explore::{Explored, Violation, executions, explore};
pub use ir::*;
pub use merge::{Merged, merge, merge_recorded};
pub use run::{LockError, Machine, Undefined};
pub use text::{parse, print};
pub use validate::validate;
