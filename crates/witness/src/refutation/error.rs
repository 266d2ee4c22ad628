//! Why a proof is rejected.

use foretrace_verdict::Rule;

/// The first step of a proof that the trace does not bear out.
///
/// Shown to the user as evidence of a bug *in this tool*: what was said to be impossible may be
/// possible.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RefutationError {
    /// The violation does not have the form that its kind asks for.
    #[error("this is no violation: {0}")]
    Malformed(&'static str),
    /// A step that does not follow.
    #[error("step {step} ({rule:?}): {why}")]
    #[allow(missing_docs)]
    Step { step: usize, rule: Rule, why: Why },
    /// The last line: no event is both executed and not.
    #[error("the steps {} and {} do not contradict each other", _0.0, _0.1)]
    NoContradiction((u32, u32)),
}

/// What is wrong with a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Why {
    /// It names an event that the trace does not have.
    #[error("the trace has no such event")]
    NoSuchEvent,
    /// It rests on itself or on a later step.
    #[error("a premise is not an earlier step")]
    NotEarlier,
    /// The rule gives facts of another kind, or about other events.
    #[error("the rule says nothing of these events")]
    NotItsFact,
    /// The premises are not what the rule needs.
    #[error("the premises do not give what the rule needs")]
    Premises,
    /// The two holds may be open at once.
    #[error("the holds do not exclude each other")]
    Compatible,
    /// A notification, a post or a write that the premises leave out.
    #[error("event {} is not accounted for", .0.0)]
    Forgotten(foretrace_trace::EventId),
    /// There are enough posts, also without those that the premises exclude.
    #[error("there may be enough posts")]
    EnoughPosts,
    /// The rule is not for this model, this violation or this read.
    #[error("the rule is not for this model, violation or read")]
    NotHere,
    /// The rule is no rule of ours.
    #[error("the rule is not sound")]
    Unsound,
}
