//! A schedule as a table: time goes down, one column per thread.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use foretrace_trace::Location;

use super::finding::waiting;
use super::names::{has_made_up_names, split, with_addresses};
use super::table::{GAP, cut_operation, cut_start, length};
use super::{Style, counted};
use crate::{Access, EffectKind, EventText, Finding, Kind, Operation, Report, Side, SideState};

/// Of a long schedule the beginning and the end are shown: the end is where the bug is.
const HEAD_STEPS: usize = 4;
const TAIL_STEPS: usize = 16;
/// Schedules up to this length are shown as they are.
const UNFOLDED_STEPS: usize = 8;
const SHORTEST_FOLD: usize = 2;
const NARROWEST_COLUMN: usize = 20;
const WIDEST_LOCATION: usize = 28;

/// Writes the schedule of a finding and the operations that are next at its end.
pub(super) fn write_schedule(
    report: &Report,
    finding: &Finding,
    style: Style,
    writer: &mut dyn Write,
) -> io::Result<()> {
    let steps = counted(finding.schedule.len() as u64, "step");
    let switches = counted(finding.context_switches, "context switch");
    writeln!(writer, "  schedule: {steps}, {switches}")?;

    let lines = lines(report, finding, style.full_schedule);
    let changes = changes(report, finding);
    let blocks = matches!(finding.kind, Kind::LockCycle | Kind::Stuck);
    let text = |line: &Line| {
        let event = line.event?;
        let mut operation = report.operation_in(finding, event).clone();
        let is_request = operation.text.starts_with("request ");
        let shown = match changes.get(&event) {
            _ if is_request || blocks && line.is_next() => waiting(&operation),
            Some(change) => change.clone(),
            None => operation.text,
        };
        operation.text = with_addresses(&shown).into_owned();
        Some(EventText { operation, ..report.event(event).clone() })
    };
    let texts: Vec<EventText> = lines.iter().filter_map(text).collect();
    let grid = Grid::fit(report, finding, &texts, style.width);
    grid.write_header(report, writer)?;
    for line in lines {
        match text(&line) {
            Some(text) => grid.write_step(report, &line.label, &text, writer)?,
            None => writeln!(writer, "  {:>6}  {}", "⋮", line.label)?,
        }
    }
    Ok(())
}

/// A line of the table: a step, or, without an event, what was left out.
struct Line {
    label: String,
    event: Option<u32>,
    /// For how many steps it stands.
    steps: usize,
}

impl Line {
    /// What would come next, behind the schedule.
    fn is_next(&self) -> bool {
        self.event.is_some() && self.steps == 0
    }
}

fn lines(report: &Report, finding: &Finding, full: bool) -> Vec<Line> {
    let total = finding.schedule.len();
    let involved = |event: u32| finding.sides.iter().any(|side| side.event == event);
    let step = |at: usize| {
        let event = finding.schedule[at];
        let mark = if involved(event) { "*" } else { " " };
        Line { label: format!("{}{mark}", at + 1), event: Some(event), steps: 1 }
    };
    let changed = finding.changes.iter().map(|(_, operation)| operation);
    let reads = finding.reads.iter().map(|&read| &report.event(read).operation);
    let accesses = changed.chain(reads).filter_map(|operation| operation.access.as_ref());
    // Other values lead to these; elsewhere they only follow from the schedule.
    let accesses = accesses.filter(|_| matches!(finding.kind, Kind::Assertion | Kind::Stuck));
    let changed: HashSet<&str> = accesses.map(|access| access.place.as_str()).collect();
    // Runs of steps that have nothing to do with it say little but whose they are.
    let folds = |at: usize| {
        let event = finding.schedule[at];
        total > UNFOLDED_STEPS
            && !full
            && !involved(event)
            && !concerns(finding, &changed, report.event(event))
    };
    let mut lines = Vec::new();
    let mut at = 0;
    while at < total {
        let run = (at..total).take_while(|&at| folds(at)).count();
        let first = &report.event(finding.schedule[at]).operation;
        if run >= SHORTEST_FOLD || run > 0 && is_unreadable(first) {
            let left_out = &finding.schedule[at..at + run];
            let mut next = at;
            let most = if run == total { MANY_TURNS } else { FEW_TURNS };
            for (label, count) in folded(report, left_out, most) {
                let first = &report.event(finding.schedule[next]).operation;
                match count {
                    1 if !is_unreadable(first) => lines.push(step(next)),
                    _ => lines.push(Line { label, event: None, steps: count }),
                }
                next += count;
            }
            at += run;
        } else {
            lines.extend((at..at + run.max(1)).map(step));
            at += run.max(1);
        }
    }
    if !full && lines.len() > HEAD_STEPS + TAIL_STEPS + 1 {
        let hidden = HEAD_STEPS..lines.len() - TAIL_STEPS;
        let steps = lines[hidden.clone()].iter().map(|line| line.steps).sum();
        let label = format!("{} (shown with --full-schedule)", counted(steps as u64, "step"));
        lines.splice(hidden, [Line { label, event: None, steps }]);
    }
    let is_next = |side: &&Side| side.state == SideState::Next;
    let mut coming: Vec<u32> =
        finding.sides.iter().filter(is_next).map(|side| side.event).collect();
    // In the order in which context switches are counted: the thread that ran last goes on.
    if let Some(&last) = finding.schedule.last() {
        let thread = |event: u32| report.event(event).thread;
        coming.sort_by_key(|&event| thread(event) != thread(last));
    }
    let next = |&event: &u32| Line { label: "next*".to_string(), event: Some(event), steps: 0 };
    lines.extend(coming.iter().map(next));
    lines
}

