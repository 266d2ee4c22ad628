//! Verifies programs: all schedules and all inputs, without running them. It does not know C,
//! images or files.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`unfold`] | each thread alone: all its paths, as accesses with conditions |
//! | [`skeleton`] | what that gives |
//! | [`compose`] | all threads together: order, memory, clauses |
//! | [`questions`] | what is asked of that, easy questions first |
//! | [`walk`] | random executions, which find what needs no proof |
//! | [`witness`] | a model of the solver as a schedule that the interpreter confirms |
//! | [`terms`] | values as terms over what reads see |
//!
//! `docs/verify.md` says what a verdict means, and why it is right.
//!
//! ```
//! use foretrace_program::parse;
//! use foretrace_verify::{Options, Verdict, verify};
//!
//! let text = "global x; func f() { store x, load x + 1 }
//!     thread main { a := fork f(); b := fork f(); join a; join b; assert load x == 2 }";
//! let report = verify(&parse(text).unwrap(), &Options::default());
//! assert!(matches!(report.verdict, Verdict::Bug(_)));
//! ```

mod all;
mod compose;
mod fault;
mod questions;
mod skeleton;
mod terms;
mod unfold;
mod walk;
mod witness;

use std::cell::Cell;
use std::mem;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use foretrace_program::run::Undefined;
use foretrace_program::{BlockId, FunctionId, LockError, Program, Site, Violation};
use foretrace_solve::Limits;
use rustc_hash::{FxHashMap, FxHashSet};

use compose::cells::{connect, split};
use compose::formula::Formula;
use compose::order::Order;
use compose::races::Races;
use compose::stuck::{Stuck, is_too_large};
use questions::{PATIENCE, Questions};
use skeleton::{Object, ObjectKind, Skeleton};
use terms::Term;
use unfold::{Bounds, Guesses, unfold};
use walk::Walks;
use witness::Moment;

pub use all::{Found, violations_up_to};
pub use fault::Fault;
#[cfg(feature = "seeded-faults")]
pub use fault::seed_fault;
pub use witness::{Bug, BugStep, Diverged, Stand};

/// How to verify.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many turns of each loop are unfolded; if there is none, as many as are needed.
    pub unwind: Option<u32>,
    /// When to give up.
    pub deadline: Option<Instant>,
    /// How many conflicts of the solver one question may take.
    pub conflicts: Option<u64>,
    /// A signal handler or another thread may ask for an end.
    pub stop: Option<&'static AtomicBool>,
    /// How many instructions may be unfolded at most.
    pub instructions: u64,
    /// Whether new memory is indeterminate, as in C, instead of zero.
    pub indeterminate: bool,
    /// Whether turns of loops that change nothing are left out.
    pub idle_turns: bool,
    /// Whether critical sections are one moment where all that they access needs their lock.
    pub critical_sections: bool,
    /// Whether reads that can see one write only are replaced by what it wrote.
    pub substitution: bool,
    /// Whether words are as narrow as their possible values.
    pub narrow: bool,
    /// Whether assertions are asked for.
    pub assertions: bool,
    /// Whether accesses outside of live objects and wrong frees are asked for.
    pub memory: bool,
    /// Whether other undefined behaviour is asked for.
    pub undefined: bool,
    /// Assertions that stand for undefined behaviour: divisions by zero and the like.
    pub implicit: FxHashSet<Site>,
    /// Assertions that stand for signed overflow.
    pub overflows: FxHashSet<Site>,
    /// Whether signed overflow is asked for.
    pub asks_overflow: bool,
    /// Whether memory that is lost is asked for. So far, only programs without blocks are answered.
    pub leaks: bool,
    /// Whether wrong uses of locks are asked for.
    pub lock_errors: bool,
    /// Whether data races are asked for.
    pub races: bool,
    /// Whether stuck states are asked for.
    pub deadlocks: bool,
    /// Whether random walks look for bugs where the solver takes longer.
    pub walks: bool,
    /// Calls whose values the program may never get, by their names: walks end there.
    pub outside: fn(&str) -> bool,
}

