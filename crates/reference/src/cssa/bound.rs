//! The context bound: at most b switches.
//!
//! **Follows.** 000 section 6: clocks are the numbers of segments, from 0 to b; within a thread
//! they may stay equal, and whatever is ordered across threads is in different segments.
//! **Deviation.** The paper's clocks under-count: two threads may share a segment where nothing
//! orders them. Here each segment has one owner, so that b + 1 segments are exactly b switches. The
//! events that are next in the violation are reported behind the schedule and count: each has a
//! segment of its own thread too, not before the schedule's last.

use foretrace_trace::EventId;
use foretrace_verdict::Violation;

use super::{Encoder, Scope};
use crate::formula::{Item, Sort};
use crate::term::Term;

impl Encoder<'_> {
    pub(super) fn bound(&mut self) {
        let Some(bound) = self.options.bound else { return };
        let bound = i64::from(bound);
        self.comment(&format!(
            "at most {bound} context switches: clocks are segments, each of one thread"
        ));
        let symbol = |name: &str| Term::Symbol(name.to_string());
        self.assert(symbol("X").equals(Term::Int(bound + 1)));
        for segment in 0..=bound {
            self.declare_number(format!("owner{segment}"));
        }
        self.declare_number("last".to_string());
        for event in (0..self.trace.len()).map(EventId::from) {
            if self.trace.previous(event).is_none() {
                self.assert(Term::binary("<=", Term::Int(0), self.clock(event)));
            }
            if !self.has_clock(event) {
                continue;
            }
            self.owned(event, self.clock(event), bound);
            let not_behind = Term::binary("<=", self.clock(event), symbol("last"));
            self.assert(self.included(event).implies(not_behind));
        }
        for event in self.reported_behind() {
            let segment = format!("G{}", event.0);
            self.declare_number(segment.clone());
            self.assert(Term::binary("<=", symbol("last"), symbol(&segment)));
            self.assert(Term::binary("<=", Term::Int(0), symbol(&segment)));
            self.assert(Term::binary("<=", symbol(&segment), Term::Int(bound)));
            self.owned(event, symbol(&segment), bound);
        }
    }

    fn declare_number(&mut self, symbol: String) {
        self.formula.items.push(Item::Declare { symbol, sort: Sort::Int });
    }

    /// A segment with this event belongs to the event's thread.
    fn owned(&mut self, event: EventId, segment: Term, bound: i64) {
        let thread = Term::Int(i64::from(self.trace.thread_of(event).0));
        for number in 0..=bound {
            let owner = Term::Symbol(format!("owner{number}"));
            let is_there = segment.clone().equals(Term::Int(number));
            self.assert(is_there.implies(owner.equals(thread.clone())));
        }
    }

    /// The events that are next in the violation.
    fn reported_behind(&self) -> Vec<EventId> {
        if self.options.scope == Scope::Whole {
            return Vec::new();
        }
        match *self.violation {
            Violation::Race(a, b) => vec![a, b],
            Violation::Atomicity { second, .. } => vec![second],
            Violation::Assertion(event) | Violation::Stuck(event) => vec![event],
            // A request as the last event is executed, not next.
            Violation::Lock(_, event) => self.next_ones(&[event]),
            Violation::LockCycle(ref cycle) => self.next_ones(cycle),
        }
    }

    fn next_ones(&self, points: &[EventId]) -> Vec<EventId> {
        let is_request =
            |event: &EventId| matches!(self.trace.op(*event), foretrace_trace::Op::Request(_));
        points.iter().copied().filter(|event| !is_request(event)).collect()
    }
}
