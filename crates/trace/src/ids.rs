//! Typed ids. Every table of a trace has an index type of its own, so that a lock can never be
//! mistaken for a thread.

/// Declares types of ids.
#[macro_export]
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index into its table.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<usize> for $name {
            #[inline]
            fn from(index: usize) -> Self {
                Self(u32::try_from(index).expect("a table has at most 2^32 entries"))
            }
        }
    )*};
}

ids! {
    /// An event: its place in the recorded total order, from 0.
    EventId,
    /// A thread.
    ThreadId,
    /// A block of memory: a variable, or one allocation.
    ObjectId,
    /// A mutex, reader-writer lock, spinlock or monitor.
    LockId,
    /// A condition variable, or a monitor's wait set.
    CondId,
    /// A counting semaphore.
    SemId,
    /// A barrier.
    BarrierId,
    /// Something outside the program's memory through which calls reach each other: a pipe, a
    /// socket, a file, a clock.
    ChannelId,
    /// A list of channels with their directions, as a call names them.
    ChannelsId,
    /// A function that a call is of.
    FunctionId,
    /// A source location, kept as the string that the trace gives.
    LocationId,
    /// The name that a read binds (`r1 = read x`).
    NameId,
    /// A type of the program.
    TypeId,
    /// The calls that a thread is inside of; see [`Trace::callers`](crate::Trace::callers).
    StackId,
}
