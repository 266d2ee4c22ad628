//! The threads of a parallel region, and what each of them knows of itself.

use std::cell::Cell as Local;
use std::ffi::{c_int, c_void};
use std::marker::PhantomPinned;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::Relaxed};

use foretrace_recording::file::table;

use super::cell::Cell;
use super::dispatch::Loop;
use super::settings::Settings;
use super::tasks::{Pool, Task};
use crate::futex::{Spin, system_call};
use crate::interpose::barriers::{
    pthread_barrier_destroy, pthread_barrier_init, pthread_barrier_wait,
};
use crate::thread::enter;
use crate::world::hold;

/// What the threads of a parallel region share.
pub(super) struct Team {
    pub(super) size: u32,
    /// How many parallel regions enclose each other here, and how many of them have more than one
    /// thread.
    pub(super) level: u32,
    pub(super) active_level: u32,
    /// The number and team of whoever began the region, and of those around it: outermost first.
    pub(super) ancestors: Vec<(u32, u32)>,
    /// Which of the threads that no region has created is outermost: 0 is the main thread.
    pub(super) initial: u32,
    barrier: Local<libc::pthread_barrier_t>,
    /// One for each construct that shares work, in the order in which all threads meet them.
    constructs: Spin,
    shared: Local<Vec<Arc<Shared>>>,
    /// What `copyprivate` hands around.
    pub(super) copied: AtomicPtr<c_void>,
    /// For explicit tasks.
    pub(super) pool: Option<Pool>,
}

/// What the threads of a team share of one construct.
pub(super) struct Shared {
    /// Decides who gets what.
    pub(super) cell: Cell,
    /// The addresses of the semaphores of an ordered loop, one for each iteration; 0 as long as
    /// nobody has asked.
    pub(super) turns: Local<usize>,
    /// Whose turn it is, where nothing is recorded.
    pub(super) turn: AtomicU32,
}

// SAFETY: threads use the barrier by functions that are made for that, and touch what is shared
// under `constructs`. The rest is not changed, or may be by any thread.
unsafe impl Sync for Team {}
// SAFETY: as above; nothing in it belongs to the thread that made it.
unsafe impl Send for Team {}
// SAFETY: `turns` is touched under the team's `constructs`, and the rest is atomic.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

fn is_main_thread() -> bool {
    let [process, thread] =
        [libc::SYS_getpid, libc::SYS_gettid].map(|ask| system_call(ask, [0; 6]));
    process == thread
}

impl Team {
    pub(super) fn new(size: u32, founder: Option<&Member>) -> Arc<Team> {
        let mut ancestors = Vec::new();
        let (mut level, mut active_level, mut initial) = (0, 0, 0);
        if let Some(founder) = founder {
            ancestors.clone_from(&founder.team.ancestors);
            ancestors.push((founder.number, founder.team.size));
            level = founder.team.level + 1;
            active_level = founder.team.active_level + u32::from(size > 1);
            initial = founder.team.initial;
        } else if !is_main_thread() {
            static OTHERS: AtomicU32 = AtomicU32::new(1);
            initial = OTHERS.fetch_add(1, Relaxed);
        }
        let team = Arc::new(Team {
            size,
            level,
            active_level,
            ancestors,
            initial,
            // SAFETY: zeros are a barrier that was not made yet.
            barrier: Local::new(unsafe { std::mem::zeroed() }),
            constructs: Spin::new(),
            shared: Local::new(Vec::new()),
            copied: AtomicPtr::new(null_mut()),
            pool: Pool::new(size),
        });
        if size > 1 {
            // SAFETY: the barrier stays where it is as long as the team, and nobody uses it yet.
            unsafe { pthread_barrier_init(team.barrier.as_ptr(), std::ptr::null(), size) };
            let address = (team.barrier.as_ptr() as u64).to_le_bytes();
            enter(|_| hold().tables.table(table::LOCK_NAME, &[&address, b"team"]));
        }
        team
    }

    /// All threads of the team meet here, and all its tasks are done behind it.
    pub(super) fn meet(&self) {
        match &self.pool {
            Some(pool) => pool.meet(self, current().number),
            None => self.meet_alone(),
        }
    }

