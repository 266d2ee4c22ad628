//! Questions that are no bugs: can one event come before another, can a read see a value?
//!
//! **Computes.** A trace with a few events more, and a violation of it that has a schedule exactly
//! if the answer is yes. So candidates, encoding, explicit engine and checker answer as always.
//!
//! **Follows.** `docs/theory.md` as it is, with cells that nobody else uses:
//!
//! - *One event before another*: the first sets the cell, the second is preceded by a look at it
//!   and followed by the assertion that the cell was not set. Writing and looking concern no other
//!   event, so they can stand directly beside their events in every schedule. This needs a second
//!   event that does not depend on all that its thread has read, since the look is such a read.
//! - *A read sees a value*: the assertion, directly behind it, that it does not.
//!
//! **Invariant.** The order of the other events stays.
//!
//! **Cost.** Linear in the events.

use foretrace_causality::MustHappenBefore;
use foretrace_trace::expr::{BinaryOp, Expr};
use foretrace_trace::*;
use foretrace_verdict::Violation;

/// A question as a violation of a trace that was made for it.
#[derive(Debug)]
pub struct Question {
    /// The trace with the events that ask.
    pub trace: Trace,
    /// It has a schedule exactly if the answer is yes.
    pub violation: Violation,
    /// Where the events that were asked about are now, in their order.
    pub asked: Vec<EventId>,
}

/// What is inserted beside an event.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inserted {
    WriteBehind(EventId),
    LookBefore(EventId),
}

impl Question {
    /// Whether the first event can be executed, and then the second one, of another thread and
    /// recorded before it.
    pub fn before(trace: &Trace, first: EventId, second: EventId) -> Question {
        let inserted = [Inserted::WriteBehind(first), Inserted::LookBefore(second)];
        let (trace, new, asked) = insert(trace, &inserted, &[first, second]);
        Question { trace, violation: Violation::Assertion(new[1]), asked }
    }

    /// Whether one event must happen before another in every schedule: by program order, thread
    /// creation and joins.
    pub fn is_ordered(trace: &Trace, earlier: EventId, later: EventId) -> bool {
        MustHappenBefore::new(trace).precedes(trace, earlier, later)
    }

    /// Whether it can be asked what comes before an event: not if the event may depend on the look.
    pub fn is_independent(trace: &Trace, second: EventId) -> bool {
        let is_expressed = trace.expression(second).is_some();
        trace.dependences() == Dependences::Recorded
            && match trace.op(second) {
                Op::Write { .. }
                | Op::Rmw { .. }
                | Op::Branch { .. }
                | Op::Assert { .. }
                | Op::Assume { .. } => is_expressed,
                Op::External | ops!(call) => false,
                ops!(Read Let object sync RegionBegin RegionEnd Fence) => true,
            }
    }

    /// Whether a read or read-modify-write can see a value that it did not see.
    pub fn sees(trace: &Trace, read: EventId, value: u64) -> Question {
        let mut copy = trace.clone();
        let (old, mut builder) = copy.take_events();
        let mut asked = None;
        for id in (0..old.len()).map(EventId::from) {
            builder.push_again(&old, id);
            if id != read {
                continue;
            }
            let name = old.binding(id).unwrap_or_else(|| {
                let name = fresh(builder.so_far().names(), "seen");
                let name = builder.name(&name);
                builder.bind(id, name);
                name
            });
            let op = Op::Assert { holds: true };
            let assertion = builder.push(Event { op, ..old.event(id) });
            builder.express(assertion, not_equal(name, value));
            asked = Some(assertion);
        }
        let assertion = asked.expect("the event is one of the trace");
        Question {
            trace: builder.finish(),
            violation: Violation::Assertion(assertion),
            asked: vec![read],
        }
    }
}

/// `name != value`
fn not_equal(name: NameId, value: u64) -> Expr {
    let (left, right) = (Box::new(Expr::Name(name)), Box::new(Expr::Literal(value)));
    Expr::Binary(BinaryOp::Ne, left, right)
}

/// The trace with what is inserted, the new events in the order of `inserted` (of a look its
/// assertion), and where the events that are asked about are now.
fn insert(
    trace: &Trace,
    inserted: &[Inserted],
    asked: &[EventId],
) -> (Trace, Vec<EventId>, Vec<EventId>) {
    let mut copy = trace.clone();
    let (old, mut builder) = copy.take_events();
    let object = fresh(builder.so_far().objects(), "the mark");
    let object = builder.object(&object);
    builder.make_up_from(object);
    let cell = Place { object, offset: 0, size: 1 };
    builder.set_initial(cell, 0);
    let look = fresh(builder.so_far().names(), "came_first");
    let look = builder.name(&look);
    // Nothing races with it.
    let order = MemoryOrder::SeqCst;
    let (mut new, mut now) = (vec![EventId(0); inserted.len()], vec![EventId(0); asked.len()]);
    for id in (0..old.len()).map(EventId::from) {
        let event = old.event(id);
        let write = |builder: &mut Builder| {
            let op = Op::Write { at: cell, value: Some(1), order };
            let write = builder.push(Event { op, ..event });
            builder.express(write, Expr::Literal(1));
            write
        };
        if inserted.contains(&Inserted::LookBefore(id)) {
            let op = Op::Read { at: cell, value: Some(0), order };
            let read = builder.push(Event { op, ..event });
            builder.bind(read, look);
        }
        builder.push_again(&old, id);
        let here = EventId::from(builder.so_far().len() - 1);
        asked.iter().zip(&mut now).filter(|(one, _)| **one == id).for_each(|(_, now)| *now = here);
        for (at, one) in inserted.iter().enumerate() {
            if *one == Inserted::WriteBehind(id) {
                new[at] = write(&mut builder);
            } else if *one == Inserted::LookBefore(id) {
                new[at] = builder.push(Event { op: Op::Assert { holds: true }, ..event });
                builder.express(new[at], not_equal(look, 1));
            }
        }
    }
    (builder.finish(), new, now)
}

/// A name that nothing has.
pub(crate) fn fresh(names: &Names, wanted: &str) -> String {
    let mut name = wanted.to_string();
    while names.find(&name).is_some() {
        name.push('\'');
    }
    name
}
