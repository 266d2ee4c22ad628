//! `foretrace predict --solver`: the same questions, decided by the papers' formula and an SMT-LIB
//! solver instead of our own.
//!
//! **Computes.** A verdict for each race, atomicity violation and assertion, by events. Schedules
//! pass the witness checker, as all others do.
//!
//! **Invariant.** The answers of the solver are taken in the order of the candidates, whatever
//! `jobs` is.

use foretrace_predict::{
    Finding, Judge, Judgement, NotAsked, Options, Phase, Prediction, Progress, Switches,
    TraceJudge, Unanswered, Undecided,
};
use foretrace_reference::Options as FormulaOptions;
use foretrace_reference::{
    Answer, Candidates, Limits, PROPERTIES, SolverCommand, Unknown, candidates, decide_in_parallel,
};
use foretrace_report as report;
use foretrace_trace::{Op, Trace};
use foretrace_verdict::{Ledger, Property, Violation};

use crate::error::Error;
use crate::trace::place;

/// Decides every candidate by a solver of SMT-LIB, given as its command line.
pub fn predict_by_solver(
    trace: &Trace,
    command: &str,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Prediction, Error> {
    let solver = SolverCommand::parse(command).map_err(Error::question)?;
    let asked: Vec<Property> =
        options.properties.iter().copied().filter(|asked| PROPERTIES.contains(asked)).collect();
    if asked.is_empty() {
        return Err(Error::question(
            "--solver decides races, atomicity violations and assertions only",
        )
        .hint("--check race,atomicity,assertion"));
    }
    // Without a property there is nothing to predict, but the model is chosen.
    let nothing = Options { properties: Vec::new(), ..options.clone() };
    let mut prediction =
        foretrace_predict::predict(trace, &nothing, progress).map_err(Error::internal)?;
    let found = candidates(trace, &asked);
    let formula = FormulaOptions {
        bound: match options.switches {
            Switches::AtMost(most) => Some(most),
            Switches::Any | Switches::Fewest => None,
        },
        ..FormulaOptions::new(prediction.model)
    };
    let limits = options.budget.time.map_or(Limits::default(), |time| Limits { time });
    let (questions, jobs) = (&found.violations, options.jobs);
    let decided = |count: usize| {
        progress.report(Phase::Deciding, count as u64, questions.len() as u64);
    };
    let answers = decide_in_parallel(trace, questions, &formula, &solver, limits, jobs, &decided);
    let judge = TraceJudge::new(trace, prediction.model, false);
    let mut verdicts = Verdicts::new(&asked);
    for (violation, answer) in questions.iter().zip(answers) {
        verdicts.add(trace, &judge, violation, answer, formula.bound.is_some())?;
    }
    let Verdicts { mut ledgers, findings, undecided } = verdicts;
    let left_out = options.properties.iter().filter(|asked| !PROPERTIES.contains(asked));
    ledgers.extend(left_out.map(|&property| (property, Ledger::default())));
    ledgers.sort_by_key(|(property, _)| *property);
    prediction.ledgers = ledgers;
    prediction.findings = findings;
    prediction.undecided = undecided;
    prediction.not_asked = not_asked(&found, &asked);
    Ok(prediction)
}

/// What is asked for and not decided so.
pub fn left_out_by_solver(trace: &Trace, options: &Options) -> Vec<report::NotAsked> {
    let has_regions = trace.other_ops().any(|(_, op)| op == Op::RegionBegin);
    let part = |&asked: &Property| {
        let (code, sentence) = match asked {
            Property::Atomicity if !has_regions => {
                (NotAsked::NoRegions.code(), "the trace marks no atomic regions")
            }
            Property::Deadlock | Property::Lock => ("not-by-solver", "--solver does not decide it"),
            Property::Race | Property::Atomicity | Property::Assertion => return None,
        };
        let reason = report::Reason::new(code, sentence);
        Some(report::NotAsked { property: asked, whole: true, reason })
    };
    options.properties.iter().filter_map(part).collect()
}

fn not_asked(found: &Candidates, asked: &[Property]) -> Vec<NotAsked> {
    let mut parts = Vec::new();
    if found.assertions == 0 {
        parts.push(NotAsked::NoAssertions);
    }
    if found.opaque > 0 {
        parts.push(NotAsked::OpaqueAssertions(found.opaque));
    }
    parts.retain(|part| asked.contains(&part.property()));
    parts
}

/// What has become of the candidates so far.
struct Verdicts {
    ledgers: Vec<(Property, Ledger)>,
    findings: Vec<Finding>,
    undecided: Vec<Undecided>,
}

impl Verdicts {
    fn new(asked: &[Property]) -> Self {
        let ledgers = asked.iter().map(|&property| (property, Ledger::default())).collect();
        Verdicts { ledgers, findings: Vec::new(), undecided: Vec::new() }
    }

    fn add(
        &mut self,
        trace: &Trace,
        judge: &TraceJudge,
        violation: &Violation,
        answer: Answer,
        is_bounded: bool,
    ) -> Result<(), Error> {
        let property = violation.property();
        let entry = self.ledgers.iter_mut().find(|(known, _)| *known == property);
        let ledger = &mut entry.expect("only asked properties have candidates").1;
        ledger.candidates += 1;
        let reason = match answer {
            Answer::Infeasible => {
                let refuted = if is_bounded {
                    &mut ledger.infeasible_in_bound
                } else {
                    &mut ledger.infeasible
                };
                *refuted += 1;
                return Ok(());
            }
            Answer::Feasible(schedule) => match judge.judge(violation, schedule, &[]) {
                Judgement::Accepted { schedule, certainty, explanation } => {
                    ledger.violated += 1;
                    let mut finding = Finding::new(trace, violation.clone(), schedule, certainty);
                    finding.explanation = explanation;
                    self.findings.push(finding);
                    return Ok(());
                }
                Judgement::Doubted(why) => why,
                Judgement::Refuted(refuted) => {
                    let events = violation.events().into_iter();
                    let places: Vec<String> = events.map(|event| place(trace, event)).collect();
                    return Err(Error::internal(format_args!(
                        "the solver's schedule for {} is none: {refuted}",
                        places.join(", ")
                    )));
                }
            },
            Answer::Unknown(Unknown::Unsupported(what)) => {
                Unanswered::FormulaUnsupported(what.to_string())
            }
            Answer::Unknown(Unknown::Solver(what)) => Unanswered::SolverFailed(what.to_string()),
        };
        ledger.undecided += 1;
        self.undecided.push(Undecided { property, example: violation.clone(), reason });
        Ok(())
    }
}
