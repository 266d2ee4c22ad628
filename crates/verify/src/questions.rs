//! What is asked of one unfolding: can a check fail, can all threads be stuck, can two accesses
//! race?
//!
//! **Computes.** The answers, in rounds of growing patience: a hard proof about assertions does not
//! keep a race from being found.

use foretrace_solve::{Bit, Limits, Outcome};

use crate::compose::formula::Formula;
use crate::compose::stuck::Stuck;
use crate::skeleton::Check;
use crate::terms::Term;
use crate::witness::Moment;
use crate::{Round, Verdict};

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
}
