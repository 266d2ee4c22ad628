//! Composing: the skeletons of all threads, all their schedules, one solver.
//!
//! | file | what is in it |
//! | --- | --- |
//! | `order` | what comes before what in every execution |
//! | `cells` | memory as cells; sources of reads; reads with one source |
//! | `ranges` | which numbers values can be |
//! | `addresses` | whether an address is used as a number |
//! | `formula` | the clauses, and questions |

pub(crate) mod addresses;
pub(crate) mod cells;
pub(crate) mod formula;
pub(crate) mod order;
pub(crate) mod ranges;
