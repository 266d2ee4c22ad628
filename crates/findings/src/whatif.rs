//! What-if questions about a trace, and their answers in words.
//!
//! **Computes.** Of all events that the named places fit, whether one can come before the other, or
//! see a value: an execution, or why there is none. What the model cannot say is undecided.

#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

use foretrace_predict::{Explainer, Options, Question};
use foretrace_report::{Explanation, Grounds, Hold, Report, Side, SideState};
use foretrace_trace::validate::validate;
use foretrace_trace::{Dependences, EventId, Trace};
use foretrace_verdict::{Certainty, Model};

use crate::error::Error;
use crate::explain::{explain_candidates, places};
use crate::trace::{Frame, report_finding};

/// So many pairs of events that fit the same places are asked about.
const MOST_ASKED: usize = 64;

/// What is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WhatIf {
    /// Whether events at these two or more places can happen in this order.
    Before(Vec<String>),
    /// Whether a read at the place can see the value.
    Sees(String, i64),
}

/// What came of it.
#[derive(Debug)]
pub enum Told {
    /// The recorded run shows it, in these words.
    Recorded(String),
    /// It can be: a report with one finding, the execution.
    Yes(Box<Report>),
    /// It cannot be, for this reason.
    No(Box<Explanation>),
    /// It is not known, for this reason.
    Undecided(String),
}

/// Answers a question.
pub fn what_if(
    trace: &Trace,
    asked: &WhatIf,
    options: &Options,
    frame: &Frame,
) -> Result<Told, Error> {
    let asking = Asking { trace, options, frame };
    match asked {
        WhatIf::Before(named) => {
            let places = named.iter().map(|place| places(trace, place));
            let places: Vec<Vec<EventId>> = places.collect::<Result<_, _>>()?;
            let mut chains = Vec::new();
            add_chains(&places, &mut Vec::new(), &mut chains);
            asking.first_answer(chains, |chain| asking.before(chain))
        }
        WhatIf::Sees(place, value) => {
            let events = places(trace, place)?;
            let reads = |event: &EventId| trace.access(*event).is_some_and(|access| access.reads);
            let reads: Vec<EventId> = events.into_iter().filter(reads).collect();
            if reads.is_empty() {
                return Err(Error::question(format_args!("nothing at {place} is a read")));
            }
            asking.first_answer(reads, |&read| asking.sees(read, *value))
        }
    }
}

/// All ways to take a different event at each place; one more than are asked about, if there are
/// more.
fn add_chains(places: &[Vec<EventId>], chain: &mut Vec<EventId>, chains: &mut Vec<Vec<EventId>>) {
    let Some((events, rest)) = places.split_first() else { return chains.push(chain.clone()) };
    for &event in events {
        if chains.len() <= MOST_ASKED && !chain.contains(&event) {
            chain.push(event);
            add_chains(rest, chain, chains);
            chain.pop();
        }
    }
}

struct Asking<'a> {
    trace: &'a Trace,
    options: &'a Options,
    frame: &'a Frame,
}

