//! What a step does: memory, threads, calls to the outside.

use foretrace_trace::{Place, ThreadId};

use crate::ir::*;

use super::memory::ObjectKind;
use super::state::{Phase, State, Undefined, Wait, Why};
use super::{Action, Choice, Event, Machine, Move};

impl Machine<'_> {
    /// Takes a step that is possible.
    pub(super) fn take(&self, state: &mut State, chosen: Move, events: &mut Vec<Event>) {
        let Move { thread, choice } = chosen;
        if let Choice::Expires | Choice::Spurious = choice {
            let is_over = choice == Choice::Expires;
            if let Phase::Waiting { wait, .. } = &mut state.thread_mut(thread).phase {
                *wait = if is_over { Wait::Expired } else { Wait::Notified };
            }
            return;
        }
        let site = state.site(thread);
        let before = state.threads.len();
        let from = events.len();
        match (state.thread(thread).phase, self.instruction(state, thread)) {
            (Phase::Before, Some(instruction)) => {
                self.visible(state, thread, choice, instruction, events);
            }
            (Phase::Before, None) => self.visible_end(state, thread, events),
            (_, instruction) => {
                let result = instruction.and_then(|instruction| instruction.result);
                self.second_half(state, thread, result, events);
            }
        }
        // A fork runs the child up to its first visible operation; what the parent does comes
        // before that in the record.
        let children =
            if state.threads.len() > before { events.split_off(from + 1) } else { Vec::new() };
        assert!(events[from..].iter().all(|event| event.thread == thread && event.site == site));
        if state.thread(thread).phase == Phase::Before {
            self.advance(state, thread, events);
        }
        events.extend(children);
    }

    fn visible(
        &self,
        state: &mut State,
        thread: ThreadId,
        choice: Choice,
        Instruction { op, result, .. }: &Instruction,
        events: &mut Vec<Event>,
    ) {
        let site = state.site(thread);
        let value = |state: &State, operand: Operand| self.value(state, thread, operand);
        let done = |state: &mut State, given: u64, action: Action, events: &mut Vec<Event>| {
            events.push(Event { thread, action, site });
            self.done(state, thread, *result, given);
        };
        if let Some((address, size)) = op.access() {
            let Some(at) = state.resolve(value(state, address), size) else {
                return state.stop(thread, Why::Undefined(Undefined::BadAddress));
            };
            let (given, action) = self.access(state, thread, op, at);
            return done(state, given, action, events);
        }
        match op {
            Op::Free { address } => {
                let address = value(state, *address);
                if address == 0 {
                    return self.done(state, thread, None, 0);
                }
                let at = state.resolve(address, 1);
                let at = at.filter(|at| {
                    at.offset == 0 && state.object(at.object).kind == ObjectKind::Heap
                });
                match at {
                    Some(Place { object, .. }) => {
                        state.kill(object);
                        done(state, 0, Action::Free { object }, events);
                    }
                    None => state.stop(thread, Why::Undefined(Undefined::BadFree)),
                }
            }
            Op::External { .. } => {
                let given = if let Choice::Input(given) = choice { given } else { 0 };
                state.thread_mut(thread).inputs += u32::from(result.is_some());
                done(state, given, Action::External, events);
            }
            Op::Fork { callee, args } => {
                let head = self.program.function(site.function);
                let widths: Vec<u8> = args.iter().map(|&arg| head.operand_width(arg)).collect();
                let Some(function) = self.callee(state, thread, callee, &widths, None) else {
                    return state.stop(thread, Why::Undefined(Undefined::BadCall));
                };
                let args = self.values(state, thread, args);
                let hint = result.and_then(|result| head.registers[result.index()].name.as_deref());
                let hint = hint.unwrap_or(&self.program.function(function).name);
                let name = state.child_name(thread, hint);
                let child = ThreadId::from(state.threads.len());
                done(state, handle(child), Action::Fork { child }, events);
                self.spawn(state, name, function, &args, events);
            }
            Op::Join { thread: handle } => match state.thread_of_handle(value(state, *handle)) {
                Some(child) => {
                    let given = state.thread(child).result;
                    done(state, given, Action::Join { child }, events)
                }
                None => state.stop(thread, Why::Undefined(Undefined::BadJoin)),
            },
            Op::SectionBegin => {
                let depth = state.section.map_or(0, |(_, depth)| depth);
                state.section = Some((thread, depth + 1));
                self.done(state, thread, None, 0);
            }
            Op::SectionEnd => {
                let open = state.section.filter(|&(_, depth)| depth > 1);
                state.section = open.map(|(thread, depth)| (thread, depth - 1));
                self.done(state, thread, None, 0);
            }
            _ if self.means_nothing(state, thread, op) => {
                state.stop(thread, Why::Undefined(Undefined::BadAddress));
            }
            _ => self.synchronise(state, thread, choice, op, *result, events),
        }
    }

    /// What an access gives and does.
    fn access(&self, state: &mut State, thread: ThreadId, op: &Op, at: Place) -> (u64, Action) {
        let value = |state: &State, operand: Operand| self.value(state, thread, operand);
        let old = state.read(at);
        match *op {
            Op::Store { value: stored, order, .. } => {
                let stored = value(state, stored);
                state.write(at, stored);
                (0, Action::Write { at, value: Some(stored), order })
            }
            Op::Rmw { op, size, value: operand, order, .. } => {
                let written = op.apply(old, value(state, operand), size * 8);
                state.write(at, written);
                (old, Action::Rmw { at, read: Some(old), written: Some(written), order })
            }
            Op::CompareExchange { expected, new, order, .. } if value(state, expected) == old => {
                let written = value(state, new);
                state.write(at, written);
                (old, Action::Rmw { at, read: Some(old), written: Some(written), order })
            }
            Op::Load { order, .. } | Op::CompareExchange { order, .. } => {
                (old, Action::Read { at, value: Some(old), order })
            }
            _ => unreachable!("only these access memory"),
        }
    }

    /// The end of a block that others can see.
    fn visible_end(&self, state: &mut State, thread: ThreadId, events: &mut Vec<Event>) {
        let site = state.site(thread);
        match self.terminator(state, thread) {
            TerminatorKind::Exit => {
                state.exited = true;
                events.push(Event { thread, action: Action::Exit, site });
            }
            TerminatorKind::Return(value) => {
                for object in state.frame(thread).slots.clone() {
                    events.push(Event { thread, action: Action::Free { object }, site });
                }
                self.return_from(state, thread, *value, events);
            }
            _ => unreachable!("a thread does every other jump on its own"),
        }
    }
}

impl State {
    /// The thread that a handle means.
    pub(super) fn thread_of_handle(&self, handle: u64) -> Option<ThreadId> {
        let index = usize::try_from(handle.checked_sub(1)?).ok()?;
        (index < self.threads.len()).then(|| ThreadId::from(index))
    }

    /// A name for a thread that this one forks. It depends only on what the parent has forked
    /// before.
    fn child_name(&self, parent: ThreadId, hint: &str) -> String {
        let first = format!("{}/{hint}", self.thread(parent).name);
        let mut name = first.clone();
        let mut count = 1;
        while self.threads.iter().any(|thread| thread.name == name) {
            count += 1;
            name = format!("{first}.{count}");
        }
        name
    }
}

/// The value by which a program knows a thread.
pub(super) fn handle(thread: ThreadId) -> u64 {
    u64::from(thread.0) + 1
}
