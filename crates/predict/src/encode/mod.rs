//! The questions as clauses: `docs/theory.md` over inclusion and order.
//!
//! **Computes.** A persistent solver in which X, the moment of the violation, is a node of the
//! order and `included(e)` means "e before X". Rules of the semantics are added lazily, each only
//! when a proposed schedule breaks it (`lazy`); candidates are questions under an assumption
//! (`goal`).
//!
//! **Follows.** 002 sections 3 and 4, with prefixes: a clause about an event is guarded by its
//! inclusion.
//!
//! **Invariant.** Every clause holds in every feasible schedule, read as: included events in the
//! order of the schedule, then X, then all others in recorded order. So *unsatisfiable* is exact at
//! any time, and a schedule that breaks no rule is feasible.

mod amo;
mod computed;
mod data;
mod facts;
mod guards;
mod holders;
mod lazy;
mod lifetimes;
mod locks;
mod memory;
mod segments;
mod stuck;
mod totals;
mod waiting;

use std::cell::RefCell;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use foretrace_causality::MustHappenBefore;
use foretrace_model::{CellId, HoldId, Skeleton};
use foretrace_solve::{Limits, Lit, Node, Outcome, Solver, Statistics};
use foretrace_trace::{EventId, SemId, ops};

pub(crate) use lazy::Proposal;
pub(crate) use segments::Bound;

use crate::cells::Cells;
use crate::explain::Reason;
use amo::AtMostOne;

/// A formula with more variables or clauses than this takes gigabytes, and years.
const MOST_VARIABLES: u64 = 2_000_000;
const MOST_CLAUSES: u64 = 10_000_000;

/// How many rules may be added for each conflict that a question is allowed: to find out which
/// rules matter is work as well.
const CLAUSES_PER_CONFLICT: u64 = 100;
const FIRST_CLAUSES: u64 = 100_000;

/// A solver that knows the rules of one trace, as far as they were needed so far.
pub(crate) struct Encoder<'s> {
    pub(crate) skeleton: &'s Skeleton<'s>,
    pub(crate) order: &'s MustHappenBefore,
    cells: &'s Cells,
    pub(crate) solver: Solver,
    moment: Node,
    /// The event of each node; X has none.
    events: Vec<Option<EventId>>,
    nodes: FxHashMap<EventId, Node>,
    reads: FxHashMap<(EventId, CellId), Vec<memory::Source>>,
    from_reads: FxHashSet<(EventId, CellId, Lit, EventId)>,
    lock_pairs: FxHashSet<(HoldId, HoldId)>,
    unheld: FxHashSet<(EventId, HoldId)>,
    failures: FxHashSet<EventId>,
    orders: FxHashSet<(EventId, EventId)>,
    /// Edges that always hold.
    fixed: Vec<(EventId, EventId)>,
    unknown_writers: FxHashSet<EventId>,
    wakes: FxHashMap<EventId, Vec<(EventId, Lit)>>,
    /// Who each signal wakes, as far as encoded: at most one.
    signals: FxHashMap<EventId, AtMostOne>,
    semaphores: FxHashMap<SemId, waiting::Tokens>,
    /// At most one event is the remote access of the question; its value may be free.
    remotes: FxHashMap<EventId, Lit>,
    one_remote: AtMostOne,
    /// The guard of each read's value; not its inclusion where the read may be a remote one.
    pinned: FxHashMap<EventId, Lit>,
    questions: Questions,
    /// When the present question is given up.
    limits: Limits,
    /// Whether what is encoded is incomplete, because a question was given up in the midst of it.
    is_exhausted: bool,
    /// The writes of cells, as far as they were asked for.
    writes: RefCell<FxHashMap<CellId, Rc<[EventId]>>>,
    data: data::DataPart,
    explained: Option<Lit>,
    stuck: Option<stuck::Stuck>,
    /// By the number of a source of calls that wait: what was put in has been taken out.
    drained: FxHashMap<usize, Lit>,
    /// By the number of switches.
    segments: FxHashMap<u32, segments::Segments>,
    scratch: lazy::Scratch,
    /// Only to explain.
    guards: Option<guards::Guards>,
    facts: Option<facts::Facts<'s>>,
}

