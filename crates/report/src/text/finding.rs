//! One finding, and those that have the same cause.

use std::borrow::Cow;
use std::io::{self, Write};

use foretrace_trace::Location;

use super::names::{function_in_short, location_in_short, with_addresses, without_made_up_names};
use super::snippet::{Label, write_snippet};
use super::table::{GAP, Table, length};
use super::{BOLD, Paint, RED, Style, YELLOW, schedule};
use crate::{
    CallFrame, Certainty, EffectKind, Evidence, Finding, Hold, Input, Kind, Operation, Replay,
    Report, Side, SideState, Standing,
};

/// So many other places of a cause are listed.
const MOST_PLACES: usize = 6;

/// Longer labels for one place of the source stand below each other.
const LONG_LABEL: usize = 40;

/// Findings with one cause; the first one is shown.
pub(super) type Cause<'r> = Vec<&'r Finding>;

/// The findings with their numbers: the most certain and the worst first.
pub(crate) fn ranked(report: &Report) -> Vec<(usize, &Finding)> {
    let mut findings: Vec<(usize, &Finding)> = report.findings.iter().enumerate().collect();
    findings.sort_by_key(|(_, finding)| (sureness(finding), badness(finding.kind)));
    findings
}

/// The findings by their causes: the most certain and the worst first.
pub(super) fn causes(report: &Report, style: Style) -> Vec<Cause<'_>> {
    let mut causes: Vec<Cause> = Vec::new();
    let is_shown = |finding: &&Finding| style.verbose || finding.standing.counts();
    let findings = ranked(report).into_iter().map(|(_, finding)| finding);
    for finding in findings.filter(is_shown) {
        match causes.iter_mut().find(|cause| cause[0].group == finding.group) {
            Some(cause) => cause.push(finding),
            None => causes.push(vec![finding]),
        }
    }
    causes
}

fn sureness(finding: &Finding) -> u8 {
    match (finding.is_confirmed(), finding.graded()) {
        (true, _) => 0,
        (false, Certainty::Real) => 1,
        (false, Certainty::Possible) => 2,
    }
}

fn badness(kind: Kind) -> u8 {
    match kind {
        Kind::Assertion => 0,
        Kind::LockCycle | Kind::Stuck => 1,
        Kind::DoubleLock | Kind::UnlockNotHeld | Kind::UnlockByOther | Kind::DestroyHeld => 2,
        Kind::Atomicity => 3,
        Kind::Race => 4,
    }
}

/// Writes the first finding of a cause, and the places of the others.
pub(super) fn write_cause(
    report: &Report,
    cause: &[&Finding],
    style: Style,
    writer: &mut dyn Write,
) -> io::Result<()> {
    let Some((first, others)) = cause.split_first() else { return Ok(()) };
    write_finding(report, first, style, writer)?;
    for other in others.iter().take(MOST_PLACES) {
        let places: Vec<String> = report.locations(other).map(Location::in_short).collect();
        writeln!(writer, "  also {}: {}", other.id, places.join(" and "))?;
    }
    if others.len() > MOST_PLACES {
        let more = others.len() - MOST_PLACES;
        writeln!(writer, "  and {more} more with the same cause, listed below")?;
    }
    Ok(())
}

/// Writes one finding of the report.
///
/// # Errors
/// Those of the writer.
pub fn write_finding(
    report: &Report,
    finding: &Finding,
    style: Style,
    writer: &mut dyn Write,
) -> io::Result<()> {
    write_head(report, finding, style, writer)?;
    if let (Some(json), Some(program)) = (&report.again.json, &report.again.program) {
        writeln!(writer, "  see it again: foretrace replay {json}#{} {program}", finding.id)?;
    }
    match &finding.standing {
        Standing::Open | Standing::New => {}
        Standing::Known => writeln!(writer, "  the baseline has it")?,
        Standing::Suppressed(by) => writeln!(writer, "  suppressed by {}: {}", by.by, by.rule)?,
        Standing::Repeated { of } => writeln!(writer, "  {of} has it as well")?,
    }
    write_story(report, finding, style, writer)?;
    if let Some(replay) = &finding.replay {
        write_replay(replay, writer)?;
    }
    Ok(())
}

/// Writes how a finding comes about: where its threads are, and how they got there.
///
/// # Errors
/// Those of the writer.
pub fn write_whole_story(
    report: &Report,
    finding: &Finding,
    style: Style,
    writer: &mut dyn Write,
) -> io::Result<()> {
    write_sides(report, finding, style, writer)?;
    write_story(report, finding, style, writer)
}

