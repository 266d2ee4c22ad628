//! Forces a schedule on the program, and reports the outcome.

mod finals;

use std::collections::VecDeque;

use foretrace_recording::plan::{
    BY_ITSELF, GoalMemory, MAGIC, NEXT, PlanStep, WATCHED, goal, outcome, place_hash,
};
use foretrace_recording::record::kind;
use foretrace_recording::site::{SYSTEM, Site};

use crate::message;
use crate::sync::Pending;
use crate::thread::{Next, Thread};
use crate::watched::Watched;
use crate::world::{Entry, State, World};

/// What a thread at a decision learns from the plan.
pub(crate) enum Choice {
    /// It goes on, for so many visible operations (0: until the next decision).
    Me(u64),
    /// Another one is next.
    Other(u32),
    /// There is no plan any more.
    Over,
}

pub(crate) struct Replay {
    threads: Vec<(u32, u32)>,
    steps: Vec<PlanStep>,
    finals: Vec<PlanStep>,
    goal: u64,
    /// How many steps are done.
    done: usize,
    /// How many of the final operations were carried out, once they were all reached.
    carried_out: Option<usize>,
    /// What the watched steps were about to touch.
    watched: Vec<Next>,
    pub(crate) memory: Watched,
    /// Threads that have freed a block earlier than the plan says, once for each.
    early_frees: Vec<u32>,
    /// Threads and the values that they ask for, in the order of their calls.
    values: VecDeque<(u32, u64)>,
    answer: Vec<u8>,
    answered: bool,
}

