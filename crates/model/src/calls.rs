//! Which calls keep their order.
//!
//! **Computes.** For each `leave-call` the `enter-call` events of other threads that it must follow, the last one of each thread; without those
//! that an earlier leave of its thread must follow.
//!
//! **Follows.** `docs/theory.md`, sections 2 and 3: what a call rests on. What a call rests on so far is known as long as it is in flight. A call that enters takes over
//! what those rest on that lead to it, and hands on what is new to the calls in flight to which it leads, and so on.
//!
//! **Cost.** For each enter, a look at every call in flight, and at its channels; threads × channels of the call for each enter and leave.

use rustc_hash::FxHashMap;

use foretrace_trace::{ChannelId, Channels, ChannelsId, Direction, EventId, Op, ThreadId, Trace};

/// The order of calls.
#[derive(Debug, Default)]
pub struct Calls {
    needed: FxHashMap<EventId, Vec<EventId>>,
}

impl Calls {
    pub(crate) fn new(trace: &Trace) -> Self {
        let mut calls = Calls::default();
        if trace.channel_list_count() > 0 {
            let mut run = Run::new(trace);
            for (event, op) in trace.other_ops() {
                match op {
                    Op::EnterCall { on, .. } => run.enter(event, on),
                    Op::LeaveCall => run.leave(event, &mut calls),
                    _ => {}
                }
            }
        }
        calls
    }

    /// An order that is given: for each leave what it must follow.
    pub fn given(needed: FxHashMap<EventId, Vec<EventId>>) -> Self {
        Calls { needed }
    }

    /// The enters that a leave must follow.
    pub fn needed_by(&self, leave: EventId) -> &[EventId] {
        self.needed.get(&leave).map_or(&[], |needed| needed)
    }
}

/// Of each thread how many events a call rests on, up to the last enter.
type Clock = Vec<u32>;

/// The calls of a thread on the same channels that are in flight.
struct Flight {
    thread: ThreadId,
    on: ChannelsId,
    count: u32,
    clock: Clock,
}

struct Run<'t> {
    trace: &'t Trace,
    /// Whether a call takes from a channel.
    taken: Vec<bool>,
    flights: Vec<Flight>,
    /// The channels of the open calls of each thread.
    open: Vec<Vec<ChannelsId>>,
    /// On what those rest that have left: by channel and by whether they gave or took, on every channel, and on any.
    left: FxHashMap<(ChannelId, bool), Clock>,
    left_everywhere: Clock,
    left_anywhere: Clock,
    /// What each thread has to follow already.
    known: Vec<Clock>,
}

impl<'t> Run<'t> {
    fn new(trace: &'t Trace) -> Self {
        let mut taken = vec![false; trace.channels().len()];
        for (_, op) in trace.other_ops() {
            if let Op::EnterCall { on, .. } = op
                && let Channels::Only(list) = trace.channels_of(on)
            {
                list.iter().for_each(|(channel, way)| taken[channel.index()] |= way.takes());
            }
        }
        let nothing = vec![0; trace.threads().len()];
        Run {
            trace,
            taken,
            flights: Vec::new(),
            open: vec![Vec::new(); nothing.len()],
            left: FxHashMap::default(),
            left_everywhere: nothing.clone(),
            left_anywhere: nothing.clone(),
            known: vec![nothing.clone(); nothing.len()],
        }
    }

    fn enter(&mut self, event: EventId, on: ChannelsId) {
        let thread = self.trace.thread_of(event);
        self.open[thread.index()].push(on);
        let at = match self.flight(thread, on) {
            Some(at) => at,
            None => {
                let clock = self.so_far(on);
                self.flights.push(Flight { thread, on, count: 0, clock });
                self.flights.len() - 1
            }
        };
        let flight = &mut self.flights[at];
        flight.count += 1;
        flight.clock[thread.index()] = self.trace.position(event) as u32 + 1;
        self.hand_on(at);
    }

    fn flight(&self, thread: ThreadId, on: ChannelsId) -> Option<usize> {
        self.flights.iter().position(|flight| (flight.thread, flight.on) == (thread, on))
    }

