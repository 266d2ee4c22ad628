//! Channels: whatever makes a call of one thread visible to another, other than memory.
//!
//! Most channels are kernel objects (a pipe, a file, a socket with its peer) and get numbers from
//! [`FIRST_OBJECT`] on as the program first uses them. Those below are always there.

/// The list of channels of a call that may use all of them: nothing is known of the function.
pub const EVERY: u64 = 0;

/// Everything outside the process: other processes, the network, the user.
pub const OUTSIDE: u32 = 0;
/// The numbers of descriptors: `open`, `accept`, `dup`, … return the lowest that is free.
pub const DESCRIPTORS: u32 = 1;
/// The names of files.
pub const NAMES: u32 = 2;
/// The clocks.
pub const CLOCK: u32 = 3;
/// Signals: sent, pending, blocked, handled.
pub const SIGNALS: u32 = 4;
/// Child processes.
pub const CHILDREN: u32 = 5;
/// Message queues, shared memory and semaphores of the kernel that have no descriptor.
pub const IPC: u32 = 6;
/// The generators behind `rand`, `random`, `drand48`.
pub const RANDOM: u32 = 7;
/// The environment.
pub const ENVIRONMENT: u32 = 8;
/// All other state inside libraries: locale, `strtok`, time zone, the system log, …
pub const LIBRARY: u32 = 9;
/// Descriptors whose kernel object cannot be told from others of its kind.
pub const ANONYMOUS: u32 = 10;
/// Sockets by which the process talks to itself over the network.
pub const LOOPBACK: u32 = 11;
/// What is known of threads: their names, priorities and processors.
pub const THREADS: u32 = 12;
/// The first number of a channel that is a kernel object.
pub const FIRST_OBJECT: u32 = 16;

/// The names of the channels that are always there.
pub const NAMES_OF_FIXED: [(u32, &str); 13] = [
    (OUTSIDE, "outside"),
    (DESCRIPTORS, "descriptors"),
    (NAMES, "file names"),
    (CLOCK, "clock"),
    (SIGNALS, "signals"),
    (CHILDREN, "children"),
    (IPC, "ipc"),
    (RANDOM, "random numbers"),
    (ENVIRONMENT, "environment"),
    (LIBRARY, "library state"),
    (ANONYMOUS, "anonymous descriptors"),
    (LOOPBACK, "loopback"),
    (THREADS, "threads"),
];

/// What a call does with a channel. Two calls of which one gives keep their order; two that only
/// take do not.
pub mod direction {
    /// Others can see that it happened, if anybody takes from the channel at all. Output, for
    /// example: where nobody reads (terminals, logs) it orders nothing.
    pub const GIVES: u32 = 1;
    /// Its result can depend on those that give; or it only needs to keep its order with them.
    pub const TAKES: u32 = 2;
    /// Both: the generic rule.
    pub const BOTH: u32 = 3;
}