impl Replay {
    /// Reads a plan. `answer` is the path of the file that gets the outcome.
    pub(crate) fn read(plan: &[u8], answer: &[u8]) -> Option<Replay> {
        let mut words = plan
            .chunks_exact(8)
            .map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()));
        if words.next()? != MAGIC {
            return None;
        }
        let (threads, steps, finals, goal) =
            (words.next()?, words.next()?, words.next()?, words.next()?);
        let mut step = || {
            let (a, b, place) = (words.next()?, words.next()?, words.next()?);
            let (thread, ordinal) = (a as u32, (a >> 32) as u32);
            Some(PlanStep { thread, ordinal, kind: b as u32, event: (b >> 32) as u32, place })
        };
        let mut parents = Vec::new();
        for _ in 0..threads {
            let parent = step()?;
            parents.push((parent.thread, parent.ordinal));
        }
        let steps: Vec<PlanStep> = (0..steps).map(|_| step()).collect::<Option<_>>()?;
        let finals: Vec<PlanStep> = (0..finals).map(|_| step()).collect::<Option<_>>()?;
        let has_next = steps.iter().chain(&finals).any(|step| step.ordinal == NEXT);
        let (thread, to, start, size) =
            (words.next()?, words.next()? as u32, words.next()?, words.next()?);
        let (thread, from) = (thread as u32, (thread >> 32) as u32);
        let values = words.next()?;
        let mut value = || Some((words.next()? as u32, words.next()?));
        Some(Replay {
            memory: Watched::new(goal, GoalMemory { thread, from, to, start, size }, has_next),
            values: (0..values).map(|_| value()).collect::<Option<_>>()?,
            threads: parents,
            steps,
            finals,
            goal,
            done: 0,
            carried_out: None,
            early_frees: Vec::new(),
            watched: Vec::new(),
            answer: [answer, &[0]].concat(),
            answered: false,
        })
    }

    /// Which thread of the plan the parent's child number `place` is.
    pub(crate) fn planned_child(&self, parent: Option<u32>, place: u32) -> Option<u32> {
        let wanted = (parent?, place);
        let found = self.threads.iter().skip(1).position(|&known| known == wanted);
        found.map(|index| index as u32 + 1)
    }

    /// Which of the waiters a signal wakes: the one that the plan lets go on first.
    pub(crate) fn whom_to_wake(&self, waiters: &[u32], threads: &[Entry]) -> Option<usize> {
        let next_of = |waiter: u32| {
            let entry = &threads[waiter as usize];
            let left = &self.steps[self.done.min(self.steps.len())..];
            left.iter().position(|step| {
                entry.planned == Some(step.thread) && [entry.ordinal, NEXT].contains(&step.ordinal)
            })
        };
        let first =
            waiters.iter().enumerate().filter_map(|(at, &waiter)| Some((next_of(waiter)?, at)));
        first.min().map(|(_, at)| at)
    }

    /// Writes the outcome, once.
    fn answer(&mut self, words: &[u64]) {
        if self.answered {
            return;
        }
        self.answered = true;
        let all: Vec<u8> = [&[outcome::MAGIC], words]
            .concat()
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | libc::O_CLOEXEC;
        // SAFETY: the name ends with a 0, and the bytes are a vector's.
        unsafe {
            let file = libc::open(self.answer.as_ptr().cast(), flags, 0o644);
            libc::write(file, all.as_ptr().cast(), all.len());
            libc::close(file);
        }
    }

    /// Whether it waits for an assertion to fail.
    pub(crate) fn awaits_failure(&self) -> bool {
        self.goal == goal::ASSERTION
    }

    /// The free of a thread that is the next step, if it is one.
    fn due_free(&self) -> Option<u32> {
        let step = self.steps.get(self.done)?;
        (step.ordinal == NEXT && step.kind as u8 == kind::FREE).then_some(step.thread)
    }

    /// A thread frees a block: now or later a step is done.
    pub(crate) fn freed(&mut self, planned: Option<u32>) {
        if let Some(thread) = planned {
            self.early_frees.push(thread);
            self.skip_frees();
        }
    }

    /// Passes the frees that have happened already.
    fn skip_frees(&mut self) {
        while let Some(thread) = self.due_free()
            && let Some(at) = self.early_frees.iter().position(|&early| early == thread)
        {
            self.early_frees.swap_remove(at);
            self.done += 1;
        }
    }

    /// Whether its plan is that of a verified program.
    pub(crate) fn is_of_verification(&self) -> bool {
        self.steps.iter().chain(&self.finals).any(|step| step.ordinal == NEXT)
    }

    /// The next value that a thread asks for.
    pub(crate) fn value_for(&mut self, planned: Option<u32>) -> Option<u64> {
        let at = self.values.iter().position(|&(thread, _)| Some(thread) == planned)?;
        self.values.remove(at).map(|(_, value)| value)
    }

    /// A thread of the plan fails, in a call from `site`, and its operation `ordinal` is next:
    /// whether that is the predicted failure. Steps that other threads have left do not matter any
    /// more.
    fn is_failure(&self, planned: Option<u32>, ordinal: u32, site: u64) -> bool {
        let (true, [last]) = (self.awaits_failure() && !self.answered, &self.finals[..]) else {
            return false;
        };
        let left = &self.steps[self.done.min(self.steps.len())..];
        let reached = match last.kind as u8 {
            kind::ASSERT => ordinal == last.ordinal,
            _ => ordinal <= last.ordinal,
        };
        let is_elsewhere = last.ordinal == NEXT && last.place != 0 && place_of(site) != last.place;
        planned == Some(last.thread)
            && reached
            && !is_elsewhere
            && left.iter().all(|step| step.thread != last.thread)
    }

    fn diverged(&mut self, expected: PlanStep, seen: Option<&Entry>) -> ! {
        let (ordinal, seen_kind, place) = seen.map_or((u64::MAX, 0, 0), |entry| {
            (u64::from(entry.ordinal), u64::from(entry.next.kind), place_of(entry.next.site))
        });
        let (line, file) = seen.map_or((0, &[][..]), |entry| place_text(entry.next.site));
        let mut words = vec![
            outcome::DIVERGED,
            self.done as u64,
            u64::from(expected.thread),
            u64::from(expected.ordinal),
            u64::from(expected.kind),
            u64::from(expected.event),
            ordinal,
            seen_kind,
            place,
            line,
            file.len() as u64,
        ];
        words.extend(padded(file));
        self.answer(&words);
        foretrace_replayed();
        message::say("the replay diverged from its plan");
        message::leave(123);
    }

    /// A call is not the recorded one.
    fn other_call(&mut self, call: u32, why: u64, site: u64) {
        let (line, file) = place_text(site);
        let mut words = vec![
            outcome::OTHER_CALL,
            self.done as u64,
            u64::from(call),
            why,
            line,
            file.len() as u64,
        ];
        words.extend(padded(file));
        self.answer(&words);
        foretrace_replayed();
    }

    /// The process ends, or no thread of it can go on, before the plan is done.
    pub(crate) fn finished(&mut self) {
        if self.awaits_failure() && self.done == self.steps.len() {
            return self.answer(&[outcome::NOT_REACHED, self.done as u64]);
        }
        self.answer(&[outcome::UNFINISHED, self.done as u64]);
    }
}

/// Bytes as words.
fn padded(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks(8).map(|part| {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        u64::from_le_bytes(word)
    })
}

