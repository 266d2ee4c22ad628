//! The report for people: the causes of findings, the worst and surest first, each with one finding
//! and its schedule; then an index, what was not asked, and one line that sums it up. The ledger
//! and what else only researchers want is written if asked for.

mod compare;
mod explanation;
mod finding;
mod names;
mod schedule;
mod snippet;
mod table;

use std::fmt;
use std::io::{self, Write};

use crate::provenance::{is_ending, is_news};
use crate::{Certainty, Column, Property, Provenance, Report, Subject, in_words};
pub use explanation::{write_explanation, write_paragraph};
use finding::{Cause, causes, write_cause, write_index};
pub(crate) use finding::{doing, headline, is_blocked, operation_of_side, ranked};
pub use finding::{write_finding, write_whole_story};
pub use names::function_in_short;
use table::Table;

/// How the text may look. What the terminal can do is for the caller to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// How many characters fit in a line.
    pub width: usize,
    /// Whether to use ANSI colours.
    pub color: bool,
    /// Whether long schedules are shown whole.
    pub full_schedule: bool,
    /// Whether all findings are shown whole, and how the answers were found.
    pub verbose: bool,
    /// Whether only the index and the verdict are shown.
    pub quiet: bool,
}

impl Default for Style {
    fn default() -> Self {
        Style { width: 100, color: false, full_schedule: false, verbose: false, quiet: false }
    }
}

/// Writes the report as text.
///
/// # Errors
/// Those of the writer.
pub fn write_text(report: &Report, style: Style, writer: &mut dyn Write) -> io::Result<()> {
    let causes = causes(report, style);
    let shown = causes.iter().flatten().count();
    if style.quiet {
        write_index(&causes, report, style, writer)?;
        return writeln!(writer, "{}", verdict_line(report, style));
    }
    write_heading(report, style, writer)?;
    let found = found(shown, &causes);
    if shown > 1 {
        writeln!(writer, "{found}; an index of them is at the end")?;
    }
    if let (Some(program), None, Some(first)) =
        (&report.again.program, &report.again.json, causes.first())
    {
        writeln!(
            writer,
            "to see one again: add --json report.json, then run `foretrace replay report.json#{} {program}`",
            first[0].id
        )?;
    }
    if style.verbose {
        for finding in causes.iter().flatten() {
            writeln!(writer)?;
            write_finding(report, finding, style, writer)?;
        }
    } else {
        for cause in causes.iter().take(WHOLE) {
            writeln!(writer)?;
            write_cause(report, cause, style, writer)?;
        }
    }
    match &report.unsupported {
        Some(reason) => writeln!(writer, "undecided: {reason}")?,
        None => {
            write_undecided(report, writer)?;
            if style.verbose {
                writeln!(writer)?;
                write_ledgers(report, writer)?;
            }
        }
    }
    if let Some(why) = &report.why {
        explanation::write_explanations(why, style, writer)?;
    }
    if let Some(comparison) = &report.comparison {
        writeln!(writer)?;
        compare::write_comparison(comparison, writer)?;
        writeln!(writer)?;
    }
    if shown > 1 {
        let rest = match causes.len() > WHOLE && !style.verbose {
            true => format!(" (shown above: {WHOLE}; --verbose shows all)"),
            false => String::new(),
        };
        writeln!(writer, "\n{found}{rest}:")?;
        write_index(&causes, report, style, writer)?;
    }
    if report.comparison.is_none() && (shown > 0 || style.verbose) {
        writeln!(writer)?;
    }
    if style.verbose {
        write_analysis(report, writer)?;
    }
    for part in &report.not_asked {
        writeln!(writer, "not checked: {}: {}", part.property.name(), part.reason.sentence)?;
    }
    write_import(report, writer)?;
    write_blind_spots(report, writer)?;
    if report.trace.weak_accesses > 0 {
        writeln!(writer, "memory order: {}", in_order(report.trace.weak_accesses))?;
    }
    for note in &report.notes {
        writeln!(writer, "note: {note}")?;
    }
    if report.stacks.is_empty() && !report.trace.folders.is_empty() && shown > 0 {
        writeln!(
            writer,
            "note: there are no call stacks, since the control flow was not recorded"
        )?;
    }
    if let Some(timing) = &report.timing {
        writeln!(writer, "read {} ms, predict {} ms", timing.read_ms, timing.predict_ms)?;
    }
    writeln!(writer, "{}", verdict_line(report, style))
}

/// So many causes are shown, unless all are asked for.
const WHOLE: usize = 5;

