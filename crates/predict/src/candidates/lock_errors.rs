//! Candidates for the misuse of locks.
//!
//! **Follows.** `docs/theory.md`, section 4, *Lock errors*. Depth is local to a thread, so a lock
//! without a foreign or unheld release can neither be locked twice nor released while not held,
//! except as recorded; only such *irregular* locks have candidates, and locks that are destroyed.

use foretrace_trace::{EventId, LockId, Mode, Op, Patience, Request, ops};
use foretrace_verdict::{LockMisuse, Property, Violation};

use super::{Candidates, Context, Gathering, HoldsWalk, Parts};

pub(super) fn list(context: &Context, blocking: &[Vec<EventId>], candidates: &mut Candidates) {
    let skeleton = context.skeleton;
    let trace = skeleton.trace;
    let mut gathering = Gathering::new();
    let mut add = |misuse: LockMisuse, event: EventId| {
        let key = (context.site_without_object(event), misuse);
        gathering.add(key, || Violation::Lock(misuse, event), (misuse, event));
    };
    for blocking in blocking {
        let mut walk = HoldsWalk::new();
        for &event in blocking {
            let has = |lock: LockId| {
                walk.open().iter().any(|&id| {
                    let hold = skeleton.locks.hold(id);
                    hold.lock == lock && hold.mode == Mode::Exclusive
                })
            };
            match trace.op(event) {
                Op::Acquire { lock, mode: Mode::Exclusive, patience: Patience::Blocking }
                    if skeleton.locks.opened_by(event).is_some()
                        && !skeleton.locks.is_recursive(lock)
                        && has(lock) =>
                {
                    add(LockMisuse::DoubleLock, event);
                }
                Op::Request(Request::Acquire(lock, Mode::Exclusive))
                    if trace.next(event).is_none()
                        && !skeleton.locks.is_recursive(lock)
                        && has(lock) =>
                {
                    add(LockMisuse::DoubleLock, event);
                }
                Op::Release { lock, mode } if skeleton.locks.is_irregular(lock) => {
                    add(LockMisuse::UnlockNotHeld, event);
                    if mode == Mode::Exclusive {
                        add(LockMisuse::UnlockByOther, event);
                    }
                }
                Op::Destroy { .. } => add(LockMisuse::DestroyHeld, event),
                ops!(memory object data cond sem barrier thread call mark Acquire AcquireFailed
                    Release Request) => {}
            }
            walk.pass(skeleton, event);
        }
    }
    gathering.finish(Property::Lock, candidates, Parts::Lock);
}