fn write_story(
    report: &Report,
    finding: &Finding,
    style: Style,
    writer: &mut dyn Write,
) -> io::Result<()> {
    if !finding.inputs.is_empty() {
        let input = |input: &Input| {
            let thread = report.thread_name(report.event(input.event));
            format!("{} = {} ({thread})", input.name, input.value)
        };
        let inputs: Vec<String> = finding.inputs.iter().map(input).collect();
        writeln!(writer, "  inputs: {}", inputs.join(", "))?;
    }
    write_snippet(report, &labels(report, finding), style, writer)?;
    write_origins(report, finding, style, writer)?;
    schedule::write_schedule(report, finding, style, writer)
}

/// What it is, and where its threads are.
fn write_head(
    report: &Report,
    finding: &Finding,
    style: Style,
    writer: &mut dyn Write,
) -> io::Result<()> {
    let certainty = match finding.graded() {
        Certainty::Real => Paint(RED, "real", style.color),
        Certainty::Possible => Paint(YELLOW, "possible", style.color),
    };
    let id = Paint(BOLD, &finding.id, style.color);
    writeln!(writer, "{id} ({certainty}{}): {}", evidence(finding), headline(finding))?;
    write_sides(report, finding, style, writer)
}

/// Where its threads are.
fn write_sides(
    report: &Report,
    finding: &Finding,
    style: Style,
    writer: &mut dyn Write,
) -> io::Result<()> {
    let rows: Vec<[String; 4]> = finding
        .sides
        .iter()
        .map(|side| {
            let text = report.event(side.event);
            [
                format!("  {}", report.thread_name(text)),
                doing(report, finding, side),
                text.location
                    .as_ref()
                    .map_or(String::new(), |place| format!("at {}", location_in_short(place))),
                holding(&side.holds),
            ]
        })
        .collect();
    let mut sides = Table::default();
    rows.iter().for_each(|row| sides.row(row.clone()));
    if sides.lines().all(|line| length(&line) <= style.width) {
        return sides.write(writer);
    }
    // Where that is too wide, places and locks stand below.
    for [thread, doing, place, holding] in &rows {
        writeln!(writer, "{thread}  {doing}")?;
        let below = [place, holding].map(String::as_str);
        let below: Vec<&str> = below.into_iter().filter(|text| !text.is_empty()).collect();
        let indent = length(thread) + 4;
        let below = format!("{:indent$}{}", "", below.join(", "));
        write_wrapped(&below, indent, style.width, writer)?;
    }
    Ok(())
}

/// What a side of a finding does: `is about to write x : 1`, `waits to acquire m`.
pub(crate) fn doing(report: &Report, finding: &Finding, side: &Side) -> String {
    let operation = report.operation_in(finding, side.event);
    let state = match side.state {
        _ if is_blocked(finding, side) => return waiting(operation),
        SideState::Executed | SideState::Waiting => "did",
        // What goes wrong there alone; with another side it is an access.
        SideState::Next if finding.what.is_some() && finding.sides.len() == 1 => "is at",
        SideState::Next => "is about to",
    };
    format!("{state} {}", in_plain_words(operation))
}

/// Whether a side cannot go on.
pub(crate) fn is_blocked(finding: &Finding, side: &Side) -> bool {
    let waits = matches!(finding.kind, Kind::LockCycle | Kind::Stuck);
    side.state == SideState::Waiting || side.state == SideState::Next && waits
}

/// What a thread waits for at an operation.
pub(super) fn waiting(operation: &Operation) -> String {
    let text = operation.text.strip_prefix("request ").unwrap_or(&operation.text);
    match (operation.kind, &operation.on[..]) {
        (EffectKind::Wake, [_, condition]) => return format!("waits for {condition}"),
        (EffectKind::Take, [on]) => return format!("waits for {on}"),
        _ => {}
    }
    match (text.strip_prefix("leave "), text.strip_prefix("semwait ")) {
        // `call that waits for …`, or with the name of the function.
        (Some(call), _) => match call.strip_prefix("call that waits for ") {
            Some(source) => format!("waits for {source}"),
            None => format!("waits in {}", call.replace(" that waits for ", " for ")),
        },
        (None, Some(semaphore)) => format!("waits for {semaphore}"),
        (None, None) => format!("waits to {text}"),
    }
}

/// What a side of a finding does, without what only we know the meaning of.
pub(crate) fn operation_of_side<'r>(
    report: &'r Report,
    finding: &'r Finding,
    side: &Side,
) -> Cow<'r, str> {
    in_plain_words(report.operation_in(finding, side.event))
}

