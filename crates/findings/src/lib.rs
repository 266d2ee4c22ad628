//! Turns answers into reports: what was predicted of a trace or a program becomes a
//! [`Report`](foretrace_report::Report), in which ids are names, schedules are steps and proofs are
//! sentences. It decides nothing, and does not know the encoder, the solver, files or the terminal.
//!
//! | module | what it tells of |
//! | --- | --- |
//! | `trace` | a prediction of a trace |
//! | `program` | a prediction of a program, or of several runs merged into one |
//! | `explain` | why a candidate cannot happen |
//! | `whatif` | whether one event can come before another, or a read see a value |
//! | `fix` | what a small change of the program mends |
//! | `verified` | what `verify` found out about a program |
//! | `compare` | which models find what |
//! | `second_opinion` | what a solver of SMT-LIB decides instead of our own |
//! | `replayed` | what came of a replay |
//! | `describe`, `readable` | one event, one condition |
//! | `stacks` | calls that lead to events |
//! | `holds` | which locks are held |
//! | `picture`, `reordering` | what a picture of a schedule shows; why it may differ from the run |
//! | `implicit`, `remarks` | assertions that nobody wrote; what its reader should know |

// The compiler names every `match` that must learn of a new kind of event, property or violation.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod compare;
mod describe;
mod error;
mod explain;
mod fix;
mod holds;
mod implicit;
mod picture;
mod program;
mod readable;
mod remarks;
mod reordering;
mod replayed;
mod second_opinion;
mod stacks;
mod trace;
mod verified;
mod whatif;

pub use compare::compare_models;
pub use describe::{operation, verb};
pub use error::Error;
pub use explain::{Answers, Named, explain_candidates, explain_refuted, parse_candidate, title};
pub use fix::{Deadlock, Proposal, Tried, propose};
pub use implicit::{Implicit, assert_again, assert_no, implicit_of_single_runs, say_what_is_open};
pub use picture::REFUTED_IN_PICTURE;
pub use program::{Mixing, Replayable, report_program, report_unsupported, tell_what_is_left_out};
pub use remarks::weak_accesses;
pub use replayed::{recalled_schedule, recalled_violation, replay_in_words};
pub use second_opinion::{left_out_by_solver, predict_by_solver};
pub use trace::{Frame, report_finding, report_trace};
pub use verified::{Replayed, Verified};
pub use whatif::{Told, WhatIf, what_if};