/// So many turns of threads are told apart in what is left out; more where that is all there is.
const FEW_TURNS: usize = 3;
const MANY_TURNS: usize = 12;

/// What stands for steps that are left out, and for how many: whose they are, if threads do not
/// take many turns.
fn folded(report: &Report, steps: &[u32], most: usize) -> Vec<(String, usize)> {
    let thread = |event: &u32| report.event(*event).thread;
    let turns: Vec<&[u32]> = steps.chunk_by(|one, next| thread(one) == thread(next)).collect();
    let steps_of = |turn: &&[u32]| {
        let name = &report.trace.threads[thread(&turn[0]) as usize];
        (format!("{name}: {}", counted(turn.len() as u64, "step")), turn.len())
    };
    match turns.len() > most {
        false => turns.iter().map(steps_of).collect(),
        true => {
            let threads: HashSet<u32> = steps.iter().map(thread).collect();
            let threads = counted(threads.len() as u64, "thread");
            vec![(format!("{} of {threads}", counted(steps.len() as u64, "step")), steps.len())]
        }
    }
}

/// Whether a step has to do with the finding: it accesses its place, or what its schedule changes;
/// or operates on its locks, or on those that its sides hold.
fn concerns(finding: &Finding, changed: &HashSet<&str>, text: &EventText) -> bool {
    let operation = &text.operation;
    if let Some(access) = &operation.access {
        let is_place = match finding.place.as_deref() {
            Some(name) => access.place == name,
            None => finding.object.as_deref().is_some_and(|object| operation.is_on(object)),
        };
        return is_place || changed.contains(access.place.as_str());
    }
    if operation.on.is_empty() || operation.kind == EffectKind::Fork {
        return !is_unreadable(operation)
            && finding.changes.binary_search_by_key(&text.event, |&(event, _)| event).is_ok();
    }
    // What synchronises.
    let objects = finding.object.as_deref().unwrap_or_default();
    let mut held = finding.sides.iter().flat_map(|side| &side.holds);
    finding.kind == Kind::Stuck
        || objects.split(", ").any(|object| operation.is_on(object))
        || held.any(|hold| operation.is_on(&hold.lock))
}

/// Whether the words say little: a condition on what has no name in the source, or what is computed
/// from that.
fn is_unreadable(operation: &Operation) -> bool {
    let is_computed = operation.text.starts_with("let ");
    (operation.kind == EffectKind::Condition || is_computed) && has_made_up_names(&operation.text)
}

/// What writes of the schedule do, where it is known what was there before: `balance: 100 → 90`.
fn changes(report: &Report, finding: &Finding) -> HashMap<u32, String> {
    let mut contents: HashMap<&str, &str> = HashMap::new();
    let mut changes = HashMap::new();
    for &event in &finding.schedule {
        let operation = report.operation_in(finding, event);
        let Some(Access { place, seen, stored, is_plain }) = &operation.access else { continue };
        let before = seen.as_deref().or_else(|| contents.get(place.as_str()).copied());
        if let (Some(before), Some(after), true) = (before, stored, is_plain) {
            changes.insert(event, format!("{place}: {before} → {after}"));
        }
        match (stored, seen) {
            (Some(value), _) => drop(contents.insert(place, value)),
            (None, _) if operation.writes() => drop(contents.remove(place.as_str())),
            (None, Some(value)) => drop(contents.insert(place, value)),
            (None, None) => {}
        }
    }
    changes
}

