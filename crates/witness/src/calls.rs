//! Which calls keep their order: the row *leave-call* of section 3 of `docs/theory.md`.
//!
//! **Computes.** For each `leave-call` the `enter-call` events that have to be executed before it: of each other thread the last
//! one on which the call rests. What an earlier leave of the same thread needs is not named again.
//!
//! **How.** In recorded order. Calls in flight are kept as they are; of those that have left there is, for each channel and
//! direction, only the last enter of each thread on which any of them rests. A call that leaves asks the calls in flight from which
//! a chain leads to it, and for each of these what has left on its channels.
//!
//! **Cost.** For each leave, threads × channels of the calls in flight that meet it, directly or through others.

use foretrace_trace::{ChannelId, Channels, ChannelsId, Direction, EventId, Op, ThreadId, Trace};
use rustc_hash::FxHashMap;

/// The enters that each leave needs.
#[derive(Debug, Default)]
pub struct Kept {
    /// The leaves that need something, in recorded order, and where the enters of each end.
    leaves: Vec<(EventId, u32)>,
    enters: Vec<EventId>,
}

impl Kept {
    /// Goes over the calls of a trace once.
    pub fn of(trace: &Trace) -> Kept {
        match trace.channel_list_count() {
            0 => Kept::default(),
            _ => Pass::new(trace).run(),
        }
    }

    /// The enters that must be executed before this leave, at most one of each other thread. Those of earlier calls follow from the order
    /// of their threads, and those that an earlier leave of this thread needs are not here.
    pub fn needed_by(&self, leave: EventId) -> &[EventId] {
        match self.leaves.binary_search_by_key(&leave, |&(leave, _)| leave) {
            Ok(at) => {
                let start = at.checked_sub(1).map_or(0, |before| self.leaves[before].1);
                &self.enters[start as usize..self.leaves[at].1 as usize]
            }
            Err(_) => &[],
        }
    }
}

/// Of each thread the last enter, as its number + 1; 0 for none.
type Clock = Vec<u32>;

/// The calls of one thread on the same channels that are in flight.
struct Flight {
    thread: ThreadId,
    on: ChannelsId,
    enters: Vec<EventId>,
    /// The last question in which it was asked.
    asked: u32,
}

/// What calls that have left have done to a channel.
#[derive(Clone, Default)]
struct Channel {
    /// On what those rest that gave, and that took; themselves included.
    gave: Option<Clock>,
    took: Option<Clock>,
    /// The calls in flight on it.
    flying: Vec<(u32, Direction)>,
    /// Whether any call takes from it.
    is_taken: bool,
    is_delayed: bool,
}

struct Pass<'t> {
    trace: &'t Trace,
    channels: Vec<Channel>,
    flights: Vec<Flight>,
    numbers: FxHashMap<(ThreadId, ChannelsId), u32>,
    /// The open calls of each thread.
    stacks: Vec<Vec<u32>>,
    /// Of the calls on every channel: those in flight, and on what those rest that have left.
    flying_everywhere: Vec<u32>,
    everywhere: Clock,
    /// The same of all calls that are on a channel at all.
    flying: Vec<u32>,
    anywhere: Clock,
    /// What earlier leaves of each thread need.
    known: Vec<Clock>,
    questions: u32,
    kept: Kept,
}

impl<'t> Pass<'t> {
    fn new(trace: &'t Trace) -> Self {
        let threads = trace.threads().len();
        let mut channels = vec![Channel::default(); trace.channels().len()];
        for (_, op) in trace.other_ops() {
            let Op::EnterCall { on, .. } = op else { continue };
            let Channels::Only(list) = trace.channels_of(on) else { continue };
            for (channel, direction) in list {
                channels[channel.index()].is_taken |= direction.takes();
            }
        }
        for (index, channel) in channels.iter_mut().enumerate() {
            channel.is_delayed = trace.is_delayed(ChannelId::from(index));
        }
        Pass {
            trace,
            channels,
            flights: Vec::new(),
            numbers: FxHashMap::default(),
            stacks: vec![Vec::new(); threads],
            flying_everywhere: Vec::new(),
            everywhere: vec![0; threads],
            flying: Vec::new(),
            anywhere: vec![0; threads],
            known: vec![Vec::new(); threads],
            questions: 0,
            kept: Kept::default(),
        }
    }

    fn run(mut self) -> Kept {
        for (event, op) in self.trace.other_ops() {
            match op {
                Op::EnterCall { on, .. } => self.enter(event, on),
                Op::LeaveCall => self.leave(event),
                _ => {}
            }
        }
        self.kept
    }

