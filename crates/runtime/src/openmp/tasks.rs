//! Explicit tasks.
//!
//! A task that is deferred is run by a thread of its own, its *runner*, in the place of a thread of
//! the team that is idle, or by a task that waits for it. Idle are the threads in a barrier.
//! Whoever finds both a task and an idle thread forks the runner: the one who creates the task, who
//! comes to a barrier, or who has joined another runner. A task that waits for its children
//! (`taskwait`, the end of a `taskgroup`) runs those itself that nobody has begun, and joins the
//! runners of the others. When all threads are in a barrier, the first one joins all runners that
//! are left.
//!
//! **What depends on the order of threads** is who runs which task. Each step that decides it
//! counts one hidden cell of the team up ([`Cell::step`]), so these steps have their recorded order
//! in every schedule that is looked at. What tasks do between them has not. A task with `depend`
//! clauses has a cell of its own, for who waits for it and whom it waits for.
//!
//! Tied tasks stay on their thread and suspend only for their own descendants, as OpenMP wants it;
//! untied ones do the same. Run at once by their creator, as OpenMP allows, are tasks in teams of
//! one thread, `final` ones and those below them, and all where nothing is recorded. Whether a task
//! is deferred never depends on the schedule.

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::*};

use super::cell::Cell;
use super::dependences::{Dependence, Dependences};
use super::references::refer_to;
use super::settings::Settings;
use super::task_data::{Data, FINAL, HAS_DESTRUCTORS, IS_DETACHED, free, header};
use super::team::{Member, Team, current, leave};
use super::{Number, Place};
use crate::config::{Mode, mode};
use crate::interpose::process::refuse;
use crate::interpose::threads::{pthread_create, pthread_join};
use crate::schedule;
use crate::thread::enter;

/// Whether the program has explicit tasks. If not, barriers are nothing but barriers.
fn are_used() -> bool {
    static KNOWN: AtomicU8 = AtomicU8::new(2);
    if KNOWN.load(Relaxed) == 2 {
        KNOWN.store(u8::from(refer_to(c"__kmpc_omp_task_alloc")), Relaxed);
    }
    KNOWN.load(Relaxed) == 1
}

fn is_recording() -> bool {
    !matches!(mode(), Mode::Unset | Mode::Off)
}

/// What a team has for its tasks.
pub(super) struct Pool {
    /// Counts the steps that decide who runs what.
    steps: Cell,
    /// Touched in these steps only.
    state: UnsafeCell<State>,
    /// The implicit tasks.
    roots: Vec<Arc<Task>>,
}

#[derive(Default)]
struct State {
    /// Threads in a barrier in whose place nobody runs a task.
    idle: Vec<u32>,
    /// Tasks that can run, and that nobody has begun.
    ready: VecDeque<Arc<Task>>,
}

/// A task, and the thread in whose place it is to run.
type Grant = (Arc<Task>, u32);

impl State {
    fn offer_task(&mut self, task: Arc<Task>) -> Option<Grant> {
        let Some(number) = self.idle.pop() else {
            self.ready.push_back(task);
            return None;
        };
        Some(task.begins(number))
    }

    /// A thread gets a task of another one: what it has created itself is behind what it did
    /// before, and others may still come.
    fn offer_thread(&mut self, number: u32) -> Option<Grant> {
        let found = self.ready.iter().position(|task| task.root != number);
        let Some(task) = found.and_then(|at| self.ready.remove(at)) else {
            self.idle.push(number);
            return None;
        };
        Some(task.begins(number))
    }

    /// No other thread will come.
    fn offer_rest(&mut self) -> Vec<Grant> {
        let mut grants = Vec::new();
        while !self.idle.is_empty()
            && let Some(task) = self.ready.pop_front()
        {
            grants.extend(self.offer_task(task));
        }
        grants
    }
}

impl Pool {
    /// For a team of so many threads, if it needs one.
    pub(super) fn new(size: u32) -> Option<Pool> {
        if size == 1 || !is_recording() || !are_used() {
            return None;
        }
        let roots = (0..size).map(|number| Arc::new(Task::implicit(number))).collect();
        Some(Pool { steps: Cell::new(), state: UnsafeCell::default(), roots })
    }

    pub(super) fn root(&self, number: u32) -> Arc<Task> {
        self.roots[number as usize].clone()
    }

    fn step<R>(&self, work: impl FnOnce(&mut State) -> R) -> R {
        // SAFETY: nobody else is in a step of the pool meanwhile, and only steps touch the state.
        self.steps.step(|| work(unsafe { &mut *self.state.get() }))
    }

    /// A thread of the team is idle.
    pub(super) fn is_idle(&self, number: u32) {
        let grant = self.step(|state| state.offer_thread(number));
        grant.into_iter().for_each(run_elsewhere);
    }