impl Options {
    /// Whether a violation is asked for.
    fn asks(&self, violation: &Violation) -> bool {
        match violation {
            Violation::Race(..) => self.races,
            Violation::LockError(..) => self.lock_errors,
            Violation::Deadlock(_) => self.deadlocks,
            Violation::Undefined(Undefined::BadAddress | Undefined::BadFree, _) => self.memory,
            Violation::Undefined(..) => self.undefined,
            Violation::Assertion(site) if self.overflows.contains(site) && self.asks_overflow => {
                true
            }
            Violation::Assertion(site) if self.implicit.contains(site) => self.undefined,
            _ => self.assertions,
        }
    }

    fn asks_races_only(&self) -> bool {
        let others = [self.assertions, self.memory, self.undefined, self.asks_overflow];
        self.races && !self.lock_errors && !self.deadlocks && !others.contains(&true)
    }

    /// Whether a violation is not asked for, but nobody knows how the program goes on behind it.
    fn leaves_open(&self, violation: &Violation) -> bool {
        let is_undefined = match violation {
            // The thread blocks for ever.
            Violation::LockError(error, _) => *error != LockError::DoubleLock,
            Violation::Undefined(..) => true,
            Violation::Assertion(site) => self.implicit.contains(site),
            _ => false,
        };
        is_undefined && !self.asks(violation)
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            unwind: None,
            deadline: None,
            conflicts: None,
            stop: None,
            instructions: 2_000_000,
            indeterminate: false,
            idle_turns: true,
            critical_sections: true,
            substitution: true,
            narrow: true,
            assertions: true,
            memory: true,
            undefined: true,
            implicit: FxHashSet::default(),
            overflows: FxHashSet::default(),
            asks_overflow: false,
            leaks: false,
            lock_errors: true,
            races: true,
            deadlocks: true,
            walks: true,
            outside: |_| false,
        }
    }
}

impl Options {
    /// A bug is known. The solver's schedules have fewer switches, so it may look for the same for
    /// a while. What limits it are no times, so that a report depends on the program only.
    fn for_a_shorter_schedule(&self) -> Options {
        let instructions = self.instructions.min(FEW_INSTRUCTIONS);
        Options { instructions, conflicts: PATIENCE[0], ..self.clone() }
    }

    fn limits(&self) -> Limits {
        Limits { conflicts: self.conflicts, deadline: self.deadline, stop: self.stop }
    }
}

/// The answer for a program.
#[derive(Clone, Debug)]
pub struct Report {
    /// What was found out.
    pub verdict: Verdict,
    /// If that is a race: what was found out about everything else, for executions that are
    /// sequentially consistent. Others are possible where threads race.
    pub besides: Option<Verdict>,
    /// How large the last unfolding was.
    pub size: Size,
    /// Whether the bug is what a random walk came to. Objects then lie where the interpreter has
    /// put them: where a program looks at that, the bug may not be possible elsewhere.
    pub by_walk: bool,
}

impl Report {
    /// What walks have found counts where the solver has found nothing: its schedules are shorter.
    fn take(&mut self, walks: Walks) {
        let (bug, race) = walks.found();
        let is_bug = matches!(self.verdict, Verdict::Bug(_));
        if let (Some(bug), false) = (bug, is_bug && self.besides.is_none()) {
            self.verdict = Verdict::Bug(bug);
            (self.besides, self.by_walk) = (None, true);
        } else if let (Some(race), false) = (race, is_bug) {
            let others = mem::replace(&mut self.verdict, Verdict::Bug(race));
            (self.besides, self.by_walk) = (Some(others), true);
        }
    }
}

/// What was found out about a program.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Something can go wrong, as the interpreter confirms.
    Bug(Bug),
    /// Nothing can, whatever the bound was.
    Proved,
    /// Nothing can as long as loops have at most so many turns; these may have more.
    UpTo {
        /// The bound.
        bound: u32,
        /// Where execution may go on.
        open: Vec<Open>,
    },
    /// It is not known.
    Unknown(Vec<Open>),
}

/// A reason why nothing more is known.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Open {
    /// What it is.
    pub reason: String,
    /// Where it is.
    pub site: Option<Site>,
}

