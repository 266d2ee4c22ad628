//! The checker of refutations: what is called impossible passes it.
//!
//! **Computes.** Whether each step of a proof follows from the trace and from the steps that it
//! names, by the rule that it names; and whether the last two contradict each other. Then no
//! feasible schedule ends in the violation.
//!
//! **Follows.** `docs/causality.md`, and nothing else: it shares no code with the graph that prunes
//! or the derivation that explains. Here are the general rules of section 1 and the facts of
//! section 2; `rules` has sections 3 to 6.
//!
//! **Invariant.** A rule about everything that could give what a waiter needs goes through all of
//! them here; that a proof does not mention one is no reason to forget it. A premise counts with
//! what follows from it by program order: X(f) gives X(e), and N(e) gives N(f), if e precedes f in
//! their thread; likewise for order.
//!
//! **Cost.** Linear in the trace once, then for each step its premises times what it quantifies
//! over.

use foretrace_trace::{EventId, Op, Trace};
use foretrace_verdict::{Fact, Model, ProofStep, Refutation, Rule, Violation};

use super::error::{RefutationError, Why};
use super::view::View;
use crate::at_end::{check_form, points};
use crate::refuted::Refuted;

/// Whether the refutation proves that no feasible schedule of the trace ends in the violation under
/// the model.
pub fn check_refutation(
    trace: &Trace,
    model: Model,
    violation: &Violation,
    refutation: &Refutation,
) -> Result<(), RefutationError> {
    RefutationChecker::new(trace, model).check(violation, refutation)
}

/// Checks refutations of violations of one trace.
#[derive(Debug)]
pub struct RefutationChecker<'t> {
    view: View<'t>,
}

impl<'t> RefutationChecker<'t> {
    /// Computes what the recorded run fixes, in one pass.
    pub fn new(trace: &'t Trace, model: Model) -> Self {
        RefutationChecker { view: View::new(trace, model) }
    }

    /// Whether the refutation proves that no feasible schedule ends in the violation.
    #[allow(clippy::wildcard_enum_match_arm)]
    pub fn check(
        &self,
        violation: &Violation,
        refutation: &Refutation,
    ) -> Result<(), RefutationError> {
        check_form(self.view.trace, violation).map_err(|refuted| match refuted {
            Refuted::Malformed { why } => RefutationError::Malformed(why),
            _ => RefutationError::Malformed("it has not the form of its kind"),
        })?;
        let steps = &refutation.steps;
        for (number, step) in steps.iter().enumerate() {
            self.check_step(violation, &steps[..number], step)
                .map_err(|why| RefutationError::Step { step: number, rule: step.rule, why })?;
        }
        let (executed, not_executed) = refutation.contradiction;
        let fact = |index: u32| steps.get(index as usize).map(|step| step.fact);
        match (fact(executed), fact(not_executed)) {
            (Some(Fact::Executed(late)), Some(Fact::NotExecuted(early)))
                if self.view.is_up_to(early, late) =>
            {
                Ok(())
            }
            _ => Err(RefutationError::NoContradiction(refutation.contradiction)),
        }
    }

    fn check_step(
        &self,
        violation: &Violation,
        earlier: &[ProofStep],
        step: &ProofStep,
    ) -> Result<(), Why> {
        let (first, second) = events(step.fact);
        if first.max(second).index() >= self.view.trace.len() {
            return Err(Why::NoSuchEvent);
        }
        let fact = |&index: &u32| earlier.get(index as usize).map(|step| step.fact);
        let facts: Option<Vec<Fact>> = step.premises.iter().map(fact).collect();
        let premises = Premises { view: &self.view, facts: facts.ok_or(Why::NotEarlier)? };
        match step.rule {
            Rule::Candidate => {
                require(says(&self.view, violation, step.fact), Why::NotItsFact)?;
                premises.none()
            }
            Rule::Program => match step.fact {
                Fact::Before(first, second) if premises.in_thread(first, second) => premises.none(),
                Fact::Executed(_) | Fact::NotExecuted(_) | Fact::Before(..) => Err(Why::NotItsFact),
            },
            Rule::Chain => premises.chain(step.fact),
            Rule::Need => premises.need(step.fact),
            Rule::Never => premises.never(step.fact),
            Rule::Cycle => premises.cycle(step.fact),
            Rule::Fork | Rule::Join | Rule::Barrier | Rule::Open | Rule::Alloc | Rule::Call => {
                require(self.view.seeds(step.rule, step.fact), Why::NotItsFact)?;
                premises.none()
            }
            Rule::LockAfter | Rule::LockInside | Rule::LockOrder => {
                premises.locks(step.rule, step.fact)
            }
            Rule::Unnotified => premises.unnotified(step.fact),
            Rule::Notified => premises.notified(step.fact),
            Rule::Matched => premises.matched(step.fact),
            Rule::Unposted => premises.unposted(step.fact),
            Rule::Posted => premises.posted(step.fact),
            Rule::Unexplained | Rule::Written => {
                self.view.data(violation, step.rule, step.fact)?;
                premises.none()
            }
            Rule::Published => Err(Why::Unsound),
        }
    }
}

/// What a step rests on.
pub(super) struct Premises<'a> {
    pub(super) view: &'a View<'a>,
    facts: Vec<Fact>,
}