    fn enter(&mut self, event: EventId, on: ChannelsId) {
        let thread = self.trace.thread_of(event);
        let next = self.flights.len() as u32;
        let number = *self.numbers.entry((thread, on)).or_insert(next);
        if number == next {
            self.flights.push(Flight { thread, on, enters: Vec::new(), asked: 0 });
        }
        self.stacks[thread.index()].push(number);
        let flight = &mut self.flights[number as usize];
        flight.enters.push(event);
        if flight.enters.len() > 1 {
            return;
        }
        match self.trace.channels_of(on) {
            Channels::Only([]) => {}
            Channels::Only(list) => {
                self.flying.push(number);
                for &(channel, direction) in list {
                    self.channels[channel.index()].flying.push((number, direction));
                }
            }
            Channels::Every => {
                self.flying.push(number);
                self.flying_everywhere.push(number);
            }
        }
    }

    fn leave(&mut self, event: EventId) {
        let thread = self.trace.thread_of(event).index();
        let Some(number) = self.stacks[thread].pop() else { return };
        let mut clock = self.rests_on(number);
        self.keep(event, thread, &clock);
        let flight = &mut self.flights[number as usize];
        let entered = flight.enters.pop().expect("the call is in flight");
        let has_landed = flight.enters.is_empty();
        let on = flight.on;
        clock[thread] = clock[thread].max(entered.0 + 1);
        match self.trace.channels_of(on) {
            Channels::Only([]) => return,
            Channels::Only(list) => {
                for &(channel, direction) in list {
                    let channel = &mut self.channels[channel.index()];
                    if has_landed {
                        channel.flying.retain(|&(other, _)| other != number);
                    }
                    if channel.is_taken && direction.gives() {
                        join(channel.gave.get_or_insert_default(), &clock);
                    }
                    if channel.is_taken && direction.takes() {
                        join(channel.took.get_or_insert_default(), &clock);
                    }
                }
            }
            Channels::Every => {
                if has_landed {
                    self.flying_everywhere.retain(|&other| other != number);
                }
                join(&mut self.everywhere, &clock);
            }
        }
        if has_landed {
            self.flying.retain(|&other| other != number);
        }
        join(&mut self.anywhere, &clock);
    }

    /// The last enter of each thread on which a call in flight rests.
    fn rests_on(&mut self, number: u32) -> Clock {
        self.questions += 1;
        let mut clock = vec![0; self.trace.threads().len()];
        let mut waiting = vec![number];
        self.flights[number as usize].asked = self.questions;
        while let Some(number) = waiting.pop() {
            let Flight { thread, on, ref enters, .. } = self.flights[number as usize];
            let last = enters.last().expect("it is in flight").0 + 1;
            clock[thread.index()] = clock[thread.index()].max(last);
            let found = waiting.len();
            match self.trace.channels_of(on) {
                Channels::Only([]) => {}
                Channels::Only(list) => {
                    for &(channel, direction) in list {
                        self.channels[channel.index()].meet(direction, &mut clock, &mut waiting);
                    }
                    join(&mut clock, &self.everywhere);
                    waiting.extend(&self.flying_everywhere);
                }
                Channels::Every => {
                    join(&mut clock, &self.anywhere);
                    waiting.extend(&self.flying);
                }
            }
            let mut behind = found;
            for at in found..waiting.len() {
                let flight = &mut self.flights[waiting[at] as usize];
                if flight.asked != self.questions {
                    flight.asked = self.questions;
                    waiting[behind] = waiting[at];
                    behind += 1;
                }
            }
            waiting.truncate(behind);
        }
        clock
    }

    /// Notes what a leave needs beyond what earlier ones of its thread do.
    fn keep(&mut self, leave: EventId, thread: usize, clock: &Clock) {
        let known = &mut self.known[thread];
        known.resize(clock.len(), 0);
        let before = self.kept.enters.len();
        for (other, (&needed, known)) in clock.iter().zip(known).enumerate() {
            if other != thread && needed > *known {
                *known = needed;
                self.kept.enters.push(EventId(needed - 1));
            }
        }
        if self.kept.enters.len() > before {
            self.kept.leaves.push((leave, self.kept.enters.len() as u32));
        }
    }
}

impl Channel {
    /// What leads to a call that uses the channel in this direction.
    fn meet(&self, direction: Direction, clock: &mut Clock, waiting: &mut Vec<u32>) {
        if !self.is_taken {
            return;
        }
        let (from_giving, from_taking) = match self.is_delayed {
            true => (direction.takes(), false),
            false => (true, direction.gives()),
        };
        for (leads, left) in [(from_giving, &self.gave), (from_taking, &self.took)] {
            if let Some(left) = left.as_ref().filter(|_| leads) {
                join(clock, left);
            }
        }
        let leads = |other: Direction| other.gives() && from_giving || other.takes() && from_taking;
        let flying = self.flying.iter().filter(|(_, other)| leads(*other));
        waiting.extend(flying.map(|&(number, _)| number));
    }
}

fn join(clock: &mut Clock, other: &Clock) {
    clock.resize(clock.len().max(other.len()), 0);
    clock.iter_mut().zip(other).for_each(|(mine, &other)| *mine = (*mine).max(other));
}
