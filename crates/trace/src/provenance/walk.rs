//! Facts from the walk along the recorded paths: how many writes and branches it expresses in terms
//! of reads, and why it does not express the others.

use std::borrow::Cow;

use super::coded;

/// What the walk counts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Walked {
    /// Writes of memory that other threads touch.
    SharedWrites,
    /// Branches.
    Branches,
    /// Writes and branches that depend on reads, and are expressed in terms of them.
    Expressed,
    /// Writes and branches that depend on reads, and are kept as recorded.
    Concretised,
    /// A read is kept as recorded.
    ReadKept(Kept),
    /// A recorded value is not the one that the walk computes.
    NotAsComputed(Differing),
    /// The walk does not follow a thread any further.
    PathLost {
        /// Why.
        why: Lost,
        /// The function in which that was.
        function: Option<String>,
    },
    /// The same, at an instruction that the image of the program does not support.
    Unsupported {
        /// The instruction, as the image calls it.
        what: String,
        /// The function in which that was.
        function: Option<String>,
    },
    /// The image of a module cannot be read.
    BrokenImage,
}

coded! {
    /// Why a read is kept as recorded.
    Kept {
        /// It determines an address; `--symbolic-addresses` may leave that open.
        Address = "address",
        /// It determines an address that is in no variable or block.
        AddressElsewhere = "address-elsewhere",
        /// It determines the address of a compare-exchange.
        AddressOfCompareExchange = "address-of-compare-exchange",
        /// It determines the address of a copy.
        AddressOfCopy = "address-of-copy",
        /// It determines which function is called.
        AddressOfFunction = "address-of-function",
        /// It determines an address of private or constant memory.
        AddressOfPrivate = "address-of-private-memory",
        /// It determines an address of memory that a library can reach.
        AddressOfReachable = "address-of-reachable-memory",
        /// It determines an address, in a way that is not modelled.
        AddressNotModelled = "address-not-modelled",
        /// It is an argument of a library function.
        LibraryArgument = "library-argument",
        /// It is an argument of another width than its parameter.
        ArgumentWidth = "argument-width",
        /// It is a bound of a loop whose iterations the runtime divides.
        LoopBounds = "loop-bounds",
        /// It is the byte that a range of memory is filled with.
        FillByte = "fill-byte",
        /// It decides a compare-exchange.
        CompareExchange = "compare-exchange",
        /// It decides a condition that is not modelled.
        ConditionNotModelled = "condition-not-modelled",
        /// It is part of a copy of many bytes.
        LargeCopy = "large-copy",
        /// It is a dividend.
        Dividend = "dividend",
        /// It is a divisor.
        Divisor = "divisor",
        /// It determines `errno`.
        Errno = "errno",
        /// It is used by inline assembly, or is part of a list of variadic arguments.
        AssemblyOrVariadic = "assembly-or-variadic",
        /// It is in memory that a library can reach.
        ReachableMemory = "reachable-memory",
        /// It is in memory that a library changed.
        ChangedMemory = "changed-memory",
        /// There would be more conditions than records.
        TooManyConditions = "too-many-conditions",
        /// A library function makes it.
        ReadByLibrary = "read-by-library",
        /// Only a part of what it reads is shared.
        PartlySharedRead = "partly-shared-read",
        /// It is a result of another width than its function's.
        ResultWidth = "result-width",
        /// It says which part of the work of a loop a thread gets.
        ShareOfWork = "share-of-work",
        /// It is the distance of a shift.
        Shift = "shift",
        /// It determines the size of a copy.
        CopySize = "copy-size",
        /// Only a part of where it is stored is shared.
        PartlySharedStore = "partly-shared-store",
        /// It is stored at an address that is not known.
        StoreElsewhere = "store-elsewhere",
        /// It decides a switch whose cases it must miss.
        SwitchDefault = "switch-default",
        /// It decides a switch.
        SwitchValue = "switch-value",
        /// It is returned to a library.
        ReturnedToLibrary = "returned-to-library",
        /// It determines a value that is not modelled.
        ValueNotModelled = "value-not-modelled",
        /// It is a variadic argument.
        VariadicArgument = "variadic-argument",
    }
}

coded! {
    /// A value that is not the one that the walk computes.
    Differing {
        /// What is in memory that only one thread touches.
        PrivateMemory = "private-memory",
        /// What a function returns.
        Result = "result",
        /// What is stored.
        Stored = "stored-value",
    }
}