impl<'s> Encoder<'s> {
    /// An encoder for questions of this kind.
    pub(crate) fn new(
        skeleton: &'s Skeleton<'s>,
        order: &'s MustHappenBefore,
        cells: &'s Cells,
        questions: Questions,
    ) -> Self {
        Self::build(skeleton, order, cells, questions, None)
    }

    /// An encoder that can say why a question is infeasible. `cells` must be empty: they rest on
    /// more than one rule.
    pub(crate) fn explaining(
        skeleton: &'s Skeleton<'s>,
        order: &'s MustHappenBefore,
        cells: &'s Cells,
        questions: Questions,
    ) -> Self {
        Self::build(skeleton, order, cells, questions, Some(guards::Guards::default()))
    }

    fn build(
        skeleton: &'s Skeleton<'s>,
        order: &'s MustHappenBefore,
        cells: &'s Cells,
        questions: Questions,
        guards: Option<guards::Guards>,
    ) -> Self {
        let mut solver = Solver::new();
        let moment = solver.free_node(1);
        let mut encoder = Encoder {
            skeleton,
            order,
            cells,
            solver,
            moment,
            events: Vec::new(),
            nodes: FxHashMap::default(),
            reads: FxHashMap::default(),
            from_reads: FxHashSet::default(),
            lock_pairs: FxHashSet::default(),
            unheld: FxHashSet::default(),
            failures: FxHashSet::default(),
            orders: FxHashSet::default(),
            fixed: Vec::new(),
            unknown_writers: FxHashSet::default(),
            wakes: FxHashMap::default(),
            signals: FxHashMap::default(),
            semaphores: FxHashMap::default(),
            remotes: FxHashMap::default(),
            one_remote: AtMostOne::default(),
            pinned: FxHashMap::default(),
            questions,
            limits: Limits::default(),
            is_exhausted: false,
            writes: RefCell::default(),
            data: data::DataPart::default(),
            explained: None,
            stuck: None,
            drained: FxHashMap::default(),
            segments: FxHashMap::default(),
            scratch: lazy::Scratch::new(skeleton),
            guards,
            facts: None,
        };
        encoder.remember(moment, None);
        encoder.thread_order();
        encoder
    }

    fn remember(&mut self, node: Node, event: Option<EventId>) {
        if node.index() >= self.events.len() {
            self.events.resize(node.index() + 1, None);
        }
        self.events[node.index()] = event;
    }

    /// The node of an event.
    pub(crate) fn node(&mut self, event: EventId) -> Node {
        let node = match self.nodes.get(&event) {
            Some(&node) if !self.is_waiting(event) => return node,
            Some(&node) => node,
            None => self.new_node(event),
        };
        self.link(event, node);
        node
    }

    fn new_node(&mut self, event: EventId) -> Node {
        let trace = self.skeleton.trace;
        let (chain, position) = (trace.thread_of(event).0, trace.position(event) as u32);
        let node = self.solver.node(chain, position, home(event));
        self.nodes.insert(event, node);
        self.remember(node, Some(event));
        node
    }

    /// Puts X, for the next question, just after an event in recorded order. About speed only.
    pub(crate) fn place_moment_after(&mut self, event: EventId) {
        self.solver.set_home(self.moment, home(event) + 1);
    }

    /// "`a` before `b`".
    pub(crate) fn before(&mut self, a: EventId, b: EventId) -> Lit {
        for (first, second, is_before) in [(a, b, true), (b, a, false)] {
            if self.precedes_by_threads(first, second) {
                return self.solver.constant(is_before);
            }
            if self.is_known(first, second) {
                self.node(second);
                return self.solver.constant(is_before);
            }
        }
        let (a, b) = (self.node(a), self.node(b));
        self.solver.before(a, b)
    }

    /// "`event` is executed".
    pub(crate) fn included(&mut self, event: EventId) -> Lit {
        let node = self.node(event);
        self.solver.before(node, self.moment)
    }

