//! What a random program is about: how often its threads try which action.
//!
//! A uniform choice among all operations almost never makes two threads meet at one primitive. Each
//! profile makes a few of them frequent; `mixed` has them all.

use foretrace_testing::Random;

/// What a thread may try to do next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    Read,
    Write,
    Rmw,
    Lock,
    Unlock,
    /// Takes locks in some order and gives them back.
    Nest,
    MisuseLock,
    Destroy,
    Wait,
    Signal,
    Broadcast,
    SemWait,
    SemPost,
    Arrive,
    Leave,
    Join,
    Alloc,
    Free,
    RegionBegin,
    RegionEnd,
    Annotate,
    Finish,
}

/// A weighting of the actions, and the kinds of locks to use.
#[derive(Debug)]
pub(crate) struct Profile {
    pub(crate) weights: &'static [(Action, usize)],
    /// How often, in percent, a lock is a reader-writer lock.
    pub(crate) shared: usize,
    /// How often a lock is recursive.
    pub(crate) recursive: usize,
    /// How often an operation is a try or a timed one.
    pub(crate) impatient: usize,
    /// How often threads are forked rather than there from the start.
    pub(crate) forked: usize,
    /// How many locks there are at least.
    pub(crate) locks: usize,
}

const PLAIN: Profile =
    Profile { weights: &[], shared: 5, recursive: 5, impatient: 5, forked: 15, locks: 1 };

/// Actions with their weights.
macro_rules! weights {
    ($($action:ident $weight:literal),+) => { &[$((Action::$action, $weight)),+] };
}

/// What planted scenes are made of.
pub(crate) const SCENERY: Profile =
    Profile { weights: &[], shared: 15, recursive: 10, impatient: 4, forked: 25, locks: 3 };

/// Threads that compute with what they read, and little else.
pub(crate) const RECKONERS: Profile =
    Profile { weights: weights!(Read 7, Write 6, Rmw 2, Lock 1, Unlock 2, RegionBegin 1), ..PLAIN };

/// A seed's first number chooses among these, modulo their count: another one changes all seeds.
pub(crate) const PROFILES: &[Profile] = &[
    // Memory and little else.
    Profile { weights: weights!(Read 6, Write 6, Rmw 2, Lock 1, Unlock 2, Annotate 1), ..PLAIN },
    // Critical sections.
    Profile { weights: weights!(Read 4, Write 4, Lock 4, Unlock 4, Rmw 1), ..PLAIN },
    // Nested locks.
    Profile {
        weights: weights!(Nest 5, Read 1, Write 1, Lock 8, Unlock 3),
        impatient: 10,
        locks: 2,
        ..PLAIN
    },
    // Nested locks of all kinds, with a little of everything between.
    Profile {
        weights: weights!(
            Nest 8, Read 1, Write 1, Rmw 1, Lock 6, Unlock 3, Destroy 1, Wait 2, Signal 1,
            Broadcast 1, SemWait 1, SemPost 1, Arrive 1, Leave 1, Join 1, Alloc 1, Free 1,
            RegionBegin 1, Annotate 1, Finish 1
        ),
        shared: 25,
        recursive: 25,
        impatient: 15,
        forked: 30,
        locks: 2,
    },
    // Reader-writer locks.
    Profile {
        weights: weights!(Nest 2, Read 2, Write 2, Lock 6, Unlock 3),
        shared: 90,
        impatient: 10,
        locks: 2,
        ..PLAIN
    },
    // Recursive locks.
    Profile {
        weights: weights!(Nest 2, Read 1, Write 2, Lock 6, Unlock 4, Wait 4, Signal 2),
        recursive: 80,
        locks: 2,
        ..PLAIN
    },
    // Try-locks and timed locks.
    Profile {
        weights: weights!(Nest 1, Read 2, Write 2, Lock 6, Unlock 3),
        shared: 30,
        impatient: 60,
        ..PLAIN
    },
    // Condition variables.
    Profile {
        weights: weights!(Nest 1, Read 1, Write 1, Lock 5, Unlock 3, Wait 6, Signal 4, Broadcast 2),
        ..PLAIN
    },
    // Condition variables and what they guard.
    Profile {
        weights: weights!(Nest 1, Read 3, Write 3, Lock 4, Unlock 3, Wait 5, Signal 3, Broadcast 1),
        shared: 20,
        recursive: 20,
        ..PLAIN
    },
    // Semaphores.
    Profile {
        weights: weights!(Nest 2, Read 2, Write 2, SemWait 5, SemPost 4, Lock 1, Unlock 1),
        impatient: 20,
        locks: 2,
        ..PLAIN
    },
    // Barriers.
    Profile {
        weights: weights!(Nest 2, Read 2, Write 2, Arrive 6, Leave 3, Lock 1, Unlock 1),
        locks: 2,
        ..PLAIN
    },
    // Forks and joins.
    Profile {
        weights: weights!(
            Nest 2, Read 3, Write 3, Join 6, Finish 3, Lock 1, Unlock 1, SemWait 1, SemPost 1
        ),
        forked: 80,
        locks: 2,
        ..PLAIN
    },
    // Memory that comes and goes.
    Profile {
        weights: weights!(
            Nest 2, Read 3, Write 4, Alloc 5, Free 5, Lock 1, Unlock 1, MisuseLock 1,
            RegionBegin 1
        ),
        locks: 2,
        ..PLAIN
    },
    // Declared regions.
    Profile {
        weights: weights!(
            Nest 1, Read 5, Write 5, Rmw 2, RegionBegin 3, RegionEnd 1, Lock 1, Unlock 1
        ),
        ..PLAIN
    },
    // Regions, and synchronisation that may keep others out.
    Profile {
        weights: weights!(
            Nest 2, Read 4, Write 4, RegionBegin 2, RegionEnd 1, Lock 2, Unlock 2, SemWait 1,
            SemPost 2, Wait 1, Signal 1, Arrive 1, Join 1, Alloc 1, Free 1
        ),
        shared: 20,
        recursive: 20,
        impatient: 20,
        forked: 30,
        locks: 2,
    },
    // Locks used wrongly.
    Profile {
        weights: weights!(
            Nest 2, Read 1, Write 1, Lock 5, Unlock 3, MisuseLock 4, Destroy 2, Wait 1, Alloc 2,
            Free 2
        ),
        shared: 15,
        recursive: 10,
        locks: 2,
        ..PLAIN
    },
    // Everything.
    Profile {
        weights: weights!(
            Nest 2, Read 3, Write 3, Rmw 1, Lock 3, Unlock 3, MisuseLock 1, Destroy 1, Wait 2,
            Signal 2, Broadcast 1, SemWait 2, SemPost 2, Arrive 2, Leave 1, Join 1, Alloc 1,
            Free 1, RegionBegin 1, RegionEnd 1, Annotate 1, Finish 1
        ),
        shared: 25,
        recursive: 25,
        impatient: 25,
        forked: 30,
        locks: 2,
    },
];

impl Profile {
    /// An action, by weight.
    pub(crate) fn action(&self, random: &mut Random) -> Action {
        let total: usize = self.weights.iter().map(|(_, weight)| weight).sum();
        let mut rest = random.below(total);
        for &(action, weight) in self.weights {
            if rest < weight {
                return action;
            }
            rest -= weight;
        }
        unreachable!("the rest is below the sum of the weights")
    }
}
