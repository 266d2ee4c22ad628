//! What the bugs are that Foretrace reports: what happens, why it hurts, and how it is usually
//! mended. For `foretrace help`, and for the rules of SARIF.

use crate::Kind;

/// A kind of bug, explained.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Topic {
    /// The kind of the findings.
    pub kind: Kind,
    /// Its name as a title, in words.
    pub title: &'static str,
    /// What it is, in one sentence.
    pub what: &'static str,
    /// What comes of it.
    pub why: &'static str,
    /// How it is usually mended.
    pub mend: &'static str,
}

/// All kinds of bugs.
pub const TOPICS: [Topic; 9] = [
    Topic {
        kind: Kind::Race,
        title: "Data race",
        what: "Two threads access the same memory at the same time, at least one of them writes, \
               and at least one of the accesses is not atomic.",
        why: "The behaviour of a C or C++ program with a data race is undefined. Updates get lost, \
              a reader sees half of a write, and the compiler may move or merge the accesses, so \
              that a version that worked breaks with the next compiler.",
        mend: "Guard every access to the variable with the same lock. If it is a single flag, \
               counter or pointer, make it atomic (`_Atomic`, `std::atomic`), and make each \
               read-modify-write one operation (`fetch_add`, `compare_exchange`). If only one \
               thread needs it, give each thread its own. `volatile` does not help.",
    },
    Topic {
        kind: Kind::Atomicity,
        title: "Atomicity violation",
        what: "Two accesses of one thread are meant as one step, and another thread changes or \
               reads the memory between them in a way that no order of whole steps explains.",
        why: "Each access may be guarded, so there is no data race, and still the program decides \
              on a value that is out of date: money is withdrawn twice, an index is past its end.",
        mend: "Hold one lock over the whole step, from the check to the act. With atomics, replace \
               the load and the store by one read-modify-write, or repeat until a compare-exchange \
               succeeds.",
    },
    Topic {
        kind: Kind::LockCycle,
        title: "Deadlock: lock cycle",
        what: "Each of several threads holds a lock that the next one waits for, so that none of \
               them can go on.",
        why: "The threads hang for ever, mostly under load and rarely in tests.",
        mend: "Take the locks in the same order everywhere; sort them by address if the code does \
               not know which comes first. Or take all of them at once (`std::scoped_lock`), or \
               release the first one before the second is taken.",
    },
    Topic {
        kind: Kind::Stuck,
        title: "Deadlock: a thread waits for ever",
        what: "A thread waits for a signal, a semaphore, a barrier, a thread or data that never \
               comes, and no thread can continue.",
        why: "The program hangs. A wake-up that comes before the wait is lost: condition \
              variables do not remember signals.",
        mend: "Wait in a loop that checks the condition, and change the condition only while the \
               mutex of the wait is held. Signal after each change; broadcast if several threads \
               wait for different things. Post a semaphore on every path, also on errors.",
    },
    Topic {
        kind: Kind::DoubleLock,
        title: "Lock taken twice",
        what: "A thread locks a lock that it already holds and that is not recursive.",
        why: "The thread waits for itself for ever, or the behaviour is undefined.",
        mend: "Split the function into one that takes the lock and one that expects it to be held. \
               A recursive mutex hides the problem rather than mending it.",
    },
    Topic {
        kind: Kind::UnlockNotHeld,
        title: "Unlock of a free lock",
        what: "A thread unlocks a lock that nobody holds.",
        why: "The behaviour is undefined: later critical sections may overlap.",
        mend: "Unlock exactly once on each path; let a scope do it (`std::lock_guard`, \
               `__attribute__((cleanup))`).",
    },
    Topic {
        kind: Kind::UnlockByOther,
        title: "Unlock by another thread",
        what: "A thread unlocks a mutex that another thread holds.",
        why: "The behaviour is undefined, and the holder is no longer alone in its critical \
              section.",
        mend: "Unlock in the thread that has locked. To hand something over to another thread, use \
               a semaphore or a condition variable.",
    },
    Topic {
        kind: Kind::DestroyHeld,
        title: "Lock destroyed while it is held",
        what: "A lock is destroyed although a thread still holds it.",
        why: "The behaviour is undefined: the holder unlocks memory that may belong to something \
              else by then.",
        mend: "Join the threads that use the lock before it is destroyed, or let the last user \
               destroy it, by a reference count.",
    },
    Topic {
        kind: Kind::Assertion,
        title: "Assertion that can fail",
        what: "Another schedule of the same events makes an asserted condition false, or leads to \
               an error such as the use of a null pointer or of freed memory.",
        why: "The assertion holds in most runs because of luck with the timing. In production it \
              fails rarely, and nobody can reproduce it.",
        mend: "Step through the schedule: the values show which thread changed what between two \
               steps that belong together. Then guard these steps with one lock, or establish the \
               missing order (join, condition variable, semaphore).",
    },
];

impl Topic {
    /// The topic of a kind of findings.
    ///
    /// # Panics
    /// Never: every kind has one, which a test checks.
    pub fn of(kind: Kind) -> &'static Topic {
        TOPICS.iter().find(|topic| topic.kind == kind).expect("every kind has a topic")
    }
}
