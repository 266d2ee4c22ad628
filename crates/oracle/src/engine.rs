//! Holds the explicit engine against the enumeration of one random trace.
//!
//! **Computes.** Whether the engine's answers about all candidates are the oracle's: what it finds
//! is a violation with a feasible schedule, what it calls impossible is none; the same without
//! reads of unknown writers. What the engine leaves out depends on what it is asked, so it is
//! asked about everything at once, about one property at a time, and about single candidates
//! alone.
//!
//! **Cost.** Some ten explorations of the engine per exploration of the oracle.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use foretrace_explore::{Answer, Limits, Options, Question, Slices, explore as ask, fold};
use foretrace_model::Skeleton;
use foretrace_testing::Random;
use foretrace_trace::{EventId, Trace};
use foretrace_verdict::{Model, Property, Violation};

use crate::compare::Difference;
use crate::explore::{Explored, check, proves_only_possible};
use crate::recorded::Recorded;

/// How many candidates of a case are asked about alone.
const ALONE: usize = 6;

/// With and without reads of unknown writers, with all objects and with as few as possible.
const HOW: [(bool, Slices); 4] = [
    (false, Slices::Never),
    (false, Slices::Always),
    (true, Slices::Never),
    (true, Slices::Always),
];

/// With what the folded threads are held against the truth.
const HOW_FOLDED: Options = Options {
    explained: false,
    slices: Slices::Never,
    limits: Limits {
        states: 1_000_000,
        total: u64::MAX,
        bytes: 1 << 29,
        deadline: foretrace_trace::Deadline::NEVER,
    },
};

/// How many answers of each kind the engine gave.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[allow(missing_docs)]
pub struct EngineStats {
    pub found: u64,
    pub impossible: u64,
    /// Of these, how many folded threads refute.
    pub folded: u64,
    pub states: u64,
}

impl EngineStats {
    pub(crate) fn add(&mut self, other: EngineStats) {
        self.found += other.found;
        self.impossible += other.impossible;
        self.folded += other.folded;
        self.states += other.states;
    }
}

/// Asks the engine, and compares.
pub(crate) fn differ(
    trace: &Trace,
    explored: &Explored,
    model: Model,
    infer_regions: bool,
    seed: u64,
) -> Result<EngineStats, Difference> {
    let mut stats = EngineStats::default();
    if model == Model::Control {
        return Ok(stats);
    }
    let skeleton = Skeleton::new(trace, model);
    let mut all = Recorded::new(trace, model, infer_regions).candidates();
    all.extend(explored.violations.iter().cloned());
    let all: Vec<Violation> = all.into_iter().collect();
    let mut random = Random::new(seed);
    let mut rounds = vec![all.clone()];
    for property in Property::ALL {
        rounds.push(all.iter().filter(|asked| asked.property() == property).cloned().collect());
    }
    for _ in 0..ALONE.min(all.len()) {
        rounds.push(vec![all[random.below(all.len())].clone()]);
    }
    for round in rounds.iter().filter(|round| !round.is_empty()) {
        for (explained, slices) in HOW {
            let truth = if explained { &explored.real } else { &explored.violations };
            let how = Options { explained, slices, limits: Limits::default() };
            let asked = Asked { trace, model, infer_regions, truth, how };
            let compared =
                catch_unwind(AssertUnwindSafe(|| asked.compare(&skeleton, round, &mut stats)));
            compared.unwrap_or_else(|_| Err(Difference::Failed("the engine panicked".into())))?;
        }
    }
    Ok(stats)
}

struct Asked<'a> {
    trace: &'a Trace,
    model: Model,
    infer_regions: bool,
    truth: &'a BTreeSet<Violation>,
    how: Options,
}

impl Asked<'_> {
    fn compare(
        &self,
        skeleton: &Skeleton,
        asked: &[Violation],
        stats: &mut EngineStats,
    ) -> Result<(), Difference> {
        let events: Vec<Parts> = asked.iter().map(Parts::of).collect();
        let questions: Vec<Question> =
            asked.iter().zip(&events).map(|(violation, parts)| parts.question(violation)).collect();
        if self.how == HOW_FOLDED {
            // The coarser, the more events are one.
            for by_place in [true, false] {
                let folded = fold(skeleton, &questions, &self.how.limits, by_place);
                for (violation, _) in asked.iter().zip(folded.impossible).filter(|known| known.1) {
                    stats.folded += 1;
                    if self.truth.contains(violation) {
                        return Err(Difference::Missed(violation.clone()));
                    }
                }
            }
        }
        let report = ask(skeleton, &questions, &self.how);
        stats.states += report.states;
        for (violation, answer) in asked.iter().zip(report.answers) {
            let holds = self.truth.contains(violation);
            match answer {
                Answer::Found { violation: found, schedule } => {
                    stats.found += 1;
                    if !holds || found != *violation {
                        return Err(Difference::Invented(found));
                    }
                    self.check(&found, &schedule)?;
                }
                Answer::Impossible => {
                    stats.impossible += 1;
                    if holds {
                        return Err(Difference::Missed(violation.clone()));
                    }
                }
                Answer::GaveUp(reason) => {
                    return Err(Difference::Failed(format!("gave up: {reason:?}")));
                }
            }
        }
        Ok(())
    }

    fn check(&self, violation: &Violation, schedule: &[EventId]) -> Result<(), Difference> {
        let Asked { trace, model, infer_regions, .. } = *self;
        check(trace, model, infer_regions, schedule, violation).map_err(|refused| {
            Difference::Failed(format!("{violation:?} {schedule:?}: {refused:?}"))
        })?;
        let options = foretrace_witness::CheckOptions { infer_regions };
        let checker = foretrace_witness::Checker::new(trace, model, options);
        if let Err(refuted) = checker.check(violation, schedule) {
            return Err(Difference::Failed(format!("{violation:?} {schedule:?}: {refuted}")));
        }
        if self.how.explained && proves_only_possible(trace, model, schedule, violation) {
            return Err(Difference::Failed(format!("{violation:?} {schedule:?}: only possible")));
        }
        Ok(())
    }
}

/// The events of a violation, one by one.
struct Parts {
    events: Vec<EventId>,
    pair: [(EventId, EventId); 1],
    misuse: Vec<(foretrace_verdict::LockMisuse, EventId)>,
}

impl Parts {
    fn of(violation: &Violation) -> Parts {
        let events = violation.events();
        let pair = [(events[0], *events.last().expect("a violation has events"))];
        let misuse = match *violation {
            Violation::Lock(misuse, event) => vec![(misuse, event)],
            Violation::Race(..)
            | Violation::Atomicity { .. }
            | Violation::LockCycle(_)
            | Violation::Stuck(_)
            | Violation::Assertion(_) => Vec::new(),
        };
        Parts { events, pair, misuse }
    }

    fn question(&self, violation: &Violation) -> Question<'_> {
        let events = &self.events;
        match violation {
            Violation::Race(..) => Question::Race(vec![(&events[..1], &events[1..])]),
            Violation::Atomicity { .. } => Question::Atomicity(vec![(&self.pair, &events[1..2])]),
            Violation::LockCycle(_) => Question::LockCycle(vec![events.chunks(1).collect()]),
            Violation::Stuck(_) => Question::Stuck(events),
            Violation::Lock(..) => Question::Lock(&self.misuse),
            Violation::Assertion(_) => Question::Assertion(events),
        }
    }
}
