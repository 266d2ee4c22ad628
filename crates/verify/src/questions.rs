//! What is asked of one unfolding: can a check fail, can all threads be stuck, can two accesses
//! race? And if not, how far does that reach?
//!
//! **Computes.** The answers, in rounds of growing patience: a hard proof about assertions does not
//! keep a race from being found.

use foretrace_program::Site;
use foretrace_solve::{Bit, Limits, Outcome};

use crate::compose::addresses::used_as_numbers;
use crate::compose::formula::Formula;
use crate::compose::stuck::Stuck;
use crate::skeleton::{Check, Why};
use crate::terms::Term;
use crate::witness::Moment;
use crate::{FIRST_BOUND, Loops, Open, Round, Verdict};

/// So many conflicts a question may take, in one round after the other.
pub(crate) const PATIENCE: [Option<u64>; 4] = [Some(3_000), Some(30_000), Some(300_000), None];

/// The questions, and what is known so far.
#[derive(Default)]
pub(crate) struct Questions {
    checks_hold: bool,
    stuck: Option<Option<Stuck>>,
    is_never_stuck: bool,
    pairs: Option<Vec<Bit>>,
    /// A race, or that none is looked for any more.
    race: Option<Option<Verdict>>,
}

impl Questions {
    /// Those about races may be answered already.
    pub(crate) fn new(is_race_known: bool) -> Questions {
        Questions { race: is_race_known.then_some(None), ..Questions::default() }
    }

    pub(crate) fn are_answered(&self) -> bool {
        self.checks_hold && self.is_never_stuck && self.race.is_some()
    }

    /// The race that was found.
    pub(crate) fn race(self) -> Option<Verdict> {
        self.race.flatten()
    }
}

