//! What the importer shows the walk of a record, and what the walk answers.
//!
//! The importer shows the walk every record of every thread, in the order in which it makes events
//! of them, and puts into the trace what the walk tells: names of reads, expressions of writes, and
//! between the records branches, assertions and guards.

use foretrace_trace::ImplicitFault;
use foretrace_trace::expr::Expr;

/// Whether what a record accesses is in the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sharing {
    /// No: only one thread touches it.
    Own,
    /// Yes: it becomes one event, with all its bytes.
    Shared,
    /// Some of its bytes, or in several events.
    Parts,
}

/// The global variable or block that an access is in; empty if it is in neither.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Extent {
    /// Its first address.
    pub start: u64,
    /// The first address behind it.
    pub end: u64,
    /// Whether all accesses to it are in the trace, whoever makes them.
    pub is_whole: bool,
}

/// One record, as the walk sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Seen<'a> {
    /// A function begins.
    Enter { function: u64 },
    /// Outcomes of branches, the first lowest.
    Path { outcomes: u64, count: u8 },
    /// Which value a switch had.
    Switch { site: u64, value: u64 },
    /// A call leaves the module. `is_read`: it prints to where the process may read it.
    Call { site: u64, target: u64, is_read: bool },
    /// It came back.
    Return { site: u64, value: u64 },
    /// An exception brought the thread here.
    Land { function: u64, block: u64 },
    /// A load of at most 8 bytes.
    Load { site: u64, address: u64, size: u8, value: u64, sharing: Sharing, extent: Extent },
    /// A store of at most 8 bytes.
    Store { site: u64, address: u64, size: u8, value: u64, sharing: Sharing, extent: Extent },
    /// A read-modify-write.
    Rmw { site: u64, address: u64, size: u8, old: u64, new: u64, sharing: Sharing, extent: Extent },
    /// A load of more bytes.
    LoadRange { address: u64, bytes: &'a [u8], sharing: Sharing },
    /// A store of more bytes.
    StoreRange { address: u64, bytes: &'a [u8], sharing: Sharing },
    /// A fence.
    Fence,
    /// A region begins or ends.
    Region,
    /// An assertion of `foretrace.h`.
    Assert { site: u64, holds: bool },
    /// Memory is given out.
    Alloc { address: u64, size: u64 },
    /// Memory is given back, so many bytes.
    Free { address: u64, size: u64 },
    /// Another thread is created.
    Fork { child: u32 },
    /// Something else that is an event.
    Other,
}

/// What the walk finds between two records of a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WalkStep {
    /// A branch on what was read.
    Branch {
        /// What it tests.
        condition: Expr,
        /// How it went.
        taken: bool,
        /// Where.
        site: u64,
    },
    /// A test that nobody wrote: where it fails, the program goes wrong.
    Demand {
        /// What must hold, and did.
        condition: Expr,
        /// What goes wrong otherwise.
        fault: ImplicitFault,
        /// What an index should stay in.
        extent: Extent,
        /// Where.
        site: u64,
    },
    /// The address of the next access is what it was, in an object of which all accesses are in the
    /// trace.
    Address {
        /// What holds then, and did: an expression equals a number.
        condition: Expr,
        /// How many bytes the object has.
        bytes: u32,
        /// Where.
        site: u64,
    },
    /// An assertion about what was read.
    Assert {
        /// What should hold.
        condition: Expr,
        /// Whether it did.
        holds: bool,
        /// Where.
        site: u64,
    },
    /// A value that is used later.
    Let {
        /// The number of its name.
        name: u32,
        /// The value.
        value: Expr,
    },
    /// The steps that follow are inside these calls.
    Inside(u32),
    /// All that the thread has read must be as it was.
    Opaque,
    /// What happens here depends on what other threads have done, and nothing says how: everything
    /// that was recorded before comes before.
    Unexplained,
}

/// What the walk knows of a record. Names are numbers of their thread.
#[derive(Default, Debug)]
pub struct Told {
    /// What comes before the record's event.
    pub before: Vec<WalkStep>,
    /// The name of what the event reads.
    pub name: Option<u32>,
    /// What the event stores or asserts. An event that has none may depend on all that its thread
    /// has read.
    pub value: Option<Expr>,
    /// What a compare-exchange that stored assumes.
    pub assumed: Option<Expr>,
    /// What comes behind the event.
    pub after: Vec<WalkStep>,
    /// The event is one of the steps already.
    pub is_told: bool,
    /// The address depends on what was read: to let it range over its object, all accesses to that
    /// must be in the trace.
    pub ranges: bool,
    /// The calls inside which the record was made, see [`Walker::call`](crate::Walker::call);
    /// `None` if they are not known.
    pub callers: Option<u32>,
}

impl Told {
    /// Empties it for the next record.
    pub fn clear(&mut self) {
        self.before.clear();
        self.after.clear();
        (self.name, self.value, self.assumed) = (None, None, None);
        (self.is_told, self.ranges, self.callers) = (false, false, None);
    }
}
