//! What a litmus file expects, in comments that begin with `#? `.
//!
//! ```text
//! line    = "both" | "reads-from" | "values"       what follows is about these models
//!         | "infer-regions"                        for the whole file
//!         | "none"                                 no findings, said aloud
//!         | [ "possible" ] finding
//!         | "ledger" property count...             property: race atomicity deadlock lock
//! finding = "race" object place place              in any order
//!         | "atomicity" object place place place   first, remote, second
//!         | "cycle" place place...                 each wants what the next one has; from any start
//!         | "stuck" place
//!         | ( "double-lock" | "unlock-not-held" | "unlock-by-other" | "destroy-held" ) place
//! count   = ( "candidates" | "order" | "locks" | "violated" | "infeasible" ) "=" number
//! ```
//!
//! A place is a location of the trace, or `line:12` for an event without one. The findings of a model are exactly those
//! listed. A ledger is compared only if it is there; counts that it leaves out are 0.

use std::fmt::Write;

use foretrace_predict::Ledger;
use foretrace_trace::Model;
use foretrace_witness::Property;

/// The findings, sorted, and the ledgers, by property.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) findings: Vec<String>,
    pub(crate) ledgers: Vec<(String, String)>,
}

pub(crate) struct Expectation {
    pub(crate) infer_regions: bool,
    reads_from: Option<Outcome>,
    values: Option<Outcome>,
}

impl Expectation {
    pub(crate) fn parse(text: &str) -> Result<Expectation, String> {
        let mut expectation = Expectation { infer_regions: false, reads_from: None, values: None };
        let mut section: Option<Section> = None;
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            let Some(directive) = line.strip_prefix("#?") else { continue };
            let Some(directive) = directive.strip_prefix(' ') else {
                return Err(format!("line {number}: write `#? ` with one space"));
            };
            match directive {
                "infer-regions" => expectation.infer_regions = true,
                "both" | "reads-from" | "values" => {
                    expectation.close(section.take())?;
                    section = Some(Section::new(directive, number));
                }
                _ => match &mut section {
                    Some(section) => section.add(directive, number)?,
                    None => {
                        return Err(format!(
                            "line {number}: `{directive}` stands before any of `both`, `reads-from`, `values`"
                        ));
                    }
                },
            }
        }
        expectation.close(section)?;
        Ok(expectation)
    }

    pub(crate) fn of(&self, model: Model) -> Result<&Outcome, String> {
        let outcome = match model {
            Model::ReadsFrom => &self.reads_from,
            Model::Values => &self.values,
        };
        outcome.as_ref().ok_or_else(|| format!("no expectation for {}", model_name(model)))
    }

    fn close(&mut self, section: Option<Section>) -> Result<(), String> {
        let Some(section) = section else { return Ok(()) };
        let (models, line) = (section.models, section.line);
        if section.findings.is_empty() && !section.none {
            return Err(format!(
                "line {line}: `{models}` expects nothing; if there is nothing, say `none`"
            ));
        }
        for (model, slot) in [("reads-from", &mut self.reads_from), ("values", &mut self.values)] {
            if models == "both" || models == model {
                let outcome = section.outcome();
                if slot.replace(outcome).is_some() {
                    return Err(format!("line {line}: {model} has its expectation already"));
                }
            }
        }
        Ok(())
    }
}

/// The expectations behind one line that names models.
struct Section<'t> {
    models: &'t str,
    line: usize,
    findings: Vec<String>,
    none: bool,
    ledgers: Vec<(String, String)>,
}

impl<'t> Section<'t> {
    fn new(models: &'t str, line: usize) -> Self {
        Section { models, line, findings: Vec::new(), none: false, ledgers: Vec::new() }
    }

    fn add(&mut self, directive: &str, line: usize) -> Result<(), String> {
        if let Some(ledger) = directive.strip_prefix("ledger ") {
            let parsed = parse_ledger(ledger)
                .map_err(|problem| format!("line {line}: in `{directive}`: {problem}"))?;
            self.ledgers.push(parsed);
            return Ok(());
        }
        if directive == "none" {
            self.none = true;
        } else {
            let finding =
                parse_finding(directive).map_err(|problem| format!("line {line}: {problem}"))?;
            self.findings.push(finding);
        }
        if self.none && !self.findings.is_empty() {
            return Err(format!("line {line}: `none` beside other expectations"));
        }
        Ok(())
    }

    fn outcome(&self) -> Outcome {
        let mut findings = self.findings.clone();
        findings.sort_unstable();
        Outcome { findings, ledgers: self.ledgers.clone() }
    }
}

impl Outcome {
    /// What differs, expected lines with a minus and found ones with a plus; empty if nothing does.
    pub(crate) fn difference(&self, model: Model, found: &Outcome) -> String {
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
        let mut shown = String::new();
        if !lost.is_empty() || !gained.is_empty() {
            let _ = writeln!(shown, "{}:", model_name(model));
        }
        for (sign, lines) in [('-', lost), ('+', gained)] {
            for line in lines {
                let _ = writeln!(shown, "  {sign} {line}");
            }
        }
        shown
    }
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
        "stuck" | "double-lock" | "unlock-not-held" | "unlock-by-other" | "destroy-held" => {
            words.len() == 1
        }
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
    let known = [Property::Race, Property::Atomicity, Property::Deadlock, Property::Lock];
    if !known.iter().any(|&known| property_name(known) == property) {
        return Err(format!("unknown property `{property}`"));
    }
    let mut ledger = Ledger::default();
    for count in counts.split(' ') {
        let (name, number) = count.split_once('=').ok_or("a count is `name=number`")?;
        let number = number.parse().map_err(|_| format!("`{number}` is not a number"))?;
        *match name {
            "candidates" => &mut ledger.candidates,
            "order" => &mut ledger.pruned_mhb,
            "locks" => &mut ledger.pruned_lockset,
            "violated" => &mut ledger.violated,
            "infeasible" => &mut ledger.infeasible,
            _ => return Err(format!("unknown count `{name}`")),
        } = number;
    }
    Ok((property.to_string(), ledger_line(&ledger)))
}

/// The counts that are not 0, and how many candidates there were.
pub(crate) fn ledger_line(ledger: &Ledger) -> String {
    let mut line = format!("candidates={}", ledger.candidates);
    for (name, count) in [
        ("order", ledger.pruned_mhb),
        ("locks", ledger.pruned_lockset),
        ("violated", ledger.violated),
        ("infeasible", ledger.infeasible),
        ("undecided", ledger.undecided),
    ] {
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
    }
}

pub(crate) fn model_name(model: Model) -> &'static str {
    match model {
        Model::ReadsFrom => "reads-from",
        Model::Values => "values",
    }
}
