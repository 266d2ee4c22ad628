//! Facts about a trace in English: the only place where they become words.

use foretrace_trace::Provenance;
use foretrace_trace::provenance::{
    Cut, Differing, Kept, LeftOut, Lost, Private, Recorded, Repair, Taken, Unit, Unseen, Walked,
};

use crate::TraceInfo;

/// A fact in words.
pub fn in_words(fact: &Provenance) -> String {
    match fact {
        Provenance::Repaired(what) => repaired(*what).to_string(),
        Provenance::LeftOut(what) => format!("{} left out", left_out(*what)),
        Provenance::Private(Private::Access) => {
            "access to memory of one thread left out".to_string()
        }
        Provenance::Private(Private::Block) => "block of memory of one thread left out".to_string(),
        Provenance::Taken(what) => taken(*what).to_string(),
        Provenance::FreedAccess => "access to freed memory, in a region".to_string(),
        Provenance::UnknownWriter { at } => {
            format!("unknown writer reads at {}", at.as_deref().unwrap_or("other places"))
        }
        Provenance::Unseen { what, at } => {
            let (what, why) = unseen(*what);
            format!("{what} at {}: {why}", at.as_deref().unwrap_or("an unknown place"))
        }
        Provenance::Recorded(what) => recorded(*what).to_string(),
        Provenance::Prefix(why) => format!("recording is a prefix: {}", cut(*why)),
        Provenance::CutByBudget { read, total, unit } => cut_by_budget(*read, *total, *unit),
        Provenance::OperationLost(why) => format!("operation lost since {}", cut(*why)),
        Provenance::EndedBySignal(signal) => format!("process ended by signal {signal}"),
        Provenance::AssertionFailed(what) => format!("assertion failed: {what}"),
        Provenance::Walked(what) => format!("terms: {}", walked(what)),
        Provenance::Other(text) => text.clone(),
    }
}

fn repaired(what: Repair) -> &'static str {
    match what {
        Repair::ForkByNumber => "fork or join of `N` read as of thread `TN`",
        Repair::ForkOfIdleThread => {
            "fork of a thread without events read as of the only unforked thread that starts after \
             it"
        }
        Repair::RepeatedFork => "repeated fork dropped",
        Repair::MisplacedBegin => "repeated or misplaced begin dropped",
        Repair::MisplacedEnd => "repeated or misplaced end dropped",
        Repair::EndOfHungThread => "end of a thread that hangs in a request dropped",
        Repair::LateRelease => "late release moved before the next acquire",
        Repair::AccessWithoutSize => "access without a size treated as one cell",
        Repair::RacingAccesses => "racing accesses put into the order that explains their values",
        Repair::EndOfWait => "end of a wait kept behind all that was recorded before it",
    }
}

fn left_out(what: LeftOut) -> &'static str {
    match what {
        LeftOut::LockMemory => "access to a lock's own memory",
        LeftOut::AfterExit => "record after exit",
        LeftOut::LostThread => "record of a thread whose state is not known",
        LeftOut::EndOfCall => "end of a call that did not begin",
        LeftOut::AcquireOfHeldLock => "acquire of a lock that another thread holds",
        LeftOut::AcquireOfUnrecoverableLock => "acquire of a robust mutex that is not recoverable",
        LeftOut::FailedAcquireOfFreeLock => "failed acquire of a lock that nobody holds",
        LeftOut::RefusedRelease => "refused release of another thread's lock",
        LeftOut::ReleaseOfForeignHold => "release of another thread's shared or deep hold",
        LeftOut::DestroyOfHeldLock => "destroy of a lock that is held",
        LeftOut::WaitWithoutLock => "wait with a lock that is not held",
        LeftOut::EndOfWait => "end of a wait that did not begin",
        LeftOut::SemaphoreWaitAtZero => "wait on a semaphore at 0",
        LeftOut::FailedSemaphoreWait => "failed wait on a semaphore that is not at 0",
        LeftOut::BarrierArrival => "arrival at a barrier whose creation was not recorded",
        LeftOut::BarrierDeparture => "departure from a barrier that is not complete",
        LeftOut::LateBegin => "repeated or late begin",
        LeftOut::EarlyEnd => "end of a thread that goes on",
        LeftOut::RepeatedFork => "fork of a thread that was there already",
        LeftOut::EarlyJoin => "join of a thread that goes on",
    }
}