/// Where a debugger stops: the replay is over, one way or the other.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn foretrace_replayed() {
    std::hint::black_box(());
}

/// The site of an operation that a thread is about to do.
fn loaded(site: u64) -> Option<&'static Site> {
    // SAFETY: it is 0, or a hook was given it by code of the module that the site is in. That code
    // is about to run or is on the thread's stack, so the module is loaded.
    unsafe { (site as *const Site).as_ref() }
}

/// [`place_hash`] of a site, 0 if it is unknown.
fn place_of(site: u64) -> u64 {
    let Some(site) = loaded(site) else { return 0 };
    let file = crate::module::file_of(site);
    place_hash(file, site.line, site.column & !SYSTEM)
}

fn place_text(site: u64) -> (u64, &'static [u8]) {
    let Some(site) = loaded(site) else { return (0, &[]) };
    (u64::from(site.line) | u64::from(site.column & !SYSTEM) << 32, crate::module::file_of(site))
}

/// Whether an operation that is about to happen can be the recorded one. (What a try or timed
/// operation comes to is known only afterwards.)
fn same_kind(next: u8, recorded: u32) -> bool {
    let class = |kind: u8| match kind {
        kind::ACQUIRE_FAILED => kind::ACQUIRE,
        kind::SEM_WAIT_FAILED => kind::SEM_WAIT,
        kind::ATOMIC_LOAD | kind::ATOMIC_STORE => kind::RMW,
        kind::LOAD_RANGE => kind::LOAD,
        kind::STORE_RANGE => kind::STORE,
        other => other,
    };
    class(next) == class(recorded as u8)
}

/// Whether an operation that is about to happen can be that of the plan. (The place is not known
/// where a handler begins.)
fn fits(next: Next, step: PlanStep) -> bool {
    let is_elsewhere = next.site != 0 && step.place != 0 && place_of(next.site) != step.place;
    same_kind(next.kind, step.kind) && !is_elsewhere
}

fn stores(kind: u8) -> bool {
    matches!(kind, kind::STORE | kind::STORE_RANGE | kind::ATOMIC_STORE | kind::RMW)
}

fn atomic(kind: u8) -> bool {
    matches!(kind, kind::ATOMIC_LOAD | kind::ATOMIC_STORE | kind::RMW)
}

/// Whether two accesses touch a common byte, and one of them stores.
fn conflict(a: Next, b: Next) -> bool {
    let overlap = a.address < b.address + b.size && b.address < a.address + a.size;
    overlap && (stores(a.kind) || stores(b.kind))
}

impl World {
    /// A call that depends on the outside is not the recorded one: the replay is over. It has
    /// diverged, unless it had come to its end before.
    pub(crate) fn other_call(&mut self, thread: &Thread, call: u32, why: u64) -> ! {
        if self.planned()
            && let Some(replay) = &mut self.replay
        {
            replay.other_call(call, why, thread.call_site);
            message::say("the replay diverged from its recorded inputs");
        }
        message::leave(123);
    }

    /// Whether the plan has nothing more for a thread to do. (Where no thread may be able to go on,
    /// it has for all of them.)
    pub(crate) fn needs_no_more_of(&self, thread: &Thread) -> bool {
        let Some(replay) = self.replay.as_ref().filter(|_| self.planned()) else { return false };
        let left = replay.steps[replay.done.min(replay.steps.len())..].iter();
        let mut left = left.chain(&replay.finals);
        replay.goal != goal::STUCK && left.all(|step| Some(step.thread) != thread.planned)
    }

    /// Whether a plan is being followed.
    pub(crate) fn planned(&self) -> bool {
        self.replay.as_ref().is_some_and(|replay| replay.carried_out != Some(replay.finals.len()))
    }

    fn by_plan(&self, planned: u32) -> Option<u32> {
        self.threads
            .iter()
            .position(|entry| entry.planned == Some(planned))
            .map(|index| index as u32)
    }

    /// Who has the next step, if that is somebody else.
    pub(crate) fn awaited(&self, me: u32) -> Option<u32> {
        let replay = self.replay.as_ref()?;
        self.by_plan(replay.steps.get(replay.done)?.thread).filter(|&thread| thread != me)
    }

    /// What the plan says to a thread that stands at a decision; `consume`: before its next visible
    /// operation.
    pub(crate) fn next_planned(&mut self, me: u32, consume: bool) -> Choice {
        let Some(mut replay) = self.replay.take() else { return Choice::Over };
        let choice = self.next_of(&mut replay, me, consume);
        self.replay = Some(replay);
        choice
    }

