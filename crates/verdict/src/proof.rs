//! Why a violation is impossible: proofs in the rules of `docs/causality.md`.
//!
//! A proof is a list of facts that hold in every feasible schedule that ends in the violation, each
//! with the rule that gives it and the earlier facts that the rule needs. It ends in an event that
//! is executed and is not.

use foretrace_trace::EventId;

/// What holds in every feasible schedule that ends in the violation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Fact {
    /// The event is executed.
    Executed(EventId),
    /// The event is not executed.
    NotExecuted(EventId),
    /// If the second event is executed, then the first one is too, and earlier.
    Before(EventId, EventId),
}

/// The rules of `docs/causality.md` that give facts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rule {
    /// Section 2: the violation says so.
    Candidate,
    /// The order of a thread.
    Program,
    /// One order behind the other.
    Chain,
    /// What is executed needs what comes before it.
    Need,
    /// What is not executed keeps what comes after it from being executed.
    Never,
    /// What comes before itself is not executed.
    Cycle,
    /// A thread comes after its fork.
    Fork,
    /// A join comes after the child.
    Join,
    /// A round of a barrier comes after the one before, a leave after its round.
    Barrier,
    /// A hold is closed after it is opened, deepened and lowered.
    Open,
    /// An object is used after its alloc; an address is used again after the free.
    Alloc,
    /// A call ends after those have begun on which its result may depend.
    Call,
    /// The hold that is opened first is closed before the other one is opened.
    LockAfter,
    /// The hold that is opened before the other one is closed is itself closed before that.
    LockInside,
    /// The hold that is opened, while the other one cannot have been closed, is closed before the
    /// other one is opened.
    LockOrder,
    /// Nothing can notify the wait.
    Unnotified,
    /// A wake comes after what comes before all that can notify its wait.
    Notified,
    /// The only notification of a wait that is over comes after it.
    Matched,
    /// There are too few posts.
    Unposted,
    /// A wait on a semaphore comes after what comes before so many posts that it needs one of them.
    Posted,
    /// A read with an unknown writer comes after all that was recorded before it.
    Unexplained,
    /// A read comes after the only write that leaves what it expects.
    Written,
    /// A wake is matched with the notification that woke it in the recorded run. **Not sound**: for
    /// comparison only, and every proof that uses it is refused.
    Published,
}

/// One step of a proof.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProofStep {
    /// What it shows.
    pub fact: Fact,
    /// By which rule.
    pub rule: Rule,
    /// The earlier steps that the rule needs. Each counts with all that follows from it by program
    /// order.
    pub premises: Vec<u32>,
}

/// A proof that no feasible schedule ends in a violation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refutation {
    /// In order: premises come first.
    pub steps: Vec<ProofStep>,
    /// The step by which an event is executed, and the one by which the same event, or an earlier
    /// one of its thread, is not.
    pub contradiction: (u32, u32),
}
