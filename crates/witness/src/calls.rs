//! Which calls keep their order: the row *leave-call* of section 3 of `docs/theory.md`.
//!
//! **Computes.** For each `leave-call` the `enter-call` events that have to be executed before it:
//! of each other thread the last one on which the call rests. What an earlier leave of the same
//! thread needs is not named again.
//!
//! **How.** In recorded order, by *pools*: each channel has one of those who have given there and
//! one of those who have taken. A call pours what it rests on, and itself, into the pools of its
//! channels, and draws from those that lead to it, as long as it is in flight. What is once in a
//! pool stays there. Whatever is new in a pool is handed on at once to the calls in flight that
//! draw from it, and from these to the pools into which they pour.
//!
//! **Invariant.** After each event, every call in flight has what it rests on so far, and every
//! pool what it would give to a call that enters now.
//!
//! **Cost.** For each enter, threads × channels of the call, and a step for each channel of each
//! call in flight that gets to know of it.

use foretrace_trace::{ChannelId, Channels, ChannelsId, EventId, Op, ThreadId, Trace, ops};
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

    /// The enters that must be executed before this leave, at most one of each other thread. Those
    /// of earlier calls follow from the order of their threads, and those that an earlier leave of
    /// this thread needs are not here.
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

/// Of each thread the last enter, as its number + 1; 0 for none. Empty: none of any thread.
type Clock = Vec<u32>;

/// The calls of one thread on the same channels that are in flight.
struct Flight {
    on: ChannelsId,
    enters: Vec<EventId>,
    clock: Clock,
}

#[derive(Clone, Default)]
struct Pool {
    clock: Clock,
    /// The calls in flight that draw from it.
    drawing: Vec<u32>,
}

/// From which pools calls on the same channels draw, and into which they pour.
#[derive(Clone, Default)]
struct Route {
    draws: Vec<u32>,
    pours: Vec<u32>,
}

struct Pass<'t> {
    trace: &'t Trace,
    /// Two for each channel, then that of the calls on every channel, and that of all calls.
    pools: Vec<Pool>,
    routes: Vec<Route>,
    flights: Vec<Flight>,
    numbers: FxHashMap<(ThreadId, ChannelsId), u32>,
    /// The open calls of each thread.
    stacks: Vec<Vec<u32>>,
    /// What earlier leaves of each thread need.
    known: Vec<Clock>,
    /// What has to be handed on: the pool, the thread and its last enter.
    news: Vec<(u32, ThreadId, u32)>,
    kept: Kept,
}

impl<'t> Pass<'t> {
    fn new(trace: &'t Trace) -> Self {
        let mut is_taken = vec![false; trace.channels().len()];
        for (_, op) in trace.other_ops() {
            let Op::EnterCall { on, .. } = op else { continue };
            let Channels::Only(list) = trace.channels_of(on) else { continue };
            for (channel, direction) in list {
                is_taken[channel.index()] |= direction.takes();
            }
        }
        let lists = (0..trace.channel_list_count()).map(ChannelsId::from);
        Pass {
            trace,
            pools: vec![Pool::default(); 2 * is_taken.len() + 2],
            routes: lists.map(|on| route(trace, &is_taken, on)).collect(),
            flights: Vec::new(),
            numbers: FxHashMap::default(),
            stacks: vec![Vec::new(); trace.threads().len()],
            known: vec![Clock::new(); trace.threads().len()],
            news: Vec::new(),
            kept: Kept::default(),
        }
    }

    fn run(mut self) -> Kept {
        for (event, op) in self.trace.other_ops() {
            match op {
                Op::EnterCall { on, .. } => self.enter(event, on),
                Op::LeaveCall => self.leave(event),
                ops!(memory object data sync mark) => {}
            }
        }
        self.kept
    }