    /// What a call on these channels rests on when it enters.
    fn so_far(&self, on: ChannelsId) -> Clock {
        let mut clock = vec![0; self.open.len()];
        match self.trace.channels_of(on) {
            Channels::Every => join(&mut clock, &self.left_anywhere),
            Channels::Only(list) => {
                for &(channel, way) in list {
                    for gave in [false, true] {
                        if self.meets(
                            channel,
                            if gave { Direction::Gives } else { Direction::Takes },
                            way,
                        ) && let Some(left) = self.left.get(&(channel, gave))
                        {
                            join(&mut clock, left);
                        }
                    }
                }
                if !list.is_empty() {
                    join(&mut clock, &self.left_everywhere);
                }
            }
        }
        for flight in self.flights.iter().filter(|flight| self.leads(flight.on, on)) {
            join(&mut clock, &flight.clock);
        }
        clock
    }

    /// Tells the calls in flight to which one leads what it rests on.
    fn hand_on(&mut self, from: usize) {
        let mut changed = vec![from];
        while let Some(from) = changed.pop() {
            let (clock, on) = (self.flights[from].clock.clone(), self.flights[from].on);
            for to in 0..self.flights.len() {
                if to != from && self.leads(on, self.flights[to].on) {
                    let known = &mut self.flights[to].clock;
                    if clock.iter().zip(&*known).any(|(new, known)| new > known) {
                        join(known, &clock);
                        changed.push(to);
                    }
                }
            }
        }
    }

    fn leave(&mut self, event: EventId, calls: &mut Calls) {
        let thread = self.trace.thread_of(event);
        let on = self.open[thread.index()].pop().expect("the trace is valid");
        let at = self.flight(thread, on).expect("the call is in flight");
        let flight = &mut self.flights[at];
        flight.count -= 1;
        let clock = match flight.count {
            0 => self.flights.swap_remove(at).clock,
            _ => flight.clock.clone(),
        };
        let mut needed = Vec::new();
        for other in self.trace.thread_ids().filter(|&other| other != thread) {
            let count = clock[other.index()];
            let known = &mut self.known[thread.index()][other.index()];
            if count > *known {
                *known = count;
                needed.push(self.trace.thread_events(other)[count as usize - 1]);
            }
        }
        if !needed.is_empty() {
            calls.needed.insert(event, needed);
        }
        match self.trace.channels_of(on) {
            Channels::Every => join(&mut self.left_everywhere, &clock),
            Channels::Only([]) => return,
            Channels::Only(list) => {
                let taken = list.iter().filter(|(channel, _)| self.taken[channel.index()]);
                for &(channel, way) in taken {
                    for (uses, gave) in [(way.gives(), true), (way.takes(), false)] {
                        if uses {
                            let left = self.left.entry((channel, gave)).or_default();
                            left.resize(clock.len(), 0);
                            join(left, &clock);
                        }
                    }
                }
            }
        }
        join(&mut self.left_anywhere, &clock);
    }

    /// Whether a call on these channels leads to one on those, if it enters before that leaves.
    fn leads(&self, from: ChannelsId, to: ChannelsId) -> bool {
        match (self.trace.channels_of(from), self.trace.channels_of(to)) {
            (Channels::Only(from), Channels::Only(to)) => {
                let (few, many) = if from.len() <= to.len() { (from, to) } else { (to, from) };
                few.iter().any(|&(channel, way)| {
                    let other = many.binary_search_by_key(&channel, |&(other, _)| other);
                    let Ok(other) = other.map(|at| many[at].1) else { return false };
                    let (gives, takes) =
                        if from.len() <= to.len() { (way, other) } else { (other, way) };
                    self.meets(channel, gives, takes)
                })
            }
            (Channels::Only([]), _) | (_, Channels::Only([])) => false,
            (Channels::Every, _) | (_, Channels::Every) => true,
        }
    }

    /// Whether the channel leads from a call that uses it in one way to one that uses it in the other.
    fn meets(&self, channel: ChannelId, from: Direction, to: Direction) -> bool {
        if self.trace.is_delayed(channel) {
            return from.gives() && to.takes();
        }
        self.taken[channel.index()] && (from.gives() || to.gives())
    }
}

fn join(clock: &mut Clock, other: &Clock) {
    for (mine, &other) in clock.iter_mut().zip(other) {
        *mine = (*mine).max(other);
    }
}