    /// All threads of the team meet here.
    pub(super) fn meet_alone(&self) {
        if self.size > 1 {
            // SAFETY: the barrier was made with the team.
            unsafe { pthread_barrier_wait(self.barrier.as_ptr()) };
        }
    }

    /// What is shared of the construct with that number. The first who comes makes it.
    pub(super) fn construct(&self, number: usize) -> Arc<Shared> {
        self.constructs.with(|| {
            // SAFETY: `constructs` is held, and nobody touches the list without it.
            let all = unsafe { &mut *self.shared.as_ptr() };
            while all.len() <= number {
                let (turns, turn) = (Local::new(0), AtomicU32::new(0));
                all.push(Arc::new(Shared { cell: Cell::new(), turns, turn }));
            }
            all[number].clone()
        })
    }

    /// The addresses of the semaphores of an ordered loop.
    pub(super) fn turns(&self, shared: &Shared, iterations: u64) -> usize {
        self.constructs.with(|| {
            if shared.turns.get() == 0 {
                shared.turns.set(super::cell::addresses(iterations + 1));
            }
            shared.turns.get()
        })
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        if self.size > 1 {
            // SAFETY: it was made with the team, and no thread of the team is there any more.
            unsafe { pthread_barrier_destroy(self.barrier.as_ptr()) };
        }
    }
}

/// One thread of a team.
pub(super) struct Member {
    pub(super) team: Arc<Team>,
    pub(super) number: u32,
    /// The task that it runs, and those that wait until that is over.
    pub(super) task: Arc<Task>,
    pub(super) suspended: Vec<Arc<Task>>,
    /// How many constructs that share work it has met.
    constructs: usize,
    pub(super) settings: Settings,
    /// What `num_threads` says of the next parallel region.
    pub(super) wanted: Option<u32>,
    /// The loop that it is in, if that is handed out piece by piece.
    pub(super) work: Option<Loop>,
    /// What it was before it became this.
    pub(super) outer: *mut Member,
    _shared: PhantomPinned,
}

thread_local! {
    static CURRENT: Local<*mut Member> = const { Local::new(null_mut()) };
    static NUMBERS: Local<*mut [c_int; 2]> = const { Local::new(null_mut()) };
}

/// What the calling thread is now. One that no region has created is alone in its team.
pub(super) fn current<'a>() -> &'a mut Member {
    let mut member = CURRENT.get();
    if member.is_null() {
        let settings = Settings::of_environment();
        member = Box::into_raw(Box::new(Member::new(Team::new(1, None), 0, settings)));
        CURRENT.set(member);
    }
    // SAFETY: it is the calling thread's own, and there until `leave`. Callers may have several
    // such references at a time, which `PhantomPinned` allows for; none uses one that it had before
    // it let others change the same.
    unsafe { &mut *member }
}

/// The calling thread's two numbers, at an address that no other thread touches: compiled code
/// reads them.
pub(super) fn numbers() -> *mut [c_int; 2] {
    if NUMBERS.get().is_null() {
        NUMBERS.set(Box::into_raw(Box::new([0, 0])));
    }
    NUMBERS.get()
}

impl Member {
    pub(super) fn new(team: Arc<Team>, number: u32, settings: Settings) -> Member {
        let root = team.pool.as_ref().map(|pool| pool.root(number));
        let task = root.unwrap_or_else(|| Arc::new(Task::implicit(number)));
        Member {
            team,
            number,
            task,
            suspended: Vec::new(),
            constructs: 0,
            settings,
            wanted: None,
            work: None,
            outer: null_mut(),
            _shared: PhantomPinned,
        }
    }

    /// The number of the next construct that shares work.
    pub(super) fn next_construct(&mut self) -> usize {
        self.constructs += 1;
        self.constructs - 1
    }

    /// The calling thread becomes this until [`leave`].
    pub(super) fn enter(mut self) {
        self.outer = CURRENT.get();
        CURRENT.set(Box::into_raw(Box::new(self)));
    }
}

/// The calling thread is what it was before.
pub(super) fn leave() {
    // SAFETY: `enter` has made it, on this thread, and nobody refers to it any more.
    let member = unsafe { Box::from_raw(CURRENT.get()) };
    CURRENT.set(member.outer);
}