    /// Waits for the end of all tasks of the team: all its threads are in a barrier. One that
    /// nobody has begun waits for the place of one that has; those, or what they are below, are
    /// among the open ones.
    pub(super) fn end_all(&self) {
        let mut open: Vec<Arc<Task>> = Vec::new();
        self.roots.iter().for_each(|root| open.append(&mut std::mem::take(root.own()).children));
        let mut over = Vec::new();
        while !open.is_empty() {
            let before = over.len();
            self.step(State::offer_rest).into_iter().for_each(run_elsewhere);
            for task in std::mem::take(&mut open) {
                match self.status(&task) {
                    Status::Ready | Status::Waiting => {
                        open.push(task);
                        continue;
                    }
                    Status::Begun => task.join(self),
                    Status::Done => {}
                }
                open.append(&mut std::mem::take(task.own()).children);
                over.push(task);
            }
            if over.len() == before {
                refuse("tasks of OpenMP wait for each other");
            }
        }
        // SAFETY: all of these are over, and so is what was below them.
        over.iter().for_each(|task| unsafe { free(task.data) });
    }

    fn status(&self, task: &Task) -> Status {
        // Known without a step: the caller, or one that is over, has waited for it.
        match task.runner.load(Acquire) {
            JOINED => Status::Done,
            _ => self.step(|_| task.guarded().status),
        }
    }

    /// A task can run.
    fn offer(&self, task: Arc<Task>) {
        let grant = self.step(|state| {
            task.guarded().status = Status::Ready;
            state.offer_task(task)
        });
        grant.into_iter().for_each(run_elsewhere);
    }

    /// A task was run: those that waited for it, and for nothing else, can run.
    fn was_run(&self, task: &Task) {
        let Some(order) = &task.order else { return };
        let successors = order.step(|| {
            task.guarded().is_over = true;
            std::mem::take(&mut task.guarded().successors)
        });
        for successor in successors {
            if successor.waits_less(1) {
                self.offer(successor);
            }
        }
    }

    /// A barrier of all threads of the team, behind which all its tasks are done.
    pub(super) fn meet(&self, team: &Team, number: u32) {
        // Its own tasks that begin before it is idle may come before what it did until here: let
        // them.
        if !self.roots[number as usize].own().children.is_empty() {
            (0..4 * team.size).for_each(|_| _ = enter(schedule::give_way));
        }
        self.is_idle(number);
        team.meet_alone();
        if number == 0 {
            self.end_all();
            self.step(|state| state.idle.clear());
        }
        team.meet_alone();
    }
}

/// A task, explicit or implicit.
pub(super) struct Task {
    data: *mut Data,
    /// The thread whose implicit task it is below.
    root: u32,
    is_final: bool,
    /// If it has `depend` clauses: counts the steps that decide what it waits for, and who waits
    /// for it.
    order: Option<Cell>,
    /// The runner: not 0 once there is one.
    runner: AtomicU64,
    /// Touched in steps of the pool, or of the task, only.
    guarded: UnsafeCell<Guarded>,
    /// Touched by whoever runs the task, and behind its end by those who wait for it.
    own: UnsafeCell<Own>,
}

#[derive(Default)]
struct Guarded {
    status: Status,
    /// In whose place its runner runs.
    number: u32,
    /// How many tasks must be over before it can run.
    waits_for: usize,
    /// It is over, and those that wait for it until then.
    is_over: bool,
    successors: Vec<Arc<Task>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Status {
    /// It waits for others.
    Waiting,
    /// It can run, and nobody has begun it.
    Ready,
    /// Its runner has begun it, or is about to.
    Begun,
    /// It is over; or somebody who waits for it, or has created it, runs it.
    #[default]
    Done,
}

/// What a task knows of its children.
#[derive(Default)]
struct Own {
    children: Vec<Arc<Task>>,
    /// How many there were when each open `taskgroup` began.
    groups: Vec<usize>,
    dependences: Dependences,
}

// SAFETY: see `guarded` and `own`, which say who touches them and when. The data is memory that any
// thread may use.
unsafe impl Sync for Task {}
// SAFETY: as above.
unsafe impl Send for Task {}

impl Task {
    pub(super) fn implicit(root: u32) -> Task {
        Task {
            data: null_mut(),
            root,
            is_final: false,
            order: None,
            runner: AtomicU64::new(0),
            guarded: UnsafeCell::default(),
            own: UnsafeCell::default(),
        }
    }

    fn explicit(data: *mut Data, parent: &Task, is_ordered: bool) -> Task {
        // SAFETY: compiled code has got the data from us, and gives it for the new task.
        let is_final = parent.is_final || unsafe { header(data).flags } & FINAL != 0;
        Task { data, is_final, order: is_ordered.then(Cell::new), ..Task::implicit(parent.root) }
    }