    /// "`event` is next in its thread", and happens there.
    pub(crate) fn next(&mut self, event: EventId) -> Vec<Lit> {
        let mut lits = self.due(event);
        lits.push(!self.included(event));
        lits.extend(self.occurs(event));
        lits
    }

    /// "The thread of `event` has come to it": what precedes it in the thread is executed.
    fn due(&mut self, event: EventId) -> Vec<Lit> {
        let trace = self.skeleton.trace;
        let before = trace.previous(event);
        let before = before.or_else(|| self.skeleton.fork_of(trace.thread_of(event)));
        before.map(|event| self.included(event)).into_iter().collect()
    }

    /// A literal that implies all of `lits`.
    pub(crate) fn all_of(&mut self, lits: &[Lit]) -> Lit {
        if let [only] = lits {
            return *only;
        }
        let all = self.solver.literal();
        for &lit in lits {
            self.solver.clause(&[!all, lit]);
        }
        all
    }

    /// If `event` is included, so is `earlier`, and it comes first. True in recorded order, so it
    /// can be an edge that always holds. Returns whether it is new.
    fn must_follow(&mut self, earlier: EventId, event: EventId) -> bool {
        debug_assert!(earlier < event);
        if self.precedes_by_threads(earlier, event) || !self.orders.insert((earlier, event)) {
            return false;
        }
        self.fix(earlier, event);
        true
    }

    /// Adds an edge that always holds; to an explaining encoder, one that holds because of the
    /// present rule.
    fn fix(&mut self, earlier: EventId, event: EventId) {
        if self.explains() {
            let before = self.before(earlier, event);
            return self.rule(&[before]);
        }
        let (from, to) = (self.node(earlier), self.node(event));
        self.solver.fixed_edge(from, to);
        self.fixed.push((earlier, event));
    }

    /// If `event` is included, then `later` comes after it or not at all.
    fn not_after(&mut self, event: EventId, later: EventId) -> bool {
        if !self.orders.insert((later, event)) {
            return false;
        }
        let (included, before) = (self.included(event), self.before(event, later));
        self.rule(&[!included, before]);
        true
    }

    /// Forks, joins and exits: few, and wanted by nearly every question.
    fn thread_order(&mut self) {
        let trace = self.skeleton.trace;
        for (event, op) in trace.ops() {
            use foretrace_trace::Op;
            match op {
                Op::Fork { child } => {
                    if let Some(&first) = trace.thread_events(child).first() {
                        let reason = || Reason::Fork { fork: event, first };
                        self.under(reason, |encoder| encoder.fix(event, first));
                    }
                }
                Op::Join { child } => {
                    let last = trace.thread_events(child).last().copied();
                    if let Some(last) = last.or_else(|| self.skeleton.fork_of(child))
                        && trace.thread_of(last) != trace.thread_of(event)
                    {
                        let reason = || Reason::Join { last, join: event };
                        self.under(reason, |encoder| encoder.fix(last, event));
                    }
                }
                // Every violation asks that the process has not exited.
                Op::Exit => {
                    let mut clause = vec![!self.included(event)];
                    clause.extend(self.occurs(event).map(|occurs| !occurs));
                    let reason = || Reason::Exit { exit: event };
                    self.under(reason, |encoder| encoder.rule(&clause));
                }
                ops!(memory object data lock cond sem barrier call mark Request Begin End) => {}
            }
        }
    }

    /// Begins a question that is given up at these limits.
    pub(crate) fn begin(&mut self, limits: &Limits) {
        self.limits = limits.clone();
    }

    /// Whether the question is given up, because its time is over or its formula too large. What is
    /// encoded is then incomplete, and no further question can be asked.
    pub(crate) fn is_exhausted(&mut self) -> bool {
        let is_too_large =
            self.solver.variables() > MOST_VARIABLES || self.solver.clauses() > MOST_CLAUSES;
        self.is_exhausted |= is_too_large || self.limits.is_over();
        self.is_exhausted
    }

