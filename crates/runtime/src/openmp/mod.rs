//! OpenMP: the functions that compiled code calls for its directives (`__kmpc_*` of LLVM's runtime,
//! `GOMP_*` of GNU's) and those that users call (`omp_*`).
//!
//! They take the place of `libomp` and `libgomp`, which synchronise where nobody sees it. Here a
//! parallel region creates its threads and joins them, a barrier is a barrier, and a critical
//! section is a lock, so the scheduler decides, and the recording has ordinary events.
//!
//! **What depends on the order of threads** (who gets the next iterations of a dynamic loop, who
//! runs a `single` block) is decided by a read-modify-write of a hidden cell, recorded as an atomic
//! operation ([`cell`]). The walk along the recorded path keeps what such an operation finds as it
//! was recorded. So no schedule is looked at in which somebody else got these iterations.
//! Everything else that these functions return depends on the thread's number in its team alone.
//!
//! | file | what it has |
//! | --- | --- |
//! | `team` | the threads of a parallel region, and what each knows of itself |
//! | `parallel` | parallel regions: how they begin and end |
//! | `cell` | hidden cells, and addresses that nothing else has |
//! | `iterations` | static loops |
//! | `dispatch` | dynamic, guided and ordered loops |
//! | `blocks` | `barrier`, `single`, `master`, `critical`, reductions |
//! | `locks` | `omp_set_lock` and its relatives |
//! | `tasks`, `dependences`, `task_data` | explicit tasks, their order and their memory |
//! | `references` | whether the program has any |
//! | `threadprivate` | a copy of a variable for each thread |
//! | `settings` | how many threads, which schedule: the environment and the functions that ask and tell |
//! | `gnu` | the names that gcc calls |
//! | `refused` | what is not supported, by name |

mod blocks;
mod cell;
mod dependences;
mod dispatch;
mod gnu;
mod iterations;
mod locks;
mod parallel;
mod references;
mod refused;
mod settings;
mod task_data;
mod tasks;
mod team;
mod threadprivate;

use std::ffi::{c_char, c_int};

/// What the compiler knows of the place of a directive. Nothing here looks at it: the call has a
/// site.
#[repr(C)]
pub(crate) struct Place {
    reserved: [c_int; 4],
    source: *const c_char,
}

/// Numbers of threads as the compiled code passes them: nobody relies on these, since each thread
/// knows itself.
type Number = c_int;