impl Premises<'_> {
    /// A rule that needs nothing is given nothing.
    fn none(&self) -> Result<(), Why> {
        require(self.facts.is_empty(), Why::Premises)
    }

    /// Whether the first event precedes the second in their thread.
    fn in_thread(&self, first: EventId, second: EventId) -> bool {
        first != second && self.view.is_up_to(first, second)
    }

    /// Whether the premises give X(e).
    pub(super) fn executed(&self, event: EventId) -> bool {
        let gives =
            |fact: &Fact| matches!(*fact, Fact::Executed(late) if self.view.is_up_to(event, late));
        self.facts.iter().any(gives)
    }

    /// Whether the premises give N(e).
    pub(super) fn not_executed(&self, event: EventId) -> bool {
        let gives = |fact: &Fact| match *fact {
            Fact::NotExecuted(early) => self.view.is_up_to(early, event),
            Fact::Executed(_) | Fact::Before(..) => false,
        };
        self.facts.iter().any(gives)
    }

    /// Whether the premises, or program order alone, give e < f.
    pub(super) fn before(&self, first: EventId, second: EventId) -> bool {
        let gives = |fact: &Fact| {
            matches!(*fact, Fact::Before(from, to)
                if self.view.is_up_to(first, from) && self.view.is_up_to(to, second))
        };
        self.in_thread(first, second) || self.facts.iter().any(gives)
    }

    fn orders(&self) -> impl Iterator<Item = (EventId, EventId)> + Clone + '_ {
        self.facts.iter().filter_map(|fact| match *fact {
            Fact::Before(from, to) => Some((from, to)),
            Fact::Executed(_) | Fact::NotExecuted(_) => None,
        })
    }

    /// Each premise begins where the one before ends, or later in that thread.
    fn chain(&self, fact: Fact) -> Result<(), Why> {
        let Fact::Before(first, second) = fact else { return Err(Why::NotItsFact) };
        let mut reached = first;
        let mut links = self.orders();
        require(
            !self.facts.is_empty() && links.clone().count() == self.facts.len(),
            Why::Premises,
        )?;
        let fits = links.all(|(from, to)| {
            let begins = self.view.is_up_to(reached, from);
            reached = to;
            begins
        });
        require(fits && self.view.is_up_to(reached, second), Why::Premises)
    }

    fn need(&self, fact: Fact) -> Result<(), Why> {
        let Fact::Executed(event) = fact else { return Err(Why::NotItsFact) };
        let mut orders = self.orders();
        let gives = |(from, to)| self.view.is_up_to(event, from) && self.executed(to);
        require(orders.any(gives), Why::Premises)
    }

    fn never(&self, fact: Fact) -> Result<(), Why> {
        let Fact::NotExecuted(event) = fact else { return Err(Why::NotItsFact) };
        let mut orders = self.orders();
        let gives = |(from, to)| self.not_executed(from) && self.view.is_up_to(to, event);
        require(orders.any(gives), Why::Premises)
    }

    fn cycle(&self, fact: Fact) -> Result<(), Why> {
        let Fact::NotExecuted(event) = fact else { return Err(Why::NotItsFact) };
        let gives = |(from, to)| self.view.is_up_to(to, from) && self.view.is_up_to(to, event);
        require(self.orders().any(gives), Why::Premises)
    }
}

/// What a thread has done at the end of a schedule with the violation.
enum At {
    /// It is next at the event.
    Next(EventId),
    /// It has executed the event.
    Behind(EventId),
}

/// Whether section 2 gives the fact for this violation.
fn says(view: &View, violation: &Violation, fact: Fact) -> bool {
    let (trace, at) = (view.trace, points(violation));
    let object = match *violation {
        Violation::Race(access, _) => trace.access(access).map(|access| access.at.object),
        Violation::Atomicity { .. }
        | Violation::LockCycle(_)
        | Violation::Stuck(_)
        | Violation::Lock(..)
        | Violation::Assertion(_) => None,
    };
    let mut threads = at.iter().map(|&point| match *violation {
        Violation::Atomicity { second, .. } if point != second => At::Behind(point),
        Violation::Race(..) | Violation::Atomicity { .. } | Violation::Assertion(_) => {
            At::Next(point)
        }
        Violation::LockCycle(_) | Violation::Stuck(_) | Violation::Lock(..) => {
            if stays_behind(trace, point) { At::Behind(point) } else { At::Next(point) }
        }
    });
    match fact {
        Fact::Before(first, second) => {
            matches!(*violation,
                Violation::Atomicity { first: c, remote, .. } if (c, remote) == (first, second))
        }
        Fact::Executed(event) => {
            let is_alloc =
                object.is_some_and(|object| view.recorded.alloc_of(object) == Some(event));
            is_alloc
                || threads.any(|thread| {
                    let (At::Next(point) | At::Behind(point)) = thread;
                    let is_behind = matches!(thread, At::Behind(_));
                    let is_fork =
                        view.recorded.forks[trace.thread_of(point).index()] == Some(event);
                    is_fork || view.is_up_to(event, point) && (is_behind || event != point)
                })
        }
        Fact::NotExecuted(event) => {
            let is_exit = trace.op(event) == Op::Exit;
            let is_free = object.is_some_and(|object| trace.op(event) == Op::Free { object });
            is_exit
                || is_free
                || threads
                    .any(|thread| matches!(thread, At::Next(point) if view.is_up_to(point, event)))
        }
    }
}

/// Whether a thread that waits at its last event has executed it: a request, a wait, an arrival or
/// the enter of a call.
fn stays_behind(trace: &Trace, point: EventId) -> bool {
    let waits = matches!(
        trace.op(point),
        Op::Request(_) | Op::Wait { .. } | Op::Arrive { .. } | Op::EnterCall { .. }
    );
    waits && trace.next(point).is_none()
}

fn events(fact: Fact) -> (EventId, EventId) {
    match fact {
        Fact::Executed(event) | Fact::NotExecuted(event) => (event, event),
        Fact::Before(first, second) => (first, second),
    }
}

pub(super) fn require(holds: bool, why: Why) -> Result<(), Why> {
    if holds { Ok(()) } else { Err(why) }
}
