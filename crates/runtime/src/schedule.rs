//! Whose turn it is.
//!
//! In scheduled modes one thread has the turn, and keeps it for a number of visible operations;
//! then, or when it has to wait, it chooses who is next and sleeps until it is chosen itself.
//! Choices depend on the seed and on what the threads do, on nothing else: the same seed gives the
//! same run. Time is virtual: a timed wait is over when no thread can run otherwise.

use std::sync::atomic::Ordering::Relaxed;

use foretrace_recording::record::kind;

use crate::config::{Mode, mode};
use crate::explore;
use crate::futex::{before, now};
use crate::interpose::{clocks, semaphores};
use crate::replay::Choice;
use crate::sync::Pending;
use crate::thread::{Next, Thread};
use crate::world::{Held, State, World, hold};

mod choice;
use choice::LONGEST_TURN;
pub(crate) use choice::{Scheduler, Strategy};

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Waited {
    Ready,
    TimedOut,
    /// The thread is to end.
    Cancelled,
    /// A signal handler has run.
    Interrupted,
}

/// For how long a thread looks for input from outside before it looks at the world again, in
/// nanoseconds.
const GLANCE: i64 = 1_000_000;
/// A wait with a deadline is over after so many turns of others.
const LONGEST_WAIT: u32 = 2_000;

impl World {
    /// Chooses who is next, among those who can run; `None` if nobody can.
    fn choose(&mut self, me: u32) -> Option<u32> {
        if self.scheduler.strategy == Strategy::Explore {
            return explore::choose(self);
        }
        self.let_turns_pass();
        let can: Vec<u32> = self.before_end(self.runnable());
        if can.is_empty() {
            return None;
        }
        let scheduler = &mut self.scheduler;
        Some(match scheduler.strategy {
            Strategy::Random => can[(scheduler.draw() % can.len() as u64) as usize],
            Strategy::RoundRobin | Strategy::Replay | Strategy::Explore => {
                can.iter().copied().find(|&other| other > me).unwrap_or(can[0])
            }
            Strategy::Pct => {
                let mut demote = scheduler.granted >= LONGEST_TURN;
                while scheduler.changes.last().is_some_and(|&change| change <= scheduler.steps) {
                    scheduler.changes.pop();
                    demote = true;
                }
                if demote {
                    scheduler.lowest -= 1;
                    // The watchdog is none of them.
                    if let Some(entry) = self.threads.get_mut(me as usize) {
                        entry.priority = scheduler.lowest;
                    }
                }
                *can.iter().max_by_key(|&&other| self.threads[other as usize].priority)?
            }
        })
    }

    /// Time goes on while others run, however long they do: a wait ends after so many turns.
    fn let_turns_pass(&mut self) {
        for entry in &mut self.threads {
            let waits = entry.state == State::Live && !entry.timed_out && !entry.notified;
            if let (true, Some(deadline)) = (waits, entry.deadline) {
                entry.turns += 1;
                if entry.turns > LONGEST_WAIT {
                    entry.timed_out = true;
                    clocks::jump(deadline);
                }
            }
        }
        self.scheduler.since_timers += 1;
        if self.scheduler.since_timers > LONGEST_WAIT
            && let Some(due) = self.first_timer()
        {
            self.let_timers_expire(due);
        }
        self.kernel.expire_if_any();
    }

    /// When the first timer expires for which a thread waits.
    fn first_timer(&mut self) -> Option<i64> {
        let mut awaited = Vec::new();
        for entry in &self.threads {
            if let (State::Live, Pending::Ready(ready)) = (entry.state, entry.pending) {
                awaited.extend(ready.descriptors());
            }
        }
        self.kernel.first_timer(&awaited)
    }

    fn let_timers_expire(&mut self, due: i64) {
        clocks::jump(clocks::time_of(due));
        self.scheduler.since_timers = 0;
        self.kernel.expire_if_any();
    }

    /// What a thread waits for may be fed from outside by now, since another one has changed what
    /// an epoll object watches.
    fn look_who_feeds(&mut self) {
        for entry in &mut self.threads {
            if let (State::Live, Pending::Ready(ready)) = (entry.state, &mut entry.pending)
                && !ready.outside
                && ready.descriptors().any(|one| self.kernel.is_fed_from_outside(one))
            {
                ready.outside = true;
                entry.wake();
            }
        }
    }

