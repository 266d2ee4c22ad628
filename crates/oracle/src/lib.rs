//! The test oracle: decides by brute force what `docs/theory.md` says about random tiny traces. It
//! does not know the model, the encoder or the solver, which it judges.
//!
//! `generate` makes a valid trace from a seed, `explore` enumerates all its feasible schedules, and
//! `compare` holds a predictor against what they end in. Never part of the shipped program.
//!
//! | file | what it does |
//! | --- | --- |
//! | `recorded` | section 2: what the recorded run fixes |
//! | `state`, `contents`, `term` | section 3: states and steps, what reads see, and what expressions are worth |
//! | `violations` | section 4: what is wrong in a state |
//! | `explore`, `switches` | all feasible schedules, and those with the fewest context switches |
//! | `generate`, `profile`, `machine`, `latches`, `turns`, `calls` | random valid traces |
//! | `compare`, `class`, `shrink`, `draft` | predictor against oracle, on one case |
//! | `engine` | explicit engine against oracle, on one case |
//! | `run`, `candidates`, `coverage` | many cases, and what they covered |

// The compiler names every `match` that must learn of a new kind of event, property or violation.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod calls;
mod candidates;
mod class;
mod compare;
mod contents;
mod coverage;
mod draft;
mod engine;
mod event_set;
mod explore;
mod generate;
mod latches;
mod owned;
// It makes events, and looks at none.
#[allow(clippy::wildcard_enum_match_arm)]
mod machine;
mod profile;
mod recorded;
mod run;
mod shrink;
mod state;
mod switches;
mod term;
mod turns;
mod violations;
mod waits;

pub use class::{ClassKey, Spot, class_key};
pub use compare::{
    CaseStats, Difference, Disagreement, Predictor, Setting, compare, compare_engine,
    compare_engine_on,
};
pub use coverage::Coverage;
pub use engine::EngineStats;
pub use explore::{
    Explored, Refused, STATE_BUDGET, check, explore, is_recorded_order_feasible, linearisations,
    missing, orders, proves_only_possible,
};
pub use foretrace_testing::Random;
pub use generate::generate;
pub use run::{ENOUGH, Summary, case_seed, regression_seeds, run};
pub use switches::{Fewest, Needed, count_switches, least_switches};

/// How many events a trace may have to be enumerated.
pub const MOST_EVENTS: usize = event_set::EventSet::CAPACITY;
