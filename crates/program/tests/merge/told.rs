//! A run of a generated program, told as a trace: statement by statement, each with the event that
//! it became.

use foretrace_program::run::{Action, Event};

use super::{Expr, Kind, Place, Statement};

/// One thread of a run, while it is being told.
pub(super) struct Told<'r> {
    pub(super) name: &'r str,
    /// With their places in the run.
    pub(super) events: Vec<(usize, &'r Event)>,
    pub(super) at: usize,
    pub(super) lines: &'r mut Vec<(usize, String)>,
}

/// Whether the thread goes on.
type GoesOn = bool;

impl Told<'_> {
    /// Tells the next event, if there is one.
    pub(super) fn next(&mut self, words: impl Into<String>, id: Option<usize>) -> GoesOn {
        let Some(&(place, _)) = self.events.get(self.at) else { return false };
        self.at += 1;
        let location = id.map_or(String::new(), |id| format!(" @ L{id}"));
        let line = format!("{}: {}{location}\n", self.name, words.into());
        self.lines.push((place, line));
        true
    }

    pub(super) fn action(&self) -> Option<Action> {
        self.events.get(self.at).map(|(_, event)| event.action)
    }

    /// Says what the thread computes on its own behind its last event.
    fn local(&mut self, words: String) {
        if let Some(&(place, _)) = self.at.checked_sub(1).and_then(|last| self.events.get(last)) {
            self.lines.push((place, format!("{}: {words}\n", self.name)));
        }
    }

    pub(super) fn list(&mut self, list: &[Statement]) -> GoesOn {
        list.iter().all(|statement| self.statement(statement))
    }

    fn statement(&mut self, Statement { id, opaque, kind }: &Statement) -> GoesOn {
        let (id, opaque) = (*id, *opaque);
        let at = |(name, offset, size): Place| format!("{name}[{offset}:{size}]");
        let order = |atomic: bool| if atomic { " atomic" } else { "" };
        let condition = |word: &str, condition: &Expr, holds: bool| match opaque {
            true => format!("{word} : {holds}"),
            false => format!("{word} {} : {holds}", condition.in_trace()),
        };
        let Some(action) = self.action() else { return false };
        match kind {
            Kind::Load { to, from, atomic } => {
                let Action::Read { value: Some(value), .. } = action else { panic!("{action:?}") };
                let line = format!("{to} = read {} : {value}{}", at(*from), order(*atomic));
                self.next(line, Some(id))
            }
            Kind::Store { to, value: expr, atomic } => {
                let Action::Write { value: Some(value), .. } = action else { panic!("{action:?}") };
                let expr = if opaque { String::new() } else { format!("= {} ", expr.in_trace()) };
                let line = format!("write {} {expr}: {}{}", at(*to), shown(value), order(*atomic));
                self.next(line, Some(id))
            }
            Kind::Let { to, value } => {
                self.local(format!("let {to} = {}", value.in_trace()));
                true
            }
            Kind::Rmw { to, at: place, sign, operand, .. } => {
                let Action::Rmw { read: Some(read), written: Some(written), .. } = action else {
                    panic!("{action:?}")
                };
                let stored = match *sign {
                    "" => operand.in_trace(),
                    sign => format!("t{id} {sign} {}", operand.in_trace()),
                };
                let (read, written) = (shown(read), shown(written));
                let line = format!("t{id} = rmw {} : {read} -> {stored} : {written}", at(*place));
                self.next(line, Some(id));
                self.local(format!("let {to} = t{id}"));
                true
            }
            Kind::CompareExchange { to, at: place, expected, new, assumes } => {
                let (read, written) = match action {
                    Action::Rmw { read: Some(read), written: Some(written), .. } => (read, written),
                    Action::Read { value: Some(read), .. } if *assumes => {
                        let (place, expected) = (at(*place), expected.in_trace());
                        self.next(format!("t{id} = read {place} : {read} atomic"), Some(id));
                        self.local(format!("branch t{id} == {expected} : false @ L{id}"));
                        self.local(format!("let {to} = t{id}"));
                        return true;
                    }
                    Action::Read { value: Some(read), .. } => (read, read),
                    other => panic!("{other:?}"),
                };
                let (expected, new) = (expected.in_trace(), new.in_trace());
                let (stored, assuming) = match assumes {
                    true => (new, format!(" assuming t{id} == {expected}")),
                    false => (format!("(t{id} == {expected} ? {new} : t{id})"), String::new()),
                };
                let place = at(*place);
                let line =
                    format!("t{id} = rmw {place} : {read} -> {stored} : {written}{assuming}");
                self.next(line, Some(id));
                self.local(format!("let {to} = t{id}"));
                true
            }
            Kind::If { condition: tested, then, otherwise } => {
                let Action::Branch { taken } = action else { panic!("{action:?}") };
                self.next(condition("branch", tested, taken), Some(id));
                self.list(if taken { then } else { otherwise })
            }
            Kind::Assert(tested) => {
                let Action::Assert { holds } = action else { panic!("{action:?}") };
                self.next(condition("assert", tested, holds), Some(id));
                holds
            }
            Kind::Assume(tested) => {
                let Action::Assume { holds } = action else { panic!("{action:?}") };
                self.next(condition("assume", tested, holds), Some(id))
            }
            Kind::Same(words) => self.same(words, id),
            Kind::Try { operation, then, otherwise } => {
                let got = match action {
                    Action::Acquire { .. } | Action::SemWait { .. } => true,
                    Action::AcquireFailed { .. } | Action::SemWaitFailed { .. } => false,
                    Action::Wait { .. } => {
                        self.next(*operation, Some(id));
                        let Some(Action::Wake { reason, .. }) = self.action() else { return false };
                        let got = reason == foretrace_trace::WakeReason::Notified;
                        let end = if got { "" } else { " timeout" };
                        self.next(format!("wake c m{end}"), Some(id));
                        return self.tried(got, then, otherwise);
                    }
                    other => panic!("{other:?}"),
                };
                let outcome = if got { "ok" } else { "fail" };
                self.next(format!("{operation} : {outcome}"), Some(id));
                self.tried(got, then, otherwise)
            }
            Kind::Fork(child) => self.next(format!("fork {child}"), Some(id)),
            Kind::Join(child) => self.next(format!("join {child}"), Some(id)),
            Kind::Return => false,
            Kind::Exit => {
                self.next("exit", Some(id));
                false
            }
        }
    }

    /// The program branches on the outcome; the trace has it in the operation.
    fn tried(&mut self, got: bool, then: &[Statement], otherwise: &[Statement]) -> GoesOn {
        assert!(matches!(self.action(), None | Some(Action::Branch { .. })));
        self.at += 1;
        self.list(if got { then } else { otherwise })
    }

    fn same(&mut self, words: &str, id: usize) -> GoesOn {
        let (first, second) = match words {
            "wait c m" => (words, Some("wake c m")),
            "barrier b" => ("arrive b", Some("leave b")),
            _ => (words, None),
        };
        self.next(first, Some(id)) && second.is_none_or(|second| self.next(second, Some(id)))
    }
}

/// A value as a trace has it: with a sign if it has 8 bytes.
fn shown(value: u64) -> String {
    (value as i64).to_string()
}
