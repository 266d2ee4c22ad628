//! Verifies programs: all schedules and all inputs, without running them.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`unfold`] | each thread alone: all its paths, as accesses with conditions |
//! | [`skeleton`] | what that gives |
//! | [`compose`] | all threads together: order, memory, clauses |
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

mod compose;
mod fault;
mod skeleton;
mod terms;
mod unfold;
mod witness;

use std::time::Instant;

use foretrace_program::{BlockId, FunctionId, Program, Site, Violation};
use foretrace_solve::{Limits, Outcome};
use rustc_hash::FxHashMap;

use compose::addresses::used_as_numbers;
use compose::cells::{connect, split};
use compose::formula::Formula;
use compose::order::Order;
use skeleton::{Check, Skeleton, Why};
use terms::Term;
use unfold::{Bounds, unfold};

pub use fault::Fault;
#[cfg(feature = "seeded-faults")]
pub use fault::seed_fault;
pub use witness::{Bug, BugStep, Diverged};

/// How to verify.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many turns of each loop are unfolded; if there is none, as many as are needed.
    pub unwind: Option<u32>,
    /// When to give up.
    pub deadline: Option<Instant>,
    /// How many instructions may be unfolded at most.
    pub instructions: u64,
    /// Whether new memory is indeterminate, as in C, instead of zero.
    pub indeterminate: bool,
    /// Whether turns of loops that change nothing are left out.
    pub idle_turns: bool,
    /// Whether reads that can see one write only are replaced by what it wrote.
    pub substitution: bool,
    /// Whether words are as narrow as their possible values.
    pub narrow: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            unwind: None,
            deadline: None,
            instructions: 2_000_000,
            indeterminate: false,
            idle_turns: true,
            substitution: true,
            narrow: true,
        }
    }
}

/// The answer for a program.
#[derive(Clone, Debug)]
pub struct Report {
    /// What was found out.
    pub verdict: Verdict,
    /// How large the last unfolding was.
    pub size: Size,
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
    /// The bound of loops.
    pub bound: u32,
}

/// The first bound, if none is given.
const FIRST_BOUND: u32 = 2;
/// How many times bounds grow.
const MOST_ROUNDS: u32 = 12;

/// Decides a valid program.
pub fn verify(program: &Program, options: &Options) -> Report {
    let mut bounds = Bounds {
        turns: options.unwind.unwrap_or(FIRST_BOUND),
        of_loops: FxHashMap::default(),
        calls: 64,
        instructions: options.instructions,
        deadline: options.deadline,
        indeterminate: options.indeterminate,
        idle_turns: options.idle_turns,
    };
    let mut last: Option<Report> = None;
    for _ in 0..MOST_ROUNDS {
        let mut round = Round::new(program, options, &bounds);
        let (verdict, loops) = round.decide();
        let report = Report { verdict, size: round.size(bounds.turns) };
        match report.verdict {
            Verdict::UpTo { .. } if options.unwind.is_none() && !loops.is_empty() => (),
            // What a smaller bound has shown still holds.
            Verdict::Unknown(_) if last.is_some() => return last.expect("there is one"),
            _ => return report,
        }
        for at in loops {
            let bound = bounds.of_loops.entry(at).or_insert(bounds.turns);
            *bound *= 2;
        }
        last = Some(report);
        if options.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            break;
        }
    }
    last.expect("there was a round")
}

/// All violations of a program up to a bound, one by one: `None` if that could not be decided.
/// For tests: they compare it with exhaustive exploration.
pub fn violations_up_to(program: &Program, options: &Options) -> Option<Found> {
    let bounds = Bounds {
        turns: options.unwind.unwrap_or(FIRST_BOUND),
        of_loops: FxHashMap::default(),
        calls: 64,
        instructions: options.instructions,
        deadline: options.deadline,
        indeterminate: options.indeterminate,
        idle_turns: options.idle_turns,
    };
    Round::new(program, options, &bounds).all()
}

/// What is possible up to a bound.
#[derive(Clone, Debug)]
pub struct Found {
    /// What can go wrong.
    pub violations: Vec<Violation>,
    /// Schedules that the interpreter did not confirm: bugs of ours.
    pub diverged: Vec<(Violation, Diverged)>,
    /// Whether nothing lies beyond the bound.
    pub complete: bool,
    /// Why not, if that is not the bound of a loop.
    pub unsupported: Vec<Open>,
}

/// One unfolding, and what is asked of it.
struct Round<'p> {
    program: &'p Program,
    options: &'p Options,
    skeleton: Skeleton,
    order: Order,
    cells: Vec<compose::cells::Cell>,
}