fn taken(what: Taken) -> &'static str {
    match what {
        Taken::ErrorCheckingLock => "error-checking lock taken as plain",
        Taken::RecursiveLock => "lock taken again by its holder, so recursive",
        Taken::FailedAcquire => "failed acquire that does not wait taken as a try",
        Taken::ReleaseMode => "release in the mode of the thread's hold",
        Taken::RobustMutex => "robust mutex whose owner ended: its order is kept",
        Taken::SpuriousWake => "end of a wait that no signal explains taken as spurious",
        Taken::FailedSemaphoreWait => {
            "failed wait on a semaphore that does not wait taken as a try"
        }
        Taken::ThreadWithoutFork => "thread that begins without a recorded fork",
        Taken::SharedPages => "read of shared pages that may be written elsewhere",
        Taken::SharedAnswer => "answer of others who may have seen what shared pages hold",
        Taken::HandedMemory => {
            "read of memory that code which is not instrumented may have written"
        }
        Taken::MovedBlock => "block to which realloc copied what other threads had stored",
        Taken::BlockWithoutFree => "block reused without a recorded free",
        Taken::BlockAsRegion => "block too large, or over other memory, taken as a region",
        Taken::FreeOfUnknownBlock => "free of a block that is not known",
        Taken::UnknownStack => "stack not known, or over other memory",
        Taken::ThreadLostInWait => "thread left out after a wait whose end is not known",
        Taken::AddedEndOfWait => "end of a wait added that was not recorded",
        Taken::SplitUpdate => "read-modify-write across objects taken apart",
        Taken::ForksCounted => "thread whose forks the runtime counted differently",
    }
}

/// What was done, and what follows from it.
fn unseen(what: Unseen) -> (&'static str, &'static str) {
    let memory = "the memory that it touches is not seen";
    match what {
        Unseen::InlineAssembly => ("inline assembly that is not understood", memory),
        Unseen::WideAtomic => ("atomic operation of more than 8 bytes", memory),
        Unseen::MappedFile => ("read from a file that is in memory too", memory),
        Unseen::Callback => ("callback from code that is not instrumented", memory),
        Unseen::MemoryCall => ("call that reads memory unseen", memory),
        Unseen::InterruptedWait => ("wait interrupted by a signal", "its order is kept"),
        Unseen::ProcessCopy => {
            ("copy of the process", "what it has seen of other threads is not known")
        }
    }
}

fn recorded(what: Recorded) -> &'static str {
    match what {
        Recorded::FreeRunning => "free-running recording: order of accesses reconstructed",
        Recorded::ChunkUnreachable => "chunk of the recording behind a missing one",
        Recorded::TablesCutOff => "tables of the recording cut off",
        Recorded::BlockedUnseen => "thread blocked where the scheduler does not see it",
        Recorded::SharedLocks => {
            "locks or similar objects shared with other processes: what those processes do is not seen"
        }
        Recorded::HandlerUnseen => "signal handler inside of a wait: its accesses are not recorded",
        Recorded::Forked => "process forked; the child is not recorded",
        Recorded::Started => "programs started; they are not recorded",
        Recorded::StartsChildrenAgain => "children that replays start again",
        Recorded::Deadlocked => "process ended in a deadlock",
    }
}

fn cut_by_budget(read: u64, total: u64, unit: Unit) -> String {
    let (read, total) = match unit {
        Unit::Events => (format!("{read}"), format!("{total} events")),
        Unit::Bytes => (in_megabytes(read), format!("{} MB of the recording", in_megabytes(total))),
    };
    format!("only the first {read} of {total} were read before the time of --budget was over")
}

/// A number of bytes in MB.
fn in_megabytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1e6)
}

fn cut(why: Cut) -> &'static str {
    match why {
        Cut::DiskFull => "the disk was full",
        Cut::SizeLimit => "it reached its largest size",
    }
}

