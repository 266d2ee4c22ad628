//! What a litmus file expects, in comments that begin with `#? `.
//!
//! ```text
//! line    = "both" | "reads-from" | "values"       what follows is about this model;
//!         | "symbolic" | "control"                 both: the first two
//!         | "infer-regions"                        for the whole file
//!         | "none"                                 no findings, said aloud
//!         | "same"                                 those of the model before; under control, possible
//!         | [ "possible" ] finding
//!         | "ledger" property count...             property: race atomicity deadlock lock assertion
//!         | "bound" number                         what follows is about schedules with at most so many context switches
//!         | "fewest" number [ "possible" ] finding no schedule has fewer context switches than this
//! finding = "race" object place place              in any order
//!         | "atomicity" object place place place   first, remote, second
//!         | "cycle" place place...                 each wants what the next one has; from any start
//!         | "stuck" place | "assertion" place
//!         | ( "double-lock" | "unlock-not-held" | "unlock-by-other" | "destroy-held" ) place
//! count   = ( "candidates" | "order" | "locks" | "violated" | "infeasible" | "in-bound" )
//!           "=" number
//! ```
//!
//! A place is a location of the trace, or `line:12` for an event without one. The findings of a
//! model are exactly those listed. A ledger is compared only if it is there; counts that it leaves
//! out are 0. A file need not speak of `symbolic` and `control`.

use std::fmt::Write;

use foretrace_predict::Options;
use foretrace_verdict::{Column, Ledger, Model, Property};

/// The findings, sorted, and the ledgers, by property.
#[derive(Clone, Default)]
pub(crate) struct Outcome {
    pub(crate) findings: Vec<String>,
    pub(crate) ledgers: Vec<(String, String)>,
}

/// What is expected of one model.
#[derive(Clone, Default)]
pub(crate) struct Expected {
    pub(crate) unbounded: Outcome,
    /// With at most so many context switches.
    pub(crate) bounded: Vec<(u32, Outcome)>,
    /// The least number of context switches of a finding.
    pub(crate) fewest: Vec<(u32, String)>,
}

pub(crate) struct Expectation {
    pub(crate) infer_regions: bool,
    models: [Option<Expected>; Model::ALL.len()],
}

impl Expectation {
    pub(crate) fn parse(text: &str) -> Result<Expectation, String> {
        let mut expectation = Expectation { infer_regions: false, models: Default::default() };
        let mut section: Option<Section> = None;
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            let Some(directive) = line.strip_prefix("#?") else { continue };
            let Some(directive) = directive.strip_prefix(' ') else {
                return Err(format!("line {number}: write `#? ` with one space"));
            };
            match directive {
                "infer-regions" => expectation.infer_regions = true,
                title if !models_of(title).is_empty() => {
                    expectation.close(section.take())?;
                    section = Some(Section::new(title, number));
                }
                _ => match &mut section {
                    Some(section) => section.add(directive, number)?,
                    None => return Err(format!("line {number}: `{directive}` is about no model")),
                },
            }
        }
        expectation.close(section)?;
        Ok(expectation)
    }

    /// What is expected of a model; a file may be silent about `symbolic` and `control`.
    pub(crate) fn of(&self, model: Model) -> Result<Option<&Expected>, String> {
        let expected = self.models[model as usize].as_ref();
        if expected.is_none() && matches!(model, Model::ReadsFrom | Model::Values) {
            return Err(format!("no expectation for {}", model.name()));
        }
        Ok(expected)
    }

    fn close(&mut self, section: Option<Section>) -> Result<(), String> {
        let Some(section) = section else { return Ok(()) };
        let Section { title, line, .. } = section;
        for part in &section.parts {
            if part.findings.is_empty() && !part.none && !part.same {
                let within = part.bound.map_or(String::new(), |bound| format!(" within {bound}"));
                return Err(format!(
                    "line {line}: `{title}`{within} expects nothing; if there is nothing, say `none`"
                ));
            }
        }
        for &model in models_of(title) {
            let mut expected = Expected { fewest: section.fewest.clone(), ..Expected::default() };
            for part in &section.parts {
                let outcome = self.outcome(part, model, line)?;
                match part.bound {
                    None => expected.unbounded = outcome,
                    Some(bound) => expected.bounded.push((bound, outcome)),
                }
            }
            if self.models[model as usize].replace(expected).is_some() {
                return Err(format!("line {line}: {} has its expectation already", model.name()));
            }
        }
        Ok(())
    }

    fn outcome(&self, part: &Part, model: Model, line: usize) -> Result<Outcome, String> {
        let mut findings = part.findings.clone();
        if part.same {
            let before = (model as usize).checked_sub(1).and_then(|at| self.models[at].as_ref());
            let before = before.ok_or(format!("line {line}: `same` as what?"))?;
            findings = before.unbounded.findings.clone();
            if model == Model::Control {
                let possible =
                    |finding: String| format!("possible {}", without_certainty(&finding));
                findings = findings.into_iter().map(possible).collect();
            }
        }
        findings.sort_unstable();
        Ok(Outcome { findings, ledgers: part.ledgers.clone() })
    }
}

