//! Questions that are no bugs: can one event come before another, can a read see a value?
//!
//! **Computes.** A trace with a few events more, and a violation of it that has a schedule exactly
//! if the answer is yes. So candidates, encoding, explicit engine and checker answer as always.
//!
//! **Follows.** `docs/theory.md` as it is, with cells that nobody else uses:
//!
//! - *Events in a given order*: each has a mark of its own. The first sets its mark. Beside each
//!   other one stands a thread that looks at the mark of the one before, lets the event happen, and
//!   then sets its mark to what it saw; the last of these threads asserts that it saw nothing.
//!   Since a thread of its own looks, nothing in the trace depends on it. Setting and looking
//!   concern no other event, so they can stand directly beside their events in every schedule.
//!   A thread's `begin` is its first event and its `end` its last, so that nothing can stand before
//!   the one or behind the other. A fence, directly behind the `begin` or before the `end`, stands
//!   in for it: both events are always enabled and concern nobody else (but a join, which comes
//!   behind the `end`), so they can stand directly beside that fence in every schedule.
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
    /// The events that ask.
    pub inserted: Vec<EventId>,
    /// The fences that stand for the begin or the end of a thread, and that.
    stand_ins: Vec<(EventId, EventId)>,
}

impl Question {
    /// What events that ask for an order are about: names begin so.
    pub const ASKING: [&str; 4] = ["the mark", "who looks", "may happen", "has happened"];

    /// Whether these two or more different events can all be executed, in this order, which is not
    /// the recorded one.
    pub fn order(trace: &Trace, chain: &[EventId]) -> Question {
        let mut copy = trace.clone();
        let (old, mut builder) = copy.take_events();
        let mut marks = Marks::new(&mut builder, chain);
        for id in (0..old.len()).map(EventId::from) {
            let event = old.event(id);
            let at = chain.iter().position(|&asked| asked == id);
            match (at, event.op) {
                (Some(at), Op::Begin) => {
                    builder.push_again(&old, id);
                    let begin = EventId::from(builder.so_far().len() - 1);
                    marks.stand_in(&mut builder, event, at, begin);
                }
                (Some(at), Op::End) => {
                    let number = marks.stand_in(&mut builder, event, at, EventId(0));
                    builder.push_again(&old, id);
                    marks.stand_ins[number].1 = EventId::from(builder.so_far().len() - 1);
                }
                _ => {
                    marks.open(&mut builder, event, at);
                    builder.push_again(&old, id);
                    marks.close(&mut builder, event, at);
                }
            }
        }
        let violation = Violation::Assertion(marks.assertion);
        let Marks { mut asked, inserted, stand_ins, .. } = marks;
        for event in &mut asked {
            let of = stand_ins.iter().find(|(fence, _)| fence == event);
            *event = of.map_or(*event, |&(_, of)| of);
        }
        Question { trace: builder.finish(), violation, asked, inserted, stand_ins }
    }

    /// A schedule without the events that ask, as that of the trace it was made from.
    pub fn answered(&self, schedule: &mut Vec<u32>) {
        let stands_for = |event: u32| {
            let mut pairs = self.stand_ins.iter();
            pairs.find(|(fence, _)| fence.0 == event).map(|&(_, of)| of.0)
        };
        let instead: Vec<u32> = schedule.iter().filter_map(|&event| stands_for(event)).collect();
        schedule.retain(|event| !instead.contains(event));
        for event in schedule.iter_mut() {
            *event = stands_for(*event).unwrap_or(*event);
        }
        let asks = |event: u32| self.inserted.binary_search(&EventId(event)).is_ok();
        schedule.retain(|&event| !asks(event));
    }

    /// Whether one event must happen before another in every schedule: by program order, thread
    /// creation and joins.
    pub fn is_ordered(trace: &Trace, earlier: EventId, later: EventId) -> bool {
        MustHappenBefore::new(trace).precedes(trace, earlier, later)
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
            inserted: vec![assertion],
            stand_ins: Vec::new(),
        }
    }
}

/// `name != value`
fn not_equal(name: NameId, value: u64) -> Expr {
    let (left, right) = (Box::new(Expr::Name(name)), Box::new(Expr::Literal(value)));
    Expr::Binary(BinaryOp::Ne, left, right)
}

/// What is inserted beside the events of a chain.
struct Marks {
    /// The marks, one byte each.
    object: ObjectId,
    /// What a thread calls the mark that it saw.
    seen: NameId,
    /// Beside each event but the first.
    beside: Vec<Beside>,
    /// How many of the first events the recorded run has had in this order.
    in_order: usize,
    asked: Vec<EventId>,
    inserted: Vec<EventId>,
    stand_ins: Vec<(EventId, EventId)>,
    assertion: EventId,
}

