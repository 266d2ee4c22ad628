//! Findings that a project does not want to hear of: entries of a file in ThreadSanitizer's syntax,
//! and marks in the source.
//!
//! An entry is `TYPE:PATTERN`. In a pattern, `*` stands for any text, `^` for the start and `$` for
//! the end of the name; without them it may match anywhere in the name. Comments above an entry are
//! its reason.

use std::collections::BTreeSet;

use foretrace_trace::Location;

use crate::{Finding, Kind, Report, SourceLines, Standing, Suppression};

/// The entries of suppression files, and how often each has matched.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Suppressions(Vec<Entry>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Entry {
    /// `foretrace.supp:3`
    place: String,
    rule: String,
    kind: EntryKind,
    pattern: String,
    reason: Option<String>,
    used: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum EntryKind {
    Race,
    /// Only where the thread is, and not what called it.
    RaceTop,
    Deadlock,
    Lock,
    Atomicity,
    Assertion,
    /// The stable fingerprint of one finding.
    Id,
    /// What ThreadSanitizer has, and Foretrace never reports.
    Never,
}

const KINDS: [(&str, EntryKind); 11] = [
    ("race", EntryKind::Race),
    ("race_top", EntryKind::RaceTop),
    ("deadlock", EntryKind::Deadlock),
    ("mutex", EntryKind::Lock),
    ("lock", EntryKind::Lock),
    ("atomicity", EntryKind::Atomicity),
    ("assertion", EntryKind::Assertion),
    ("id", EntryKind::Id),
    ("thread", EntryKind::Never),
    ("signal", EntryKind::Never),
    ("called_from_lib", EntryKind::Never),
];

impl Suppressions {
    /// Adds the entries of a file.
    ///
    /// # Errors
    /// The place and the reason, if a line is no entry.
    pub fn read(&mut self, file: &str, text: &str) -> Result<(), String> {
        let mut comments: Vec<&str> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let (line, place) = (line.trim(), format!("{file}:{}", index + 1));
            if let Some(comment) = line.strip_prefix('#') {
                comments.push(comment.trim());
                continue;
            }
            if line.is_empty() {
                comments.clear();
                continue;
            }
            let names: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
            let names = names.join(", ");
            let Some((name, pattern)) = line.split_once(':') else {
                return Err(format!("{place}: `{line}` is not TYPE:PATTERN, with one of {names}"));
            };
            let Some(&(_, kind)) = KINDS.iter().find(|(known, _)| *known == name) else {
                return Err(format!("{place}: there is no type `{name}`; use one of {names}"));
            };
            if pattern.is_empty() {
                return Err(format!("{place}: `{line}` has no pattern"));
            }
            let reason = (!comments.is_empty()).then(|| comments.join(" "));
            comments.clear();
            let (rule, pattern) = (line.to_string(), pattern.to_string());
            self.0.push(Entry { place, rule, kind, pattern, reason, used: false });
        }
        Ok(())
    }

    /// Marks the findings that an entry or the source suppresses.
    pub fn apply(&mut self, report: &mut Report) {
        let lines = SourceLines::new(report);
        let mut notes = BTreeSet::new();
        let standings: Vec<Option<Suppression>> = report
            .findings
            .iter()
            .map(|finding| {
                let names = Names::of(report, finding);
                let entry = self.0.iter_mut().find(|entry| entry.matches(finding, &names));
                let by_entry = entry.map(|entry| {
                    entry.used = true;
                    Suppression {
                        by: entry.place.clone(),
                        rule: entry.rule.clone(),
                        reason: entry.reason.clone(),
                        in_source: false,
                    }
                });
                by_entry.or_else(|| {
                    let suppression = marked(report, finding, &lines)?;
                    if suppression.reason.is_none() {
                        notes.insert(format!(
                            "{}: `{MARK}` suppresses nothing without a reason behind it",
                            suppression.by
                        ));
                    }
                    suppression.reason.is_some().then_some(suppression)
                })
            })
            .collect();
        report.notes.extend(notes);
        for (finding, standing) in report.findings.iter_mut().zip(standings) {
            if let Some(suppression) = standing {
                finding.standing = Standing::Suppressed(suppression);
            }
        }
    }

    /// The entries that have matched nothing, each with its place.
    pub fn unused(&self) -> impl Iterator<Item = String> {
        let unused = self.0.iter().filter(|entry| !entry.used);
        unused.map(|entry| {
            let why = match entry.kind == EntryKind::Never {
                true => "foretrace reports nothing of this type",
                false => "it suppresses nothing",
            };
            format!("{}: {}: {why}", entry.place, entry.rule)
        })
    }
}

impl Entry {
    fn matches(&self, finding: &Finding, names: &Names) -> bool {
        let is_of_kind = match self.kind {
            EntryKind::Race | EntryKind::RaceTop => finding.kind == Kind::Race,
            EntryKind::Deadlock => matches!(finding.kind, Kind::LockCycle | Kind::Stuck),
            EntryKind::Lock => matches!(
                finding.kind,
                Kind::DoubleLock | Kind::UnlockNotHeld | Kind::UnlockByOther | Kind::DestroyHeld
            ),
            EntryKind::Atomicity => finding.kind == Kind::Atomicity,
            EntryKind::Assertion => finding.kind == Kind::Assertion,
            EntryKind::Id => return finding.stable_fingerprint == self.pattern,
            EntryKind::Never => false,
        };
        let fits = |name: &String| is_match(&self.pattern, name);
        let names = if self.kind == EntryKind::RaceTop { &names.top } else { &names.all };
        is_of_kind && names.iter().any(fits)
    }
}