    fn runnable(&self) -> Vec<u32> {
        let live = self.threads.iter().enumerate().filter(|(_, entry)| entry.state == State::Live);
        live.map(|(index, _)| index as u32).filter(|&index| self.enabled(index)).collect()
    }

    /// Like [`World::choose`]; when nobody can run, ends the wait that would end first. `None`:
    /// wait for those outside.
    fn choose_or_let_time_pass(&mut self, me: u32) -> Option<u32> {
        loop {
            if let Some(next) = self.choose(me) {
                return Some(next);
            }
            self.look_who_feeds();
            let blocks = self.threads.iter().any(|entry| entry.state == State::Outside);
            let outside =
                blocks || self.threads.iter().any(|entry| entry.awaits_outside().is_some());
            let over = self.threads.iter().all(|entry| entry.state == State::Done);
            let timer = self.first_timer();
            let (is_fed, is_planned) = (self.is_fed(), self.planned());
            let timed = self.threads.iter_mut().filter(|entry| {
                entry.state == State::Live
                    && !entry.timed_out
                    && !entry.notified
                    && entry.deadline.is_some()
            });
            let first =
                timed.min_by_key(|entry| entry.deadline.map(|time| (time.tv_sec, time.tv_nsec)));
            let deadline = first.as_ref().and_then(|entry| entry.deadline);
            let is_due = |time: i64| !outside || time <= clocks::nanoseconds(now());
            let sooner = |due: &i64| deadline.is_none_or(|time| *due <= clocks::nanoseconds(time));
            if let Some(due) = timer.filter(|&due| is_due(due)).filter(sooner) {
                self.let_timers_expire(due);
                continue;
            }
            match first {
                Some(entry)
                    if !outside || entry.deadline.is_some_and(|time| !before(now(), time)) =>
                {
                    entry.timed_out = true;
                    entry.deadline.into_iter().for_each(clocks::jump);
                }
                // Behind the end of its plan a replay ends where nothing more is known of the
                // outside.
                _ if over => return None,
                _ if is_fed && !blocks && is_planned => self.deadlock(),
                _ if is_fed && !blocks => crate::message::leave(123),
                _ if outside || timer.is_some() || crate::interpose::signals::handled() => {
                    return None;
                }
                _ => self.deadlock(),
            }
        }
    }

    /// Gives the turn to a thread, and wakes it.
    fn grant(&mut self, next: Option<u32>, me: u32) {
        self.scheduler.turn = next;
        if next.is_none() {
            clocks::idle_begins();
        }
        if let Some(next) = next {
            clocks::idle_ends();
            let most = self.allowance(next).max(1);
            self.scheduler.granted = self.scheduler.quantum().min(most);
            if next != me {
                self.threads[next as usize].wake();
            }
        }
    }

    /// The turn is free, or was taken from `me`: somebody else goes on.
    pub(crate) fn pass_on(&mut self, me: u32) {
        let next = self.choose_or_let_time_pass(me);
        self.grant(next, me);
    }
}

/// Whether a signal ends what the thread waits for, and has not done so yet.
fn can_be_interrupted(world: &World, thread: &Thread) -> bool {
    let entry = &world.threads[thread.index as usize];
    entry.pending.ends_with_signals() && !entry.interrupted
}

/// Sleeps until the turn is the thread's own.
fn await_turn(mut world: Held, thread: &mut Thread) -> Held {
    while world.scheduler.turn != Some(thread.index) {
        // While nobody can run, those who wait for the outside look for it themselves.
        let awaited = world.entry(thread.index).awaits_outside();
        let awaited = awaited.filter(|_| world.scheduler.turn.is_none());
        let can_be_interrupted = can_be_interrupted(&world, thread);
        drop(world);
        let is_there = match awaited {
            Some(ready) => ready.wait(GLANCE),
            None => !thread.gate.pass(None, || {
                thread.was_asked_to_post() || (thread.was_signalled() && can_be_interrupted)
            }),
        };
        world = hold();
        // Time passes meanwhile.
        if (is_there || awaited.is_some()) && world.scheduler.turn.is_none() {
            world.pass_on(thread.index);
        }
        if thread.was_asked_to_post() {
            semaphores::count_posts(&mut world, thread);
        }
        take_interruption(&mut world, thread);
        if can_be_interrupted && thread.was_signalled() {
            world.entry(thread.index).interrupted = true;
            if world.scheduler.turn.is_none() {
                world.pass_on(thread.index);
            }
        }
    }
    thread.announce();
    semaphores::record_posts(&mut world, thread);
    world
}

