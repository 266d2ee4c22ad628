//! What was found out about a program that was verified: for people, and for other programs.

mod told;

use std::io::{self, Write};

use foretrace_program::text::describe;
use foretrace_program::{MemoryOrder, Op, Program, Site, Violation};
use foretrace_report::verified::{Answer, Reason, Step, VERIFIED_SCHEMA};
use foretrace_report::{Style, write_whole_story};
use foretrace_verdict::Property;
use foretrace_verify::{Bug, Open, Options, Report, Verdict};

use crate::trace::Frame;

/// What came of a replay of a bug.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Replayed {
    /// The bug was there, and how the program ended.
    Confirmed(String),
    /// It could not be tried, or not be seen, for a reason that says nothing about the bug.
    Not(String),
    /// The compiled program does something else than the interpreter.
    Diverged(String),
}

/// What there is to tell.
#[derive(Clone, Copy, Debug)]
pub struct Verified<'a> {
    /// What was verified.
    pub program: &'a Program,
    /// What was asked.
    pub checked: &'a [Property],
    /// How it was asked.
    pub options: &'a Options,
    /// The answer.
    pub report: &'a Report,
    /// What came of a replay.
    pub replayed: &'a Replayed,
    /// Whether the verdict is about one input, that of a recorded run.
    pub one_input: bool,
}

impl Verified<'_> {
    /// The bug as a report with one finding, if one was found.
    pub fn told(&self) -> Option<foretrace_report::Report> {
        match &self.report.verdict {
            Verdict::Bug(bug) => {
                told::told(self, bug, Frame::new(&foretrace_predict::Options::default()))
            }
            Verdict::Proved | Verdict::UpTo { .. } | Verdict::Unknown(_) => None,
        }
    }

    /// The answer in words, with the story of [`Verified::told`].
    ///
    /// # Errors
    /// What the writer returns.
    pub fn write(
        &self,
        told: Option<&foretrace_report::Report>,
        style: Style,
        writer: &mut dyn Write,
    ) -> io::Result<()> {
        let Verified { checked, report, .. } = *self;
        self.write_verdict(checked, &report.verdict, writer)?;
        if let Some((told, finding)) = told.and_then(|told| Some((told, told.findings.first()?))) {
            write_whole_story(told, finding, style, writer)?;
        }
        if let Some(besides) = &report.besides {
            let is_other = |property: &Property| *property != Property::Race;
            let others: Vec<Property> = checked.iter().copied().filter(is_other).collect();
            if !others.is_empty() {
                write!(writer, "besides, for sequentially consistent executions only: ")?;
                self.write_verdict(&others, besides, writer)?;
            }
        }
        let size = report.size;
        writeln!(
            writer,
            "{} threads, {} instructions, {} shared accesses",
            size.threads, size.instructions, size.accesses
        )?;
        let missing = Property::ALL.into_iter().filter(|property| !checked.contains(property));
        let missing: Vec<&str> = missing.map(Property::name).collect();
        let asks_locks = checked.contains(&Property::Lock);
        let unasked =
            asks_locks.then_some("destroying a lock that is in use, joining a thread twice");
        let missing: Vec<&str> = missing.into_iter().chain(unasked).collect();
        writeln!(writer, "not checked: {}", missing.join(", "))?;
        let mut assumed = vec!["sequentially consistent memory"];
        if self.options.indeterminate && !self.options.asks_overflow {
            assumed.push("signed overflow wraps");
        }
        if self.options.indeterminate {
            assumed
                .extend(["threads and memory can always be had", "waits may wake up spuriously"]);
        }
        if has_weaker_orders(self.program) {
            assumed.push("atomic operations of weaker orders order as if they were seq_cst");
        }
        if self.one_input {
            assumed.push("code that is not instrumented touches memory only where it is called");
        }
        writeln!(writer, "assumed: {}", assumed.join("; "))
    }

    fn write_verdict(
        &self,
        checked: &[Property],
        verdict: &Verdict,
        writer: &mut dyn Write,
    ) -> io::Result<()> {
        match verdict {
            Verdict::Bug(bug) => self.write_bug(bug, writer),
            Verdict::Proved => {
                let scope = match self.one_input {
                    true => "no schedule of this program with this input",
                    false => "no schedule and no input",
                };
                let excluded: Vec<&str> =
                    checked.iter().map(|&property| excluded(property)).collect();
                writeln!(writer, "proved: {scope} {}", excluded.join(", or "))
            }
            Verdict::UpTo { bound, open } => {
                writeln!(writer, "no bug up to bound {bound}; open beyond it:")?;
                self.write_open(open, writer)
            }
            Verdict::Unknown(open) => {
                let name = if self.one_input { "inconclusive" } else { "unknown" };
                writeln!(writer, "{name}:")?;
                self.write_open(open, writer)
            }
        }
    }

    fn write_open(&self, open: &[Open], writer: &mut dyn Write) -> io::Result<()> {
        let place = |site: Site| match self.program.location(site) {
            Some(location) => location.to_string(),
            None => self.program.function(site.function).name.clone(),
        };
        open.iter().try_for_each(|Open { reason, site }| match site {
            Some(site) => writeln!(writer, "  {}: {reason}", place(*site)),
            None => writeln!(writer, "  {reason}"),
        })
    }

    fn write_bug(&self, bug: &Bug, writer: &mut dyn Write) -> io::Result<()> {
        writeln!(writer, "bug: {}", self.headline(bug))?;
        match self.replayed {
            Replayed::Confirmed(ending) => {
                writeln!(writer, "replayed on the compiled program, which {ending}")?;
            }
            Replayed::Not(reason) | Replayed::Diverged(reason) => {
                let checked = "checked by the interpreter, not replayed";
                writeln!(writer, "{checked} ({reason})")?;
            }
        }
        Ok(())
    }

    /// What goes wrong, and where.
    fn headline(&self, bug: &Bug) -> String {
        let (program, violation) = (self.program, &bug.violation);
        let place = |site: &Site| match program.location(*site) {
            Some(place) => format!("{}: {place}", program.function(site.function).name),
            None => describe(program, *site),
        };
        match violation {
            Violation::Assertion(site) if self.options.overflows.contains(site) => {
                format!("signed overflow: {}", place(site))
            }
            Violation::Assertion(site) => format!("assertion violated: {}", place(site)),
            Violation::Race(first, second) => {
                format!("race: {} | {}", place(first), place(second))
            }
            Violation::LockError(error, site) => format!("lock error: {}: {error}", place(site)),
            Violation::Undefined(_, site) => {
                let what = told::what(self, bug).unwrap_or_default();
                format!("undefined behaviour: {}: {what}", place(site))
            }
            Violation::Deadlock(sites) => {
                let blocked: Vec<String> = sites.iter().map(place).collect();
                format!("deadlock: {}", blocked.join(" | "))
            }
        }
    }

    /// The answer for other programs; `property` is what a property file asked.
    pub fn answer(&self, property: Option<&str>) -> Answer {
        let Verified { program, report, .. } = *self;
        let (bug, open) = match &report.verdict {
            Verdict::Bug(bug) => (Some(bug), Vec::new()),
            Verdict::Proved => (None, Vec::new()),
            Verdict::UpTo { open, .. } | Verdict::Unknown(open) => (None, reasons(program, open)),
        };
        Answer {
            schema: VERIFIED_SCHEMA,
            verdict: word(&report.verdict),
            property: property.map(str::to_string),
            open,
            violation: bug.map(|bug| bug.violation.describe(program)),
            schedule: bug.map_or(Vec::new(), |bug| schedule(program, bug)),
            besides: report.besides.as_ref().map(word),
            bound: report.size.bound,
            threads: report.size.threads,
            instructions: report.size.instructions,
            accesses: report.size.accesses,
        }
    }

    /// The last line of an answer to a property file.
    pub fn result(&self, property: &str) -> String {
        match &self.report.verdict {
            Verdict::Bug(_) => format!("result: false ({property})"),
            Verdict::Proved => "result: true".to_string(),
            Verdict::UpTo { .. } | Verdict::Unknown(_) => "result: unknown".to_string(),
        }
    }
}