impl Asking<'_> {
    /// The first yes; else that something is undecided; else the first no.
    fn first_answer<T>(
        &self,
        mut asked: Vec<T>,
        answer: impl Fn(&T) -> Result<Told, Error>,
    ) -> Result<Told, Error> {
        let is_all = asked.len() <= MOST_ASKED;
        asked.truncate(MOST_ASKED);
        let (mut no, mut open) = (None, None);
        for one in &asked {
            match answer(one)? {
                told @ Told::No(..) => drop(no.get_or_insert(told)),
                told @ Told::Undecided(_) => drop(open.get_or_insert(told)),
                yes @ (Told::Recorded(_) | Told::Yes(_)) => return Ok(yes),
            }
        }
        if !is_all {
            let why = format!(
                "more than {MOST_ASKED} events or orders fit these places, and not all were asked \
                 about; name a thread as well, THREAD@LOCATION, or the numbers of events"
            );
            open.get_or_insert(Told::Undecided(why));
        }
        let none = || Error::question("two places name the same event");
        open.or(no).ok_or_else(none)
    }

    fn before(&self, chain: &[EventId]) -> Result<Told, Error> {
        let trace = self.trace;
        let events: Vec<String> = chain.iter().map(|&event| self.event(event)).collect();
        let claim = events.join(" comes before ");
        if chain.is_sorted() {
            return Ok(Told::Recorded(claim));
        }
        for (at, &later) in chain.iter().enumerate() {
            let earlier = |&&first: &&EventId| Question::is_ordered(trace, later, first);
            if let Some(&first) = chain[..at].iter().find(earlier) {
                return Ok(Told::No(Box::new(self.by_order(claim, first, later))));
            }
        }
        if self.options.model_for(trace) != Model::Symbolic
            || trace.dependences() == Dependences::Unknown
        {
            return Ok(Told::Undecided(format!(
                "{claim}: this needs a trace with dependences, and model symbolic"
            )));
        }
        self.ask(Question::order(trace, chain), &claim)
    }

    fn sees(&self, read: EventId, value: i64) -> Result<Told, Error> {
        let trace = self.trace;
        let size = trace.access(read).map_or(8, |access| access.at.size);
        let claim = format!("{} sees {value}", self.event(read));
        let value = match size {
            0..8 => value as u64 & ((1 << (8 * size)) - 1),
            8.. => value as u64,
        };
        if trace.values(read).0 == Some(value) {
            return Ok(Told::Recorded(claim));
        }
        let model = self.options.model_for(trace);
        if size > 8 {
            let why = format!("{claim}: the read has {size} bytes, and values have at most 8");
            return Ok(Told::Undecided(why));
        }
        if model != Model::Symbolic || trace.dependences() == Dependences::Unknown {
            return Ok(Told::Undecided(format!(
                "{claim}: model {} lets every read see what it saw in the recorded run; this needs \
                 a trace with dependences, and model symbolic",
                model.name()
            )));
        }
        self.ask(Question::sees(trace, read, value), &claim)
    }

    fn ask(&self, question: Question, claim: &str) -> Result<Told, Error> {
        if let Err(invalid) = validate(&question.trace) {
            let why = format!("{claim}: this cannot be asked at these events ({invalid})");
            return Ok(Told::Undecided(why));
        }
        // Not the model that the new events would suggest.
        let model = Some(self.options.model_for(self.trace));
        let options = Options { model, ..self.options.clone() };
        let explainer = Explainer::new(&question.trace, &options);
        let violations = std::slice::from_ref(&question.violation);
        let answers = explain_candidates(&question.trace, &explainer, violations)?;
        if let Some(found) = answers.happens {
            if found.certainty == Certainty::Possible {
                let why = format!("{claim}: possible, but not proved feasible");
                return Ok(Told::Undecided(why));
            }
            let mut report =
                report_finding(&question.trace, explainer.model(), found, self.frame.clone());
            let finding = &mut report.findings[0];
            finding.id = "execution".to_string();
            finding.what = Some(claim.to_string());
            question.answered(&mut finding.schedule);
            let executed = |event: &EventId| finding.schedule.contains(&event.0);
            let side = |event: &EventId| Side {
                event: event.0,
                state: if executed(event) { SideState::Executed } else { SideState::Next },
                holds: Vec::<Hold>::new(),
            };
            let sides: Vec<Side> = question.asked.iter().map(side).collect();
            finding.sides = sides;
            add_missing(&question.trace, &mut report, &question.asked);
            return Ok(Told::Yes(Box::new(report)));
        }
        if let Some((mut explanation, _)) = answers.refuted {
            // What the events do that ask is nobody's concern; proofs cite their steps by numbers.
            if explanation.by == Grounds::Solver {
                let asks = |text: &str| Question::ASKING.iter().any(|name| text.contains(name));
                explanation.steps.retain(|step| !asks(step));
            }
            explanation.title = claim.to_string();
            explanation.demand = "Suppose that it is so.".to_string();
            for named in ["this race", "this failure"] {
                explanation.conclusion = explanation.conclusion.replace(named, "this");
            }
            return Ok(Told::No(Box::new(explanation)));
        }
        let why = answers.undecided.map(|(_, why)| why).or(answers.no_candidate);
        Ok(Told::Undecided(format!("{claim}: {}", why.unwrap_or_default())))
    }

    fn by_order(&self, title: String, first: EventId, second: EventId) -> Explanation {
        Explanation {
            property: foretrace_verdict::Property::Race,
            kind: foretrace_verdict::Kind::Race,
            events: vec![first.0, second.0],
            title,
            by: foretrace_report::Grounds::Order,
            demand: format!(
                "The order of the program, the creation of threads and joins lead from {} to {}.",
                self.event(second),
                self.event(first)
            ),
            steps: Vec::new(),
            conclusion: "So the former happens first in every execution.".to_string(),
        }
    }

    /// `main: write x : 5 (a.c:3)`
    fn event(&self, event: EventId) -> String {
        let thread = self.trace.threads().get(self.trace.thread_of(event).index());
        let place = self.trace.location_of(event).map(|id| {
            let location = self.trace.locations().get(id.index());
            format!(" at {}", foretrace_trace::Location::in_short(location))
        });
        let operation = crate::describe::operation(self.trace, event);
        format!("`{operation}` of {thread}{}", place.unwrap_or_default())
    }
}

/// What is next at the end may not be in the excerpt yet.
fn add_missing(trace: &Trace, report: &mut Report, events: &[EventId]) {
    for &event in events {
        if let Err(at) = report.excerpt.binary_search_by_key(&event.0, |text| text.event) {
            let text = crate::trace::event_text(trace, event);
            report.excerpt.insert(at, text);
        }
    }
}
