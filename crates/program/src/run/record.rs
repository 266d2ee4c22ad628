//! Events as a trace: what a recorder would have written of this run.

use foretrace_trace as trace;
use foretrace_trace::{LockKind, ObjectId, Place, Trace};
use rustc_hash::FxHashSet;

use crate::ir::Program;

use super::{Action, Event, State};

/// The trace of a run that has led to `state`. Ids of threads, objects and synchronisation are the
/// same in both.
pub fn record(program: &Program, state: &State, events: &[Event]) -> Trace {
    let mut builder = Trace::builder();
    for thread in state.thread_ids() {
        builder.thread(state.thread_name(thread));
    }
    for object in &state.objects {
        builder.object(&object.name);
    }
    for lock in &program.locks {
        let kind = if lock.recursive { LockKind::Recursive } else { LockKind::Plain };
        let id = builder.lock(&lock.name);
        builder.set_lock_kind(id, kind);
    }
    let known: FxHashSet<&str> = declared(program).collect();
    // Ids are given by names, so no two may be the same.
    let name = |address: u64| match state.name_at(address) {
        Some(name) if !known.contains(name.as_str()) => name,
        _ => format!("at {address:#x}"),
    };
    for &address in &state.lock_addresses {
        let id = builder.lock(&name(address));
        builder.set_lock_kind(id, LockKind::Plain);
    }
    for cond in &program.conds {
        builder.cond(cond);
    }
    for &address in &state.cond_addresses {
        builder.cond(&name(address));
    }
    for semaphore in &program.semaphores {
        let id = builder.semaphore(&semaphore.name);
        builder.set_semaphore(id, semaphore.count);
    }
    for &address in &state.sem_addresses {
        let id = builder.semaphore(&name(address));
        builder.set_semaphore(id, 0);
    }
    for barrier in &program.barriers {
        let id = builder.barrier(&barrier.name);
        builder.set_barrier(id, barrier.parties);
    }
    for &(address, parties) in &state.barrier_addresses {
        let id = builder.barrier(&name(address));
        builder.set_barrier(id, parties);
    }
    for (index, global) in program.globals.iter().enumerate() {
        for (chunk, bytes) in global.bytes().chunks(8).enumerate() {
            let value = bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
            let (offset, size) = (chunk as u32 * 8, bytes.len() as u32);
            builder.set_initial(Place { object: ObjectId::from(index), offset, size }, value);
        }
    }
    for &Event { thread, action, site } in events {
        // Begin and end are nowhere in the source: they only share a site with what comes after or
        // before them.
        let is_somewhere = !matches!(action, Action::Begin | Action::End);
        let location = program.location(site).filter(|_| is_somewhere);
        let location = location.map(|location| builder.location(location));
        builder.push(trace::Event { thread, op: action, location });
    }
    builder.finish()
}

/// The names of synchronisation that the program declares.
fn declared(program: &Program) -> impl Iterator<Item = &str> {
    let locks = program.locks.iter().map(|lock| lock.name.as_str());
    let conds = program.conds.iter().map(String::as_str);
    let semaphores = program.semaphores.iter().map(|semaphore| semaphore.name.as_str());
    let barriers = program.barriers.iter().map(|barrier| barrier.name.as_str());
    locks.chain(conds).chain(semaphores).chain(barriers)
}