/// `30 findings with 2 causes`
fn found(shown: usize, causes: &[Cause]) -> String {
    let findings = counted(shown as u64, "finding");
    format!("{findings} with {}", counted(causes.len() as u64, "cause"))
}

/// How much of the trace the answers are about, and what is known of its data.
fn write_analysis(report: &Report, writer: &mut dyn Write) -> io::Result<()> {
    if let Some(terms) = report.trace.terms() {
        writeln!(writer, "data flow: {terms}")?;
    }
    let Some(slicing) = &report.slicing else { return Ok(()) };
    writeln!(
        writer,
        "slice: {} of {}, {} of {}, {} of {} affect what is computed",
        slicing.events_left,
        counted(slicing.events, "event"),
        slicing.reads_left,
        counted(slicing.reads, "read"),
        slicing.conditions_left,
        counted(slicing.conditions, "condition"),
    )
}

/// How accesses with weaker memory orders were taken.
pub fn in_order(weak_accesses: u64) -> String {
    let accesses = counted(weak_accesses, "relaxed, acquire or release access");
    let was = if weak_accesses == 1 { "was" } else { "were" };
    format!("{accesses} {was} taken as sequentially consistent")
}

/// What the recording does not explain limits what was asked.
fn write_blind_spots(report: &Report, writer: &mut dyn Write) -> io::Result<()> {
    let blind = report.trace.blind_spots();
    if blind == 0 {
        return Ok(());
    }
    writeln!(
        writer,
        "blind spots: {} that no recorded event explains (for example, because code without \
         instrumentation wrote there); whatever was recorded before such an event stays before it, \
         so bugs across it are not found",
        counted(blind, "event")
    )
}

/// A piece of text in bold or colour, where the style allows it.
struct Paint<T>(&'static str, T, bool);

impl<T: fmt::Display> fmt::Display for Paint<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Paint(code, text, color) = self;
        if *color { write!(f, "\x1b[{code}m{text}\x1b[0m") } else { text.fmt(f) }
    }
}

const BOLD: &str = "1";
const RED: &str = "1;31";
const YELLOW: &str = "1;33";
const GREEN: &str = "1;32";

/// `1 event`, `2 events`
fn counted(count: u64, noun: &str) -> String {
    let plural = if noun.ends_with(['h', 's']) { "es" } else { "s" };
    format!("{count} {noun}{}", if count == 1 { "" } else { plural })
}

fn write_heading(report: &Report, style: Style, writer: &mut dyn Write) -> io::Result<()> {
    let trace = &report.trace;
    let name = Paint(BOLD, trace.path.as_deref().unwrap_or("trace"), style.color);
    let events = counted(trace.events, "event");
    let threads = counted(trace.threads.len() as u64, "thread");
    match trace.subject {
        Subject::Trace => writeln!(writer, "{name}: {events}, {threads}, model {}", report.model)?,
        _ if report.unsupported.is_some() => writeln!(writer, "{name}: {}", subject(report))?,
        Subject::Program | Subject::Runs(_) => {
            writeln!(writer, "{name}: {}, {threads}, {events}", subject(report))?
        }
    }
    if report.settings.symbolic_addresses {
        writeln!(writer, "addresses that depend on what was read range over their objects")?;
    }
    Ok(())
}

/// What the import did not take as it was. That of what nobody else touches is no news.
fn write_import(report: &Report, writer: &mut dyn Write) -> io::Result<()> {
    // How the run ended is said in the verdict.
    let ending = |fact: &Provenance| report.run.is_some() && is_ending(fact);
    let facts = report.trace.provenance.iter();
    for (fact, count) in facts.filter(|(fact, _)| is_news(fact) && !ending(fact)) {
        let times = if *count > 1 { format!(" ({count} times)") } else { String::new() };
        writeln!(writer, "import: {}{times}", in_words(fact))?;
    }
    Ok(())
}

fn subject(report: &Report) -> String {
    match report.trace.subject {
        Subject::Trace => "trace".to_string(),
        Subject::Program => "program".to_string(),
        Subject::Runs(1) => "the run as a program".to_string(),
        Subject::Runs(runs) => format!("{} merged into one program", counted(runs, "run")),
    }
}