/// How large an unfolding is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Size {
    /// Instructions.
    pub instructions: u64,
    /// Threads.
    pub threads: usize,
    /// Moments that others can notice.
    pub nodes: usize,
    /// Reads and writes of shared memory.
    pub accesses: usize,
    /// The largest bound of a loop.
    pub bound: u32,
}

/// How much may be unfolded where a bug is known.
const FEW_INSTRUCTIONS: u64 = 20_000;
/// Formulas about so many accesses take longer than many walks.
const MANY_ACCESSES: usize = 1000;
/// The first bound, if none is given.
const FIRST_BOUND: u32 = 2;
/// So many waits in a row are as one, but for the signals that they take.
const FEWEST_WAITS: u32 = 2;
/// The most waits in a row that are unfolded.
const MOST_WAITS: u32 = 12;
/// How many times bounds grow.
const MOST_ROUNDS: u32 = 12;

/// Terms of long loops are deep, and functions that walk through them call themselves.
const STACK: usize = 1 << 29;

/// Decides a valid program.
pub fn verify(program: &Program, options: &Options) -> Report {
    with_stack(|| by_bounds(program, options).0)
}

/// The question that `verify` asks last of all but races, as SMT-LIB 2 without reductions of reads
/// and words: what benchmarks compare with. It is satisfiable if something can go wrong.
pub fn reference(program: &Program, options: &Options) -> String {
    with_stack(|| {
        let plain = Options { substitution: false, narrow: false, walks: false, ..options.clone() };
        let (_, bounds) = by_bounds(program, &Options { walks: false, ..options.clone() });
        let round = Round::new(program, &plain, &bounds);
        let checks = round.skeleton.checks.iter().filter(|check| options.asks(&check.what));
        let asked: Vec<Term> = checks.map(|check| check.guard).collect();
        compose::smtlib::export(&round.skeleton, &round.order, &round.cells, &asked)
    })
}

/// Runs something that needs much of the stack.
fn with_stack<T: Send>(work: impl Fn() -> T + Sync) -> T {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(STACK);
        match builder.spawn_scoped(scope, &work).map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            // There is no room for it: we try here.
            Err(_) => work(),
        }
    })
}

impl Bounds {
    fn first(options: &Options) -> Bounds {
        Bounds {
            turns: options.unwind.unwrap_or(FIRST_BOUND),
            of_loops: FxHashMap::default(),
            waits: FEWEST_WAITS,
            calls: 64,
            instructions: options.instructions,
            limits: options.limits(),
            indeterminate: options.indeterminate,
            idle_turns: options.idle_turns,
            deadlocks: options.deadlocks,
            critical_sections: options.critical_sections,
        }
    }
}

/// Walks, then unfolds and asks, with bounds that grow; the last bounds.
fn by_bounds(program: &Program, options: &Options) -> (Report, Bounds) {
    let mut walks = Walks::new(program, options);
    let is_known = walks.look_round(&options.limits());
    let options = if is_known { &options.for_a_shorter_schedule() } else { options };
    let (mut report, bounds) = unfold_and_ask(program, options, &mut walks);
    if matches!(report.verdict, Verdict::UpTo { .. } | Verdict::Unknown(_)) {
        walks.find(&options.limits());
    }
    report.take(walks);
    (report, bounds)
}

