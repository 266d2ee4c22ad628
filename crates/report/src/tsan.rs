//! Text in the shape of ThreadSanitizer's reports, for programs that read those: findings as
//! warnings with stacks, mutexes, the place of the memory and the creation of threads.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::oneline::{Spot, path, spot};
use crate::text::{doing, is_blocked};
use crate::{Finding, Kind, Origin, Report, Side, SideState};

const RULE: &str = "==================";

/// Writes the open findings of the reports.
///
/// # Errors
/// Those of the writer.
pub fn write_tsan(reports: &[Report], writer: &mut dyn Write) -> io::Result<()> {
    let mut count = 0;
    for report in reports {
        for finding in report.open_findings() {
            Warning { report, finding, mutexes: mutexes(finding) }.write(writer)?;
            count += 1;
        }
    }
    match count {
        0 => Ok(()),
        count => writeln!(writer, "ThreadSanitizer: reported {count} warnings"),
    }
}

/// The locks of a finding, by their numbers there.
fn mutexes(finding: &Finding) -> BTreeMap<&str, usize> {
    let mut mutexes = BTreeMap::new();
    for hold in finding.sides.iter().flat_map(|side| &side.holds) {
        let next = mutexes.len();
        mutexes.entry(hold.lock.as_str()).or_insert(next);
    }
    mutexes
}

struct Warning<'a> {
    report: &'a Report,
    finding: &'a Finding,
    mutexes: BTreeMap<&'a str, usize>,
}