/// One line per property and reason: there may be thousands of open questions with one cause.
fn write_undecided(report: &Report, writer: &mut dyn Write) -> io::Result<()> {
    let mut groups: Vec<(&str, &str, &str, u64)> = Vec::new();
    let undecided = report.undecided.iter().map(|open| ("undecided", open));
    let partly = report.for_recorded_values.iter().map(|open| ("refuted in part", open));
    for (answer, open) in undecided.chain(partly) {
        let key = (answer, open.property.name(), open.reason.sentence.as_str());
        match groups.iter_mut().find(|group| (group.0, group.1, group.2) == key) {
            Some((.., count)) => *count += 1,
            None => groups.push((key.0, key.1, key.2, 1)),
        }
    }
    if !groups.is_empty() {
        writeln!(writer)?;
    }
    for (answer, property, reason, count) in groups {
        writeln!(writer, "{answer}: {} ({property}): {reason}", counted(count, "candidate"))?;
    }
    Ok(())
}

fn write_ledgers(report: &Report, writer: &mut dyn Write) -> io::Result<()> {
    let mut ledgers = Table::default();
    // Bounds that grow until there is an answer leave none within a bound.
    let is_bounded = report.settings.context_bound.is_some();
    let mut titles = vec![String::new(), "candidates".into()];
    titles.extend(Column::ALL.map(|column| format!("by {}", column.word())));
    titles[2].insert_str(0, "refuted ");
    titles.extend(["violated".into(), "infeasible".into()]);
    if is_bounded {
        titles.push("within bound only".into());
    }
    let is_partly = for_recorded_values(report) > 0;
    if is_partly {
        titles.push("for recorded values only".into());
    }
    titles.push("undecided".into());
    let width = titles.len();
    ledgers.row(titles);
    for (property, ledger) in &report.summary {
        let mut counts = vec![ledger.candidates];
        counts.extend(ledger.pruned.iter().map(|(_, count)| count));
        counts.extend([ledger.violated, ledger.infeasible]);
        if is_bounded {
            counts.push(ledger.infeasible_in_bound);
        }
        if is_partly {
            counts.push(ledger.infeasible_for_recorded_values);
        }
        counts.push(ledger.undecided);
        let name = property.name().to_string();
        ledgers.row([name].into_iter().chain(counts.iter().map(u64::to_string)));
    }
    for column in 1..width {
        ledgers.right_align(column);
    }
    ledgers.write(writer)
}

fn verdict_line(report: &Report, style: Style) -> String {
    let (verdict, color) = verdict(report);
    Paint(color, format!("verdict: {verdict}"), style.color).to_string()
}

/// The verdict, and its colour.
pub(crate) fn verdict(report: &Report) -> (String, &'static str) {
    let real = report.count(Certainty::Real);
    let possible = report.count(Certainty::Possible);
    let undecided: u64 = report.summary.iter().map(|(_, ledger)| ledger.undecided).sum();
    let run = report.run.as_ref();
    let says_nothing = run.and_then(|run| run.says_nothing.as_deref());
    let partly = for_recorded_values(report);
    let color = match (real, possible, undecided) {
        _ if run.is_some_and(|run| run.failed || run.unexpected) => RED,
        (0, 0, 0) if says_nothing.is_none() && !report.trace.is_prefix() => GREEN,
        (0, ..) => YELLOW,
        _ => RED,
    };
    let mut parts = bugs(report);
    let set_aside = report.set_aside();
    if set_aside.is_some() && real + possible == 0 {
        parts.push("nothing new found".to_string());
    }
    if possible > 0 {
        parts.push(format!("{possible} possible"));
    }
    if undecided > 0 {
        parts.push(format!("{undecided} undecided"));
    }
    parts.extend(set_aside);
    if partly > 0 && !parts.is_empty() {
        parts.push(format!("{partly} refuted for recorded values only"));
    }
    // In the same breath, what this does not speak of.
    if let (Some(last), Some(unasked)) = (parts.last_mut(), not_checked(report)) {
        *last += &format!(" ({unasked})");
    }
    if report.unsupported.is_some() {
        parts = vec!["nothing is decided".to_string()];
    } else if report.trace.events == 0 {
        let nothing = match report.trace.subject {
            Subject::Trace => "nothing was recorded",
            Subject::Program | Subject::Runs(_) => "the program has no threads",
        };
        parts.push(nothing.to_string());
    } else if let (true, Some(why)) = (parts.is_empty(), says_nothing) {
        parts.push(format!("nothing can be predicted, since {why}"));
    } else if parts.is_empty() && !run.is_some_and(|run| run.failed) {
        parts.push(if partly > 0 { nothing_found(report) } else { no_bug(report) });
    }
    match run {
        Some(run) if run.failed => {
            parts.insert(0, format!("the recorded run itself {}", run.ending))
        }
        Some(run) if run.unexpected => parts.insert(
            0,
            format!(
                "the recorded run itself failed: it {} (use --expect-status if that is expected)",
                run.ending
            ),
        ),
        _ => {}
    }
    if report.interrupted {
        parts.insert(0, "interrupted".to_string());
    }
    (parts.join(", "), color)
}

