//! Holds: the role of each lock operation, and which locks are recursive.

use foretrace_trace::*;

use super::{Hold, Recorded, Role};

impl Recorded<'_> {
    pub(super) fn find_roles(&mut self) {
        let mut open: Vec<Hold> = Vec::new();
        for row in 0..self.ops.len() {
            let event = EventId::from(row);
            let thread = self.trace.thread_of(event);
            let role = match self.ops[row] {
                Op::Acquire { lock, mode, .. } => match own_hold(&mut open, thread, lock, mode) {
                    Some(hold) => {
                        hold.depth += 1;
                        Role::Deepens(hold.opened_by)
                    }
                    None => {
                        let hold = Hold { opened_by: event, thread, lock, mode, depth: 1 };
                        self.opened.insert(event, hold);
                        open.push(hold);
                        Role::Opens
                    }
                },
                Op::Release { lock, mode } => release_role(&mut open, thread, lock, mode),
                Op::Wait { lock, .. } => {
                    let own = |hold: &&Hold| hold.thread == thread && hold.lock == lock;
                    match open.iter().filter(own).copied().collect::<Vec<_>>()[..] {
                        [hold] => {
                            open.retain(|other| *other != hold);
                            self.given_back.insert(event, hold);
                            Role::Closes(hold.opened_by)
                        }
                        _ => Role::Unsupported,
                    }
                }
                Op::Wake { .. } => {
                    let wait = self.wait_of(event);
                    match wait.and_then(|wait| self.given_back.get(&wait)) {
                        Some(&hold) => {
                            let hold = Hold { opened_by: event, ..hold };
                            self.opened.insert(event, hold);
                            open.push(hold);
                            Role::Opens
                        }
                        None => Role::Unsupported,
                    }
                }
                ops!(memory object data sem barrier thread call mark AcquireFailed Destroy Signal
                    Broadcast Request) => Role::None,
            };
            self.roles.push(role);
        }
    }

    pub(super) fn find_recursive_locks(&mut self) {
        for lock in (0..self.trace.locks().len()).map(LockId::from) {
            let deepens = |(event, op): (EventId, Op)| {
                matches!(op, Op::Acquire { lock: l, mode: Mode::Exclusive, .. } if l == lock)
                    && matches!(self.role(event), Role::Deepens(_))
            };
            if self.trace.lock_kind(lock) == LockKind::Recursive || self.events().any(deepens) {
                self.recursive.insert(lock);
            }
        }
    }
}

fn own_hold(open: &mut [Hold], thread: ThreadId, lock: LockId, mode: Mode) -> Option<&mut Hold> {
    open.iter_mut().find(|hold| hold.thread == thread && hold.lock == lock && hold.mode == mode)
}

fn release_role(open: &mut Vec<Hold>, thread: ThreadId, lock: LockId, mode: Mode) -> Role {
    if let Some(hold) = own_hold(open, thread, lock, mode) {
        let name = hold.opened_by;
        if hold.depth > 1 {
            hold.depth -= 1;
            return Role::Lowers(name);
        }
        open.retain(|hold| hold.opened_by != name);
        return Role::Closes(name);
    }
    if open.iter().all(|hold| hold.lock != lock) {
        return Role::Unheld;
    }
    let foreign = open.iter().find(|hold| {
        hold.lock == lock && hold.mode == Mode::Exclusive && hold.depth == 1 && mode == hold.mode
    });
    match foreign.map(|hold| hold.opened_by) {
        Some(name) => {
            open.retain(|hold| hold.opened_by != name);
            Role::Closes(name)
        }
        None => Role::Unsupported,
    }
}
