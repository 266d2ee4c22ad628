//! All violations of a program up to a bound, not only the first: for tests, which compare them
//! with exhaustive exploration.

use std::collections::BTreeMap;

use foretrace_program::{Program, Violation};
use foretrace_solve::{Bit, Outcome};

use crate::compose::formula::Formula;
use crate::skeleton::Why;
use crate::terms::Term;
use crate::unfold::Bounds;
use crate::witness::{Diverged, Moment};
use crate::{MOST_WAITS, Open, Options, Round, told, waits_for_signals};

/// All violations of a program up to a bound, one by one: `None` if that could not be decided.
/// For tests: they compare it with exhaustive exploration.
pub fn violations_up_to(program: &Program, options: &Options) -> Option<Found> {
    let mut bounds = Bounds::first(options);
    let round = Round::new(program, options, &bounds);
    let enough = waits_for_signals(&round.skeleton);
    if round.skeleton.ending.again.is_empty() || enough > MOST_WAITS {
        return round.all();
    }
    bounds.waits = enough;
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

impl Round<'_> {
    fn all(self) -> Option<Found> {
        let mut formula =
            Formula::new(&self.skeleton, &self.order, &self.cells, self.options.narrow).ok()?;
        let mut asked: BTreeMap<Violation, Vec<(Bit, Moment)>> = BTreeMap::new();
        for check in self.skeleton.checks.iter().filter(|check| self.options.asks(&check.what)) {
            let question = (formula.bit(check.guard), Moment::of_check(check));
            asked.entry(check.what.clone()).or_default().push(question);
        }
        for pair in &self.races.pairs {
            let question = (formula.race(&self.order, pair), Moment::of_race(&self.skeleton, pair));
            asked.entry(question.1.what.clone()).or_default().push(question);
        }
        let limits = self.limits();
        let (mut violations, mut diverged) = (Vec::new(), Vec::new());
        for (kind, questions) in asked {
            let bits = questions.iter().map(|&(bit, _)| bit).collect();
            match formula.ask(bits, &limits) {
                Outcome::Interrupted => return None,
                Outcome::Unsatisfiable => continue,
                Outcome::Satisfiable => (),
            }
            let happens = |(bit, _): &&(Bit, Moment)| formula.is_true(*bit);
            let (_, moment) = questions.iter().find(happens).expect("one was asked for");
            match self.confirm(&formula, moment) {
                Ok(bug) => violations.push(bug.violation),
                Err(error) => diverged.push((kind, error)),
            }
        }
        let stuck = self.stuck(&mut formula);
        while let Some(stuck) = &stuck {
            match formula.ask(vec![stuck.happens], &limits) {
                Outcome::Interrupted => return None,
                Outcome::Unsatisfiable => break,
                Outcome::Satisfiable => (),
            }
            let state = formula.stuck_state(stuck);
            match self.confirm(&formula, &Moment::of_stuck(&self.skeleton, &state)) {
                Ok(bug) => violations.push(bug.violation),
                Err(error) => {
                    diverged.push((state.violation(), error));
                    break;
                }
            }
            formula.exclude(stuck, &state);
        }
        match stuck.and_then(|stuck| stuck.may_happen).map(|bit| formula.ask(vec![bit], &limits)) {
            Some(Outcome::Unsatisfiable) | None => (),
            Some(_) => self.waits_again.set(true),
        }
        let exits: Vec<Term> = self.skeleton.exits.iter().map(|exit| exit.guard).collect();
        let complete = match formula.can_be(&exits, &limits) {
            Outcome::Interrupted => return None,
            Outcome::Unsatisfiable => self.not_asked().is_empty(),
            Outcome::Satisfiable => false,
        };
        let others = self.skeleton.exits.iter().filter(|exit| exit.why != Why::Loop);
        let unsupported = others.map(|exit| told(&exit.why, Some(exit.site))).collect();
        Some(Found { violations, diverged, complete, unsupported })
    }
}
