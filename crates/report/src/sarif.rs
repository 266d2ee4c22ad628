//! SARIF 2.1.0, the format in which code scanners and editors take results.
//!
//! **Computes.** One run with one result for each finding. The schedule is a code flow with one
//! thread flow for each thread, whose steps are ordered by `executionOrder`; the calls that led to
//! each side are stacks; locks, creations of threads and allocations are related locations.
//! Suppressed findings carry their suppression, and with a baseline each has its state.
//!
//! **Cost.** A long schedule is cut down to the steps that matter, at most [`MOST_STEPS`].

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::json::layout::Lines;
use crate::oneline::{Spot, grade, message, side_in_words, spot};
use crate::{Certainty, Finding, Kind, Origin, Report, Standing, TOPICS, Topic};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The base of relative paths: the folder in which the command ran.
const SOURCE_ROOT: &str = "SRCROOT";

/// Schedules have at most so many steps here.
const MOST_STEPS: usize = 100;

/// Writes the reports as one log with one run.
///
/// # Errors
/// Those of the writer.
pub fn write_sarif(reports: &[Report], writer: &mut dyn Write) -> io::Result<()> {
    let mut buffer = io::BufWriter::new(writer);
    // Each rule and each result has a line.
    let lines = Lines::new(5);
    log(reports).serialize(&mut serde_json::Serializer::with_formatter(&mut buffer, lines))?;
    writeln!(buffer)?;
    buffer.flush()
}