fn walked(what: &Walked) -> String {
    match what {
        Walked::SharedWrites => "shared writes".to_string(),
        Walked::Branches => "branches".to_string(),
        Walked::Expressed => "writes and branches in terms of reads".to_string(),
        Walked::Concretised => "writes and branches kept as recorded".to_string(),
        Walked::ReadKept(why) => {
            format!("read fixed to its recorded value: {}", kept_in_words(*why))
        }
        Walked::NotAsComputed(what) => format!("not as computed: {}", differing(*what)),
        Walked::PathLost { why, function } => {
            format!("path of a thread lost: {}", in_function(lost(*why), function))
        }
        Walked::Unsupported { what, function } => {
            format!("path of a thread lost: {}", in_function(what, function))
        }
        Walked::BrokenImage => "image of a module that cannot be read".to_string(),
    }
}

fn in_function(why: &str, function: &Option<String>) -> String {
    match function {
        Some(function) => format!("{why} in {function}"),
        None => why.to_string(),
    }
}

/// Why a read is fixed to its recorded value, in words.
pub fn kept_in_words(why: Kept) -> &'static str {
    match why {
        Kept::Address => "address",
        Kept::AddressElsewhere => "address in no variable or block",
        Kept::AddressOfCompareExchange => "address of a compare-exchange",
        Kept::AddressOfCopy => "address of a copy",
        Kept::AddressOfFunction => "address of a function",
        Kept::AddressOfPrivate => "address of private or constant memory",
        Kept::AddressOfReachable => "address of what a library can reach",
        Kept::AddressNotModelled => "address that is not modelled",
        Kept::LibraryArgument => "argument of a library function",
        Kept::ArgumentWidth => "argument of a different width",
        Kept::LoopBounds => "bounds of a loop",
        Kept::FillByte => "byte of a fill",
        Kept::CompareExchange => "compare-exchange",
        Kept::ConditionNotModelled => "condition that is not modelled",
        Kept::LargeCopy => "copy of many bytes",
        Kept::Dividend => "dividend",
        Kept::Divisor => "divisor",
        Kept::Errno => "errno",
        Kept::AssemblyOrVariadic => "inline assembly or variadic arguments",
        Kept::ReachableMemory => "memory that a library can reach",
        Kept::ChangedMemory => "memory that a library changed",
        Kept::TooManyConditions => "more conditions than records",
        Kept::ReadByLibrary => "read by a library function",
        Kept::PartlySharedRead => "read of which only a part is shared",
        Kept::ResultWidth => "result of a different width",
        Kept::ShareOfWork => "share of work",
        Kept::Shift => "shift",
        Kept::CopySize => "size of a copy",
        Kept::PartlySharedStore => "store of which only a part is shared",
        Kept::StoreElsewhere => "store to an address that is not known",
        Kept::SwitchDefault => "switch",
        Kept::SwitchValue => "value of a switch",
        Kept::ReturnedToLibrary => "value returned to a library",
        Kept::ValueNotModelled => "value that is not modelled",
        Kept::VariadicArgument => "variadic argument",
    }
}

fn differing(what: Differing) -> &'static str {
    match what {
        Differing::PrivateMemory => "memory of one thread",
        Differing::Result => "result of a function",
        Differing::Stored => "stored value",
    }
}

fn lost(why: Lost) -> &'static str {
    match why {
        Lost::BranchOtherWay => "a branch that went the other way",
        Lost::CallWithoutImage => "a call of a function without an image",
        Lost::UnexpectedCall => "a call where there is none",
        Lost::OtherStack => "a change to another stack",
        Lost::UnknownCondition => "a constant condition that is not known",
        Lost::UnknownSwitch => "a constant switch that is not known",
        Lost::CopySize => "a copy of a different size",
        Lost::CallWithoutBegin => "a function that does not begin",
        Lost::NoImage => "a function without an image",
        Lost::NoLabel => "a label that is none",
        Lost::CopyLoadElsewhere => "a load of a copy elsewhere",
        Lost::UnexpectedLoad => "a load where there is none",
        Lost::SilentLoop => "a loop that nothing is recorded of",
        Lost::UnexpectedUpdate => "a read-modify-write where there is none",
        Lost::UnexpectedReturn => "a return where there was no call",
        Lost::CopyStoreElsewhere => "a store of a copy elsewhere",
        Lost::UnexpectedStore => "a store where there is none",
        Lost::SwitchOtherWay => "a switch that went another way",
        Lost::UnexpectedSwitch => "a switch where there is none",
        Lost::LibraryTailCall => "a tail call of a library function",
        Lost::AssertionOtherWay => "an assertion that went the other way",
        Lost::UnexpectedAssertion => "an assertion where there is none",
        Lost::NoLandingPad => "an exception that lands nowhere",
        Lost::UnexpectedOperation => "an operation where there is none",
    }
}

