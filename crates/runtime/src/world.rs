//! What all threads share, behind one lock: threads, synchronisation objects, the order of stamps,
//! the schedule.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use foretrace_recording::file::{ALL_THREADS, ending, table};
use foretrace_recording::record::kind;

use crate::config::{Mode, mode};
use crate::explore;
use crate::futex::Lock;
use crate::inputs::Inputs;
use crate::kernel::Kernel;
use crate::kernel::ready::Ready;
use crate::log::{self, Writer, head};
use crate::message;
use crate::replay::Replay;
use crate::schedule::Scheduler;
use crate::sync::{Objects, Pending};
use crate::thread::{Next, Thread, pending};

/// What a thread is doing, for the scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// It runs, or could.
    Live,
    /// It blocks where we cannot see it: in a system call of the program.
    Outside,
    /// It is behind its last event.
    Done,
}

/// One thread, as the others see it.
pub(crate) struct Entry {
    pub(crate) state: State,
    /// What it waits for.
    pub(crate) pending: Pending,
    /// When its wait ends by itself (monotonic).
    pub(crate) deadline: Option<libc::timespec>,
    /// How many turns of others it has waited.
    pub(crate) turns: u32,
    /// Its wait on a condition variable was ended by a signal or broadcast.
    pub(crate) notified: bool,
    /// Its wait was ended by time.
    pub(crate) timed_out: bool,
    /// A signal ends its wait.
    pub(crate) interrupted: bool,
    /// Somebody wants it to end.
    pub(crate) cancelled: bool,
    /// It does not want to be cancelled now.
    pub(crate) uncancellable: bool,
    /// The operation that it is about to do, when it stands at a decision.
    pub(crate) next: Next,
    /// Ordinal of that operation.
    pub(crate) ordinal: u32,
    /// Which thread of the plan it is.
    pub(crate) planned: Option<u32>,
    /// For the scheduler that goes by priorities.
    pub(crate) priority: i64,
    /// It is about to end the process, and waits for the others: see [`crate::ending`].
    pub(crate) ends_process: bool,
    /// While another thread waits so: how often this one gave way, and how many operations it had
    /// done before.
    pub(crate) gave_way: u32,
    pub(crate) before_end: u32,
    thread: *mut Thread,
}

/// An atomic field of the thread of an entry.
macro_rules! shared {
    ($entry:ident.$field:ident) => {
        // SAFETY: threads are never freed. The field is one of those that others may touch at any
        // time: there is no reference here to the thread as a whole.
        unsafe { &(*$entry.thread).$field }
    };
}

impl Entry {
    /// Lets the thread look at the world again.
    pub(crate) fn wake(&self) {
        shared!(self.gate).open();
    }

    /// The thread's turn is taken away: it asks again at its next operation.
    pub(crate) fn ousted(&self) -> &AtomicBool {
        shared!(self.ousted)
    }

    /// Whether a signal came whose handler it has yet to run.
    pub(crate) fn was_signalled(&self) -> bool {
        shared!(self.pending).load(Relaxed) & pending::SIGNALS != 0
    }

    pub(crate) fn busy(&self) -> &AtomicBool {
        shared!(self.busy)
    }

    /// Which thread of the recorded run it is, in a replay.
    pub(crate) fn recorded(&self) -> Option<u32> {
        // SAFETY: threads are never freed, and this has not changed since before the entry was
        // made.
        unsafe { (*self.thread).recorded }
    }

    /// Whether a handler ran in the recorded run where the thread waits now.
    pub(crate) fn handles_signal(&self, inputs: Option<&Inputs>) -> bool {
        let asleep = self.pending == Pending::Sleep;
        inputs.is_some_and(|inputs| inputs.has_signal_at(self.recorded(), self.ordinal, asleep))
    }

    /// How many visible operations it has done; a glance, it may go on meanwhile.
    pub(crate) fn operations(&self) -> u32 {
        // SAFETY: threads are never freed, and the thread itself writes it atomically.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.thread).ordinal) }.load(Relaxed)
    }

    /// What it waits for, if that can come from outside of the process.
    pub(crate) fn awaits_outside(&self) -> Option<Ready> {
        match self.pending {
            Pending::Ready(ready) if ready.outside && self.state == State::Live => Some(ready),
            _ => None,
        }
    }

    pub(crate) fn kernel_id(&self) -> u32 {
        shared!(self.kernel_id).load(Relaxed)
    }
}

pub(crate) struct World {
    /// All threads, by number; they are never freed.
    pub(crate) threads: Vec<Entry>,
    /// Which of ours a handle belongs to: the newest with that handle.
    pub(crate) handles: Vec<(libc::pthread_t, u32)>,
    pub(crate) objects: Objects,
    pub(crate) kernel: Kernel,
    pub(crate) scheduler: Scheduler,
    pub(crate) replay: Option<Box<Replay>>,
    /// What the recorded run got from outside, in a replay.
    pub(crate) inputs: Option<Box<Inputs>>,
    pub(crate) tables: Writer,
    /// The common stream of scheduled recordings.
    pub(crate) events: Writer,
    /// How many threads block, in free-running mode.
    pub(crate) blocked: u32,
    stamp: u64,
}

struct Shared(UnsafeCell<Option<World>>);
// SAFETY: `Held` is the only way to the content once it is made, and there is one at a time: LOCK
// sees to that.
unsafe impl Sync for Shared {}

static LOCK: Lock = Lock::new();
static WORLD: Shared = Shared(UnsafeCell::new(None));

/// The world, held by the caller.
pub(crate) struct Held(());