/// Which thread is shown in which column.
struct Grid {
    /// Threads with a column of their own: those of the sides, and as many others as there is room.
    columns: Vec<u32>,
    /// Where the columns begin. A step is alone in its line: where there is no room for all columns
    /// side by side, it reaches into those behind it.
    starts: Vec<usize>,
    /// How wide all columns together are.
    width: usize,
    location_width: usize,
    /// Whether names are shown without the classes and namespaces that they are in.
    is_short: bool,
}

impl Grid {
    fn fit(report: &Report, finding: &Finding, texts: &[EventText], width: usize) -> Grid {
        let mut threads: Vec<u32> = Vec::new();
        let sides = finding.sides.iter().map(|side| report.event(side.event));
        for text in sides.chain(texts) {
            if !threads.contains(&text.thread) {
                threads.push(text.thread);
            }
        }
        let locations = texts.iter().filter_map(|text| text.location.as_deref());
        let widths = locations.map(|location| length(&Location::in_short(location)));
        let location_width = widths.max().unwrap_or(0).min(WIDEST_LOCATION);
        let room = width.saturating_sub(10 + location_width);
        // With less room than two columns need, lines grow beyond the width.
        threads.truncate((room / (NARROWEST_COLUMN + GAP)).max(2));
        let room = room.max(threads.len() * (NARROWEST_COLUMN + GAP));
        let mut columns = threads;
        columns.sort_unstable();
        let (starts, is_short) = (Vec::new(), false);
        let mut grid = Grid { columns, starts, width: room, location_width, is_short };
        let mut needed = grid.needed(report, texts);
        if needed.iter().map(|width| width + GAP).sum::<usize>() > room {
            grid.is_short = true;
            needed = grid.needed(report, texts);
        }
        (grid.starts, grid.width) = starts_of(&needed, room);
        grid
    }

    /// How wide each column would have to be.
    fn needed(&self, report: &Report, texts: &[EventText]) -> Vec<usize> {
        let mut needed: Vec<usize> =
            self.columns.iter().map(|&thread| length(name(report, thread)).max(LEAST)).collect();
        for text in texts {
            if let (Some(column), operation) = self.cell(report, text) {
                needed[column] = needed[column].max(length(&operation));
            }
        }
        needed
    }

    /// Which column an event is in, and what stands there. That of a thread without a column takes
    /// the whole line.
    fn cell<'t>(&self, report: &Report, text: &'t EventText) -> (Option<usize>, Cow<'t, str>) {
        let operation = match self.is_short {
            true => Cow::from(unqualified(&text.operation.text)),
            false => Cow::from(&text.operation.text),
        };
        match self.columns.binary_search(&text.thread) {
            Ok(column) => (Some(column), operation),
            Err(_) => (None, Cow::from(format!("{}: {operation}", report.thread_name(text)))),
        }
    }

    fn write_header(&self, report: &Report, writer: &mut dyn Write) -> io::Result<()> {
        let mut line = String::new();
        for (&thread, &start) in self.columns.iter().zip(&self.starts) {
            line = format!("{line:start$}{}", name(report, thread));
        }
        writeln!(writer, "  {:>6} {line}", "step ")
    }

    fn write_step(
        &self,
        report: &Report,
        label: &str,
        text: &EventText,
        writer: &mut dyn Write,
    ) -> io::Result<()> {
        let (column, operation) = self.cell(report, text);
        let start = column.map_or(0, |column| self.starts[column]);
        let width = self.width;
        let operation = cut_operation(&operation, width.saturating_sub(start + GAP));
        // The sides of the finding have the folders.
        let location = text.location.as_deref().map(Location::in_short).unwrap_or_default();
        let location = cut_start(&location, self.location_width);
        let line = format!("{:start$}{operation}", "");
        let line = format!("  {label:>6} {line:width$}{location}");
        writeln!(writer, "{}", line.trim_end())
    }
}