    fn next_of(&mut self, replay: &mut Replay, me: u32, consume: bool) -> Choice {
        if let Some(&step) = replay.steps.get(replay.done) {
            let Some(thread) = self.by_plan(step.thread) else { replay.diverged(step, None) };
            let entry = &self.threads[thread as usize];
            if entry.state == State::Done || entry.ordinal > step.ordinal {
                replay.diverged(step, Some(entry));
            }
            if thread != me {
                return Choice::Other(thread);
            }
            if !self.can_go_on(me, step.kind) {
                replay.diverged(step, Some(&self.threads[me as usize]));
            }
            let entry = &self.threads[me as usize];
            if entry.ordinal < step.ordinal && step.ordinal != NEXT {
                return Choice::Me(if consume {
                    u64::from(step.ordinal - entry.ordinal)
                } else {
                    0
                });
            }
            if !consume {
                return Choice::Me(0);
            }
            if !fits(entry.next, step) {
                if step.ordinal == NEXT {
                    return Choice::Me(u64::from(entry.pending == Pending::Nothing));
                }
                replay.diverged(step, Some(entry));
            }
            if step.kind & WATCHED != 0 {
                replay.watched.push(entry.next);
            }
            replay.done += 1;
            replay.skip_frees();
            return Choice::Me(u64::from(entry.pending == Pending::Nothing));
        }
        let Some(carried_out) = replay.carried_out else {
            return self.reach_finals(replay, me, consume);
        };
        // The two accesses of a race, one directly after the other.
        let Some(next) = replay.finals.get(carried_out) else { return Choice::Over };
        match self.by_plan(next.thread) {
            Some(thread) if thread == me => {
                replay.carried_out = Some(carried_out + 1);
                Choice::Me(1)
            }
            Some(thread) => Choice::Other(thread),
            None => Choice::Over,
        }
    }

    /// Whether a thread's pending wait is over. Only a wake that was timed out or spurious in the
    /// recording needs no notification.
    fn can_go_on(&mut self, me: u32, step_kind: u32) -> bool {
        let entry = &mut self.threads[me as usize];
        let wakes_itself =
            matches!(entry.pending, Pending::Wake { .. }) && step_kind & BY_ITSELF != 0;
        if wakes_itself && !entry.notified {
            entry.timed_out = true;
        }
        self.wake_up(me);
        if self.enabled(me) {
            return true;
        }
        // Descriptors: its time is over, or the outside makes it wait; the call itself will say.
        let entry = &mut self.threads[me as usize];
        let Pending::Ready(ready) = entry.pending else { return false };
        if entry.handles_signal(self.inputs.as_deref()) {
            entry.interrupted = true;
            return true;
        }
        entry.timed_out = entry.deadline.is_some();
        entry.timed_out || ready.outside
    }

    /// Time is virtual: a thread that sleeps wakes up, at its time or by the signal that ended its
    /// sleep in the recorded run.
    fn wake_up(&mut self, me: u32) {
        let entry = &mut self.threads[me as usize];
        if entry.pending == Pending::Sleep {
            entry.interrupted = entry.handles_signal(self.inputs.as_deref());
            entry.timed_out = !entry.interrupted;
        }
    }

    /// Whether the last step of the plan was this operation of a thread. A plan has a call behind
    /// all that it rests on: what it waits for and is not there does not come in time.
    pub(crate) fn is_last_step(&self, thread: u32, ordinal: u32) -> bool {
        let planned = self.threads[thread as usize].planned;
        let replay = self.replay.as_ref().filter(|_| self.planned());
        let last = replay.and_then(|replay| replay.steps.get(replay.done.checked_sub(1)?));
        last.is_some_and(|step| Some(step.thread) == planned && step.ordinal == ordinal)
    }

    /// The calling thread is about to fail, for good.
    pub(crate) fn fails(&mut self, thread: &mut Thread) {
        let Some(replay) = &mut self.replay else { return };
        if replay.is_failure(thread.planned, thread.ordinal, thread.call_site) {
            let given = self.inputs.as_ref().map_or(0, |inputs| inputs.given);
            replay.answer(&[outcome::CONFIRMED, replay.done as u64, given]);
            foretrace_replayed();
            // The plan is done; and the thread is not disturbed on its way.
            replay.done = replay.steps.len();
            replay.carried_out = Some(replay.finals.len());
            thread.quantum = u64::MAX;
        }
    }
}

#[cfg(test)]
mod tests;
