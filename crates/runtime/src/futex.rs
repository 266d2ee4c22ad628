//! Waiting: a short spin lock, a lock that sleeps, and a per-thread signal. System calls are made
//! directly: `errno` belongs to the program.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, Ordering::*};

/// A system call that leaves `errno` alone; failures come back as `-errno`.
#[cfg(target_arch = "x86_64")]
pub(crate) fn system_call(number: i64, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    let result: isize;
    // SAFETY: the instruction clobbers `rax`, `rcx` and `r11`, and no memory but what the kernel is
    // asked to write to: callers pass numbers, or addresses of their own variables, which outlive
    // the call; or of the program's, of which the kernel itself says whether they are good.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            out("rcx") _, out("r11") _,
            options(nostack),
        );
    }
    result
}

/// Sleeps while `word` is `value`, at most until `deadline` (monotonic). Returns early for any
/// reason.
pub(crate) fn wait(word: &AtomicU32, value: u32, deadline: Option<libc::timespec>) {
    let absolute = 9 | libc::FUTEX_PRIVATE_FLAG; // FUTEX_WAIT_BITSET: the time is absolute
    let time = deadline.as_ref().map_or(0, |time| std::ptr::from_ref(time) as usize);
    let word = std::ptr::from_ref(word) as usize;
    system_call(
        libc::SYS_futex,
        [word, absolute as usize, value as usize, time, 0, u32::MAX as usize],
    );
}

/// Wakes up to `count` threads that sleep on `word`.
pub(crate) fn wake(word: &AtomicU32, count: u32) {
    let word = std::ptr::from_ref(word) as usize;
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    system_call(libc::SYS_futex, [word, operation as usize, count as usize, 0, 0, 0]);
}

/// A lock for a few instructions.
pub(crate) struct Spin(AtomicU32);

impl Spin {
    /// For a fork: nobody is inside while the process is copied.
    pub(crate) fn acquire(&self) {
        while self.0.compare_exchange_weak(0, 1, Acquire, Relaxed).is_err() {
            std::hint::spin_loop();
        }
    }

    pub(crate) fn release(&self) {
        self.0.store(0, Release);
    }

    pub(crate) const fn new() -> Spin {
        Spin(AtomicU32::new(0))
    }

    pub(crate) fn with<R>(&self, work: impl FnOnce() -> R) -> R {
        self.acquire();
        let result = work();
        self.release();
        result
    }
}

/// Something that threads use one at a time, each for a few instructions.
pub(crate) struct Guarded<T> {
    lock: Spin,
    content: UnsafeCell<T>,
}
// SAFETY: `with` lets one thread at a time to the content, and nothing else leads there.
unsafe impl<T: Send> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    pub(crate) const fn new(content: T) -> Guarded<T> {
        Guarded { lock: Spin::new(), content: UnsafeCell::new(content) }
    }

    /// `work` must not come here again: it would wait for itself.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: the lock is held while the reference is used.
        self.lock.with(|| work(unsafe { &mut *self.content.get() }))
    }
}

/// A lock that spins a little, then sleeps. 0 free, 1 taken, 2 taken and somebody sleeps.
pub(crate) struct Lock(AtomicU32);

impl Lock {
    pub(crate) const fn new() -> Lock {
        Lock(AtomicU32::new(0))
    }

    #[inline]
    pub(crate) fn acquire(&self) {
        if self.0.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            self.acquire_slowly();
        }
    }

    /// Takes the lock if it is free.
    pub(crate) fn try_acquire(&self) -> bool {
        self.0.compare_exchange(0, 1, Acquire, Relaxed).is_ok()
    }

    #[cold]
    fn acquire_slowly(&self) {
        for _ in 0..200 {
            if self.0.load(Relaxed) == 0 && self.0.compare_exchange(0, 1, Acquire, Relaxed).is_ok()
            {
                return;
            }
            std::hint::spin_loop();
        }
        while self.0.swap(2, Acquire) != 0 {
            wait(&self.0, 2, None);
        }
    }

    #[inline]
    pub(crate) fn release(&self) {
        if self.0.swap(0, Release) == 2 {
            wake(&self.0, 1);
        }
    }
}

/// Lets one thread sleep until another says go.
pub(crate) struct Gate(AtomicU32);

impl Gate {
    pub(crate) const fn new() -> Gate {
        Gate(AtomicU32::new(0))
    }

    pub(crate) fn open(&self) {
        self.0.store(1, Release);
        wake(&self.0, 1);
    }

    /// Returns when the gate was opened, and shuts it, or when `interrupted` says so after a
    /// signal; `false` if the deadline came first.
    pub(crate) fn pass(
        &self,
        deadline: Option<libc::timespec>,
        interrupted: impl Fn() -> bool,
    ) -> bool {
        for _ in 0..100 {
            if self.0.swap(0, Acquire) == 1 {
                return true;
            }
            std::hint::spin_loop();
        }
        loop {
            if self.0.swap(0, Acquire) == 1 || interrupted() {
                return true;
            }
            if deadline.is_some_and(|deadline| !before(now(), deadline)) {
                return false;
            }
            wait(&self.0, 0, deadline);
        }
    }
}

/// Monotonic time.
pub(crate) fn now() -> libc::timespec {
    let none = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    crate::interpose::clocks::get(libc::CLOCK_MONOTONIC).unwrap_or(none)
}

pub(crate) fn before(a: libc::timespec, b: libc::timespec) -> bool {
    (a.tv_sec, a.tv_nsec) < (b.tv_sec, b.tv_nsec)
}
