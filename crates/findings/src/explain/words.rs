//! Events as parts of sentences: `T1 takes `m` (bank.c:12)`.

use foretrace_trace::{
    ChannelId, Channels, EventId, Location, LockId, Mode, Op, Place, Request, Trace, ops,
};

use crate::readable::Readable;

/// What an event does, in the forms that sentences need.
pub(super) struct Verb {
    /// `take`
    base: &'static str,
    /// `takes`
    third: &'static str,
    /// `taken`
    done: &'static str,
    /// What it does it to.
    object: String,
}

/// The words for the events of one trace.
#[derive(Clone, Copy)]
pub(super) struct Words<'t> {
    pub(super) trace: &'t Trace,
}

impl Words<'_> {
    /// Who does it.
    pub(super) fn thread(&self, event: EventId) -> &str {
        self.trace.name(self.trace.thread_of(event))
    }

    /// Where it is: the source location without folders and function, or the number of the event.
    pub(super) fn at(&self, event: EventId) -> String {
        match self.trace.location_of(event) {
            Some(location) => Location::in_short(self.trace.name(location)),
            None => format!("event {}", event.0),
        }
    }

    /// `T1 takes `m` (a.c:1)`
    pub(super) fn does(&self, event: EventId) -> String {
        format!("{} {}", self.thread(event), self.does_it(event))
    }

    /// `takes `m` (a.c:1)`
    pub(super) fn does_it(&self, event: EventId) -> String {
        let verb = verb(self.trace, event);
        self.placed(verb.third, &verb.object, event)
    }

    /// `T1 must take `m` (a.c:1)`
    pub(super) fn must(&self, event: EventId) -> String {
        self.with("must", event)
    }

    /// `T1 cannot take `m` (a.c:1)`
    pub(super) fn cannot(&self, event: EventId) -> String {
        self.with("cannot", event)
    }

    /// `T1 does not take `m` (a.c:1)`
    pub(super) fn does_not(&self, event: EventId) -> String {
        self.with("does not", event)
    }

    /// `T1 is about to take `m` (a.c:1)`
    pub(super) fn is_about_to(&self, event: EventId) -> String {
        self.with("is about to", event)
    }

    /// `T1 waits for `m` (a.c:1)`: what it does before an event that blocks it.
    pub(super) fn waits(&self, event: EventId) -> String {
        let (preposition, object) = match self.trace.op(event) {
            Op::Wake { cond, .. } => ("for", quoted(self.trace.name(cond))),
            Op::LeaveCall => {
                let enter = self.trace.enter_of(event);
                let source = enter.and_then(|enter| crate::trace::awaited(self.trace, enter));
                ("for", quoted(source.unwrap_or("its call")))
            }
            Op::SemWait { .. } | Op::Leave { .. } => ("at", verb(self.trace, event).object),
            ops!(memory object data lock mark thread)
            | ops!(Wait Signal Broadcast SemWaitFailed SemPost Arrive Request EnterCall) => {
                ("for", verb(self.trace, event).object)
            }
        };
        let object = format!("{preposition} {object}");
        format!("{} {}", self.thread(event), self.placed("waits", &object, event))
    }

    fn with(&self, auxiliary: &str, event: EventId) -> String {
        let verb = verb(self.trace, event);
        let rest = self.placed(verb.base, &verb.object, event);
        format!("{} {auxiliary} {rest}", self.thread(event))
    }

    /// `T1 has taken `m` (a.c:1)`
    pub(super) fn has_done(&self, event: EventId) -> String {
        self.perfect("has", event)
    }

    /// `T1 has not taken `m` (a.c:1)`
    pub(super) fn has_not_done(&self, event: EventId) -> String {
        self.perfect("has not", event)
    }

    /// `T1 must have taken `m` (a.c:1)`
    pub(super) fn must_have_done(&self, event: EventId) -> String {
        self.perfect("must have", event)
    }

    fn perfect(&self, auxiliary: &str, event: EventId) -> String {
        let verb = verb(self.trace, event);
        let rest = self.placed(verb.done, &verb.object, event);
        format!("{} {auxiliary} {rest}", self.thread(event))
    }

    fn placed(&self, verb: &str, object: &str, event: EventId) -> String {
        let space = if object.is_empty() { "" } else { " " };
        format!("{verb}{space}{object} ({})", self.at(event))
    }

    /// The lock that an event opens or closes a hold of, in quotes.
    pub(super) fn lock(&self, lock: LockId) -> String {
        quoted(self.trace.name(lock))
    }

    /// What an event does to its lock, with `it` for the lock if that is to be so:
    /// `takes it (a.c:1)`.
    pub(super) fn with_lock(&self, event: EventId, form: Form, object: &str) -> String {
        let verb = lock_verb(self.trace.op(event));
        let word = match form {
            Form::Base => verb.0,
            Form::Third => verb.1,
            Form::Done => verb.2,
        };
        self.placed(word, object, event)
    }

    /// What the event is, for a node of a graph.
    pub(super) fn label(&self, event: EventId) -> String {
        let place = match self.trace.location_of(event) {
            Some(_) => format!("\n{}", self.at(event)),
            None => String::new(),
        };
        format!("{}: {}{place}", event.0, crate::describe::operation(self.trace, event))
    }
}