/// The bugs that can happen. Once there were replays, those that they confirmed count apart.
fn bugs(report: &Report) -> Vec<String> {
    let (real, confirmed) = (report.count(Certainty::Real), report.confirmed());
    let are_replayed = report.findings.iter().any(|finding| finding.replay.is_some());
    let others = if are_replayed { "real but not replayed" } else { "that can happen" };
    let counts = [(confirmed, "confirmed by replay"), (real - confirmed, others)];
    let some = counts.into_iter().filter(|&(count, _)| count > 0);
    some.map(|(count, what)| format!("{} {what}", counted(count as u64, "bug"))).collect()
}

/// How many candidates are refuted only for schedules in which reads return what they returned.
fn for_recorded_values(report: &Report) -> u64 {
    report.summary.iter().map(|(_, ledger)| ledger.infeasible_for_recorded_values).sum()
}

/// What it means that nothing was found, and not everything was decided for all schedules.
fn nothing_found(report: &Report) -> String {
    let all: u64 = report.summary.iter().map(|(_, ledger)| ledger.candidates).sum();
    let first = match report.trace.is_prefix() {
        true => format!(" in the first {} events", report.trace.events),
        false => String::new(),
    };
    format!(
        "nothing found{first}; {} of {} answered only for schedules in which every read before the bug \
         returns its recorded value ({}; a larger --budget asks further, --strict makes this \
         status 3)",
        for_recorded_values(report),
        counted(all, "question"),
        scope(report),
    )
}

/// What it means that nothing was found, and everything decided.
fn no_bug(report: &Report) -> String {
    let (scope, model) = (scope(report), &report.model);
    let asked = |&(property, _): &(Property, _)| asked(report, property) != NOT_ASKED;
    if !report.summary.iter().any(asked) {
        return format!("none ({scope})");
    }
    let events = match &report.run {
        _ if report.trace.is_prefix() => format!("the first {} events", report.trace.events),
        Some(run) if run.incomplete => "these events, which are not all".to_string(),
        _ => "these events".to_string(),
    };
    let mut bound = within_bound(report);
    let mut scope = scope;
    if report.trace.weak_accesses > 0 {
        bound += ", for sequentially consistent executions";
        let weaker = counted(report.trace.weak_accesses, "access");
        scope = format!("{weaker} of weaker memory order; {scope}");
    }
    match report.trace.subject {
        Subject::Trace => {
            format!("no bug in any schedule of {events}{bound} ({scope}; model {model})")
        }
        Subject::Program => format!("no bug in any execution of this program{bound} ({scope})"),
        Subject::Runs(1) => {
            format!("no bug in any execution on the paths of this run{bound} ({scope})")
        }
        Subject::Runs(_) => format!("no bug in any mixture of these runs{bound} ({scope})"),
    }
}

/// What the bound on context switches means for "no bug".
fn within_bound(report: &Report) -> String {
    match report.settings.context_bound {
        None => String::new(),
        Some(most) if report.summary.iter().any(|(_, ledger)| ledger.infeasible_in_bound > 0) => {
            format!(" with at most {}", counted(u64::from(most), "context switch"))
        }
        Some(_) => ", proved for any number of context switches".to_string(),
    }
}

const CHECKED: &str = "checked";
const IN_PART: &str = "in part";
const NOT_ASKED: &str = "not checked";

/// How much of a property was asked about.
fn asked(report: &Report, property: Property) -> &'static str {
    let parts = report.not_asked.iter().filter(|part| part.property == property);
    match parts.map(|part| part.whole).max() {
        None => CHECKED,
        Some(true) => NOT_ASKED,
        Some(false) => IN_PART,
    }
}

/// What was not checked, or only in part.
fn not_checked(report: &Report) -> Option<String> {
    let scope = scope(report);
    let lists: Vec<&str> =
        scope.split("; ").filter(|list| !list.starts_with(CHECKED) && !list.is_empty()).collect();
    (!lists.is_empty()).then(|| lists.join("; "))
}

/// Which properties "no bug" is about.
fn scope(report: &Report) -> String {
    let mut lists = Vec::new();
    for title in [CHECKED, IN_PART, NOT_ASKED] {
        let those = report.summary.iter().filter(|(property, _)| asked(report, *property) == title);
        let names: Vec<&str> = those.map(|(property, _)| property.name()).collect();
        if !names.is_empty() {
            lists.push(format!("{title}: {}", names.join(", ")));
        }
    }
    lists.join("; ")
}