fn name(report: &Report, thread: u32) -> &str {
    &report.trace.threads[thread as usize]
}

/// The text with names as `completed_` instead of `ThreadPool::completed_`. Names of functions,
/// which have more than that in them, stay.
fn unqualified(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_.[]+->*#|".contains(c);
    let word = |word: &str| match split(word).last().map(|name| (name, name.trim_end_matches(':')))
    {
        Some((name, bare)) if !bare.is_empty() && bare.chars().all(is_plain) => name.to_string(),
        _ => word.to_string(),
    };
    words(text).map(word).collect::<Vec<_>>().join(" ")
}

/// The words of a text; what stands in the brackets of a template is in one word with it.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let (mut depth, mut last) = (0usize, ' ');
    text.split(move |c: char| {
        match c {
            '<' if last.is_alphanumeric() || depth > 0 => depth += 1,
            '>' if last != '-' => depth = depth.saturating_sub(1),
            _ => {}
        }
        last = c;
        c == ' ' && depth == 0
    })
}

/// Where columns of these widths begin, and the last one ends: all as wide as the widest if there
/// is room for that, else as wide as needed, else so that as little as possible is cut.
fn starts_of(needed: &[usize], room: usize) -> (Vec<usize>, usize) {
    let (widest, count) = (needed.iter().max().copied().unwrap_or(0), needed.len());
    if (widest + GAP) * count <= room {
        let starts = (0..count).map(|column| column * (widest + GAP)).collect();
        return (starts, count * (widest + GAP));
    }
    let mut starts: Vec<usize> = Vec::new();
    let mut end = 0;
    for width in share(needed, room.saturating_sub(GAP * count)) {
        starts.push(end);
        end += width + GAP;
    }
    // From the last on: a column begins early enough for what it needs, and behind the others.
    let mut limit = room;
    for column in (0..count).rev() {
        let latest = room.saturating_sub(needed[column] + GAP).min(limit.saturating_sub(LEAST));
        starts[column] = starts[column].min(latest).max(column * (LEAST + GAP));
        limit = starts[column];
    }
    (starts, end)
}

/// The narrowest that a column is.
const LEAST: usize = 8;

/// Widths of columns with so much room together: those that need less than their share have what
/// they need, and leave the rest to the others.
fn share(needed: &[usize], room: usize) -> Vec<usize> {
    let mut order: Vec<(usize, usize)> = needed.iter().copied().enumerate().collect();
    order.sort_by_key(|&(_, width)| width);
    let mut widths = vec![0; order.len()];
    let mut left = room;
    for (done, &(column, width)) in order.iter().enumerate() {
        widths[column] = width.min(left / (order.len() - done));
        left -= widths[column];
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names() {
        let plain = |text: &str| unqualified(text);
        assert_eq!(plain("read work::Pool::stats_.done : 1"), "read stats_.done : 1");
        assert_eq!(plain("acquire Cache<int, std::string>::mutex_"), "acquire mutex_");
        assert_eq!(plain("branch seen < 60 : false"), "branch seen < 60 : false");
        assert_eq!(plain("store::Record::meta.version: 0 → 1"), "meta.version: 0 → 1");
    }

    #[test]
    fn what_only_we_can_read_is_folded() {
        let is_shown = |kind, text: &str| {
            let (text, on) = (text.to_string(), Vec::new());
            !is_unreadable(&Operation { text, kind, on, access: None })
        };
        assert!(!is_shown(EffectKind::Other, "let r13 = u32(r12 * 33 + heap#1@a.c:3[0]) : 7"));
        assert!(!is_shown(EffectKind::Condition, "branch r22 != 0 : true"));
        assert!(is_shown(EffectKind::Other, "let sum = a + b : 7"));
        assert!(is_shown(EffectKind::Other, "free heap#1@a.c:3"));
    }

    #[test]
    fn columns_begin_where_little_is_cut() {
        assert_eq!(starts_of(&[10, 12], 40), (vec![0, 14], 28));
        assert_eq!(starts_of(&[30, 8], 44), (vec![0, 32], 42));
        // Both need more than half: the second has what it needs, the first reaches into it.
        assert_eq!(starts_of(&[30, 30], 44), (vec![0, 12], 44));
        assert_eq!(starts_of(&[60, 60, 60], 44), (vec![0, 10, 20], 44));
    }
}
