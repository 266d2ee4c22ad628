//! Which calls keep their order.
//!
//! **Computes.** For each `leave-call` the `enter-call` events of other threads that it must
//! follow, the last one of each thread; without those that an earlier leave of its thread must
//! follow.
//!
//! **Follows.** `docs/theory.md`, sections 2 and 3: what a call rests on. What a call rests on so
//! far is known as long as it is in flight. A call that enters takes over what those rest on that
//! lead to it, and hands on what is new to the calls in flight to which it leads, and so on.
//!
//! **Cost.** For each enter, a look at every call in flight, and at each two of these that lead to
//! each other; threads × channels of the call for each enter and leave.

use rustc_hash::FxHashMap;

use foretrace_trace::{
    ChannelId, Channels, ChannelsId, Direction, EventId, Op, ThreadId, Trace, ops,
};

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
                    ops!(memory object data sync mark) => {}
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
    /// The calls in flight to which it leads.
    leads_to: Vec<u32>,
}

struct Run<'t> {
    trace: &'t Trace,
    /// Whether a call takes from a channel.
    taken: Vec<bool>,
    flights: Vec<Flight>,
    /// What has to be handed on: by which call, and of which thread how many events.
    news: Vec<(u32, ThreadId, u32)>,
    /// The channels of the open calls of each thread.
    open: Vec<Vec<ChannelsId>>,
    /// On what those rest that have left: by channel and by whether they gave or took, on every
    /// channel, and on any.
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
            news: Vec::new(),
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
            None => self.take_off(thread, on),
        };
        let entered = self.trace.position(event) as u32 + 1;
        let flight = &mut self.flights[at];
        flight.count += 1;
        flight.clock[thread.index()] = entered;
        self.news.push((at as u32, thread, entered));
        self.hand_on();
    }

    fn flight(&self, thread: ThreadId, on: ChannelsId) -> Option<usize> {
        self.flights.iter().position(|flight| (flight.thread, flight.on) == (thread, on))
    }

    /// A call on these channels, with what it rests on when it enters, and to whom it leads.
    fn take_off(&mut self, thread: ThreadId, on: ChannelsId) -> usize {
        let mut clock = self.left_for(on);
        let new = self.flights.len() as u32;
        let mut leads_to = Vec::new();
        for other in 0..self.flights.len() {
            if self.leads(self.flights[other].on, on) {
                join(&mut clock, &self.flights[other].clock);
                self.flights[other].leads_to.push(new);
            }
            if self.leads(on, self.flights[other].on) {
                leads_to.push(other as u32);
            }
        }
        for &to in &leads_to {
            let known = &mut self.flights[to as usize].clock;
            for (at, (known, &count)) in known.iter_mut().zip(&clock).enumerate() {
                if count > *known {
                    *known = count;
                    self.news.push((to, ThreadId::from(at), count));
                }
            }
        }
        self.flights.push(Flight { thread, on, count: 0, clock, leads_to });
        new as usize
    }

    /// What a call on these channels rests on because of calls that have left.
    fn left_for(&self, on: ChannelsId) -> Clock {
        let mut clock = vec![0; self.open.len()];
        let Channels::Only(list) = self.trace.channels_of(on) else {
            join(&mut clock, &self.left_anywhere);
            return clock;
        };
        for &(channel, way) in list {
            for (gave, from) in [(true, Direction::Gives), (false, Direction::Takes)] {
                if self.meets(channel, from, way)
                    && let Some(left) = self.left.get(&(channel, gave))
                {
                    join(&mut clock, left);
                }
            }
        }
        if !list.is_empty() {
            join(&mut clock, &self.left_everywhere);
        }
        clock
    }

    /// Tells the calls in flight what is new to those that lead to them.
    fn hand_on(&mut self) {
        while let Some((from, thread, count)) = self.news.pop() {
            let leads_to = std::mem::take(&mut self.flights[from as usize].leads_to);
            for &to in &leads_to {
                let known = &mut self.flights[to as usize].clock[thread.index()];
                if count > *known {
                    *known = count;
                    self.news.push((to, thread, count));
                }
            }
            self.flights[from as usize].leads_to = leads_to;
        }
    }

    /// The call is over for all others.
    fn land(&mut self, at: usize) -> Clock {
        let clock = self.flights.swap_remove(at).clock;
        let (gone, moved) = (at as u32, self.flights.len() as u32);
        for flight in &mut self.flights {
            flight.leads_to.retain(|&to| to != gone);
            flight.leads_to.iter_mut().filter(|to| **to == moved).for_each(|to| *to = gone);
        }
        clock
    }

    fn leave(&mut self, event: EventId, calls: &mut Calls) {
        let thread = self.trace.thread_of(event);
        let on = self.open[thread.index()].pop().expect("the trace is valid");
        let at = self.flight(thread, on).expect("the call is in flight");
        let flight = &mut self.flights[at];
        flight.count -= 1;
        let clock = match flight.count {
            0 => self.land(at),
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

    /// Whether the channel leads from a call that uses it in one way to one that uses it in the
    /// other.
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