    /// Its runner begins it, in the place of a thread of the team.
    fn begins(self: Arc<Self>, number: u32) -> Grant {
        let guarded = self.guarded();
        (guarded.status, guarded.number) = (Status::Begun, number);
        (self, number)
    }

    #[allow(clippy::mut_from_ref)]
    fn guarded(&self) -> &mut Guarded {
        // SAFETY: callers are in a step of the pool or of the task, or the only ones who know the
        // task yet; and they let go of the reference before they ask again.
        unsafe { &mut *self.guarded.get() }
    }

    #[allow(clippy::mut_from_ref)]
    fn own(&self) -> &mut Own {
        // SAFETY: the caller runs the task, or has waited for its end; and it lets go of the
        // reference before it asks again.
        unsafe { &mut *self.own.get() }
    }

    /// It waits for so many tasks less; whether for none any more.
    fn waits_less(&self, tasks: usize) -> bool {
        let none_left = || {
            let guarded = self.guarded();
            guarded.waits_for -= tasks;
            guarded.waits_for == 0
        };
        self.order.as_ref().is_none_or(|order| order.step(none_left))
    }

    /// It waits for these tasks; whether all of them are over.
    fn waits_for(self: &Arc<Self>, predecessors: &[Arc<Task>]) -> bool {
        let Some(order) = &self.order else { return true };
        // One more, so that it does not begin before it is known what it waits for.
        order.step(|| self.guarded().waits_for = predecessors.len() + 1);
        let is_over = |predecessor: &&Arc<Task>| {
            let look = || {
                let guarded = predecessor.guarded();
                if !guarded.is_over {
                    guarded.successors.push(self.clone());
                }
                guarded.is_over
            };
            predecessor.order.as_ref().is_none_or(|order| order.step(look))
        };
        let over = predecessors.iter().filter(is_over).count();
        self.waits_less(over + 1)
    }

    pub(super) fn is_final(&self) -> bool {
        self.is_final
    }

    /// Runs it on the calling thread.
    fn run(self: &Arc<Self>) {
        let outer = std::mem::replace(&mut current().task, self.clone());
        // SAFETY: the data is compiled code's own, and there until the task is over.
        unsafe {
            if let Some(entry) = (*self.data).entry {
                entry(0, self.data);
            }
            let has_destructors = header(self.data).flags & HAS_DESTRUCTORS != 0;
            if let (true, Some(destructors)) = (has_destructors, (*self.data).destructors) {
                destructors(0, self.data);
            }
        }
        current().task = outer;
    }

    /// Waits for the children from number `first` on: runs those that nobody has begun, then joins
    /// the others.
    fn await_children(&self, first: usize) {
        let team = current().team.clone();
        let Some(pool) = &team.pool else { return };
        let mut open: Vec<Arc<Task>> = self.own().children.iter().skip(first).cloned().collect();
        let mut begun = VecDeque::new();
        while !open.is_empty() {
            open.retain(|child| match pool.claim(child) {
                Status::Ready => {
                    child.run();
                    pool.was_run(child);
                    false
                }
                Status::Begun => {
                    begun.push_back(child.clone());
                    false
                }
                Status::Done => false,
                Status::Waiting => true,
            });
            // The first one that waits for others waits for one that has begun.
            if !open.is_empty() {
                let Some(child) = begun.pop_front() else {
                    refuse("tasks of OpenMP wait for each other");
                };
                child.join(pool);
            }
        }
        begun.iter().for_each(|child| child.join(pool));
    }

    /// Waits for the end of the runner that there is or will be. Another may run in its place then.
    fn join(&self, pool: &Pool) {
        let mut runner = self.runner.load(Acquire);
        while runner == 0 {
            enter(schedule::give_way);
            runner = self.runner.load(Acquire);
        }
        // SAFETY: it is the handle of the runner, which nobody has joined: those who wait for a
        // task have it from the one that created it.
        unsafe { pthread_join(runner as libc::pthread_t, null_mut()) };
        self.runner.store(JOINED, Release);
        pool.is_idle(self.guarded().number);
    }

