//! One thread of the program: what only the thread itself touches, and what others may touch at any
//! time. (What the world guards of a thread is in [`crate::world::Entry`].)

use std::marker::PhantomPinned;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::*};

use foretrace_recording::input::SIGNAL_BYTES;
use foretrace_recording::record::{is_full, kind, visible, with_outcome};
use foretrace_recording::site::{SYSTEM, Site};

use crate::config::{Mode, mode};
use crate::explore;
use crate::futex::Gate;
use crate::interpose::{cancellation, semaphores, signals};
use crate::kernel::calls::Open;
use crate::log::{Writer, head};
use crate::{module, schedule};

/// The access that a thread is about to make.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Next {
    pub(crate) kind: u8,
    pub(crate) site: u64,
    /// The bytes, if it is an access; else the object of the operation.
    pub(crate) address: u64,
    pub(crate) size: u64,
}

/// What a handler is told of a signal, as far as it says who sent it.
pub(crate) type Told = [u8; SIGNAL_BYTES];

/// How many functions a thread remembers.
const CALLEES: usize = 64;

/// What a thread has to look after when it leaves the runtime: the bits of [`Thread::pending`] that
/// are not those of signals. There is no signal 0, the C library keeps 32 and 33 for itself, and
/// nobody can handle 9 (`SIGKILL`).
pub(crate) mod pending {
    /// It has handled signals in the recorded run, and handles them at the same places.
    pub(crate) const RECORDED: u64 = 1;
    /// A signal handler wants semaphores to be posted.
    pub(crate) const POSTS: u64 = 1 << 32;
    /// Cancelling it may end it anywhere.
    pub(crate) const ASYNCHRONOUS: u64 = 1 << 33;
    /// It has handled a signal while it was inside, so that nothing is recorded of it.
    pub(crate) const HANDLED: u64 = 1 << 9;
    pub(crate) const SIGNALS: u64 = !(RECORDED | POSTS | ASYNCHRONOUS | HANDLED);
}

/// In [`Thread::path_filling`]: no path record has room.
const CLOSED: u64 = u64::MAX;

/// After so many equal loads in a row a thread gives way.
const PATIENCE: u32 = 64;

/// After so many path records without an operation, others may run: somebody may want to stop the
/// thread.
const LONG_IDLE: u32 = 1 << 14;

/// After so many path records, a thread that finds what it found before gives way at once.
const LONG_WAY: u32 = 64;

/// What every branch and access needs comes first, on a cache line of its own.
///
/// **Who may touch it.** A thread is never freed. Its plain fields belong to the thread itself:
/// [`enter`] gives them out as `&mut Thread`, to one caller at a time. Others (the scheduler, the
/// watchdog, signal handlers that interrupt the thread) touch the atomic fields at any time,
/// through pointers of their own. So a `&mut Thread` is not the only way to these bytes, and
/// `PhantomPinned` keeps the compiler from assuming that it is.
#[repr(C, align(128))]
pub(crate) struct Thread {
    /// Inside the runtime. Read by signal handlers on this thread, and by the watchdog.
    pub(crate) busy: AtomicBool,
    /// The watchdog has taken the turn away.
    pub(crate) ousted: AtomicBool,
    /// What has to be done when the thread leaves the runtime: a bit for each signal that came
    /// meanwhile, and those of [`pending`].
    pub(crate) pending: AtomicU64,
    /// Where records go: the thread's own stream, or the common one.
    pub(super) writer: *mut Writer,
    /// The path record that has room for more outcomes: where it is in the mapped chunk, and the
    /// writer's [`Writer::filling`] when it was begun. It is there as long as that is the same.
    path: *mut u64,
    path_filling: u64,
    /// Visible operations until the scheduler has to be asked.
    pub(crate) quantum: u64,
    /// The user's innermost call into code that is not his.
    pub(crate) call_site: u64,
    /// Ordinal of the next visible operation.
    pub(crate) ordinal: u32,
    pub(crate) index: u32,
    /// Which thread of the plan this is, in a replay.
    pub(crate) planned: Option<u32>,
    /// Which thread of the recorded run this is, in a replay.
    pub(crate) recorded: Option<u32>,
    /// How many threads it has created.
    pub(crate) children: u32,
    /// A signal handler ran that interrupts waits.
    pub(crate) interrupted: AtomicBool,
    /// Those of the pending signals that came from outside of the process.
    pub(crate) outside_signals: AtomicU64,
    /// What is known of the last one of each.
    pub(crate) told: Box<[Told; 64]>,
    /// It sleeps, or comes back from it: so a replay runs handlers in the same sleep.
    pub(crate) sleeps: bool,
    /// It is about to send a signal, perhaps to itself.
    pub(crate) sends: AtomicBool,
    /// What the thread waits for may not be interrupted: handlers then run at once.
    pub(crate) waits: AtomicBool,
    /// Opened when the thread's turn comes, or what it waits for may be there.
    pub(crate) gate: Gate,
    /// The function that the user's code called last.
    pub(crate) callee: u64,
    /// It was called through a pointer, is one of the C library's, and may access memory.
    pub(crate) touches_memory: bool,
    /// The calls by which others may see the thread, and that have not come back; the innermost
    /// last.
    pub(crate) calls: Vec<Open>,
    /// Functions that the user's code called, by [`Thread::is_instrumented`].
    callees: [(u64, bool); CALLEES],
    /// What is next, at a decision of the scheduler.
    pub(crate) next: Next,
    /// Semaphores that signal handlers posted which came while the thread was busy; 0 where there
    /// is none.
    pub(crate) deferred: [AtomicUsize; 64],
    /// Those of them that count already, but are not recorded yet.
    pub(crate) posted: Vec<usize>,
    /// The last atomic access that changed nothing: address, value, and how often it was the same.
    seen: (u64, u64, u32),
    /// How many path records the thread has begun since then.
    paths: u32,
    /// The ordinal at the last path record, and how many of them began at it.
    idle: (u32, u32),
    pub(crate) kernel_id: AtomicU32,
    /// Which child of the process the thread is about to make, or has made.
    pub(crate) child: usize,
    /// The recording has this number.
    pub(crate) number_is_kept: bool,
    pub(crate) own: Writer,
    _shared: PhantomPinned,
}

