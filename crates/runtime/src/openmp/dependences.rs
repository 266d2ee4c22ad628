//! `depend` clauses: which tasks must be over before another one can run.

use std::ffi::c_int;
use std::sync::Arc;

use super::task_data::Data;
use super::tasks::{Task, await_all, create};
use super::{Number, Place};
use crate::interpose::process::refuse;

/// One entry of a list of dependences, as compiled code makes it.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Dependence {
    address: u64,
    size: usize,
    flags: u8,
}

const IN: u8 = 1;
const ON_ALL_MEMORY: u8 = 0x80;

/// What the children of a task that have `depend` clauses depend on.
#[derive(Default)]
pub(super) struct Dependences {
    places: Vec<(u64, Users)>,
}

/// The children that the next one may have to wait for.
#[derive(Default)]
struct Users {
    writer: Option<Arc<Task>>,
    readers: Vec<Arc<Task>>,
}

impl Dependences {
    /// Takes a new child in; returns those that come before it. All but `in` is taken as `inout`,
    /// which is stricter than `mutexinoutset` and `inoutset`.
    pub(super) fn add(&mut self, task: &Arc<Task>, list: &[Dependence]) -> Vec<Arc<Task>> {
        let mut before: Vec<Arc<Task>> = Vec::new();
        for dependence in list {
            if dependence.flags & ON_ALL_MEMORY != 0 {
                refuse("the program uses a dependence of OpenMP on all memory");
            }
            let known = self.places.iter().position(|(address, _)| *address == dependence.address);
            let at = known.unwrap_or_else(|| {
                self.places.push((dependence.address, Users::default()));
                self.places.len() - 1
            });
            let users = &mut self.places[at].1;
            before.extend(users.writer.clone());
            if dependence.flags == IN {
                users.readers.push(task.clone());
            } else {
                before.append(&mut users.readers);
                users.writer = Some(task.clone());
            }
        }
        let mut unique: Vec<Arc<Task>> = Vec::new();
        for other in before {
            if !Arc::ptr_eq(&other, task) && !unique.iter().any(|one| Arc::ptr_eq(one, &other)) {
                unique.push(other);
            }
        }
        unique
    }
}

/// # Safety
///
/// There are so many.
unsafe fn list<'a>(count: c_int, first: *const Dependence) -> &'a [Dependence] {
    match usize::try_from(count) {
        // SAFETY: the caller says so.
        Ok(count @ 1..) => unsafe { std::slice::from_raw_parts(first, count) },
        _ => &[],
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __kmpc_omp_task_with_deps(
    _: *const Place,
    _: Number,
    data: *mut Data,
    count: c_int,
    first: *const Dependence,
    other_count: c_int,
    other_first: *const Dependence,
) -> c_int {
    // SAFETY: compiled code gives lists of so many.
    let all = unsafe { [list(count, first), list(other_count, other_first)].concat() };
    create(data, &all, true);
    0
}

/// Waits for more than it has to: for all children.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __kmpc_omp_wait_deps(
    _: *const Place,
    _: Number,
    _: c_int,
    _: *const Dependence,
    _: c_int,
    _: *const Dependence,
) {
    await_all();
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __kmpc_omp_taskwait_deps_51(
    _: *const Place,
    _: Number,
    _: c_int,
    _: *const Dependence,
    _: c_int,
    _: *const Dependence,
    _: c_int,
) {
    await_all();
}