/// A thread from which the turn was taken comes back from outside: it waits for its turn before it
/// touches anything.
#[cold]
pub(crate) fn come_back(thread: &mut Thread) {
    let mut world = hold();
    let me = thread.index;
    thread.ousted.store(false, std::sync::atomic::Ordering::Relaxed);
    let entry = world.entry(me);
    if entry.state != State::Outside {
        return;
    }
    entry.state = State::Live;
    entry.next = Next::default();
    entry.ordinal = thread.ordinal;
    if world.scheduler.turn.is_none() {
        clocks::idle_ends();
        world.scheduler.turn = Some(me);
        thread.announce();
        thread.quantum = 0;
    } else {
        world = await_turn(world, thread);
        thread.quantum = if world.planned() { 0 } else { world.scheduler.granted };
    }
}

/// At a visible operation, when the thread's time is over: who does the next one?
#[cold]
pub(crate) fn decide(thread: &mut Thread) {
    if mode() != Mode::Scheduled {
        thread.quantum = u64::MAX;
        return;
    }
    if explore::is_on() {
        explore::arrive(thread);
    }
    let mut world = hold();
    let me = thread.index;
    let entry = world.entry(me);
    entry.next = thread.next;
    entry.ordinal = thread.ordinal;
    if world.planned() {
        world = follow(world, thread, true);
        drop(world);
        return;
    }
    world = pass_turn(world, thread);
    if world.planned() {
        drop(follow(world, thread, true));
    }
}

/// Lets whoever is chosen run, and returns when that is the calling thread.
pub(crate) fn pass_turn(mut world: Held, thread: &mut Thread) -> Held {
    let me = thread.index;
    world.pass_on(me);
    if world.scheduler.turn != Some(me) {
        world = await_turn(world, thread);
    }
    thread.quantum = world.scheduler.granted.max(1);
    world
}

/// Lets the plan of a replay go on, as far as it says nothing of the calling thread.
pub(crate) fn let_plan_pass(world: Held, thread: &mut Thread) {
    if world.planned() {
        drop(follow(world, thread, false));
    }
}

/// Follows the plan until the thread may go on.
fn follow(mut world: Held, thread: &mut Thread, consume: bool) -> Held {
    let me = thread.index;
    loop {
        match world.next_planned(me, consume) {
            Choice::Me(quantum) => {
                thread.quantum = quantum;
                return world;
            }
            Choice::Other(other) => {
                world.scheduler.turn = Some(other);
                world.entry(other).wake();
                world = await_turn(world, thread);
            }
            Choice::Over => {
                // The plan is done: from here on as in a run without one.
                if world.enabled(me) {
                    thread.quantum = 1;
                    return world;
                }
                world.pass_on(me);
                world = await_turn(world, thread);
            }
        }
    }
}

/// Waits until what `pending` says is there. The thread holds the world before and after, not
/// between.
pub(crate) fn block(
    mut world: Held,
    thread: &mut Thread,
    pending: Pending,
    deadline: Option<libc::timespec>,
) -> (Held, Waited) {
    let me = thread.index;
    let wakes = matches!(pending, Pending::Wake { .. });
    let site = thread.call_site;
    let entry = world.entry(me);
    entry.pending = pending;
    entry.interrupted = pending.ends_with_signals() && thread.was_signalled();
    thread.waits.store(!pending.ends_with_signals(), std::sync::atomic::Ordering::Relaxed);
    entry.deadline = deadline;
    entry.turns = 0;
    entry.ordinal = thread.ordinal;
    entry.next = Next { kind: if wakes { kind::WAKE } else { 0 }, site, address: 0, size: 0 };
    if !wakes {
        // What a wait on a condition variable left behind says nothing of this one.
        (entry.timed_out, entry.notified) = (false, false);
    }
    if mode() == Mode::Scheduled {
        if world.planned() {
            world = follow(world, thread, wakes);
        } else {
            world.pass_on(me);
            if world.scheduler.turn != Some(me) {
                world = await_turn(world, thread);
                if world.planned() {
                    world = follow(world, thread, wakes);
                }
            }
            thread.quantum = world.scheduler.granted.max(1);
        }
    } else {
        world = block_freely(world, thread);
    }
    let ready = world.available(me);
    let entry = world.entry(me);
    let (timed_out, interrupted) = (entry.timed_out, entry.interrupted);
    entry.pending = Pending::Nothing;
    entry.deadline = None;
    let cancelled = entry.cancelled && !entry.uncancellable;
    entry.interrupted = false;
    thread.waits.store(false, std::sync::atomic::Ordering::Relaxed);
    let waited = match (ready, timed_out) {
        (true, _) => Waited::Ready,
        (false, _) if interrupted && !cancelled => Waited::Interrupted,
        (false, true) => Waited::TimedOut,
        (false, false) => Waited::Cancelled,
    };
    (world, waited)
}