impl Thread {
    pub(crate) fn new(index: u32) -> Thread {
        Thread {
            index,
            planned: None,
            recorded: None,
            children: 0,
            ordinal: 0,
            quantum: u64::MAX,
            busy: AtomicBool::new(false),
            pending: AtomicU64::new(0),
            interrupted: AtomicBool::new(false),
            ousted: AtomicBool::new(false),
            outside_signals: AtomicU64::new(0),
            told: Box::new([[0; SIGNAL_BYTES]; 64]),
            sleeps: false,
            sends: AtomicBool::new(false),
            waits: AtomicBool::new(false),
            gate: Gate::new(),
            writer: std::ptr::null_mut(),
            call_site: 0,
            callee: 0,
            touches_memory: false,
            calls: Vec::new(),
            callees: [(0, true); CALLEES],
            next: Next::default(),
            deferred: [const { AtomicUsize::new(0) }; 64],
            posted: Vec::new(),
            path: std::ptr::null_mut(),
            path_filling: CLOSED,
            paths: 0,
            seen: (0, 0, 0),
            idle: (0, 0),
            kernel_id: AtomicU32::new(0),
            child: 0,
            number_is_kept: false,
            own: Writer::new(index),
            _shared: PhantomPinned,
        }
    }

    /// Whether a signal handler wants semaphores to be posted.
    #[inline(always)]
    pub(crate) fn was_asked_to_post(&self) -> bool {
        self.pending.load(Relaxed) & pending::POSTS != 0
    }

    /// Whether a signal came whose handler has yet to run.
    #[inline(always)]
    pub(crate) fn was_signalled(&self) -> bool {
        self.pending.load(Relaxed) & pending::SIGNALS != 0
    }

    /// Inside how many calls the thread is, and whether it sleeps there: what a replay needs to
    /// know, beside the ordinal, of the place where a handler ran.
    pub(crate) fn depth(&self) -> u64 {
        self.calls.len() as u64 | u64::from(self.sleeps) << 32
    }

    /// The site to record: the user's own, if this one is in a system header.
    #[inline(always)]
    pub(crate) fn site(&self, site: *const Site) -> u64 {
        if site.is_null() {
            return self.call_site;
        }
        // SAFETY: hooks pass null or the address of a site in the tables of their own module, which
        // is loaded while its code runs and never changes.
        let system = unsafe { (*site).column } & SYSTEM != 0;
        if system && self.call_site != 0 { self.call_site } else { site as u64 }
    }

    /// A visible operation is next: returns when the thread may do it.
    #[inline(always)]
    pub(crate) fn point(&mut self, kind: u8, site: u64, address: u64, size: u64) {
        debug_assert!(visible(kind));
        if self.quantum == 0 {
            self.next = Next { kind, site, address, size };
            schedule::decide(self);
        }
        self.quantum -= 1;
        self.count();
    }

