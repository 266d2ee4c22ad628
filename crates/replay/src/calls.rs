//! Where in a schedule calls take place.
//!
//! **Computes.** The schedule with each call in one piece, where its enter stands then: a replay
//! makes a call there, and nothing runs before it is back.
//!
//! **How.** In the recorded run, a call that had to wait did what it did when it left; so of two
//! calls of which one rests on the other, or each on the other since they overlap, the one that
//! left first comes first. A call is made where its thread goes on, or where a call leaves that
//! left after it and rests on it, whatever comes first.
//!
//! Where threads run all at once, a call that ends the wait of another one may come back later than
//! that: see [`feeds`].
//!
//! **Why that can be done.** By then all calls have entered that it rests on itself and that left
//! before it: the other one rests on these too.

use std::collections::HashMap;

use foretrace_trace::{Channels, Direction, EventId, Op, ThreadId, Trace, ops};
use foretrace_witness::calls::Kept;

/// The schedule with each call in one piece. With `waits`, the calls that have not left at its end
/// are made last: their threads are to wait in them.
pub(crate) fn at_once(trace: &Trace, schedule: &[EventId], waits: bool) -> Vec<EventId> {
    let none = vec![None; trace.threads().len()];
    let mut pass = Pass {
        trace,
        kept: Kept::of(trace),
        leaves: leaves(trace),
        enters: leaves(trace).into_iter().map(|(enter, leave)| (leave, enter)).collect(),
        open: none.clone(),
        entered: none.clone(),
        needed: vec![none; trace.threads().len()],
        order: Vec::with_capacity(schedule.len()),
    };
    schedule.iter().for_each(|&event| pass.step(event));
    if waits {
        pass.order.extend(pass.open.iter().flatten());
    }
    pass.order
}

/// Of each thread an enter.
type Enters = Vec<Option<EventId>>;

struct Pass<'t> {
    trace: &'t Trace,
    kept: Kept,
    /// Where calls leave in the recorded run, by where they enter.
    leaves: HashMap<EventId, EventId>,
    /// The reverse.
    enters: HashMap<EventId, EventId>,
    /// The calls that are still to be made.
    open: Enters,
    /// The last that was entered.
    entered: Enters,
    /// What the leaves of each thread so far have needed.
    needed: Vec<Enters>,
    order: Vec<EventId>,
}

impl Pass<'_> {
    fn step(&mut self, event: EventId) {
        let thread = self.trace.thread_of(event);
        if let Op::LeaveCall = self.trace.op(event) {
            self.needed[thread.index()] = self.needed_by(event);
            self.make_earlier(event);
        }
        self.make(thread);
        match self.trace.op(event) {
            Op::EnterCall { .. } => {
                self.open[thread.index()] = Some(event);
                self.entered[thread.index()] = Some(event);
            }
            ops!(memory object data sync mark LeaveCall) => self.order.push(event),
        }
    }

    /// What this leave needs, and the earlier ones of its thread.
    fn needed_by(&self, leave: EventId) -> Enters {
        let mut needed = self.needed[self.trace.thread_of(leave).index()].clone();
        for &enter in self.kept.needed_by(leave) {
            let last = &mut needed[self.trace.thread_of(enter).index()];
            *last = (*last).max(Some(enter));
        }
        needed
    }

    /// Makes the calls that this leave may need and that come before it, those first that left
    /// first.
    fn make_earlier(&mut self, leave: EventId) {
        let needed = self.needed_by(leave);
        let is_earlier = |enter: &EventId| {
            let other = self.enters.get(&leave);
            match self.leaves.get(enter) {
                None => true,
                Some(at) if *at < leave => {
                    !other.is_some_and(|&other| feeds(self.trace, (other, leave), (*enter, *at)))
                }
                Some(at) => {
                    other.is_some_and(|&other| feeds(self.trace, (*enter, *at), (other, leave)))
                }
            }
        };
        let open = self.open.iter().zip(&needed);
        let due = open.filter_map(|(open, last)| open.filter(|open| Some(*open) <= *last));
        let mut due: Vec<EventId> =
            due.filter(is_earlier).filter(|enter| self.is_ready(*enter)).collect();
        due.sort_unstable_by_key(|enter| self.leaves.get(enter).map_or(u32::MAX, |leave| leave.0));
        for enter in due {
            self.make(self.trace.thread_of(enter));
        }
    }

    /// Whether all have entered that a call needs, be it that what was found needs it no more.
    fn is_ready(&self, enter: EventId) -> bool {
        let Some(&leave) = self.leaves.get(&enter) else { return true };
        let needed = self.kept.needed_by(leave);
        needed.iter().all(|need| self.entered[self.trace.thread_of(*need).index()] >= Some(*need))
    }

    /// Makes the open call of a thread, and before it those that come before.
    fn make(&mut self, thread: ThreadId) {
        if let Some(enter) = self.open[thread.index()].take() {
            if let Some(&leave) = self.leaves.get(&enter) {
                self.make_earlier(leave);
            }
            self.order.push(enter);
        }
    }
}