impl<'p> Round<'p> {
    fn new(program: &'p Program, options: &'p Options, bounds: &Bounds) -> Round<'p> {
        let mut skeleton = unfold(program, bounds);
        split(&mut skeleton);
        let order = Order::new(&skeleton);
        let cells = connect(&mut skeleton, &order, options.substitution);
        Round { program, options, skeleton, order, cells }
    }

    fn size(&self, bound: u32) -> Size {
        Size {
            instructions: self.skeleton.instructions,
            threads: self.skeleton.threads.len(),
            nodes: self.skeleton.nodes.len(),
            accesses: self.skeleton.reads.len() + self.skeleton.writes.len(),
            bound,
        }
    }

    fn limits(&self) -> Limits {
        Limits { deadline: self.options.deadline, ..Limits::default() }
    }

    fn unknown(reason: &str) -> Verdict {
        Verdict::Unknown(vec![Open { reason: reason.to_string(), site: None }])
    }

    /// The verdict, and the loops whose bound is too small.
    fn decide(&mut self) -> (Verdict, Vec<(FunctionId, BlockId)>) {
        let nothing = Vec::new;
        let Ok(mut formula) =
            Formula::new(&self.skeleton, &self.order, &self.cells, self.options.narrow)
        else {
            return (Self::unknown("the formula is too large"), nothing());
        };
        let limits = self.limits();
        let checks: Vec<Term> = self.skeleton.checks.iter().map(|check| check.guard).collect();
        match formula.can_be(&checks, &limits) {
            Outcome::Interrupted => return (Self::unknown("the time is over"), nothing()),
            Outcome::Satisfiable => {
                let values = formula.values();
                let schedule = formula.schedule(&self.order);
                let happens = |check: &&Check| values[check.guard.index()] == 1;
                let check = self.skeleton.checks.iter().find(happens).expect("one was asked for");
                let confirmed =
                    witness::confirm(self.program, &self.skeleton, &values, &schedule, check);
                return match confirmed {
                    Ok(bug) => (Verdict::Bug(bug), nothing()),
                    Err(diverged) => {
                        let reason = format!(
                            "a bug of foretrace: the interpreter does not confirm a schedule \
                             ({diverged})"
                        );
                        (Self::unknown(&reason), nothing())
                    }
                };
            }
            Outcome::Unsatisfiable => (),
        }
        let exits: Vec<Term> = self.skeleton.exits.iter().map(|exit| exit.guard).collect();
        match formula.can_be(&exits, &limits) {
            Outcome::Interrupted => return (Self::unknown("the time is over"), nothing()),
            Outcome::Satisfiable => (),
            Outcome::Unsatisfiable => {
                return match used_as_numbers(&self.skeleton.terms, &self.cells) {
                    true => (Self::unknown("the program uses an address as a number"), nothing()),
                    false => (Verdict::Proved, nothing()),
                };
            }
        }
        let values = formula.values();
        let open: Vec<&skeleton::Exit> =
            self.skeleton.exits.iter().filter(|exit| values[exit.guard.index()] == 1).collect();
        let mut reasons: Vec<Open> = open.iter().map(|exit| told(&exit.why, exit.site)).collect();
        reasons.sort();
        reasons.dedup();
        let loops = open.iter().filter(|exit| exit.why == Why::Loop);
        let mut loops: Vec<(FunctionId, BlockId)> =
            loops.map(|exit| (exit.site.function, exit.site.block)).collect();
        loops.sort();
        loops.dedup();
        if open.iter().any(|exit| exit.why != Why::Loop) {
            return (Verdict::Unknown(reasons), loops);
        }
        let bound = self.options.unwind.unwrap_or(FIRST_BOUND);
        (Verdict::UpTo { bound, open: reasons }, loops)
    }

    fn all(&mut self) -> Option<Found> {
        let mut formula =
            Formula::new(&self.skeleton, &self.order, &self.cells, self.options.narrow).ok()?;
        let limits = self.limits();
        let mut kinds: Vec<&Violation> =
            self.skeleton.checks.iter().map(|check| &check.what).collect();
        kinds.sort();
        kinds.dedup();
        let (mut violations, mut diverged) = (Vec::new(), Vec::new());
        for kind in kinds {
            let checks: Vec<&Check> =
                self.skeleton.checks.iter().filter(|check| check.what == *kind).collect();
            let asked: Vec<Term> = checks.iter().map(|check| check.guard).collect();
            match formula.can_be(&asked, &limits) {
                Outcome::Interrupted => return None,
                Outcome::Unsatisfiable => continue,
                Outcome::Satisfiable => (),
            }
            let values = formula.values();
            let schedule = formula.schedule(&self.order);
            let check = checks.iter().find(|check| values[check.guard.index()] == 1)?;
            match witness::confirm(self.program, &self.skeleton, &values, &schedule, check) {
                Ok(bug) => violations.push(bug.violation),
                Err(error) => diverged.push((kind.clone(), error)),
            }
        }
        let exits: Vec<Term> = self.skeleton.exits.iter().map(|exit| exit.guard).collect();
        let complete = match formula.can_be(&exits, &limits) {
            Outcome::Interrupted => return None,
            Outcome::Unsatisfiable => true,
            Outcome::Satisfiable => false,
        };
        let others = self.skeleton.exits.iter().filter(|exit| exit.why != Why::Loop);
        let unsupported = others.map(|exit| told(&exit.why, exit.site)).collect();
        Some(Found { violations, diverged, complete, unsupported })
    }
}

/// An exit in words.
fn told(why: &Why, site: Site) -> Open {
    let reason = match why {
        Why::Loop => "this loop may go on".to_string(),
        Why::Recursion => "calls are nested too deeply".to_string(),
        Why::Size => "there is too much code to unfold".to_string(),
        Why::Unsupported(what) => format!("not supported: {what}"),
    };
    Open { reason, site: Some(site) }
}