fn in_plain_words(operation: &Operation) -> Cow<'_, str> {
    with_addresses(without_made_up_names(&operation.text))
}

fn evidence(finding: &Finding) -> &'static str {
    match &finding.replay {
        Some(replay) if replay.evidence == Evidence::Confirmed && replay.recorded_inputs => {
            ", confirmed with recorded inputs"
        }
        Some(replay) if replay.evidence == Evidence::Confirmed => ", confirmed by replay",
        Some(replay) if replay.evidence == Evidence::NotReplayed => ", not replayed",
        Some(_) => ", not confirmed by replay",
        None => "",
    }
}

/// What stands beside the source: what each thread is about to do, and where it took its locks.
fn labels<'r>(report: &'r Report, finding: &'r Finding) -> Vec<Label<'r>> {
    let mut labels: Vec<Label> = Vec::new();
    let mut add = |location: Option<&'r str>, text: String, is_primary: bool| {
        let Some(location) = location else { return };
        match labels.iter_mut().find(|label| label.location == location) {
            Some(label) if label.text == text => {}
            Some(label) if label.text.len() + text.len() < LONG_LABEL => {
                label.text = format!("{}, {text}", label.text);
            }
            _ => labels.push(Label { location, text, is_primary }),
        }
    };
    for side in &finding.sides {
        let text = report.event(side.event);
        let thread = report.thread_name(text);
        let operation = report.operation_in(finding, side.event);
        let label = match (&operation.access, operation.kind) {
            (Some(_), EffectKind::Read) => format!("{thread} reads"),
            (Some(_), EffectKind::Write) => format!("{thread} writes"),
            (Some(_), EffectKind::Update) => format!("{thread} reads and writes"),
            _ if is_blocked(finding, side) => format!("{thread} {}", waiting(operation)),
            _ => format!("{thread}: {}", in_plain_words(operation)),
        };
        add(text.location.as_deref(), label, true);
    }
    for side in &finding.sides {
        let thread = report.thread_name(report.event(side.event));
        for hold in &side.holds {
            // Nobody wants to see the sources of the C++ library.
            let place = hold.location.as_deref().filter(|place| !place.starts_with("/usr/"));
            add(place, format!("{thread} has {} from here", hold.lock), false);
        }
    }
    labels
}

/// The calls that led to the sides, where their threads and the memory come from.
fn write_origins(
    report: &Report,
    finding: &Finding,
    style: Style,
    writer: &mut dyn Write,
) -> io::Result<()> {
    let mut told: Vec<(String, String)> = Vec::new();
    for side in &finding.sides {
        let text = report.event(side.event);
        let mut parts = Vec::new();
        if let Some(stack) = text.stack {
            let calls: Vec<String> = report.stack(stack).skip(1).map(call).collect();
            if !calls.is_empty() {
                parts.push(format!("called from {}", calls.join(", from ")));
            }
        }
        let created = report.created.get(text.thread as usize).and_then(Option::as_ref);
        if let Some(place) = created.and_then(|origin| origin.location.as_deref()) {
            let place = location_in_short(&Location::without_folders(place)).into_owned();
            parts.push(format!("thread created at {place}"));
        }
        if parts.is_empty() {
            continue;
        }
        let (thread, line) = (report.thread_name(text).to_string(), parts.join("; "));
        match told.iter_mut().find(|(_, known)| *known == line) {
            Some((threads, _)) if threads.split(", ").any(|known| known == thread) => {}
            Some((threads, _)) => *threads = format!("{threads}, {thread}"),
            None => told.push((thread, line)),
        }
    }
    for (threads, line) in told {
        write_wrapped(&format!("  {threads}: {line}"), 6, style.width, writer)?;
    }
    if let Some(origin) = &finding.allocated {
        let what = finding.place.as_deref().or(finding.object.as_deref()).unwrap_or("the memory");
        let size = origin.size.map_or(String::new(), |size| format!(" {size} bytes,"));
        let place = origin
            .location
            .as_deref()
            .map(|place| {
                format!(" at {}", location_in_short(&Location::without_folders(place)).into_owned())
            })
            .unwrap_or_default();
        let line = format!("  {what}: in a block of{size} allocated by {}{place}", origin.thread);
        write_wrapped(&line, 6, style.width, writer)?;
    }
    Ok(())
}

