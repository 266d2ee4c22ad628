//! Notes of traces that were written when facts were still English sentences.
//!
//! Only the sentences that decided something are known here, and only the readers of files ask.
//! All others are shown as they are.

use super::{Kept, LeftOut, Private, Provenance, Taken, Walked};

/// What a note in an old trace says.
pub(crate) fn from_sentence(text: &str) -> Provenance {
    if let Some(walked) = text.strip_prefix("terms: ") {
        return from_walk(walked).map_or_else(|| other(text), Provenance::Walked);
    }
    if let Some(place) = text.strip_prefix("unknown writer reads at ") {
        let at = (place != "other places").then(|| place.to_string());
        return Provenance::UnknownWriter { at };
    }
    // There were several such sentences, and each of them decided.
    if text.starts_with("access to freed memory") {
        return Provenance::FreedAccess;
    }
    match text {
        "access to memory of one thread left out" => Private::Access.into(),
        "block of memory of one thread left out" => Private::Block.into(),
        "block too large, or over other memory, taken as a region" => Taken::BlockAsRegion.into(),
        _ => LEFT_OUT
            .iter()
            .find(|(sentence, _)| *sentence == text)
            .map_or_else(|| other(text), |&(_, what)| what.into()),
    }
}

fn other(text: &str) -> Provenance {
    Provenance::Other(text.to_string())
}

/// What a note of the walk says, behind `terms: `.
fn from_walk(text: &str) -> Option<Walked> {
    if let Some(why) = text.strip_prefix("read kept as recorded: ") {
        return KEPT.iter().find(|(words, _)| *words == why).map(|&(_, why)| Walked::ReadKept(why));
    }
    if let Some(why) = text.strip_prefix("path of a thread lost: ") {
        return Some(Walked::Unsupported { what: why.to_string(), function: None });
    }
    match text {
        "shared writes" => Some(Walked::SharedWrites),
        "branches" => Some(Walked::Branches),
        "writes and branches in terms of reads" => Some(Walked::Expressed),
        "writes and branches kept as recorded" => Some(Walked::Concretised),
        "not as computed: memory of one thread" => {
            Some(Walked::NotAsComputed(super::Differing::PrivateMemory))
        }
        "not as computed: result of a function" => {
            Some(Walked::NotAsComputed(super::Differing::Result))
        }
        "not as computed: stored value" => Some(Walked::NotAsComputed(super::Differing::Stored)),
        "image of a module that cannot be read" => Some(Walked::BrokenImage),
        _ => None,
    }
}

/// These were counted as blind spots.
const LEFT_OUT: [(&str, LeftOut); 20] = [
    ("access to a lock's own memory left out", LeftOut::LockMemory),
    ("record after exit left out", LeftOut::AfterExit),
    ("record of a thread whose state is not known left out", LeftOut::LostThread),
    ("end of a call that did not begin left out", LeftOut::EndOfCall),
    ("acquire of a lock that another thread holds left out", LeftOut::AcquireOfHeldLock),
    (
        "acquire of a robust mutex that is not recoverable left out",
        LeftOut::AcquireOfUnrecoverableLock,
    ),
    ("failed acquire of a lock that nobody holds left out", LeftOut::FailedAcquireOfFreeLock),
    ("refused release of another thread's lock left out", LeftOut::RefusedRelease),
    ("release of another thread's shared or deep hold left out", LeftOut::ReleaseOfForeignHold),
    ("destroy of a lock that is held left out", LeftOut::DestroyOfHeldLock),
    ("wait with a lock that is not held left out", LeftOut::WaitWithoutLock),
    ("end of a wait that did not begin left out", LeftOut::EndOfWait),
    ("wait on a semaphore at 0 left out", LeftOut::SemaphoreWaitAtZero),
    ("failed wait on a semaphore that is not at 0 left out", LeftOut::FailedSemaphoreWait),
    ("arrival at a barrier whose making was not recorded left out", LeftOut::BarrierArrival),
    ("departure from a barrier that is not complete left out", LeftOut::BarrierDeparture),
    ("repeated or late begin left out", LeftOut::LateBegin),
    ("end of a thread that goes on left out", LeftOut::EarlyEnd),
    ("fork of a thread that was there already left out", LeftOut::RepeatedFork),
    ("join of a thread that goes on left out", LeftOut::EarlyJoin),
];

/// These were summed up, and one of them says that another question makes sense.
const KEPT: [(&str, Kept); 35] = [
    ("address", Kept::Address),
    ("address in no variable or block", Kept::AddressElsewhere),
    ("address of a compare-exchange", Kept::AddressOfCompareExchange),
    ("address of a copy", Kept::AddressOfCopy),
    ("address of a function", Kept::AddressOfFunction),
    ("address of private or constant memory", Kept::AddressOfPrivate),
    ("address of what a library can reach", Kept::AddressOfReachable),
    ("address that is not modelled", Kept::AddressNotModelled),
    ("argument of a library function", Kept::LibraryArgument),
    ("argument of another width", Kept::ArgumentWidth),
    ("bounds of a loop", Kept::LoopBounds),
    ("byte of a fill", Kept::FillByte),
    ("compare-exchange", Kept::CompareExchange),
    ("condition that is not modelled", Kept::ConditionNotModelled),
    ("copy of many bytes", Kept::LargeCopy),
    ("dividend", Kept::Dividend),
    ("divisor", Kept::Divisor),
    ("errno", Kept::Errno),
    ("inline assembly or variadic arguments", Kept::AssemblyOrVariadic),
    ("memory that a library can reach", Kept::ReachableMemory),
    ("memory that a library changed", Kept::ChangedMemory),
    ("more conditions than records", Kept::TooManyConditions),
    ("read by a library function", Kept::ReadByLibrary),
    ("read of which only a part is shared", Kept::PartlySharedRead),
    ("result of another width", Kept::ResultWidth),
    ("share of work", Kept::ShareOfWork),
    ("shift", Kept::Shift),
    ("size of a copy", Kept::CopySize),
    ("store of which only a part is shared", Kept::PartlySharedStore),
    ("store to an address that is not known", Kept::StoreElsewhere),
    ("switch", Kept::SwitchDefault),
    ("value of a switch", Kept::SwitchValue),
    ("value returned to a library", Kept::ReturnedToLibrary),
    ("value that is not modelled", Kept::ValueNotModelled),
    ("variadic argument", Kept::VariadicArgument),
];
