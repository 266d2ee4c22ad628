//! `foretrace predict --solver`: the same questions, decided by the papers' formula and a solver of
//! SMT-LIB in place of our own.
//!
//! **Computes.** A verdict for each race, atomicity violation and assertion, by events. Schedules
//! pass the witness checker, as all others do.
//!
//! **Invariant.** The answers of the solver are taken in the order of the candidates, whatever
//! `jobs` is.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use foretrace_predict::{
    Finding, NotAsked, Options, Phase, Prediction, Progress, Switches, Unanswered, Undecided,
};
use foretrace_reference::Options as FormulaOptions;
use foretrace_reference::{Answer, Limits, SolverCommand, SolverError, Unknown, decide_with};
use foretrace_report as report;
use foretrace_trace::{Op, Trace};
use foretrace_verdict::{Ledger, Model, Property, Violation};
use foretrace_witness::{CheckOptions, Checker, Refuted, reduce};

use crate::args::{GranularityChoice, ModelChoice, PredictArguments};
use crate::assemble::place;
use crate::candidates::{Candidates, candidates};
use crate::failure::Failure;
use crate::input;

/// The properties that are decided so.
const DECIDED: [Property; 3] = [Property::Race, Property::Atomicity, Property::Assertion];

/// Options that the formula does not know.
pub(crate) fn refuse(arguments: &PredictArguments) -> Result<(), Failure> {
    let options = &arguments.options;
    let (option, why) = match options.model {
        ModelChoice::Control => ("--model control", "it has no formula"),
        _ if arguments.compare_models => ("--compare-models", "name one model with --model"),
        _ if arguments.why.is_some() => ("--why", "foretrace explain does not need it"),
        _ if options.infer_regions => {
            ("--infer-regions", "mark regions with `region begin` and `region end`")
        }
        _ if options.granularity == GranularityChoice::Variable => {
            ("--granularity variable", "each tuple of events is asked about by itself")
        }
        _ if options.iterate_bound => ("--iterate-bound", "give a bound with --context-bound"),
        _ if options.conflicts.is_some() => {
            ("--conflicts", "give a --budget, which is for each candidate")
        }
        _ => return Ok(()),
    };
    Err(Failure::input(format_args!("{option} does not go with --solver")).hint(why))
}

/// Decides every candidate by the solver that the command line names.
pub(crate) fn predict(
    trace: &Trace,
    command: &str,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Prediction, Failure> {
    let solver =
        SolverCommand::parse(command).map_err(|error: SolverError| Failure::input(error))?;
    let asked: Vec<Property> =
        options.properties.iter().copied().filter(|asked| DECIDED.contains(asked)).collect();
    if asked.is_empty() {
        return Err(Failure::input(
            "--solver decides races, atomicity violations and assertions only",
        )
        .hint("--check race,atomicity,assertion"));
    }
    // Without a property there is nothing to predict, but the model is chosen.
    let nothing = Options { properties: Vec::new(), ..options.clone() };
    let nothing = input::predict(trace, &nothing, progress)?;
    let found = candidates(trace, &asked);
    let formula = FormulaOptions {
        bound: match options.switches {
            Switches::AtMost(most) => Some(most),
            Switches::Any | Switches::Fewest => None,
        },
        ..FormulaOptions::new(nothing.model)
    };
    let limits = options.budget.time.map_or(Limits::default(), |time| Limits { time });
    let ask = |violation: &Violation| decide_with(trace, violation, &formula, &solver, limits);
    let answers = in_parallel(&found.violations, options.jobs, &ask, progress);
    let judge = Judge {
        trace,
        checker: Checker::new(trace, nothing.model, CheckOptions::default()),
        pins_reads: matches!(nothing.model, Model::ReadsFrom | Model::Values),
    };
    let mut verdicts = Verdicts::new(&asked);
    for (violation, answer) in found.violations.iter().zip(answers) {
        verdicts.add(&judge, violation, answer, formula.bound.is_some())?;
    }
    let not_asked = not_asked(&found, &asked);
    let Verdicts { mut ledgers, findings, undecided } = verdicts;
    let left_out = options.properties.iter().filter(|asked| !DECIDED.contains(asked));
    ledgers.extend(left_out.map(|&property| (property, Ledger::default())));
    ledgers.sort_by_key(|(property, _)| *property);
    Ok(Prediction { ledgers, findings, undecided, not_asked, ..nothing })
}

/// What is asked for and not decided so.
pub(crate) fn left_out(trace: &Trace, options: &Options) -> Vec<report::NotAsked> {
    let has_regions = trace.other_ops().any(|(_, op)| op == Op::RegionBegin);
    let part = |&asked: &Property| {
        let (code, sentence) = match asked {
            Property::Atomicity if !has_regions => {
                (NotAsked::NoRegions.code(), "the trace marks no atomic regions")
            }
            Property::Deadlock | Property::Lock => ("not-by-solver", "--solver does not decide it"),
            _ => return None,
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

/// Asks several questions at a time. The answers are in the order of the questions.
fn in_parallel(
    questions: &[Violation],
    jobs: usize,
    ask: &(dyn Fn(&Violation) -> Answer + Sync),
    progress: &dyn Progress,
) -> Vec<Answer> {
    let (next, decided) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let answers: Mutex<Vec<Option<Answer>>> = Mutex::new(vec![None; questions.len()]);
    let work = || {
        while let Some((at, question)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            questions.get(at).map(|question| (at, question))
        } {
            let answer = ask(question);
            answers.lock().unwrap_or_else(PoisonError::into_inner)[at] = Some(answer);
            let done = decided.fetch_add(1, Ordering::Relaxed) + 1;
            progress.report(Phase::Deciding, done as u64, questions.len() as u64);
        }
    };
    thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, questions.len().max(1)) {
            scope.spawn(work);
        }
    });
    let answers = answers.into_inner().unwrap_or_else(PoisonError::into_inner);
    answers.into_iter().map(|answer| answer.expect("every question is asked")).collect()
}

/// Who accepts schedules.
struct Judge<'t> {
    trace: &'t Trace,
    checker: Checker<'t>,
    pins_reads: bool,
}

impl Judge<'_> {
    fn finding(
        &self,
        violation: &Violation,
        schedule: Vec<foretrace_trace::EventId>,
    ) -> Result<Finding, Refuted> {
        let checker = &self.checker;
        checker.check(violation, &schedule)?;
        let schedule = reduce(checker, violation, schedule);
        let certainty = checker.check(violation, &schedule)?;
        let may_differ = matches!(violation, Violation::Assertion(_)) || !self.pins_reads;
        let explanation =
            if may_differ { Some(checker.explain(violation, &schedule)?) } else { None };
        let object = violation.object(self.trace);
        let violation = violation.clone();
        let (inputs, fallback) = (Vec::new(), None);
        Ok(Finding { violation, object, schedule, certainty, explanation, inputs, fallback })
    }
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
        judge: &Judge,
        violation: &Violation,
        answer: Answer,
        is_bounded: bool,
    ) -> Result<(), Failure> {
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
            Answer::Feasible(schedule) => match judge.finding(violation, schedule) {
                Ok(finding) => {
                    ledger.violated += 1;
                    self.findings.push(finding);
                    return Ok(());
                }
                Err(refuted @ Refuted::NoFailingValues { .. }) => {
                    Unanswered::NoFailingValues(refuted.to_string())
                }
                Err(refuted) => {
                    let places: Vec<String> = violation
                        .events()
                        .into_iter()
                        .map(|event| place(judge.trace, event))
                        .collect();
                    return Err(Failure::internal(format_args!(
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