impl std::ops::Deref for Held {
    type Target = World;
    fn deref(&self) -> &World {
        // SAFETY: whoever has this value holds LOCK. The world is there: it is made before the
        // first thread of ours, and nobody holds it before.
        unsafe { (*WORLD.0.get()).as_ref().unwrap_unchecked() }
    }
}

impl std::ops::DerefMut for Held {
    fn deref_mut(&mut self) -> &mut World {
        // SAFETY: as above, and the value is borrowed exclusively.
        unsafe { (*WORLD.0.get()).as_mut().unwrap_unchecked() }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        LOCK.release();
    }
}

/// Takes hold of the world.
#[inline]
pub(crate) fn hold() -> Held {
    LOCK.acquire();
    Held(())
}

/// Gives back a hold that was forgotten.
pub(crate) fn let_go() {
    LOCK.release();
}

/// Makes the world; once, before there are threads.
pub(crate) fn create(
    scheduler: Scheduler,
    replay: Option<Box<Replay>>,
    inputs: Option<Box<Inputs>>,
) {
    let world = World {
        threads: Vec::new(),
        handles: Vec::new(),
        objects: Objects::default(),
        kernel: Kernel::default(),
        scheduler,
        replay,
        inputs,
        tables: log::tables(),
        events: if explore::is_on() {
            explore::writer(ALL_THREADS)
        } else {
            Writer::new(ALL_THREADS)
        },
        blocked: 0,
        stamp: 0,
    };
    // SAFETY: this happens once, before the process has a thread that could hold it.
    unsafe { *WORLD.0.get() = Some(world) };
}

impl World {
    /// A new thread, child of `parent`.
    pub(crate) fn add_thread(&mut self, parent: Option<&mut Thread>) -> *mut Thread {
        let index = self.threads.len() as u32;
        let thread = Box::leak(Box::new(Thread::new(index)));
        let (parent_index, place) = match parent {
            Some(parent) => {
                let place = parent.children;
                parent.children += 1;
                if let Some(replay) = &self.replay {
                    thread.planned = replay.planned_child(parent.planned, place);
                }
                if let Some(inputs) = &self.inputs {
                    thread.recorded = inputs.child(parent.recorded, place);
                }
                (u64::from(parent.index), u64::from(place))
            }
            None => {
                thread.planned = self.replay.is_some().then_some(0);
                thread.recorded = self.inputs.is_some().then_some(0);
                (u64::MAX, 0)
            }
        };
        if self.inputs.as_ref().is_some_and(|inputs| inputs.has_signals(thread.recorded)) {
            thread.pending.store(pending::RECORDED, Relaxed);
        }
        let words = [u64::from(index), parent_index, place].map(u64::to_le_bytes);
        self.tables.table(table::THREAD, &[words.as_flattened()]);
        thread.writer =
            if mode() == Mode::Scheduled { &raw mut self.events } else { &raw mut thread.own };
        let pointer: *mut Thread = thread;
        self.kernel.has_several_threads |= !self.threads.is_empty();
        self.threads.push(Entry {
            state: State::Live,
            pending: Pending::Nothing,
            deadline: None,
            turns: 0,
            notified: false,
            timed_out: false,
            interrupted: false,
            cancelled: false,
            uncancellable: false,
            next: Next { kind: kind::BEGIN, ..Next::default() },
            ordinal: 0,
            planned: thread.planned,
            priority: self.scheduler.priority(),
            ends_process: false,
            gave_way: 0,
            before_end: 0,
            thread: pointer,
        });
        pointer
    }

    /// The thread with that number.
    pub(crate) fn entry(&mut self, index: u32) -> &mut Entry {
        &mut self.threads[index as usize]
    }

    /// Writes a stamped record of a thread.
    #[inline]
    pub(crate) fn stamped<const N: usize>(
        &mut self,
        thread: &mut Thread,
        kind: u8,
        detail: u8,
        site: u64,
        operands: [u64; N],
    ) {
        self.stamp += 1;
        let mut words = [0; 4];
        words[..N].copy_from_slice(&operands);
        words[N] = self.stamp;
        let writer = thread.writer();
        let head = head(kind, detail, site);
        match N {
            0 => writer.record(head, [words[0]]),
            1 => writer.record(head, [words[0], words[1]]),
            2 => writer.record(head, [words[0], words[1], words[2]]),
            _ => writer.record(head, words),
        }
    }

    /// The thread with a handle.
    pub(crate) fn by_handle(&self, handle: libc::pthread_t) -> Option<u32> {
        self.handles.iter().rev().find(|(known, _)| *known == handle).map(|&(_, index)| index)
    }

    /// No thread can go on: says so, and ends the process.
    pub(crate) fn deadlock(&mut self) -> ! {
        log::ends(ending::DEADLOCK, 0);
        if let Some(replay) = &mut self.replay {
            replay.finished();
        }
        message::say("the program is deadlocked: every thread waits for another one");
        message::leave(124);
    }

    /// The process ends.
    pub(crate) fn exit(&mut self, thread: Option<&mut Thread>, status: i32) {
        if let Some(thread) = thread {
            let site = thread.call_site;
            self.stamped(thread, kind::EXIT, 0, site, [status as u64]);
        }
        log::ends(ending::EXIT, status as u32);
        if let Some(replay) = &mut self.replay {
            replay.finished();
        }
    }

    /// Whether all threads that have not ended are blocked for ever.
    pub(crate) fn hangs(&self) -> bool {
        (0..self.threads.len() as u32).all(|index| {
            let entry = &self.threads[index as usize];
            entry.state == State::Done || (entry.deadline.is_none() && !self.enabled(index))
        })
    }
}