/// One word for a verdict.
fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Bug(_) => "bug",
        Verdict::Proved => "proved",
        Verdict::UpTo { .. } => "bounded",
        Verdict::Unknown(_) => "unknown",
    }
}

fn reasons(program: &Program, open: &[Open]) -> Vec<Reason> {
    let place = |open: &Open| open.site.and_then(|site| program.location(site));
    let reason = |open: &Open| Reason {
        reason: open.reason.clone(),
        place: place(open).map(str::to_string),
    };
    open.iter().map(reason).collect()
}

fn schedule(program: &Program, bug: &Bug) -> Vec<Step> {
    let mut threads = 0;
    let steps = bug.steps.iter().map(|step| {
        let op = program.instruction(step.site).map(|instruction| &instruction.op);
        let makes = matches!(op, Some(Op::Fork { .. })).then(|| {
            threads += 1;
            threads
        });
        Step {
            thread: step.thread.clone(),
            number: step.id.0,
            makes,
            place: program.location(step.site).map(str::to_string),
            operation: describe(program, step.site),
            input: step.input,
        }
    });
    steps.collect()
}

/// Whether an atomic operation asks for less than sequential consistency.
fn has_weaker_orders(program: &Program) -> bool {
    let is_weaker = |op: &Op| {
        matches!(
            op,
            Op::Load { order, .. }
            | Op::Store { order, .. }
            | Op::Rmw { order, .. }
            | Op::CompareExchange { order, .. }
            | Op::Fence { order } if !matches!(order, MemoryOrder::Plain | MemoryOrder::SeqCst)
        )
    };
    let mut all = program.functions.iter().flat_map(|function| function.instructions());
    all.any(|(_, _, instruction)| is_weaker(&instruction.op))
}

/// What a proof excludes.
fn excluded(property: Property) -> &'static str {
    match property {
        Property::Race => "leads to a data race",
        Property::Atomicity => "violates the atomicity of a region",
        Property::Deadlock => "leads to a deadlock of all threads",
        Property::Lock => "locks twice, or unlocks or waits without the lock",
        Property::Assertion => "violates an assertion or accesses memory outside of live objects",
    }
}

/// Whether a step gives memory or a variable that is not initialised its value.
fn is_indeterminate(program: &Program, site: Site) -> bool {
    let op = program.instruction(site).map(|instruction| &instruction.op);
    matches!(op, Some(Op::External { name, .. }) if name == "indeterminate")
}