fn unfold_and_ask(program: &Program, options: &Options, walks: &mut Walks) -> (Report, Bounds) {
    let mut bounds = Bounds::first(options);
    let mut last: Option<Report> = None;
    for _ in 0..MOST_ROUNDS {
        let mut round = Round::new(program, options, &bounds);
        let (verdict, besides, loops) = round.decide(walks);
        let most = bounds.of_loops.values().copied().max().unwrap_or(bounds.turns);
        let size = round.size(most);
        let report = Report { verdict, besides, size, by_walk: false };
        match report.verdict {
            Verdict::UpTo { .. } | Verdict::Unknown(_)
                if options.unwind.is_none() && !loops.is_empty() => {}
            // What a smaller bound has shown still holds.
            Verdict::Unknown(ref beyond) if last.is_some() && !round.waits_again.get() => {
                let mut last = last.expect("there is one");
                match &mut last.verdict {
                    Verdict::UpTo { open, .. } | Verdict::Unknown(open) => {
                        open.extend(beyond.iter().cloned());
                        open.sort();
                        open.dedup();
                    }
                    Verdict::Bug(_) | Verdict::Proved => {}
                }
                return (last, bounds);
            }
            Verdict::Unknown(_) if round.waits_again.get() && options.unwind.is_none() => {
                let enough = waits_for_signals(&round.skeleton);
                if enough <= bounds.waits || enough > MOST_WAITS {
                    return (report, bounds);
                }
                bounds.waits = enough;
            }
            _ => return (report, bounds),
        }
        for at in loops {
            let bound = bounds.of_loops.entry(at).or_insert(bounds.turns);
            *bound *= 2;
        }
        last = Some(report);
        if options.limits().is_over() {
            break;
        }
    }
    (last.expect("there was a round"), bounds)
}

/// How many waits in a row lose nothing: each signal ends one, a wait that ends spuriously behind
/// one of these is a part of it, one may come before them, and one go on for ever.
fn waits_for_signals(skeleton: &Skeleton) -> u32 {
    let signals = skeleton.ending.signals.iter().filter(|signal| !signal.is_broadcast);
    u32::try_from(signals.count()).unwrap_or(u32::MAX).saturating_add(2)
}

/// One unfolding, and what is asked of it.
struct Round<'p> {
    program: &'p Program,
    options: &'p Options,
    skeleton: Skeleton,
    order: Order,
    cells: Vec<compose::cells::Cell>,
    races: Races,
    /// Whether threads that wait again could be stuck.
    waits_again: Cell<bool>,
}

/// Loops, by their headers.
type Loops = Vec<(FunctionId, BlockId)>;