fn call(frame: &CallFrame) -> String {
    let CallFrame { function, file, line, column } = frame;
    let (file, function) = (file.as_str(), function.as_deref());
    let place = Location { file, line: *line, column: *column, function: None }.to_string();
    let place = if *line > 0 { Location::in_short(&place) } else { file.to_string() };
    function.map_or(place.clone(), |name| format!("{} ({place})", function_in_short(name)))
}

/// Writes a line in several, broken between words.
pub(super) fn write_wrapped(
    text: &str,
    indent: usize,
    width: usize,
    writer: &mut dyn Write,
) -> io::Result<()> {
    let start = text.len() - text.trim_start().len();
    let mut line = " ".repeat(start);
    let mut is_empty = true;
    for word in text.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > width {
            writeln!(writer, "{line}")?;
            (line, is_empty) = (" ".repeat(indent), true);
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    writeln!(writer, "{line}")
}

fn write_replay(replay: &Replay, writer: &mut dyn Write) -> io::Result<()> {
    writeln!(writer, "  replay: {}: {}", replay.in_words(), replay.detail)?;
    if let Some(ending) = &replay.ending {
        writeln!(writer, "  the program {ending}")?;
    }
    replay.output.iter().try_for_each(|line| writeln!(writer, "  | {line}"))
}

/// What happens, in a few words.
pub(crate) fn headline(finding: &Finding) -> String {
    let object = finding.place.as_deref().or(finding.object.as_deref()).unwrap_or("?");
    if let Some(what) = &finding.what {
        return what.clone();
    }
    match finding.kind {
        Kind::Race => format!("data race on {object}"),
        Kind::Atomicity => format!("atomicity violation on {object}"),
        Kind::LockCycle => format!("deadlock: lock cycle over {object}"),
        Kind::Stuck => format!("deadlock: no thread can continue, and one waits for {object}"),
        Kind::DoubleLock => format!("{object} is locked again by its holder"),
        Kind::UnlockNotHeld => format!("{object} is unlocked, but nobody holds it"),
        Kind::UnlockByOther => format!("{object} is unlocked, but another thread holds it"),
        Kind::DestroyHeld => format!("{object} is destroyed, but somebody holds it"),
        Kind::Assertion => "an assertion fails".to_string(),
    }
}

fn holding(holds: &[Hold]) -> String {
    if holds.is_empty() {
        return "holding no lock".to_string();
    }
    let one = |hold: &Hold| {
        let mode = if hold.shared { " (shared)" } else { "" };
        let place = hold.location.as_deref().map(location_in_short);
        let place = place.map_or(String::new(), |place| format!(" from {place}"));
        format!("{}{mode}{place}", hold.lock)
    };
    format!("holding {}", holds.iter().map(one).collect::<Vec<_>>().join(", "))
}

/// All findings in one line each.
pub(super) fn write_index(
    causes: &[Cause],
    report: &Report,
    style: Style,
    writer: &mut dyn Write,
) -> io::Result<()> {
    let rows: Vec<[String; 4]> =
        causes.iter().flatten().map(|finding| row(report, finding)).collect();
    let widest = |column: usize| rows.iter().map(|row| length(&row[column])).max().unwrap_or(0);
    let (ids, sures) = (widest(0), widest(1));
    let room = style.width.saturating_sub(ids + sures + 2 * GAP);
    let needed = |what: &str, places: &str| length(what) + GAP + length(places);
    let fits = |[.., what, places]: &&[String; 4]| needed(what, places) <= room;
    let aligned = rows.iter().filter(fits).map(|row| length(&row[2])).max().unwrap_or(0);
    for row in &rows {
        let [id, sure, what, places] = row;
        write!(writer, "{id:ids$}  {sure:sures$}  {what}")?;
        match () {
            () if places.is_empty() => writeln!(writer)?,
            () if fits(&row) => {
                let gap = (aligned - length(what)).min(room - needed(what, places)) + GAP;
                writeln!(writer, "{:gap$}{places}", "")?;
            }
            // Where a line is too wide, the places stand below.
            () => {
                writeln!(writer)?;
                write_wrapped(&format!("      {places}"), 6, style.width, writer)?;
            }
        }
    }
    Ok(())
}

/// Name, certainty, what it is, and where.
fn row(report: &Report, finding: &Finding) -> [String; 4] {
    let sure = match finding.graded() {
        _ if finding.is_confirmed() => "confirmed",
        Certainty::Real => "real",
        Certainty::Possible => "possible",
    };
    let mut places: Vec<String> = report.locations(finding).map(Location::in_short).collect();
    places.dedup();
    let id = format!("  {}", finding.id);
    [id, sure.to_string(), headline(finding), places.join(", ")]
}