    fn enter(&mut self, event: EventId, on: ChannelsId) {
        let thread = self.trace.thread_of(event);
        let next = self.flights.len() as u32;
        let number = *self.numbers.entry((thread, on)).or_insert(next);
        if number == next {
            let (enters, clock) = (Vec::new(), Clock::new());
            self.flights.push(Flight { on, enters, clock });
        }
        self.stacks[thread.index()].push(number);
        let flight = &mut self.flights[number as usize];
        let route = &self.routes[on.index()];
        if flight.enters.is_empty() {
            flight.clock.clear();
            flight.clock.resize(self.stacks.len(), 0);
            for &pool in &route.draws {
                let pool = &mut self.pools[pool as usize];
                join(&mut flight.clock, &pool.clock);
                pool.drawing.push(number);
            }
        }
        flight.enters.push(event);
        flight.clock[thread.index()] = event.0 + 1;
        for &pool in &route.pours {
            let known = &mut self.pools[pool as usize].clock;
            known.resize(flight.clock.len(), 0);
            let entries = flight.clock.iter().zip(known).enumerate();
            for (other, (&enter, _)) in entries.filter(|(_, (enter, known))| *enter > *known) {
                self.news.push((pool, ThreadId::from(other), enter));
            }
        }
        self.hand_on();
    }

    /// Hands on what is new in pools until nothing is.
    fn hand_on(&mut self) {
        while let Some((pool, thread, enter)) = self.news.pop() {
            let Pool { clock, drawing } = &mut self.pools[pool as usize];
            clock.resize(self.stacks.len(), 0);
            if clock[thread.index()] >= enter {
                continue;
            }
            clock[thread.index()] = enter;
            for &number in &*drawing {
                let flight = &mut self.flights[number as usize];
                if flight.clock[thread.index()] < enter {
                    flight.clock[thread.index()] = enter;
                    let pours = self.routes[flight.on.index()].pours.iter();
                    self.news.extend(pours.map(|&pool| (pool, thread, enter)));
                }
            }
        }
    }

    fn leave(&mut self, event: EventId) {
        let thread = self.trace.thread_of(event).index();
        let Some(number) = self.stacks[thread].pop() else { return };
        self.keep(event, thread, number);
        let flight = &mut self.flights[number as usize];
        flight.enters.pop();
        if flight.enters.is_empty() {
            for &pool in &self.routes[flight.on.index()].draws {
                let drawing = &mut self.pools[pool as usize].drawing;
                let at = drawing.iter().rposition(|&other| other == number);
                drawing.swap_remove(at.expect("a call in flight draws"));
            }
        }
    }

    /// Notes what a leave needs beyond what earlier ones of its thread do.
    fn keep(&mut self, leave: EventId, thread: usize, number: u32) {
        let clock = &self.flights[number as usize].clock;
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

/// The pools of calls on these channels: what *leads to* says, channel by channel.
fn route(trace: &Trace, is_taken: &[bool], on: ChannelsId) -> Route {
    let everywhere = 2 * is_taken.len() as u32;
    let anywhere = everywhere + 1;
    let Channels::Only(list) = trace.channels_of(on) else {
        return Route { draws: vec![anywhere], pours: vec![everywhere, anywhere] };
    };
    let mut route = Route::default();
    for &(channel, direction) in list.iter().filter(|(channel, _)| is_taken[channel.index()]) {
        let ChannelId(number) = channel;
        let (gave, took) = (2 * number, 2 * number + 1);
        let (gives, takes) = (direction.gives(), direction.takes());
        let is_delayed = trace.is_delayed(channel);
        let draws = [(gave, takes || !is_delayed), (took, gives && !is_delayed)];
        route.draws.extend(draws.iter().filter(|(_, draws)| *draws).map(|(pool, _)| pool));
        let pours = [(gave, gives), (took, takes)];
        route.pours.extend(pours.iter().filter(|(_, pours)| *pours).map(|(pool, _)| pool));
    }
    if !list.is_empty() {
        route.draws.push(everywhere);
        route.pours.push(anywhere);
    }
    route
}

fn join(clock: &mut Clock, other: &Clock) {
    clock.iter_mut().zip(other).for_each(|(mine, &other)| *mine = (*mine).max(other));
}