/// The models that a line of this text is the title for.
fn models_of(title: &str) -> &'static [Model] {
    match title {
        "both" => &[Model::ReadsFrom, Model::Values],
        _ => Model::ALL
            .iter()
            .position(|model| model.name() == title)
            .map_or(&[], |at| &Model::ALL[at..=at]),
    }
}

/// The expectations behind one line that names models.
struct Section<'t> {
    title: &'t str,
    line: usize,
    /// First without a bound.
    parts: Vec<Part>,
    fewest: Vec<(u32, String)>,
}

/// The expectations for one bound.
#[derive(Default)]
struct Part {
    bound: Option<u32>,
    findings: Vec<String>,
    none: bool,
    same: bool,
    ledgers: Vec<(String, String)>,
}

impl<'t> Section<'t> {
    fn new(title: &'t str, line: usize) -> Self {
        Section { title, line, parts: vec![Part::default()], fewest: Vec::new() }
    }

    fn add(&mut self, directive: &str, line: usize) -> Result<(), String> {
        let in_line = |problem: String| format!("line {line}: {problem}");
        let part = self.parts.last_mut().expect("there is one from the start");
        match directive.split_once(' ') {
            Some(("ledger", ledger)) => {
                let parsed = parse_ledger(ledger)
                    .map_err(|problem| in_line(format!("in `{directive}`: {problem}")))?;
                part.ledgers.push(parsed);
            }
            Some(("bound", bound)) => {
                let bound = Some(parse_number(bound).map_err(in_line)?);
                self.parts.push(Part { bound, ..Part::default() });
            }
            Some(("fewest", rest)) => {
                let (number, finding) = rest.split_once(' ').unwrap_or((rest, ""));
                let number = parse_number(number).map_err(in_line)?;
                self.fewest.push((number, parse_finding(finding).map_err(in_line)?));
            }
            None if directive == "none" => part.none = true,
            None if directive == "same" => part.same = true,
            _ => part.findings.push(parse_finding(directive).map_err(in_line)?),
        }
        let part = self.parts.last().expect("there is one from the start");
        let word = if part.none { "none" } else { "same" };
        if (part.none || part.same) && !part.findings.is_empty() {
            return Err(in_line(format!("`{word}` beside other expectations")));
        }
        if part.same && part.bound.is_some() {
            return Err(in_line("`same` within a bound".to_string()));
        }
        Ok(())
    }
}

impl Outcome {
    /// What differs, expected lines with a minus and found ones with a plus; empty if nothing does.
    /// `title` says what was predicted.
    pub(crate) fn difference(&self, title: &str, found: &Outcome) -> String {
        let mut lost = self.findings.clone();
        let mut gained = Vec::new();
        for finding in &found.findings {
            match lost.iter().position(|expected| expected == finding) {
                Some(at) => drop(lost.remove(at)),
                None => gained.push(finding.clone()),
            }
        }
        for (property, expected) in &self.ledgers {
            let ledger = found.ledgers.iter().find(|(known, _)| known == property);
            let (_, counted) = ledger.expect("all properties were asked for");
            if counted != expected {
                lost.push(format!("ledger {property} {expected}"));
                gained.push(format!("ledger {property} {counted}"));
            }
        }
        show_difference(title, &lost, &gained)
    }
}