fn block_freely(mut world: Held, thread: &mut Thread) -> Held {
    let me = thread.index;
    world.blocked += 1;
    while !world.enabled(me) {
        if world.hangs() && !crate::interpose::signals::handled() {
            world.deadlock();
        }
        let entry = world.entry(me);
        let deadline = if entry.timed_out || entry.notified { None } else { entry.deadline };
        drop(world);
        let woken = thread.gate.pass(deadline, || thread.was_asked_to_post());
        world = hold();
        if thread.was_asked_to_post() {
            semaphores::count_posts(&mut world, thread);
            semaphores::record_posts(&mut world, thread);
        }
        take_interruption(&mut world, thread);
        if !woken && !world.enabled(me) {
            let entry = world.entry(me);
            entry.timed_out = true;
            // A wait needs its lock again; everything else is over.
            if !matches!(entry.pending, Pending::Wake { .. }) {
                break;
            }
        }
    }
    world.blocked -= 1;
    world
}

/// If a signal handler has interrupted the wait of a thread for a semaphore, that is over.
fn take_interruption(world: &mut World, thread: &Thread) {
    let me = thread.index;
    if thread.interrupted.swap(false, Relaxed)
        && matches!(world.entry(me).pending, Pending::Semaphore(_))
    {
        world.entry(me).interrupted = true;
        if mode() == Mode::Scheduled && world.scheduler.turn.is_none() {
            world.pass_on(me);
        }
    }
}

/// Something was given back: those who waited for it look again. (In scheduled modes the choice
/// looks.)
pub(crate) fn changed(world: &mut World) {
    if mode() != Mode::Free || world.blocked == 0 {
        return;
    }
    for index in 0..world.threads.len() as u32 {
        if world.threads[index as usize].pending != Pending::Nothing && world.enabled(index) {
            world.threads[index as usize].wake();
        }
    }
}

/// A thread is at its end, and passes the turn on.
pub(crate) fn retire(mut world: Held, thread: &mut Thread) {
    if mode() != Mode::Scheduled {
        if world.blocked > 0 && world.hangs() && !crate::interpose::signals::handled() {
            world.deadlock();
        }
        return;
    }
    let me = thread.index;
    if world.planned()
        && let Choice::Other(other) = world.next_planned(me, false)
    {
        world.scheduler.turn = Some(other);
        world.entry(other).wake();
        return;
    }
    world.pass_on(me);
}

/// The first turn of a new thread.
pub(crate) fn await_first_turn(thread: &mut Thread) {
    if mode() == Mode::Scheduled {
        let world = await_turn(hold(), thread);
        thread.quantum = if world.planned() { 0 } else { world.scheduler.granted };
    }
}

/// The thread does not mind if others run now.
pub(crate) fn give_way(thread: &mut Thread) {
    if mode() != Mode::Scheduled {
        crate::futex::system_call(libc::SYS_sched_yield, [0; 6]);
        return;
    }
    let me = thread.index;
    let mut world = hold();
    if world.scheduler.strategy == Strategy::Pct {
        world.scheduler.lowest -= 1;
        let lowest = world.scheduler.lowest;
        world.entry(me).priority = lowest;
    }
    if world.scheduler.is_ending {
        world.entry(me).gave_way += 1;
    }
    // Most often the next visible operation is soon enough. Not so in a loop that has none.
    let again = std::mem::replace(&mut thread.quantum, 0) == 0;
    if again && world.scheduler.turn == Some(me) && !world.planned() {
        world.pass_on(me);
        if world.scheduler.turn != Some(me) {
            drop(await_turn(world, thread));
        }
    } else if again
        && world.planned()
        && let Some(other) = world.awaited(me)
    {
        world.scheduler.turn = Some(other);
        world.entry(other).wake();
        drop(await_turn(world, thread));
    }
}