    /// Waits for the children from number `first` on and all below them.
    fn await_descendants(&self, first: usize) {
        self.await_children(first);
        for child in self.own().children.iter().skip(first) {
            child.await_descendants(0);
        }
    }
}

/// In the place of a runner: nobody has to join it.
const JOINED: u64 = u64::MAX;

impl Pool {
    /// What a task is like that the caller waits for. If nobody has begun it, the caller has to run
    /// it.
    fn claim(&self, task: &Arc<Task>) -> Status {
        // Nothing to wait for, and known without a step: it is over, and the caller has seen that.
        if task.runner.load(Acquire) == JOINED {
            return Status::Done;
        }
        // Its runner may begin now.
        enter(schedule::give_way);
        self.step(|state| {
            let status = task.guarded().status;
            if status == Status::Ready {
                state.ready.retain(|other| !Arc::ptr_eq(other, task));
                task.guarded().status = Status::Done;
                task.runner.store(JOINED, Release);
            }
            status
        })
    }
}

/// What a runner begins with.
struct Birth {
    team: Arc<Team>,
    number: u32,
    settings: Settings,
    task: Arc<Task>,
}

extern "C-unwind" fn runs(birth: *mut c_void) -> *mut c_void {
    // SAFETY: `run_elsewhere` has made it, for this thread alone.
    let Birth { team, number, settings, task } = *unsafe { Box::from_raw(birth.cast::<Birth>()) };
    let Some(pool) = &team.pool else { return null_mut() };
    Member::new(team.clone(), number, settings).enter();
    task.run();
    pool.was_run(&task);
    leave();
    null_mut()
}

/// Forks the runner of a task.
fn run_elsewhere((task, number): Grant) {
    let member = current();
    let (team, settings) = (member.team.clone(), member.settings);
    let birth = Box::into_raw(Box::new(Birth { team, number, settings, task: task.clone() }));
    let mut runner = 0;
    // SAFETY: the handle is a local variable, and the thread takes what was made for it.
    if unsafe { pthread_create(&mut runner, null(), runs, birth.cast()) } != 0 {
        refuse("a thread for a task of OpenMP cannot be created");
    }
    task.runner.store(runner, Release);
}

/// A task is created: it is deferred, or run at once.
pub(super) fn create(data: *mut Data, dependences: &[Dependence], may_be_deferred: bool) {
    let member = current();
    let (team, parent) = (member.team.clone(), member.task.clone());
    // SAFETY: compiled code has got the data from us, and gives it for the new task.
    let flags = unsafe { header(data).flags };
    if flags & IS_DETACHED != 0 {
        refuse("the program uses detached tasks of OpenMP");
    }
    let task = Arc::new(Task::explicit(data, &parent, !dependences.is_empty()));
    let may_defer = may_be_deferred && team.size > 1 && is_recording() && !task.is_final;
    match &team.pool {
        None if may_defer => {
            refuse("a library that was loaded later uses explicit tasks of OpenMP")
        }
        Some(pool) if may_defer => {
            task.guarded().status = Status::Waiting;
            parent.own().children.push(task.clone());
            let predecessors = parent.own().dependences.add(&task, dependences);
            if task.waits_for(&predecessors) {
                pool.offer(task);
            }
        }
        _ => {
            if !dependences.is_empty() {
                parent.await_children(0);
            }
            task.run();
            parent.keep(task);
        }
    }
}

impl Task {
    /// A child was run at once: it is kept only as long as there is something below it.
    fn keep(&self, child: Arc<Task>) {
        child.runner.store(JOINED, Release);
        if child.own().children.is_empty() {
            // SAFETY: the child is over, and nothing is below it.
            unsafe { free(child.data) };
        } else {
            self.own().children.push(child);
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __kmpc_omp_task(_: *const Place, _: Number, data: *mut Data) -> c_int {
    create(data, &[], true);
    0
}

/// A task whose `if` clause says no: the compiled code calls it itself.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __kmpc_omp_task_begin_if0(_: *const Place, _: Number, data: *mut Data) {
    let member = current();
    let task = Arc::new(Task::explicit(data, &member.task, false));
    member.suspended.push(std::mem::replace(&mut member.task, task));
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __kmpc_omp_task_complete_if0(_: *const Place, _: Number, _: *mut Data) {
    let member = current();
    if let Some(parent) = member.suspended.pop() {
        let task = std::mem::replace(&mut member.task, parent.clone());
        parent.keep(task);
    }
}

/// The calling task waits for its children.
pub(super) fn await_all() {
    current().task.clone().await_children(0);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_omp_taskwait(_: *const Place, _: Number) -> c_int {
    await_all();
    0
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_omp_taskyield(_: *const Place, _: Number, _: c_int) -> c_int {
    0
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_taskgroup(_: *const Place, _: Number) {
    begin_group();
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_end_taskgroup(_: *const Place, _: Number) {
    end_group();
}

/// All tasks that the calling task creates from here on, and those below them, are in a group.
pub(super) fn begin_group() {
    let own = current().task.own();
    own.groups.push(own.children.len());
}

/// Waits for all tasks of the group.
pub(super) fn end_group() {
    let task = current().task.clone();
    if let Some(first) = task.own().groups.pop() {
        task.await_descendants(first);
    }
}