    /// A visible operation is done. Only the thread itself counts, but others may look.
    #[inline(always)]
    pub(crate) fn count(&mut self) {
        // SAFETY: the field is aligned, and whoever else looks at it does so atomically.
        let ordinal = unsafe { AtomicU32::from_ptr(&raw mut self.ordinal) };
        // Nobody else stores: so this is one instruction, and none that locks the bus.
        ordinal.store(ordinal.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// Where the thread's records go.
    #[inline(always)]
    pub(crate) fn writer(&mut self) -> &mut Writer {
        // SAFETY: [`crate::world::World::add_thread`] has set it, to the thread's own writer or to
        // the world's, which is never moved or freed. Nobody else writes there meanwhile: only the
        // thread whose turn it is runs, or it is the thread's own.
        unsafe { &mut *self.writer }
    }

    /// Whether the function at an address is one of the program's, and records what it does.
    #[inline]
    pub(crate) fn is_instrumented(&mut self, function: u64) -> bool {
        let slot = &mut self.callees[(function >> 4) as usize % CALLEES];
        if slot.0 != function {
            *slot = (function, module::is_instrumented(function));
        }
        slot.1
    }

    /// After an atomic load, or an update that changed nothing. One that gives the same again and
    /// again is in a loop that waits for another thread: let that run.
    #[inline]
    pub(crate) fn saw(&mut self, address: u64, value: u64) {
        let (last, same, times) = &mut self.seen;
        if (*last, *same) != (address, value) {
            self.seen = (address, value, 0);
            self.paths = 0;
            return;
        }
        *times += 1;
        // Waiting ever longer between two looks is waiting too.
        let paths = std::mem::take(&mut self.paths);
        if *times == PATIENCE || paths >= LONG_WAY {
            *times = 0;
            schedule::give_way(self);
        }
    }

    /// Writes a record that has no stamp.
    #[inline(always)]
    pub(crate) fn record<const N: usize>(
        &mut self,
        kind: u8,
        detail: u8,
        site: u64,
        operands: [u64; N],
    ) {
        self.writer().record(head(kind, detail, site), operands);
    }

    /// Writes the record of a plain access of at most 8 bytes.
    #[inline(always)]
    pub(crate) fn access(&mut self, kind: u8, size: u8, site: u64, address: u64, value: u64) {
        self.writer().access(kind, size, site, address, value);
    }

    /// Records which way a branch went: in the open path record, if there is one.
    #[inline(always)]
    pub(crate) fn outcome(&mut self, taken: bool) {
        let filling = self.writer().filling();
        if self.path_filling != filling {
            return self.begin_path(taken);
        }
        // SAFETY: the record is where it was begun, in the chunk of the writer, as long as the
        // writer is at the same filling.
        unsafe {
            // One store: whatever ends the process, the record is whole.
            let path = with_outcome(self.path.read(), taken);
            self.path.write_volatile(path);
            if is_full(path) {
                self.end_path();
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn begin_path(&mut self, taken: bool) {
        // No record is begun then, so each outcome comes here.
        if explore::is_on() {
            return explore::outcome(self, taken);
        }
        self.paths = self.paths.saturating_add(1);
        self.idle = match self.idle {
            (since, count) if since == self.ordinal => (since, count + 1),
            _ => (self.ordinal, 1),
        };
        if self.idle.1 == LONG_IDLE {
            // The second time is for those who do nothing that others see.
            self.idle.1 = 0;
            schedule::give_way(self);
            schedule::give_way(self);
        }
        self.path = self.writer().word(with_outcome(head(kind::PATH, 0, 0), taken));
        self.path_filling = self.writer().filling();
    }

    /// The outcomes that follow are in a record of their own.
    pub(crate) fn end_path(&mut self) {
        self.path_filling = CLOSED;
    }

    /// In the common stream: the records that follow are this thread's.
    pub(crate) fn announce(&mut self) {
        if mode() == Mode::Scheduled {
            let index = u64::from(self.index);
            self.writer().record(head(kind::THREAD, 0, 0), [index]);
        }
    }
}

#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".pushsection .tbss,\"awT\",@nobits",
    ".p2align 3",
    ".hidden __ft_current",
    ".globl __ft_current",
    ".type __ft_current, @object",
    ".size __ft_current, 8",
    "__ft_current:",
    ".zero 8",
    ".popsection",
);

/// The calling thread, null if it is not one of the program's (or is already behind its end).
#[inline(always)]
pub(crate) fn current() -> *mut Thread {
    // The fixed offset from the thread pointer: half the cost of a general thread-local variable.
    let thread: *mut Thread;
    // SAFETY: the variable is the one that is defined above; the linker fills in its offset, and
    // `fs` leads to the calling thread's block on x86-64. The instructions read nothing else.
    unsafe {
        std::arch::asm!(
            "mov {0}, qword ptr [rip + __ft_current@GOTTPOFF]",
            "mov {0}, qword ptr fs:[{0}]",
            out(reg) thread,
            options(nostack, pure, readonly, preserves_flags),
        );
    }
    thread
}

pub(crate) fn set_current(thread: *mut Thread) {
    // SAFETY: as in `current`; only the calling thread uses its own variable.
    unsafe {
        std::arch::asm!(
            "mov {0}, qword ptr [rip + __ft_current@GOTTPOFF]",
            "mov qword ptr fs:[{0}], {1}",
            out(reg) _,
            in(reg) thread,
            options(nostack, preserves_flags),
        );
    }
}

/// The calling thread, for a look at what signal handlers may touch too. It may be inside of the
/// runtime.
pub(crate) fn glance() -> Option<&'static Thread> {
    // SAFETY: `current` is null or one of the program's threads, which are never freed. No other
    // thread changes its plain fields.
    unsafe { current().as_ref() }
}

/// Runs `work` as the calling thread, inside the runtime. `None` if the runtime is off, the thread
/// is none of ours, or we are called from within ourselves (a signal handler, an allocation).
#[inline(always)]
pub(crate) fn enter<R>(work: impl FnOnce(&mut Thread) -> R) -> Option<R> {
    if matches!(mode(), Mode::Unset | Mode::Off) {
        return None;
    }
    enter_recording(work)
}

/// The same for a hook of the user's own code, where nothing of the runtime or a library is half
/// done: a thread of the asynchronous type may be ended behind it.
#[inline(always)]
pub(crate) fn hook<R: Copy>(work: impl FnOnce(&mut Thread) -> R) -> Option<R> {
    if matches!(mode(), Mode::Unset | Mode::Off) {
        return None;
    }
    hook_recording(work)
}

/// The same, if the caller knows already that the runtime is not off.
#[inline(always)]
pub(crate) fn hook_recording<R: Copy>(work: impl FnOnce(&mut Thread) -> R) -> Option<R> {
    pass::<true, R>(work)
}

/// [`enter`], if the caller knows already that the runtime is not off.
#[inline(always)]
pub(crate) fn enter_recording<R>(work: impl FnOnce(&mut Thread) -> R) -> Option<R> {
    pass::<false, R>(work)
}

#[inline(always)]
fn pass<const MAY_END: bool, R>(work: impl FnOnce(&mut Thread) -> R) -> Option<R> {
    let thread = current();
    if thread.is_null() {
        return None;
    }
    // SAFETY: threads are never freed, and this is one of the fields that anybody may look at.
    if unsafe { &(*thread).busy }.load(Relaxed) {
        return None;
    }
    // SAFETY: only the thread itself comes here, and it is not inside of the runtime already, where
    // somebody else would use its plain fields.
    let thread = unsafe { &mut *thread };
    thread.busy.store(true, Relaxed);
    std::sync::atomic::compiler_fence(SeqCst);
    if thread.ousted.load(Relaxed) {
        schedule::come_back(thread);
    }
    let result = work(thread);
    std::sync::atomic::compiler_fence(SeqCst);
    thread.busy.store(false, Relaxed);
    if thread.pending.load(Relaxed) != 0 {
        catch_up(thread, MAY_END);
    }
    Some(result)
}

/// The thread has left the runtime: does what came up meanwhile.
#[cold]
fn catch_up(thread: &mut Thread, may_end: bool) {
    if thread.was_asked_to_post() {
        semaphores::post_deferred(thread);
    }
    let of_signals = pending::SIGNALS | pending::RECORDED | pending::HANDLED;
    if thread.pending.load(Relaxed) & of_signals != 0 {
        signals::handle_deferred(thread);
    }
    if may_end && thread.pending.load(Relaxed) & pending::ASYNCHRONOUS != 0 {
        cancellation::end_if_cancelled();
    }
}

/// Instrumented code ran inside the runtime, which only signal handlers do: what it does is lost,
/// and that is noted.
#[cold]
pub(crate) fn refused() {
    if is_inside() {
        crate::log::flag(foretrace_recording::file::flags::HANDLER);
    }
}

/// The same of control flow. The walk along it then finds calls and outcomes missing.
#[cold]
pub(crate) fn lost_way() {
    if is_inside() {
        crate::log::flag(foretrace_recording::file::flags::PATH_LOST);
    }
}

fn is_inside() -> bool {
    !matches!(mode(), Mode::Unset | Mode::Off)
        && glance().is_some_and(|thread| thread.busy.load(Relaxed))
}