/// What the patterns are held against.
struct Names {
    /// Functions and files where the threads are.
    top: Vec<String>,
    /// These, those of all callers, and the object.
    all: Vec<String>,
}

impl Names {
    fn of(report: &Report, finding: &Finding) -> Names {
        let mut top = Vec::new();
        let mut all: Vec<String> = finding.object.iter().cloned().collect();
        for side in &finding.sides {
            let text = report.event(side.event);
            if let Some(place) = text.location.as_deref().and_then(Location::parse) {
                top.push(place.file.to_string());
                top.extend(place.function.map(str::to_string));
            }
            let stacks = side.holds.iter().filter_map(|hold| hold.stack).chain(text.stack);
            for frame in stacks.flat_map(|stack| report.stack(stack)) {
                all.extend(frame.function.clone());
                all.push(frame.file.clone());
            }
        }
        all.extend(top.iter().cloned());
        Names { top, all }
    }
}

/// Whether a name fits a pattern.
fn is_match(pattern: &str, name: &str) -> bool {
    let (pattern, at_start) = match pattern.strip_prefix('^') {
        Some(rest) => (rest, true),
        None => (pattern, false),
    };
    let (pattern, at_end) = match pattern.strip_suffix('$') {
        Some(rest) => (rest, true),
        None => (pattern, false),
    };
    let mut parts: Vec<&str> = pattern.split('*').collect();
    let mut rest = name;
    if at_start {
        let Some(after) = rest.strip_prefix(parts.remove(0)) else { return false };
        if parts.is_empty() {
            return !at_end || after.is_empty();
        }
        rest = after;
    }
    let last = if at_end { parts.pop() } else { None };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    last.is_none_or(|last| rest.ends_with(last))
}

const MARK: &str = "foretrace: benign";

/// The mark in the source at a side of a race or an atomicity violation: a comment on its line, or
/// on the line above. Without a reason it suppresses nothing.
fn marked(report: &Report, finding: &Finding, lines: &SourceLines) -> Option<Suppression> {
    if !matches!(finding.kind, Kind::Race | Kind::Atomicity) {
        return None;
    }
    let marks = finding.sides.iter().filter_map(|side| {
        let place = Location::parse(report.event(side.event).location.as_deref()?)?;
        let is_comment = |line: &str| {
            let line = line.trim_start();
            line.starts_with("//") || line.starts_with("/*") || line.starts_with('*')
        };
        let (line, reason) = [place.line, place.line.checked_sub(1)?]
            .into_iter()
            .filter_map(|line| Some((line, lines.line(place.file, line)?)))
            .filter(|&(line, text)| line == place.line || is_comment(text))
            .find_map(|(line, text)| Some((line, mark_of(text)?)))?;
        Some(Suppression {
            by: format!("{}:{line}", place.file),
            rule: MARK.to_string(),
            reason: (!reason.is_empty()).then(|| reason.to_string()),
            in_source: true,
        })
    });
    marks.min_by_key(|mark| mark.reason.is_none())
}

/// The reason behind a mark in a comment, perhaps none: an empty one.
fn mark_of(line: &str) -> Option<&str> {
    let (before, after) = line.split_once(MARK)?;
    let is_in_comment = before.contains("//") || before.contains("/*") || before.trim() == "*";
    let reason = after.split("*/").next().unwrap_or(after).trim_start_matches(':').trim();
    is_in_comment.then_some(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_threadsanitizer() {
        for (pattern, name, fits) in [
            ("foo", "a_foo_b", true),
            ("^foo", "a_foo_b", false),
            ("^foo$", "foo", true),
            ("^foo$", "foobar", false),
            ("f*o$", "a_f_x_o", true),
            ("f*o$", "a_f_x_o_", false),
            ("*", "anything", true),
            ("^a*b*c$", "a1b2c", true),
            ("^a*b*c$", "a1c2b", false),
            ("^ab*ba$", "aba", false),
            ("Cache::*", "Cache::misses", true),
        ] {
            assert_eq!(is_match(pattern, name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn marks_need_a_comment() {
        assert_eq!(mark_of("x++; // foretrace: benign a counter"), Some("a counter"));
        assert_eq!(mark_of("/* foretrace: benign: may be off */ x++;"), Some("may be off"));
        assert_eq!(mark_of("x++; // foretrace: benign"), Some(""));
        assert_eq!(mark_of("puts(\"foretrace: benign x\");"), None);
    }

    #[test]
    fn wrong_entries_are_named() {
        let read = |text: &str| Suppressions::default().read("a.supp", text).unwrap_err();
        assert!(read("# fine\n\nrce:x").starts_with("a.supp:3: there is no type `rce`"));
        assert!(read("race").starts_with("a.supp:1: `race` is not TYPE:PATTERN"));
        assert!(read("race:").starts_with("a.supp:1: `race:` has no pattern"));
    }
}
