//! A schedule as a table: time goes down, one column per thread.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use foretrace_trace::Location;

use super::table::{cut_operation, cut_start, length};
use super::{Style, counted};
use crate::{Access, EffectKind, EventText, Finding, Kind, Report, Side, SideState};

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
    let text = |event: u32| {
        let mut operation = report.operation_in(finding, event).clone();
        operation.text = changes.get(&event).cloned().unwrap_or(operation.text);
        EventText { operation, ..report.event(event).clone() }
    };
    let texts: Vec<EventText> = lines.iter().filter_map(|line| line.event).map(text).collect();
    let grid = Grid::fit(report, finding, &texts, style.width);
    grid.write_header(report, writer)?;
    for line in lines {
        match line.event {
            Some(event) => grid.write_step(report, &line.label, &text(event), writer)?,
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
        if run >= SHORTEST_FOLD {
            let left_out = &finding.schedule[at..at + run];
            let mut next = at;
            for (label, count) in folded(report, left_out) {
                match count {
                    1 => lines.push(step(next)),
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

/// What stands for steps that are left out, and for how many: whose they are, if threads do not
/// take many turns.
fn folded(report: &Report, steps: &[u32]) -> Vec<(String, usize)> {
    const TURNS: usize = 3;
    let thread = |event: &u32| report.event(*event).thread;
    let turns: Vec<&[u32]> = steps.chunk_by(|one, next| thread(one) == thread(next)).collect();
    let steps_of = |turn: &&[u32]| {
        let name = &report.trace.threads[thread(&turn[0]) as usize];
        (format!("{name}: {}", counted(turn.len() as u64, "step")), turn.len())
    };
    match turns.len() > TURNS {
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
        return finding.changes.binary_search_by_key(&text.event, |&(event, _)| event).is_ok();
    }
    // What synchronises.
    let objects = finding.object.as_deref().unwrap_or_default();
    let mut held = finding.sides.iter().flat_map(|side| &side.holds);
    matches!(finding.kind, Kind::LockCycle | Kind::Stuck)
        || objects.split(", ").any(|object| operation.is_on(object))
        || held.any(|hold| operation.is_on(&hold.lock))
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
    /// Threads with a column of their own; the sides' threads come first.
    columns: Vec<u32>,
    /// Whether a last column takes the steps of all other threads.
    others: bool,
    widths: Vec<usize>,
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
        let most_columns = (room / (NARROWEST_COLUMN + 2)).max(2);
        let others = threads.len() > most_columns;
        if others {
            threads.truncate(most_columns - 1);
        }
        let mut columns = threads;
        columns.sort_unstable();
        let columns_shown = columns.len() + usize::from(others);
        let fair_width = (room / columns_shown).saturating_sub(2).max(NARROWEST_COLUMN);
        let is_short = false;
        let mut grid = Grid { columns, others, widths: Vec::new(), location_width, is_short };
        let mut needed = grid.needed(report, texts, columns_shown);
        let all = room.saturating_sub(2 * columns_shown);
        if needed.iter().sum::<usize>() > all {
            grid.is_short = true;
            needed = grid.needed(report, texts, columns_shown);
        }
        let widest = needed.iter().copied().max().unwrap_or(0);
        grid.widths = if widest <= fair_width {
            vec![widest.max(8); columns_shown]
        } else {
            share(&needed, all.max(columns_shown * fair_width))
        };
        grid
    }

    /// How wide each column would have to be.
    fn needed(&self, report: &Report, texts: &[EventText], columns: usize) -> Vec<usize> {
        let mut needed = vec![0; columns];
        for text in texts {
            let (column, operation) = self.cell(report, text);
            needed[column] = needed[column].max(length(&operation));
        }
        needed
    }

    /// Which column an event is in, and what stands there.
    fn cell<'t>(&self, report: &Report, text: &'t EventText) -> (usize, Cow<'t, str>) {
        let operation = match self.is_short {
            true => Cow::from(unqualified(&text.operation.text)),
            false => Cow::from(&text.operation.text),
        };
        match self.columns.binary_search(&text.thread) {
            Ok(column) => (column, operation),
            Err(_) => {
                let operation = format!("{}: {operation}", report.thread_name(text));
                (self.columns.len(), Cow::from(operation))
            }
        }
    }

    fn write_header(&self, report: &Report, writer: &mut dyn Write) -> io::Result<()> {
        let names =
            self.columns.iter().map(|&thread| report.trace.threads[thread as usize].as_str());
        let others = self.others.then_some("other threads");
        let cells: Vec<&str> = names.chain(others).collect();
        self.write_cells("step ", &cells, "", writer)
    }

    fn write_step(
        &self,
        report: &Report,
        label: &str,
        text: &EventText,
        writer: &mut dyn Write,
    ) -> io::Result<()> {
        let mut cells = vec![""; self.columns.len() + usize::from(self.others)];
        let (column, operation) = self.cell(report, text);
        cells[column] = &operation;
        // The sides of the finding have the folders.
        let location = text.location.as_deref().map(Location::in_short);
        self.write_cells(label, &cells, location.as_deref().unwrap_or(""), writer)
    }

    fn write_cells(
        &self,
        label: &str,
        cells: &[&str],
        location: &str,
        writer: &mut dyn Write,
    ) -> io::Result<()> {
        let mut line = format!("  {label:>6} ");
        for (cell, &width) in cells.iter().zip(&self.widths) {
            line.push_str(&format!("{:width$}  ", cut_operation(cell, width)));
        }
        line.push_str(&cut_start(location, self.location_width));
        writeln!(writer, "{}", line.trim_end())
    }
}

/// The text with names as `completed_` instead of `ThreadPool::completed_`. Names of functions and
/// templates, which have more than that in them, stay.
fn unqualified(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_:.[]+->*".contains(c);
    let word = |word: &'_ str| match word.rsplit_once("::") {
        Some((_, name)) if word.chars().all(is_plain) && !name.is_empty() => name.len(),
        _ => word.len(),
    };
    let words: Vec<&str> = text.split(' ').map(|one| &one[one.len() - word(one)..]).collect();
    words.join(" ")
}

/// Widths of columns with so much room together: those that need less than their share have what
/// they need, and leave the rest to the others.
fn share(needed: &[usize], room: usize) -> Vec<usize> {
    const LEAST: usize = 8;
    let needed = needed.iter().map(|&width| width.max(LEAST));
    let mut order: Vec<(usize, usize)> = needed.enumerate().collect();
    order.sort_by_key(|&(_, width)| width);
    let mut widths = vec![0; order.len()];
    let mut left = room;
    for (done, &(column, width)) in order.iter().enumerate() {
        widths[column] = width.min(left / (order.len() - done));
        left -= widths[column];
    }
    widths
}
