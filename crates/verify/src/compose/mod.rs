//! Composing: the skeletons of all threads, all their schedules, one solver.
//!
//! | file | what is in it |
//! | --- | --- |
//! | `order` | what comes before what in every execution |
//! | `cells` | memory as cells; sources of reads; reads with one source |
//! | `ranges` | which numbers values can be |
//! | `addresses` | whether an address is used as a number |
//! | `sums` | cells that threads only add to |
//! | `formula` | the clauses, and questions |
//! | `smtlib` | the question for another solver, to compare with |
//! | `races` | questions about races |
//! | `stuck` | the question of stuck states |

pub(crate) mod addresses;
pub(crate) mod cells;
pub(crate) mod formula;
pub(crate) mod order;
pub(crate) mod races;
pub(crate) mod ranges;
pub(crate) mod smtlib;
pub(crate) mod stuck;
pub(crate) mod sums;