impl<'p> Round<'p> {
    fn new(program: &'p Program, options: &'p Options, bounds: &Bounds) -> Round<'p> {
        let mut guesses = Guesses::default();
        let (mut skeleton, order, cells) = loop {
            let mut skeleton = unfold(program, bounds, &guesses);
            split(&mut skeleton);
            let order = Order::new(&skeleton);
            let cells = connect(&mut skeleton, &order, options.substitution, &options.limits());
            if !guesses.learn(&skeleton) || options.limits().is_over() {
                break (skeleton, order, cells);
            }
        };
        if bounds.waits >= waits_for_signals(&skeleton) {
            skeleton.ending.again.clear();
        }
        let races = if options.races { Races::new(&skeleton, &order) } else { Races::default() };
        let waits_again = Cell::new(false);
        Round { program, options, skeleton, order, cells, races, waits_again }
    }

    fn size(&self, bound: u32) -> Size {
        Size {
            instructions: self.skeleton.instructions,
            threads: self.skeleton.threads.len() - usize::from(self.skeleton.ending.node.is_some()),
            nodes: self.skeleton.nodes.len(),
            accesses: self.skeleton.reads.len() + self.skeleton.writes.len(),
            bound,
        }
    }

    fn limits(&self) -> Limits {
        self.options.limits()
    }

    fn out_of_time(&self) -> Verdict {
        let is_stopped = self.limits().is_stopped();
        Self::unknown(if is_stopped { "interrupted" } else { "the time is over" })
    }

    fn unknown(reason: &str) -> Verdict {
        Verdict::Unknown(vec![Open { reason: reason.to_string(), site: None }])
    }

    /// Runs what the model of the formula says up to a moment.
    fn confirm(&self, formula: &Formula, moment: &Moment) -> Result<Bug, Diverged> {
        let (values, schedule) = (formula.values(), formula.schedule(&self.order));
        witness::confirm(self.program, &self.skeleton, &values, &schedule, moment)
    }

    /// The verdict if the formula has a model of a violation.
    fn bug(&self, formula: &Formula, moment: &Moment) -> Verdict {
        match self.confirm(formula, moment) {
            Ok(bug) => Verdict::Bug(bug),
            // The interpreter takes it for zero.
            Err(_) if !self.skeleton.uninitialised.is_empty() => {
                let reason = "a violation may depend on what this reads, which may not be \
                              initialised";
                let mut sites = self.skeleton.uninitialised.clone();
                sites.sort_unstable();
                sites.dedup();
                let reason = reason.to_string();
                let open = |site| Open { reason: reason.clone(), site: Some(site) };
                Verdict::Unknown(sites.into_iter().map(open).collect())
            }
            Err(diverged) => Self::unknown(&format!(
                "a bug of foretrace: the interpreter does not confirm a schedule ({diverged})"
            )),
        }
    }

    /// The verdict, that about everything but races if there is a race, and the loops whose bound
    /// is too small.
    fn decide(&mut self, walks: &mut Walks) -> (Verdict, Option<Verdict>, Loops) {
        if self.limits().is_over() {
            return (self.out_of_time(), None, Loops::new());
        }
        let accesses = self.skeleton.reads.len() + self.skeleton.writes.len();
        if accesses > MANY_ACCESSES && walks.find(&self.limits()) {
            return (self.out_of_time(), None, Loops::new());
        }
        let Ok(mut formula) =
            Formula::new(&self.skeleton, &self.order, &self.cells, self.options.narrow)
        else {
            return (Self::unknown("the formula is too large"), None, Loops::new());
        };
        let is_race_known = walks.has_race();
        let mut questions = Questions::new(is_race_known);
        for patience in PATIENCE {
            let most = [patience, self.options.conflicts].into_iter().flatten().min();
            let limits = Limits { conflicts: most, ..self.limits() };
            if let Some(verdict) = self.ask_all(&mut questions, &mut formula, &limits) {
                return (verdict, None, Loops::new());
            }
            if questions.are_answered() || limits.is_over() {
                break;
            }
            if walks.find(&self.limits()) {
                break;
            }
        }
        if !questions.are_answered() {
            let verdict = self.out_of_time();
            return match questions.race() {
                Some(race) => (race, Some(verdict), Loops::new()),
                None => (verdict, None, Loops::new()),
            };
        }
        let race = questions.race();
        let (verdict, loops) = self.reach(&mut formula);
        let verdict = match verdict {
            Verdict::Proved | Verdict::UpTo { .. } if !self.not_asked().is_empty() => {
                Verdict::Unknown(self.not_asked())
            }
            verdict => verdict,
        };
        match race {
            Some(race) => (race, Some(verdict), Loops::new()),
            // What holds besides a race is not worth more.
            None if is_race_known => (verdict, None, Loops::new()),
            None => (verdict, None, loops),
        }
    }

    /// The question of stuck states, if it can be asked.
    fn stuck(&self, formula: &mut Formula) -> Option<Stuck> {
        if self.options.deadlocks && !is_too_large(&self.skeleton.ending) {
            formula.stuck(&self.order)
        } else {
            None
        }
    }

    /// What should have been asked and could not be.
    fn not_asked(&self) -> Vec<Open> {
        let races = self.races.not_asked.iter().map(|&(why, site)| ("races", why, site));
        let stuck = self.skeleton.ending.not_asked.iter();
        let stuck = stuck.map(|&(why, site)| ("deadlocks", why, Some(site)));
        let large = self.options.deadlocks && is_too_large(&self.skeleton.ending);
        let large = large.then_some(("deadlocks", "too many waits and signals", None));
        let why = "a thread may take more signals than waits of it were unfolded";
        let again = self.waits_again.get().then_some(("deadlocks", why, None));
        let is_block = |object: &Object| object.kind == ObjectKind::Heap;
        let leaks = self.options.leaks && self.skeleton.objects.iter().any(is_block);
        let leaks = leaks.then_some(("leaks", "the program allocates memory", None));
        let all = races.chain(leaks).chain(stuck).chain(large).chain(again);
        let mut reasons: Vec<Open> = all
            .map(|(what, why, site)| Open { reason: format!("{what} not asked: {why}"), site })
            .collect();
        reasons.sort();
        reasons.dedup();
        reasons
    }
}