impl Round<'_> {
    /// Asks what is open. A violation that is no race ends it.
    pub(crate) fn ask_all(
        &self,
        questions: &mut Questions,
        formula: &mut Formula,
        limits: &Limits,
    ) -> Option<Verdict> {
        if !questions.checks_hold {
            let checks = || self.skeleton.checks.iter();
            let checks = || checks().filter(|check| self.options.asks(&check.what));
            let asked: Vec<Term> = checks().map(|check| check.guard).collect();
            match formula.can_be(&asked, limits) {
                Outcome::Interrupted => (),
                Outcome::Satisfiable => {
                    let values = formula.values();
                    let happens = |check: &&Check| values[check.guard.index()] == 1;
                    let check = checks().find(happens).expect("one was asked for");
                    return Some(self.bug(formula, &Moment::of_check(check)));
                }
                Outcome::Unsatisfiable => questions.checks_hold = true,
            }
        }
        if !questions.is_never_stuck {
            let stuck = questions.stuck.get_or_insert_with(|| self.stuck(formula));
            match stuck.as_ref().map(|stuck| formula.ask(vec![stuck.happens], limits)) {
                Some(Outcome::Interrupted) => (),
                Some(Outcome::Satisfiable) => {
                    let stuck = stuck.as_ref().expect("it was asked for");
                    let state = formula.stuck_state(stuck);
                    return Some(self.bug(formula, &Moment::of_stuck(&self.skeleton, &state)));
                }
                Some(Outcome::Unsatisfiable) | None => {
                    let may_happen = stuck.as_ref().and_then(|stuck| stuck.may_happen);
                    match may_happen.map(|bit| formula.ask(vec![bit], limits)) {
                        Some(Outcome::Interrupted) => (),
                        answer => {
                            questions.is_never_stuck = true;
                            self.waits_again.set(answer == Some(Outcome::Satisfiable));
                        }
                    }
                }
            }
        }
        if questions.race.is_none() {
            let order = &self.order;
            let bits = questions.pairs.get_or_insert_with(|| {
                self.races.pairs.iter().map(|pair| formula.race(order, pair)).collect()
            });
            match formula.ask(bits.clone(), limits) {
                Outcome::Interrupted => (),
                Outcome::Satisfiable => {
                    let at = bits.iter().position(|&bit| formula.is_true(bit));
                    let pair = &self.races.pairs[at.expect("one was asked for")];
                    let moment = Moment::of_race(&self.skeleton, pair);
                    questions.race = Some(Some(self.bug(formula, &moment)));
                }
                Outcome::Unsatisfiable => questions.race = Some(None),
            }
        }
        None
    }

    /// How far the answer reaches if nothing is wrong up to the exits; and the loops whose bound is
    /// too small.
    pub(crate) fn reach(&self, formula: &mut Formula) -> (Verdict, Loops) {
        let undefined =
            self.skeleton.checks.iter().filter(|check| self.options.leaves_open(&check.what));
        let undefined = undefined.map(|check| {
            let what = check.what.describe(self.program);
            (check.guard, Why::Undefined(what), check.what.site())
        });
        let exits =
            self.skeleton.exits.iter().map(|exit| (exit.guard, exit.why.clone(), Some(exit.site)));
        let exits: Vec<(Term, Why, Option<Site>)> = exits.chain(undefined).collect();
        let guards: Vec<Term> = exits.iter().map(|(guard, ..)| *guard).collect();
        match formula.can_be(&guards, &self.limits()) {
            Outcome::Interrupted => return (self.out_of_time(), Loops::new()),
            Outcome::Satisfiable => (),
            Outcome::Unsatisfiable => {
                let verdict = match used_as_numbers(&self.skeleton.terms, &self.cells) {
                    true => Self::unknown("the program uses an address as a number"),
                    false => Verdict::Proved,
                };
                return (verdict, Loops::new());
            }
        }
        let passes_loop = |(_, why, _): &&(Term, Why, Option<Site>)| *why == Why::Loop;
        let reached = |formula: &Formula| -> Vec<(Term, Why, Option<Site>)> {
            let values = formula.values();
            exits.iter().filter(|(guard, ..)| values[guard.index()] == 1).cloned().collect()
        };
        let open = reached(formula);
        let loops = open.iter().filter(passes_loop).filter_map(|(.., site)| *site);
        let mut loops: Loops = loops.map(|site| (site.function, site.block)).collect();
        loops.sort();
        loops.dedup();
        if !open.iter().all(|exit| passes_loop(&exit)) {
            return (Verdict::Unknown(reasons(&open)), loops);
        }
        // Is the bound all that is in the way?
        let others = exits.iter().filter(|exit| !passes_loop(exit));
        let others: Vec<Term> = others.map(|(guard, ..)| *guard).collect();
        if !others.is_empty() {
            match formula.can_be(&others, &self.limits()) {
                Outcome::Interrupted => return (self.out_of_time(), Loops::new()),
                Outcome::Satisfiable => {
                    return (Verdict::Unknown(reasons(&reached(formula))), loops);
                }
                Outcome::Unsatisfiable => (),
            }
        }
        let bound = self.options.unwind.unwrap_or(FIRST_BOUND);
        (Verdict::UpTo { bound, open: reasons(&open) }, loops)
    }
}

/// Exits in words, each once.
fn reasons(exits: &[(Term, Why, Option<Site>)]) -> Vec<Open> {
    let mut reasons: Vec<Open> = exits.iter().map(|(_, why, site)| told(why, *site)).collect();
    reasons.sort();
    reasons.dedup();
    reasons
}

/// An exit in words.
pub(crate) fn told(why: &Why, site: Option<Site>) -> Open {
    let reason = match why {
        Why::Loop => "this loop may go on".to_string(),
        Why::Recursion => "calls are nested too deeply".to_string(),
        Why::Size => "there is too much code to unfold".to_string(),
        Why::Undefined(what) => format!("this may happen, and nobody asks about it: {what}"),
        Why::Unsupported(what) => format!("not supported: {what}"),
    };
    Open { reason, site }
}