/// Whether a reader of the findings must know a fact: not what nobody else touches; blind spots and
/// terms are summed up.
pub(crate) fn is_news(fact: &Provenance) -> bool {
    !matches!(
        fact,
        Provenance::Private(_) | Provenance::UnknownWriter { .. } | Provenance::Walked(_)
    )
}

/// Whether a fact says how the recorded run ended.
pub(crate) fn is_ending(fact: &Provenance) -> bool {
    matches!(fact, Provenance::EndedBySignal(_) | Provenance::Recorded(Recorded::Deadlocked))
}

impl TraceInfo {
    /// How much is known of what was computed, in one line; `None` if the trace does not say.
    #[allow(clippy::wildcard_enum_match_arm)]
    pub fn terms(&self) -> Option<String> {
        let walked: Vec<(&Walked, u64)> = self
            .provenance
            .iter()
            .filter_map(|(fact, count)| match fact {
                Provenance::Walked(what) => Some((what, *count)),
                _ => None,
            })
            .collect();
        if walked.is_empty() {
            return None;
        }
        let (mut expressed, mut kept_as_recorded, mut broken) = (0, 0, 0);
        let (mut kept, mut differ, mut paths) = <(Sum, Sum, Sum)>::default();
        for &(what, count) in &walked {
            match what {
                Walked::SharedWrites | Walked::Branches => {}
                Walked::Expressed => expressed += count,
                Walked::Concretised => kept_as_recorded += count,
                Walked::ReadKept(why) => kept.add(kept_in_words(*why).to_string(), count),
                Walked::NotAsComputed(what) => differ.add(differing(*what).to_string(), count),
                Walked::PathLost { why, function } => {
                    paths.add(in_function(lost(*why), function), count)
                }
                Walked::Unsupported { what, function } => {
                    paths.add(in_function(what, function), count)
                }
                Walked::BrokenImage => broken += count,
            }
        }
        let all = expressed + kept_as_recorded;
        let mut line = format!(
            "{expressed} of {all} writes and branches that depend on shared reads are modelled exactly"
        );
        line += &kept.in_words(
            "read is fixed to its recorded value",
            "reads are fixed to their recorded values",
        );
        line += &differ.in_words(
            "value differs from the computed one",
            "values differ from the computed ones",
        );
        line += &paths.in_words(
            "thread could not be followed to its end",
            "threads could not be followed to their ends",
        );
        if broken > 0 {
            line += &format!("; the code of {broken} modules cannot be read");
        }
        if walked.iter().any(|(what, _)| **what == Walked::ReadKept(Kept::Address)) {
            line += "; --symbolic-addresses lets addresses vary";
        }
        Some(line)
    }

    /// How often the recording shows something that no recorded event explains: reads of what
    /// nobody wrote, and operations that were left out since they do not fit.
    pub fn blind_spots(&self) -> u64 {
        let blind = self.provenance.iter().filter(|(fact, _)| fact.is_blind_spot());
        blind.map(|(_, count)| count).sum()
    }
}

/// How often something was so, and why.
#[derive(Default)]
struct Sum {
    count: u64,
    reasons: Vec<String>,
}

impl Sum {
    fn add(&mut self, reason: String, count: u64) {
        self.count += count;
        self.reasons.push(reason);
    }

    fn in_words(&self, one: &str, more: &str) -> String {
        let reasons = self.reasons.join(", ");
        match self.count {
            0 => String::new(),
            1 => format!("; 1 {one} ({reasons})"),
            count => format!("; {count} {more} ({reasons})"),
        }
    }
}