/// Whether a call, given by its enter and its leave, most likely did what it did before another one
/// that left earlier: it only gives, where the other one only takes; or it was made while the other
/// one waited for what it gives.
fn feeds(trace: &Trace, giver: (EventId, EventId), taker: (EventId, EventId)) -> bool {
    let overlap = giver.0 < taker.1 && taker.1 < giver.1;
    let channels = |enter| match trace.op(enter) {
        Op::EnterCall { on, .. } => trace.channels_of(on),
        ops!(memory object data sync mark LeaveCall) => Channels::Every,
    };
    let (Channels::Only(gives), Channels::Only(takes)) = (channels(giver.0), channels(taker.0))
    else {
        return false;
    };
    let is_fed = |&(channel, direction): &(_, Direction)| {
        let taken = takes.iter().any(|&(other, how)| (other, how) == (channel, Direction::Takes));
        let was_waiting = taker.0 < giver.0;
        taken && (direction == Direction::Gives || (was_waiting && direction.gives()))
    };
    overlap && gives.iter().any(is_fed)
}

fn leaves(trace: &Trace) -> HashMap<EventId, EventId> {
    let mut open: Vec<Vec<EventId>> = vec![Vec::new(); trace.threads().len()];
    let mut leaves = HashMap::new();
    for (id, event) in trace.events() {
        let open = &mut open[trace.thread_of(id).index()];
        match event.op {
            Op::EnterCall { .. } => open.push(id),
            Op::LeaveCall => leaves.extend(open.pop().map(|enter| (enter, id))),
            ops!(memory object data sync mark) => {}
        }
    }
    leaves
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order of the calls of a trace, by the names of their places.
    fn order(text: &str) -> String {
        let trace = foretrace_trace::text::parse(text).unwrap();
        let schedule: Vec<EventId> = trace.events().map(|(id, _)| id).collect();
        let made = at_once(&trace, &schedule, false);
        let is_call = |id: &EventId| matches!(trace.op(*id), Op::EnterCall { .. });
        let place = |id: EventId| trace.event(id).location.unwrap();
        let names: Vec<_> =
            made.into_iter().filter(is_call).map(|id| trace.name(place(id)).to_string()).collect();
        names.join(" ")
    }

    #[test]
    fn who_left_first_comes_first() {
        let text = "a: enter-call pipe @ waits\nb: enter-call pipe @ writes\n\
                    b: leave-call\na: leave-call\n";
        assert_eq!(order(text), "writes waits");
    }

    #[test]
    fn what_ends_a_wait_comes_before_it_though_it_is_back_later() {
        let text = "a: enter-call <pipe @ waits\nb: enter-call pipe @ writes\n\
                    a: leave-call\na: enter-call reads <bytes @ reads\na: leave-call\n\
                    b: leave-call\n";
        assert_eq!(order(text), "writes waits reads");
    }

    #[test]
    fn bytes_are_written_before_they_are_read() {
        let text = "b: enter-call reads >bytes @ writes\na: enter-call reads <bytes @ reads\n\
                    a: leave-call\nb: leave-call\n";
        assert_eq!(order(text), "writes reads");
    }

    #[test]
    fn who_asked_before_it_was_written_found_nothing() {
        let text = "b: enter-call pipe @ writes\na: enter-call <pipe @ asks\n\
                    a: leave-call\nb: leave-call\n";
        assert_eq!(order(text), "asks writes");
    }
}