/// A form of a verb.
#[derive(Clone, Copy)]
pub(super) enum Form {
    Base,
    Third,
    Done,
}

/// A name in a sentence.
pub(super) fn quoted(name: &str) -> String {
    format!("`{name}`")
}

/// `one`, `one and two`, `one, two and three`
pub(super) fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// What opens and closes holds.
fn lock_verb(op: Op) -> (&'static str, &'static str, &'static str) {
    match op {
        Op::Release { .. } => ("release", "releases", "released"),
        Op::Wait { .. } => ("give back", "gives back", "given back"),
        Op::Wake { .. } => ("get back", "gets back", "got back"),
        Op::Destroy { .. } => ("destroy", "destroys", "destroyed"),
        ops!(memory object data sem barrier thread call mark)
        | ops!(Acquire AcquireFailed Signal Broadcast Request) => ("take", "takes", "taken"),
    }
}

fn verb(trace: &Trace, event: EventId) -> Verb {
    let op = trace.op(event);
    let lock = |id: LockId, mode: Mode| {
        let shared = if mode == Mode::Shared { " shared" } else { "" };
        format!("{}{shared}", quoted(trace.name(id)))
    };
    let object = |at: Place| quoted(&trace.place_name(at));
    let cond = |id: foretrace_trace::CondId| quoted(trace.name(id));
    let semaphore = |id: foretrace_trace::SemId| quoted(trace.name(id));
    let barrier = |id: foretrace_trace::BarrierId| quoted(trace.name(id));
    let thread = |id: foretrace_trace::ThreadId| trace.name(id).to_string();
    let condition = |what: &str| match trace.expression(event) {
        Some(expression) => {
            format!("the {what} `{}`", Readable::of(trace, event, expression).show())
        }
        None => format!("the {what}"),
    };
    let (base, third, done, object) = match op {
        Op::Read { at, .. } => ("read", "reads", "read", object(at)),
        Op::Write { at, .. } => ("write", "writes", "written", object(at)),
        Op::Rmw { at, .. } => ("update", "updates", "updated", object(at)),
        Op::Branch { .. } => ("pass", "passes", "passed", condition("branch")),
        Op::Assert { .. } => ("check", "checks", "checked", condition("assertion")),
        Op::Assume { .. } => ("pass", "passes", "passed", condition("assumption")),
        Op::Acquire { lock: id, mode, .. } => ("take", "takes", "taken", lock(id, mode)),
        Op::AcquireFailed { lock: id, mode, .. } => {
            ("fail", "fails", "failed", format!("to take {}", lock(id, mode)))
        }
        Op::Release { lock: id, mode } => ("release", "releases", "released", lock(id, mode)),
        Op::Destroy { lock: id } => ("destroy", "destroys", "destroyed", lock(id, Mode::Exclusive)),
        Op::Wait { cond: id, .. } => ("wait", "waits", "waited", format!("for {}", cond(id))),
        Op::Wake { cond: id, .. } => {
            ("leave", "leaves", "left", format!("its wait for {}", cond(id)))
        }
        Op::Signal { cond: id } => ("signal", "signals", "signalled", cond(id)),
        Op::Broadcast { cond: id } => ("broadcast", "broadcasts", "broadcast", cond(id)),
        Op::SemWait { sem, .. } => {
            ("pass", "passes", "passed", format!("the semaphore {}", semaphore(sem)))
        }
        Op::SemWaitFailed { sem, .. } => {
            ("fail", "fails", "failed", format!("to pass the semaphore {}", semaphore(sem)))
        }
        Op::SemPost { sem } => ("post", "posts", "posted", semaphore(sem)),
        Op::Arrive { barrier: id } => {
            ("reach", "reaches", "reached", format!("the barrier {}", barrier(id)))
        }
        Op::Leave { barrier: id } => {
            ("leave", "leaves", "left", format!("the barrier {}", barrier(id)))
        }
        Op::Request(Request::Acquire(id, mode)) => {
            ("ask", "asks", "asked", format!("for {}", lock(id, mode)))
        }
        Op::Request(Request::SemWait(id)) => {
            ("ask", "asks", "asked", format!("for the semaphore {}", semaphore(id)))
        }
        Op::Request(Request::Join(id)) => {
            ("wait", "waits", "waited", format!("for the end of {}", thread(id)))
        }
        Op::Fork { child } => ("fork", "forks", "forked", thread(child)),
        Op::Join { child } => ("join", "joins", "joined", thread(child)),
        Op::Begin => ("begin", "begins", "begun", String::new()),
        Op::End => ("end", "ends", "ended", String::new()),
        Op::Exit => ("exit", "exits", "exited", String::new()),
        Op::Alloc { object: id, .. } => {
            ("allocate", "allocates", "allocated", quoted(trace.name(id)))
        }
        Op::Free { object: id } => ("free", "frees", "freed", quoted(trace.name(id))),
        Op::RegionBegin => ("enter", "enters", "entered", "an atomic region".to_string()),
        Op::RegionEnd => ("leave", "leaves", "left", "an atomic region".to_string()),
        Op::Fence { .. } => ("pass", "passes", "passed", "a fence".to_string()),
        Op::External => ("call", "calls", "called", "what is not recorded".to_string()),
        Op::EnterCall { .. } => ("enter", "enters", "entered", call(trace, event)),
        Op::LeaveCall => {
            let entered = trace.enter_of(event);
            let call = entered.map_or("its call".to_string(), |entered| call(trace, entered));
            ("leave", "leaves", "left", call)
        }
        Op::Let => {
            let name = trace.binding(event).map_or("?", |name| trace.name(name));
            ("compute", "computes", "computed", quoted(name))
        }
    };
    Verb { base, third, done, object }
}

/// `its call of `read` on `pipe#1``: the call that an event enters.
fn call(trace: &Trace, enter: EventId) -> String {
    let Op::EnterCall { on, by } = trace.op(enter) else { return "its call".to_string() };
    let by = by.map(|by| format!(" of `{}()`", trace.name(by)));
    let on = match trace.channels_of(on) {
        Channels::Every => "every channel".to_string(),
        Channels::Only([]) => "no channel".to_string(),
        Channels::Only(on) => {
            let name = |(channel, _): &(ChannelId, _)| quoted(trace.name(channel));
            list(&on.iter().map(name).collect::<Vec<String>>())
        }
    };
    format!("its call{} on {on}", by.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        let list = |items: &[&str]| {
            list(&items.iter().map(|item| item.to_string()).collect::<Vec<String>>())
        };
        assert_eq!(list(&["a"]), "a");
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
    }
}