/// The thread that looks beside an event, and how it lets that happen and learns that it has.
#[derive(Clone, Copy)]
struct Beside {
    thread: ThreadId,
    may: SemId,
    did: SemId,
}

impl Marks {
    fn new(builder: &mut Builder, chain: &[EventId]) -> Marks {
        let [mark, who, may_happen, has_happened] = Question::ASKING;
        let object = fresh(builder.so_far().objects(), mark);
        let object = builder.object(&object);
        builder.make_up_from(object);
        let seen = fresh(builder.so_far().names(), "came_first");
        let seen = builder.name(&seen);
        let beside = chain[1..].iter().map(|_| {
            let thread = fresh(builder.so_far().threads(), who);
            let may = fresh(builder.so_far().semaphores(), may_happen);
            let (thread, may) = (builder.thread(&thread), builder.semaphore(&may));
            let did = fresh(builder.so_far().semaphores(), has_happened);
            let did = builder.semaphore(&did);
            builder.set_semaphore(may, 0);
            builder.set_semaphore(did, 0);
            Beside { thread, may, did }
        });
        let beside = beside.collect();
        let marks = Marks {
            object,
            seen,
            beside,
            in_order: 0,
            asked: vec![EventId(0); chain.len()],
            inserted: Vec::new(),
            stand_ins: Vec::new(),
            assertion: EventId(0),
        };
        (0..chain.len()).for_each(|at| builder.set_initial(marks.mark(at), 0));
        marks
    }

    fn mark(&self, at: usize) -> Place {
        Place { object: self.object, offset: at as u32, size: 1 }
    }

    fn push(&mut self, builder: &mut Builder, thread: ThreadId, op: Op, like: Event) -> EventId {
        let id = builder.push(Event { thread, op, ..like });
        self.inserted.push(id);
        id
    }

    /// A fence for the begin or the end of a thread, the one `at` of the chain; returns its place
    /// in the list.
    fn stand_in(&mut self, builder: &mut Builder, event: Event, at: usize, of: EventId) -> usize {
        self.open(builder, event, Some(at));
        let fence = Op::Fence { order: MemoryOrder::SeqCst };
        let fence = self.push(builder, event.thread, fence, event);
        self.close(builder, event, Some(at));
        self.stand_ins.push((fence, of));
        self.stand_ins.len() - 1
    }

    /// Before an event, the one `at` of the chain.
    fn open(&mut self, builder: &mut Builder, event: Event, at: Option<usize>) {
        let Some(before) = at.and_then(|at| at.checked_sub(1)) else { return };
        let beside = self.beside[before];
        // Nothing races with it.
        let order = MemoryOrder::SeqCst;
        let value = Some(u64::from(self.in_order > before));
        let look = Op::Read { at: self.mark(before), value, order };
        let look = self.push(builder, beside.thread, look, event);
        builder.bind(look, self.seen);
        self.push(builder, beside.thread, Op::SemPost { sem: beside.may }, event);
        let wait = Op::SemWait { sem: beside.may, patience: Patience::Blocking };
        self.push(builder, event.thread, wait, event);
    }

    /// Behind it.
    fn close(&mut self, builder: &mut Builder, event: Event, at: Option<usize>) {
        let Some(at) = at else { return };
        self.asked[at] = EventId::from(builder.so_far().len() - 1);
        self.in_order += usize::from(self.in_order == at);
        let order = MemoryOrder::SeqCst;
        let value = Some(u64::from(self.in_order > at));
        let write = Op::Write { at: self.mark(at), value, order };
        let Some(before) = at.checked_sub(1) else {
            let write = self.push(builder, event.thread, write, event);
            builder.express(write, Expr::Literal(1));
            return;
        };
        let beside = self.beside[before];
        self.push(builder, event.thread, Op::SemPost { sem: beside.did }, event);
        let wait = Op::SemWait { sem: beside.did, patience: Patience::Blocking };
        self.push(builder, beside.thread, wait, event);
        if at < self.beside.len() {
            let write = self.push(builder, beside.thread, write, event);
            builder.express(write, Expr::Name(self.seen));
        } else {
            let assertion = Op::Assert { holds: true };
            self.assertion = self.push(builder, beside.thread, assertion, event);
            builder.express(self.assertion, not_equal(self.seen, 1));
        }
    }
}

/// A name that nothing has.
pub(crate) fn fresh(names: &Names, wanted: &str) -> String {
    let mut name = wanted.to_string();
    while names.find(&name).is_some() {
        name.push('\'');
    }
    name
}