impl Warning<'_> {
    fn write(&self, writer: &mut dyn Write) -> io::Result<()> {
        let what = title(self.finding.kind);
        writeln!(writer, "{RULE}\nWARNING: ThreadSanitizer: {what} (pid=1)")?;
        for (index, side) in self.finding.sides.iter().enumerate() {
            writeln!(writer, "  {}:", self.access(index, side))?;
            self.stack(self.report.event(side.event).stack, spot(self.report, side), writer)?;
            writeln!(writer)?;
        }
        self.memory(writer)?;
        self.locks(writer)?;
        self.threads(writer)?;
        let first = self.finding.sides.iter().find_map(|side| spot(self.report, side));
        let place = first.map_or(String::new(), |spot| {
            format!(" {} in {}", spot.short(), spot.function.as_deref().unwrap_or("??"))
        });
        writeln!(writer, "SUMMARY: ThreadSanitizer: {what}{place}\n{RULE}")
    }

    /// `Write of size 4 at 0x000000000000 by thread T1 (mutexes: write M0)`
    fn access(&self, index: usize, side: &Side) -> String {
        let operation = self.report.operation_in(self.finding, side.event);
        let text = self.report.event(side.event);
        let by = self.thread(text.thread);
        let held: Vec<String> = side
            .holds
            .iter()
            .map(|hold| {
                let mode = if hold.shared { "read" } else { "write" };
                format!("{mode} M{}", self.mutexes[hold.lock.as_str()])
            })
            .collect();
        let held = match held.is_empty() {
            true => String::new(),
            false => format!(" (mutexes: {})", held.join(", ")),
        };
        if !matches!(self.finding.kind, Kind::Race | Kind::Atomicity) {
            let doing = match is_blocked(self.finding, side) {
                true => doing(self.report, self.finding, side),
                false if side.state == SideState::Next => format!("is at {operation}"),
                false => format!("did {operation}"),
            };
            return format!("{} {doing}{held}", capital(&by));
        }
        let word = if text.operation.writes() { "write" } else { "read" };
        let word = if index == 0 { capital(word) } else { format!("Previous {word}") };
        format!("{word} of size 1 at {ADDRESS} by {by}{held}")
    }

    fn thread(&self, thread: u32) -> String {
        match self.report.trace.threads[thread as usize].as_str() {
            "T0" | "main" => "main thread".to_string(),
            name => format!("thread {name}"),
        }
    }

    fn stack(
        &self,
        stack: Option<u32>,
        place: Option<Spot>,
        writer: &mut dyn Write,
    ) -> io::Result<()> {
        let Some(stack) = stack else { return self.frame(0, place.as_ref(), writer) };
        for (index, frame) in self.report.stack(stack).enumerate() {
            let spot = Spot {
                file: path(self.report, &frame.file),
                line: frame.line,
                column: frame.column,
                function: frame.function.clone(),
            };
            self.frame(index, Some(&spot), writer)?;
        }
        Ok(())
    }

    fn frame(&self, index: usize, spot: Option<&Spot>, writer: &mut dyn Write) -> io::Result<()> {
        match spot {
            Some(spot) => {
                let function = spot.function.as_deref().unwrap_or("<null>");
                writeln!(writer, "    #{index} {function} {}", spot.short())
            }
            None => writeln!(writer, "    #{index} <null> <null>"),
        }
    }

    fn memory(&self, writer: &mut dyn Write) -> io::Result<()> {
        if !matches!(self.finding.kind, Kind::Race | Kind::Atomicity) {
            return Ok(());
        }
        if let Some(origin) = &self.finding.allocated {
            let size = origin.size.unwrap_or(1);
            let thread = self.by(&origin.thread);
            writeln!(
                writer,
                "  Location is heap block of size {size} at {ADDRESS} allocated by {thread}:"
            )?;
            self.origin(origin, writer)?;
            return writeln!(writer);
        }
        match self.finding.object.as_deref() {
            Some(object) => {
                writeln!(writer, "  Location is global '{object}' of size 1 at {ADDRESS}\n")
            }
            None => Ok(()),
        }
    }

    fn locks(&self, writer: &mut dyn Write) -> io::Result<()> {
        let mut numbered: Vec<(&str, usize)> = self.mutexes.iter().map(|(&m, &n)| (m, n)).collect();
        numbered.sort_by_key(|&(_, number)| number);
        for (lock, number) in numbered {
            let holds = self.finding.sides.iter().flat_map(|side| &side.holds);
            let hold = holds.into_iter().find(|hold| hold.lock == lock);
            writeln!(writer, "  Mutex M{number} ({lock}) acquired here:")?;
            if let Some(hold) = hold {
                let place = hold.location.as_deref();
                let place = place.and_then(|location| Spot::new(self.report, location));
                self.stack(hold.stack, place, writer)?;
            }
            writeln!(writer)?;
        }
        Ok(())
    }

    fn threads(&self, writer: &mut dyn Write) -> io::Result<()> {
        let mut threads: Vec<u32> =
            self.finding.sides.iter().map(|side| self.report.event(side.event).thread).collect();
        threads.sort_unstable();
        threads.dedup();
        for thread in threads {
            let Some(Some(created)) = self.report.created.get(thread as usize) else { continue };
            let name = &self.report.trace.threads[thread as usize];
            let by = self.by(&created.thread);
            writeln!(writer, "  Thread {name} (tid=1, running) created by {by} at:")?;
            self.origin(created, writer)?;
            writeln!(writer)?;
        }
        Ok(())
    }

    fn origin(&self, origin: &Origin, writer: &mut dyn Write) -> io::Result<()> {
        let place = origin.location.as_deref();
        let place = place.and_then(|location| Spot::new(self.report, location));
        self.stack(origin.stack, place, writer)
    }

    fn by(&self, thread: &str) -> String {
        let number = self.report.trace.threads.iter().position(|name| name == thread);
        number.map_or(format!("thread {thread}"), |number| self.thread(number as u32))
    }
}

/// Reports know no addresses.
const ADDRESS: &str = "0x000000000000";

/// What ThreadSanitizer calls it, as far as it knows it.
fn title(kind: Kind) -> &'static str {
    match kind {
        Kind::Race => "data race",
        Kind::Atomicity => "atomicity violation",
        Kind::LockCycle => "lock-order-inversion (potential deadlock)",
        Kind::Stuck => "deadlock",
        Kind::DoubleLock => "double lock of a mutex",
        Kind::UnlockNotHeld => "unlock of an unlocked mutex",
        Kind::UnlockByOther => "unlock of a mutex by a wrong thread",
        Kind::DestroyHeld => "destroy of a locked mutex",
        Kind::Assertion => "failing assertion",
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}