/// A title and the lines that are only on one side, or nothing if there are none.
pub(crate) fn show_difference(title: &str, lost: &[String], gained: &[String]) -> String {
    let mut shown = String::new();
    if !lost.is_empty() || !gained.is_empty() {
        let _ = writeln!(shown, "{title}:");
    }
    for (sign, lines) in [('-', lost), ('+', gained)] {
        for line in lines {
            let _ = writeln!(shown, "  {sign} {line}");
        }
    }
    shown
}

/// A finding without the word that says that it is only possible.
pub(crate) fn without_certainty(finding: &str) -> &str {
    finding.strip_prefix("possible ").unwrap_or(finding)
}

fn parse_number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number"))
}

fn parse_finding(directive: &str) -> Result<String, String> {
    let (possible, rest) = match directive.strip_prefix("possible ") {
        Some(rest) => ("possible ", rest),
        None => ("", directive),
    };
    let mut words: Vec<String> = rest.split(' ').map(String::from).collect();
    let kind = words.remove(0);
    let fits = match kind.as_str() {
        "race" => words.len() == 3,
        "atomicity" => words.len() == 4,
        "cycle" => words.len() >= 2,
        "stuck" | "assertion" | "double-lock" | "unlock-not-held" | "unlock-by-other"
        | "destroy-held" => words.len() == 1,
        _ => return Err(format!("unknown directive `{directive}`")),
    };
    if !fits || words.iter().any(String::is_empty) {
        return Err(format!("`{directive}` has the wrong number of words"));
    }
    canonical(&kind, &mut words);
    Ok(format!("{possible}{kind} {}", words.join(" ")))
}

/// Orders the places of a race, and turns a cycle to its smallest start.
pub(crate) fn canonical(kind: &str, words: &mut [String]) {
    match kind {
        "race" => words[1..].sort_unstable(),
        "cycle" => {
            let turned = |by: usize| {
                let mut turned = words.to_vec();
                turned.rotate_left(by);
                turned
            };
            let least = (0..words.len()).map(turned).min().expect("a cycle has places");
            words.clone_from_slice(&least);
        }
        _ => {}
    }
}

fn parse_ledger(text: &str) -> Result<(String, String), String> {
    let (property, counts) = text.split_once(' ').ok_or("no counts")?;
    if !Options::default().properties.iter().any(|&known| property_name(known) == property) {
        return Err(format!("unknown property `{property}`"));
    }
    let mut ledger = Ledger::default();
    for count in counts.split(' ') {
        let (name, number) = count.split_once('=').ok_or("a count is `name=number`")?;
        let number = number.parse().map_err(|_| format!("`{number}` is not a number"))?;
        let column = Column::ALL.into_iter().find(|column| column.word() == name);
        *match name {
            "candidates" => &mut ledger.candidates,
            "violated" => &mut ledger.violated,
            "infeasible" => &mut ledger.infeasible,
            "in-bound" => &mut ledger.infeasible_in_bound,
            _ => match column {
                Some(column) => &mut ledger.pruned[column],
                None => return Err(format!("unknown count `{name}`")),
            },
        } = number;
    }
    Ok((property.to_string(), ledger_line(&ledger)))
}

/// The counts that are not 0, and how many candidates there were.
pub(crate) fn ledger_line(ledger: &Ledger) -> String {
    let mut line = format!("candidates={}", ledger.candidates);
    let pruned = ledger.pruned.iter().map(|(column, count)| (column.word(), count));
    for (name, count) in pruned.chain([
        ("violated", ledger.violated),
        ("infeasible", ledger.infeasible),
        ("in-bound", ledger.infeasible_in_bound),
        ("undecided", ledger.undecided),
    ]) {
        if count != 0 {
            let _ = write!(line, " {name}={count}");
        }
    }
    line
}

pub(crate) fn property_name(property: Property) -> &'static str {
    match property {
        Property::Race => "race",
        Property::Atomicity => "atomicity",
        Property::Deadlock => "deadlock",
        Property::Lock => "lock",
        Property::Assertion => "assertion",
    }
}