fn log(reports: &[Report]) -> Value {
    let version = reports.first().map_or("", |report| report.version.as_str());
    let is_shown = |finding: &&Finding| !matches!(finding.standing, Standing::Repeated { .. });
    let mut results = Vec::new();
    for report in reports {
        let findings = report.findings.iter().filter(is_shown);
        results.extend(findings.map(|finding| result(report, finding)));
        let fixed = report.baseline.iter().flat_map(|baseline| &baseline.fixed);
        results.extend(fixed.map(|known| {
            json!({
                "ruleId": known.kind.name(),
                "message": { "text": format!("{} cannot happen any more.", known.title) },
                "partialFingerprints": { "foretrace/v1": known.fingerprint },
                "baselineState": "absent",
            })
        }));
    }
    let notifications: Vec<Value> = reports.iter().flat_map(notifications).collect();
    let driver = json!({
        "name": "Foretrace",
        "version": version,
        "semanticVersion": version,
        "shortDescription": { "text": "Finds concurrency bugs before they happen." },
        "rules": TOPICS.iter().map(rule).collect::<Vec<_>>(),
    });
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": driver },
            "invocations": [{
                "executionSuccessful": true,
                "toolExecutionNotifications": notifications,
            }],
            "originalUriBaseIds": {
                SOURCE_ROOT: { "description": { "text": "the folder in which foretrace ran" } },
            },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

/// A kind of bug.
fn rule(topic: &Topic) -> Value {
    let Topic { kind, title, what, why, mend } = topic;
    let name: String = title.split(|c: char| !c.is_ascii_alphabetic()).map(capitalised).collect();
    json!({
        "id": kind.name(),
        "name": name,
        "shortDescription": { "text": format!("{title}.") },
        "fullDescription": { "text": what },
        "help": {
            "text": format!("{what}\n\n{why}\n\n{mend}"),
            "markdown": format!("{what}\n\n**Why it hurts.** {why}\n\n**How to mend it.** {mend}"),
        },
        "defaultConfiguration": { "level": "error" },
        "properties": { "tags": ["concurrency", kind.property().name()] },
    })
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map_or(String::new(), |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}

/// What was not decided, and what was not asked.
fn notifications(report: &Report) -> Vec<Value> {
    let mut open: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for undecided in &report.undecided {
        *open.entry((undecided.reason.code, &undecided.reason.sentence)).or_default() += 1;
    }
    let open = open.into_iter().map(|((code, sentence), count)| {
        notification("warning", code, &format!("{count} undecided: {sentence}"))
    });
    let not_asked = report.not_asked.iter().map(|part| {
        let what = format!("not checked: {}: {}", part.property.name(), part.reason.sentence);
        notification("note", part.reason.code, &what)
    });
    open.chain(not_asked).collect()
}

fn notification(level: &str, code: &str, text: &str) -> Value {
    json!({ "level": level, "descriptor": { "id": code }, "message": { "text": text } })
}

fn result(report: &Report, finding: &Finding) -> Value {
    let index = TOPICS.iter().position(|topic| topic.kind == finding.kind);
    let level = match finding.graded() {
        Certainty::Real => "error",
        Certainty::Possible => "warning",
    };
    let mut object = Map::new();
    let mut set = |name: &str, value: Value| object.insert(name.to_string(), value);
    set("ruleId", json!(finding.kind.name()));
    set("ruleIndex", json!(index));
    set("level", json!(level));
    set(
        "message",
        json!({ "text": format!("{} ({}).", message(report, finding), grade(finding)) }),
    );
    let main = finding.sides.iter().find(|side| spot(report, side).is_some());
    let location =
        main.map(|side| located(spot(report, side), &side_in_words(report, finding, side)));
    set("locations", json!(location.into_iter().collect::<Vec<_>>()));
    let related = related(report, finding);
    if !related.is_empty() {
        set("relatedLocations", json!(related));
    }
    let stacks = stacks(report, finding);
    if !stacks.is_empty() {
        set("stacks", json!(stacks));
    }
    set("codeFlows", json!([code_flow(report, finding)]));
    set("fingerprints", json!({ "foretrace/places/v1": finding.fingerprint }));
    if !finding.stable_fingerprint.is_empty() {
        let cause = &finding.group;
        set(
            "partialFingerprints",
            json!({ "foretrace/v1": finding.stable_fingerprint, "foretrace/cause/v1": cause }),
        );
    }
    match &finding.standing {
        Standing::New => drop(set("baselineState", json!("new"))),
        Standing::Known => drop(set("baselineState", json!("unchanged"))),
        Standing::Suppressed(suppression) => {
            let kind = if suppression.in_source { "inSource" } else { "external" };
            let why = match &suppression.reason {
                Some(reason) => reason.clone(),
                None => format!("{}: {}", suppression.by, suppression.rule),
            };
            let one = json!({ "kind": kind, "status": "accepted", "justification": why });
            set("suppressions", json!([one]));
        }
        Standing::Open | Standing::Repeated { .. } => {}
    }
    let evidence = finding.replay.as_ref().map(|replay| replay.evidence.name());
    set(
        "properties",
        json!({
            "id": finding.id,
            "object": finding.object,
            "certainty": finding.graded(),
            "evidence": evidence,
            "replay": finding.replay.as_ref().map(|replay| replay.detail.as_str()),
            "model": report.model,
            "trace": report.trace.path,
            "contextSwitches": finding.context_switches,
        }),
    );
    Value::Object(object)
}

/// A location with a message.
fn located(spot: Option<Spot>, text: &str) -> Value {
    let mut location = Map::new();
    if let Some(spot) = spot {
        let mut region = json!({ "startLine": spot.line });
        if let Some(column) = spot.column.filter(|&column| column > 0) {
            region["startColumn"] = json!(column);
        }
        location.insert(
            "physicalLocation".into(),
            json!({ "artifactLocation": artifact(&spot.file), "region": region }),
        );
        if let Some(function) = &spot.function {
            let logical = json!([{ "fullyQualifiedName": function, "kind": "function" }]);
            location.insert("logicalLocations".into(), logical);
        }
    }
    location.insert("message".into(), json!({ "text": text }));
    Value::Object(location)
}

fn artifact(file: &str) -> Value {
    if file.starts_with('/') {
        return json!({ "uri": format!("file://{}", percent(file)) });
    }
    json!({ "uri": percent(file), "uriBaseId": SOURCE_ROOT })
}

/// A path as a part of a URI.
fn percent(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => uri.push(byte as char),
            b'/' | b'.' | b'-' | b'_' | b'~' | b'+' | b'@' | b'=' => uri.push(byte as char),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// The other sides, where locks were taken, where threads were created, and where the memory was
/// allocated.
fn related(report: &Report, finding: &Finding) -> Vec<Value> {
    let mut places: Vec<(Option<Spot>, String)> = Vec::new();
    let at = |location: Option<&str>| location.and_then(|text| Spot::new(report, text));
    let main = finding.sides.iter().position(|side| spot(report, side).is_some());
    for (index, side) in finding.sides.iter().enumerate() {
        if Some(index) != main {
            places.push((spot(report, side), side_in_words(report, finding, side)));
        }
        let thread = report.thread_name(report.event(side.event));
        for hold in &side.holds {
            places.push((at(hold.location.as_deref()), format!("{thread} took {}", hold.lock)));
        }
    }
    let origin = |origin: &Origin, what: &str| {
        (at(origin.location.as_deref()), format!("{what} by {}", origin.thread))
    };
    for thread in threads_of(report, finding) {
        if let Some(Some(created)) = report.created.get(thread as usize) {
            let name = &report.trace.threads[thread as usize];
            places.push(origin(created, &format!("{name} was created")));
        }
    }
    places.extend(finding.allocated.as_ref().map(|memory| origin(memory, "memory was allocated")));
    places.retain(|(spot, _)| spot.is_some());
    places.dedup();
    let number = |(index, (spot, text)): (usize, (Option<Spot>, String))| {
        let mut location = located(spot, &text);
        location["id"] = json!(index);
        location
    };
    places.into_iter().enumerate().map(number).collect()
}

/// The threads of the sides, each once.
fn threads_of(report: &Report, finding: &Finding) -> Vec<u32> {
    let threads = finding.sides.iter().map(|side| report.event(side.event).thread);
    threads.collect::<BTreeSet<u32>>().into_iter().collect()
}

/// The calls that led to each side.
fn stacks(report: &Report, finding: &Finding) -> Vec<Value> {
    let sides = finding.sides.iter().filter_map(|side| {
        let stack = report.event(side.event).stack?;
        let frames: Vec<Value> = report
            .stack(stack)
            .map(|frame| {
                let is_place = frame.line > 0;
                let spot = is_place.then(|| Spot {
                    file: crate::oneline::path(report, &frame.file),
                    line: frame.line,
                    column: frame.column,
                    function: frame.function.clone(),
                });
                let name = frame.function.as_deref().unwrap_or(&frame.file);
                json!({ "location": located(spot, name) })
            })
            .collect();
        let text = side_in_words(report, finding, side);
        Some(json!({ "message": { "text": text }, "frames": frames }))
    });
    sides.collect()
}

/// The schedule: a thread flow for each thread.
fn code_flow(report: &Report, finding: &Finding) -> Value {
    let steps = steps(report, finding);
    let left_out = finding.schedule.len() - steps.iter().filter(|step| !step.is_last).count();
    let mut flows: BTreeMap<u32, Vec<Value>> = BTreeMap::new();
    for step in &steps {
        let text = report.event(step.event);
        let operation = report.operation_in(finding, step.event);
        let spot = text.location.as_deref().and_then(|location| Spot::new(report, location));
        let importance = if step.is_last { "essential" } else { "important" };
        flows.entry(text.thread).or_default().push(json!({
            "executionOrder": step.order,
            "importance": importance,
            "location": located(spot, &operation.text),
        }));
    }
    let flows: Vec<Value> = flows
        .into_iter()
        .map(|(thread, locations)| {
            let name = &report.trace.threads[thread as usize];
            json!({ "id": name, "message": { "text": name }, "locations": locations })
        })
        .collect();
    let switches = finding.context_switches;
    let mut text = format!("A schedule with {switches} context switches that leads to it.");
    if left_out > 0 {
        text.push_str(&format!(" {left_out} of its steps are left out."));
    }
    json!({ "message": { "text": text }, "threadFlows": flows })
}

struct Step {
    event: u32,
    /// Its number in the whole schedule.
    order: usize,
    /// Whether it is a side that is next at the end.
    is_last: bool,
}

/// The steps that are shown: all of a short schedule; else those at context switches, on the
/// memory and locks that matter, and the last ones.
fn steps(report: &Report, finding: &Finding) -> Vec<Step> {
    let schedule = &finding.schedule;
    let thread = |index: usize| report.event(schedule[index]).thread;
    let sides: BTreeSet<u32> = finding.sides.iter().map(|side| side.event).collect();
    let locks = finding.sides.iter().flat_map(|side| side.holds.iter().map(|hold| hold.since));
    let marked: BTreeSet<u32> = locks.chain(sides.iter().copied()).collect();
    let object = finding.object.as_deref().filter(|_| finding.kind != Kind::Stuck);
    let matters = |index: usize| {
        let event = schedule[index];
        let switches = index > 0 && thread(index) != thread(index - 1)
            || index + 1 < schedule.len() && thread(index) != thread(index + 1);
        let operation = report.operation_in(finding, event);
        switches
            || marked.contains(&event)
            || object.is_some_and(|object| object.split(", ").any(|one| operation.is_on(one)))
    };
    let mut chosen: Vec<usize> = (0..schedule.len()).collect();
    if chosen.len() > MOST_STEPS {
        chosen.retain(|&index| matters(index));
        chosen.drain(..chosen.len().saturating_sub(MOST_STEPS));
    }
    let executed: BTreeSet<u32> = schedule.iter().copied().collect();
    let next =
        finding.sides.iter().map(|side| side.event).filter(|event| !executed.contains(event));
    let step = |index: usize| Step { event: schedule[index], order: index + 1, is_last: false };
    let last = |(index, event): (usize, u32)| Step {
        event,
        order: schedule.len() + index + 1,
        is_last: true,
    };
    chosen.into_iter().map(step).chain(next.enumerate().map(last)).collect()
}