    /// Answers a question: a feasible schedule that satisfies the assumptions, or none.
    pub(crate) fn ask(&mut self, assumptions: &[Lit], terms: &mut Terms) -> Answer {
        let mut assumptions = assumptions.to_vec();
        if terms.explained {
            assumptions.push(self.explained());
        }
        for &(earlier, later) in &terms.induced {
            assumptions.push(self.before(earlier, later));
        }
        let before = self.solver.clauses();
        let rules = |conflicts: u64| FIRST_CLAUSES + conflicts.saturating_mul(CLAUSES_PER_CONFLICT);
        let most = terms.limits.conflicts.map(rules);
        loop {
            let added = self.solver.clauses() - before;
            if most.is_some_and(|most| added > most) || self.is_exhausted() {
                return Answer::Interrupted;
            }
            if let Some(answer) = self.refute(&assumptions, terms) {
                return answer;
            }
            let mut proposal = self.propose(terms.bound.as_ref());
            if !self.add_broken_rules(&proposal) {
                self.settle(&mut proposal);
                return Answer::Feasible(proposal);
            }
            if let Some(left) = &mut terms.proposals {
                match left.checked_sub(1) {
                    Some(fewer) => *left = fewer,
                    None => return Answer::Interrupted,
                }
            }
        }
    }

    /// The answer to a question, if it needs no schedule: by the rules that were added so far,
    /// there is none, or a limit was hit.
    pub(crate) fn refute(&mut self, assumptions: &[Lit], terms: &mut Terms) -> Option<Answer> {
        let mut all = self.with_guards(assumptions);
        all.extend(terms.bound.as_ref().map(|bound| self.bounded(bound)).into_iter().flatten());
        let before = self.solver.statistics();
        let outcome = self.solver.solve(&all, &terms.limits);
        terms.pay(&before, &self.solver.statistics());
        match outcome {
            Outcome::Unsatisfiable => {
                let guard = terms.bound.as_ref().map(|bound| self.guard_of(bound));
                let in_bound = guard.is_some_and(|guard| self.solver.failed(guard));
                Some(if in_bound { Answer::InfeasibleInBound } else { Answer::Infeasible })
            }
            Outcome::Interrupted => Some(Answer::Interrupted),
            Outcome::Satisfiable => None,
        }
    }
}

/// What an encoder is asked about; it decides which reads may be free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Questions {
    /// No read is free.
    Plain,
    /// The value of the remote access may be free.
    Atomicity,
    /// Reads may be released for the assertion that is asked about.
    Assertions,
}

/// On what terms a question is asked.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    /// When to give up. The conflicts are for all calls of the solver together.
    pub(crate) limits: Limits,
    /// Whether only schedules count in which each value that is read has a recorded writer.
    pub(crate) explained: bool,
    /// Whether only schedules with few switches count.
    pub(crate) bound: Option<Bound>,
    /// How many proposals may turn out to be wrong.
    pub(crate) proposals: Option<u32>,
    /// Orders that the question implies.
    pub(crate) induced: Vec<(EventId, EventId)>,
}

impl Terms {
    /// Any schedule counts, within these limits.
    pub(crate) fn new(limits: Limits) -> Self {
        Terms { limits, explained: false, bound: None, proposals: None, induced: Vec::new() }
    }

    /// Takes what a call of the solver needed from what is left.
    fn pay(&mut self, before: &Statistics, after: &Statistics) {
        if let Some(left) = &mut self.limits.conflicts {
            // The solver stops at either of the two counts.
            let conflicts = after.conflicts - before.conflicts;
            let of_theory = after.theory_conflicts - before.theory_conflicts;
            *left = left.saturating_sub(conflicts.max(of_theory));
        }
    }
}

/// The answer to a question.
pub(crate) enum Answer {
    /// With a schedule.
    Feasible(Proposal),
    /// In no schedule.
    Infeasible,
    /// In no schedule within the bound.
    InfeasibleInBound,
    /// A limit was hit first.
    Interrupted,
}

/// The place of an event in the recorded order, with room for X beside it.
fn home(event: EventId) -> u64 {
    2 * u64::from(event.0) + 2
}