coded! {
    /// Why the walk does not follow a thread any further.
    Lost {
        /// A branch went the other way.
        BranchOtherWay = "branch-other-way",
        /// The thread calls a function that has no image.
        CallWithoutImage = "call-without-image",
        /// A call is recorded where the code has none.
        UnexpectedCall = "unexpected-call",
        /// The thread changes to another stack.
        OtherStack = "other-stack",
        /// A condition that should be constant is not known.
        UnknownCondition = "unknown-condition",
        /// A switch on what should be constant is not known.
        UnknownSwitch = "unknown-switch",
        /// A copy has another size than the code says.
        CopySize = "copy-size",
        /// A function is called, but does not begin.
        CallWithoutBegin = "call-without-begin",
        /// A function has no image.
        NoImage = "no-image",
        /// The thread goes to a label that does not exist.
        NoLabel = "no-label",
        /// A load that belongs to a copy is elsewhere.
        CopyLoadElsewhere = "copy-load-elsewhere",
        /// A load is recorded where the code has none.
        UnexpectedLoad = "unexpected-load",
        /// Nothing is recorded of a loop.
        SilentLoop = "silent-loop",
        /// A read-modify-write is recorded where the code has none.
        UnexpectedUpdate = "unexpected-update",
        /// A function returns that was not called.
        UnexpectedReturn = "unexpected-return",
        /// A store that belongs to a copy is elsewhere.
        CopyStoreElsewhere = "copy-store-elsewhere",
        /// A store is recorded where the code has none.
        UnexpectedStore = "unexpected-store",
        /// A switch went another way.
        SwitchOtherWay = "switch-other-way",
        /// A switch is recorded where the code has none.
        UnexpectedSwitch = "unexpected-switch",
        /// A library function is called in place of a return.
        LibraryTailCall = "library-tail-call",
        /// An assertion went the other way.
        AssertionOtherWay = "assertion-other-way",
        /// An assertion is recorded where the code has none.
        UnexpectedAssertion = "unexpected-assertion",
        /// An exception lands nowhere.
        NoLandingPad = "no-landing-pad",
        /// An operation is recorded where the code has none.
        UnexpectedOperation = "unexpected-operation",
    }
}

impl Kept {
    /// Whether the read is kept because an address depends on it.
    pub fn is_address(self) -> bool {
        matches!(
            self,
            Kept::Address
                | Kept::AddressElsewhere
                | Kept::AddressOfCompareExchange
                | Kept::AddressOfCopy
                | Kept::AddressOfFunction
                | Kept::AddressOfPrivate
                | Kept::AddressOfReachable
                | Kept::AddressNotModelled
        )
    }
}

impl Walked {
    pub(super) fn code(&self) -> &'static str {
        match self {
            Walked::SharedWrites => "shared-writes",
            Walked::Branches => "branches",
            Walked::Expressed => "expressed",
            Walked::Concretised => "concretised",
            Walked::ReadKept(_) => "read-kept",
            Walked::NotAsComputed(_) => "not-as-computed",
            Walked::PathLost { .. } => "path-lost",
            Walked::Unsupported { .. } => "path-unsupported",
            Walked::BrokenImage => "broken-image",
        }
    }

    pub(super) fn details(&self) -> Vec<Cow<'_, str>> {
        let in_function = |what: Cow<'static, str>, function: &Option<String>| {
            [what].into_iter().chain(function.clone().map(Cow::Owned)).collect()
        };
        match self {
            Walked::ReadKept(why) => vec![why.code().into()],
            Walked::NotAsComputed(what) => vec![what.code().into()],
            Walked::PathLost { why, function } => in_function(why.code().into(), function),
            Walked::Unsupported { what, function } => in_function(what.clone().into(), function),
            Walked::SharedWrites
            | Walked::Branches
            | Walked::Expressed
            | Walked::Concretised
            | Walked::BrokenImage => Vec::new(),
        }
    }

    pub(super) fn from_parts(code: &str, details: &[&str]) -> Option<Walked> {
        let function = details.get(1).map(|name| name.to_string());
        match (code, details) {
            ("shared-writes", []) => Some(Walked::SharedWrites),
            ("branches", []) => Some(Walked::Branches),
            ("expressed", []) => Some(Walked::Expressed),
            ("concretised", []) => Some(Walked::Concretised),
            ("read-kept", [why]) => Kept::from_code(why).map(Walked::ReadKept),
            ("not-as-computed", [what]) => Differing::from_code(what).map(Walked::NotAsComputed),
            ("path-lost", [why] | [why, _]) => {
                Lost::from_code(why).map(|why| Walked::PathLost { why, function })
            }
            ("path-unsupported", [what] | [what, _]) => {
                Some(Walked::Unsupported { what: what.to_string(), function })
            }
            ("broken-image", []) => Some(Walked::BrokenImage),
            _ => None,
        }
    }
}
