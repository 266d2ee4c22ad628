//! `foretrace verify`: decides all schedules and inputs of a program without running it.

mod answer;
mod native;
mod property;
mod recorded;

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use foretrace_lift::{ANY, Lifted, lift};
use foretrace_program::text::describe;
use foretrace_program::{MemoryOrder, Op, Program, Site, parse, print, validate};
use foretrace_report::verified::About;
use foretrace_verdict::Property;
use foretrace_verify::{Bug, Open, Options, Report, Verdict, verify};

use crate::args::{VERIFIED, VerifyArguments};
use crate::compile;
use crate::failure::{Failure, Status};
use crate::interrupt;
use crate::output::{self, Folder};
use native::{Native, Replayed, Started};
use property::Asked;

/// An unfolded instruction takes about so many bytes.
const BYTES_PER_INSTRUCTION: u64 = 2048;

/// A program to verify.
struct Subject {
    lifted: Lifted,
    /// How it can be run, if it was compiled.
    native: Option<Native>,
    /// Whether new memory is indeterminate.
    indeterminate: bool,
    /// Whether the verdict is about one input, that of a recorded run.
    one_input: bool,
}

pub(crate) fn run(arguments: &VerifyArguments) -> Result<Status, Failure> {
    let started = Instant::now();
    let asked = arguments.property.as_deref().map(Asked::read).transpose()?;
    let subject = match &arguments.files[..] {
        [] => recorded::subject(arguments)?,
        [file] if file.extension().is_some_and(|extension| extension == "ftp") => read(file)?,
        _ => compile_all(arguments, asked.as_ref())?,
    };
    if arguments.print_program {
        output::to_stdout(|writer| write!(writer, "{}", print(&subject.lifted.program)))?;
        return Ok(Status::Nothing);
    }
    let checked = checked(arguments, asked.as_ref(), &subject.lifted);
    let asks = |property: Property| checked.contains(&property);
    // Tasks of verification are about what they name; other mistakes leave the answer open.
    let is_named = !subject.lifted.is_task || !arguments.check.is_empty();
    let asks_undefined = asks(Property::Assertion) && is_named;
    let options = Options {
        assertions: asks(Property::Assertion),
        memory: asks_undefined,
        undefined: asks_undefined,
        implicit: subject.lifted.implicit.clone(),
        lock_errors: asks(Property::Lock),
        races: asks(Property::Race),
        deadlocks: asks(Property::Deadlock),
        unwind: arguments.unwind,
        deadline: Some(started + arguments.budget),
        stop: interrupt::STOP.flag(),
        instructions: (arguments.memory / BYTES_PER_INSTRUCTION).max(1000),
        indeterminate: subject.indeterminate,
        ..Options::default()
    };
    let options = asked.iter().fold(options, |options, asked| asked.choose(options));
    interrupt::listen();
    let mut report = verify(&subject.lifted.program, &options);
    let missing = asked.as_ref().and_then(|asked| asked.missing).map(str::to_string);
    let doubts = missing.into_iter().chain(subject.lifted.doubts.iter().cloned());
    let doubts: Vec<Open> = doubts.map(|reason| Open { reason, site: None }).collect();
    for verdict in [Some(&mut report.verdict), report.besides.as_mut()].into_iter().flatten() {
        if let (Verdict::Proved | Verdict::UpTo { .. }, false) = (&verdict, doubts.is_empty()) {
            *verdict = Verdict::Unknown(doubts.clone());
        }
    }
    let replayed = match (&report.verdict, &subject.native) {
        (Verdict::Bug(bug), Some(native)) if !arguments.no_replay => {
            match native.replay(&subject.lifted, bug)? {
                // The program got the interrupt as well.
                Replayed::Diverged(_) if interrupt::STOP.is_set() => {
                    Replayed::Not("interrupted".to_string())
                }
                replayed => replayed,
            }
        }
        (Verdict::Bug(_), None) => Replayed::Not("there is no compiled program".to_string()),
        _ => Replayed::Not("--no-replay".to_string()),
    };
    // What is outside of the program may never give such values.
    if let (Verdict::Bug(bug), Replayed::Not(why)) = (&report.verdict, &replayed)
        && let Some((name, site)) = given_from_outside(&subject, bug)
    {
        let what = bug.violation.describe(&subject.lifted.program);
        let reason = format!(
            "this is possible if {name} may be what it would have to be, but it was not replayed \
             ({why}): {what}"
        );
        report.verdict = Verdict::Unknown(vec![Open { reason, site: Some(site) }]);
    }
    if let Replayed::Diverged(what) = &replayed {
        let reason = format!(
            "a bug of foretrace: the compiled program does not follow a schedule that the \
             interpreter has checked: {what}"
        );
        report.verdict = Verdict::Unknown(match doubts.is_empty() {
            true => vec![Open { reason, site: None }],
            // What is verified may not be all that runs.
            false => doubts,
        });
    }
    if let Some(file) = &arguments.witness {
        write_witness(arguments, &subject, &report, file)?;
    }
    let property = asked.as_ref().map(|asked| asked.name.as_str());
    output::to_stdout(|writer| match arguments.json {
        true => {
            let answer = answer::answer(&subject.lifted.program, &report, property);
            writeln!(writer, "{}", answer.json())
        }
        false => {
            tell(&subject, &checked, &report, &replayed, writer)?;
            let result = property.map(|property| answer::result(&report.verdict, property));
            result.map_or(Ok(()), |result| writeln!(writer, "{result}"))
        }
    })?;
    Ok(match report.verdict {
        Verdict::Bug(_) => Status::Found,
        Verdict::Proved => Status::Nothing,
        Verdict::UpTo { .. } | Verdict::Unknown(_) => Status::Uncertain,
    })
}

/// A value of a schedule that the program asks something outside for, if there is one.
fn given_from_outside(subject: &Subject, bug: &Bug) -> Option<(String, Site)> {
    bug.steps.iter().find_map(|step| {
        let is_doubtful =
            |name: &str| name.starts_with(ANY) || (subject.one_input && name != "indeterminate");
        let op = subject.lifted.program.instruction(step.site).map(|instruction| &instruction.op);
        match op {
            Some(Op::External { name, .. }) if is_doubtful(name) && step.input.is_some() => {
                Some((name.clone(), step.site))
            }
            _ => None,
        }
    })
}

/// What is looked for if no property file says it.
fn checked(arguments: &VerifyArguments, asked: Option<&Asked>, lifted: &Lifted) -> Vec<Property> {
    if let Some(asked) = asked {
        return asked.properties();
    }
    match &arguments.check[..] {
        [] if lifted.is_task => vec![Property::Assertion],
        [] => VERIFIED.to_vec(),
        chosen => chosen.to_vec(),
    }
}

/// Writes the witness of a verdict for other tools, if there is one.
fn write_witness(
    arguments: &VerifyArguments,
    subject: &Subject,
    report: &Report,
    to: &Path,
) -> Result<(), Failure> {
    let file = &arguments.files[0];
    let cannot =
        |file: &Path, error: io::Error| Failure::input(format_args!("{}: {error}", file.display()));
    let source = fs::read(file).map_err(|error| cannot(file, error))?;
    let specification = match &arguments.property {
        Some(property) => fs::read_to_string(property).map_err(|error| cannot(property, error))?,
        None => "CHECK( init(main()), LTL(G ! call(reach_error())) )".to_string(),
    };
    let shown = file.display().to_string();
    let about = About { file: &shown, source: &source, specification: &specification };
    let answer = answer::answer(&subject.lifted.program, report, None);
    match answer.witness(about) {
        Some(text) => fs::write(to, text).map_err(|error| cannot(to, error)),
        None => Ok(()),
    }
}

fn read(file: &Path) -> Result<Subject, Failure> {
    let shown = file.display();
    let text = fs::read_to_string(file)
        .map_err(|error| Failure::input(format_args!("{shown}: {error}")))?;
    let program = parse(&text).map_err(|error| Failure::input(format_args!("{shown}: {error}")))?;
    validate(&program).map_err(|error| Failure::input(format_args!("{shown}: {error}")))?;
    let lifted = Lifted { program, ..Lifted::default() };
    Ok(Subject { lifted, native: None, indeterminate: false, one_input: false })
}

fn compile_all(arguments: &VerifyArguments, asked: Option<&Asked>) -> Result<Subject, Failure> {
    let folder = Folder::create()?;
    let (mut objects, mut paths) = (Vec::new(), Vec::new());
    for (number, file) in arguments.files.iter().enumerate() {
        let shown = file.display();
        if !file.is_file() {
            return Err(Failure::input(format_args!("{shown}: no such file")));
        }
        let object = folder.path().join(format!("{number}.o"));
        compile::object(file, &arguments.flags, &object).map_err(|said| {
            Failure::input(format_args!("{shown} cannot be compiled:\n{said}"))
                .hint("arguments for the compiler follow --, as in: verify a.c -- -Iinclude")
        })?;
        let bytes = fs::read(&object)
            .map_err(|error| Failure::input(format_args!("{}: {error}", object.display())))?;
        objects.push((shown.to_string(), bytes));
        paths.push(object);
    }
    // Every property file comes with the conventions of tasks.
    let error = asked.map(|asked| asked.call.as_deref().unwrap_or("reach_error"));
    let lifted = lift(&objects, error).map_err(|error| {
        let names: Vec<&str> = objects.iter().map(|(name, _)| name.as_str()).collect();
        Failure::input(format_args!("{}: {error}", names.join(", ")))
    })?;
    let flags = arguments.flags.clone();
    let native = Some(Native { folder, how: Started::Linked { objects: paths, flags } });
    Ok(Subject { lifted, native, indeterminate: true, one_input: false })
}

fn tell(
    subject: &Subject,
    checked: &[Property],
    report: &Report,
    replayed: &Replayed,
    writer: &mut dyn Write,
) -> io::Result<()> {
    let program = &subject.lifted.program;
    tell_verdict(subject, checked, &report.verdict, replayed, writer)?;
    if let Some(besides) = &report.besides {
        let others: Vec<Property> =
            checked.iter().copied().filter(|&property| property != Property::Race).collect();
        if !others.is_empty() {
            write!(writer, "besides, for sequentially consistent executions only: ")?;
            tell_verdict(subject, &others, besides, replayed, writer)?;
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
    let unasked = asks_locks.then_some("destroying a lock that is in use");
    let missing: Vec<&str> = missing.into_iter().chain(unasked).collect();
    writeln!(writer, "not checked: {}", missing.join(", "))?;
    let mut assumed = vec!["sequentially consistent memory"];
    if subject.indeterminate {
        assumed.extend([
            "signed overflow wraps",
            "threads and memory can always be had",
            "waits may wake up spuriously",
        ]);
    }
    if has_weaker_orders(program) {
        assumed.push("atomic operations of weaker orders order as if they were seq_cst");
    }
    if subject.one_input {
        assumed.push("code that is not instrumented touches memory only where it is called");
    }
    writeln!(writer, "assumed: {}", assumed.join("; "))
}

/// Whether an atomic operation asks for less than sequential consistency.
fn has_weaker_orders(program: &Program) -> bool {
    let orders = program.functions.iter().flat_map(|function| function.instructions()).map(
        |(_, _, instruction)| match instruction.op {
            Op::Load { order, .. }
            | Op::Store { order, .. }
            | Op::Rmw { order, .. }
            | Op::CompareExchange { order, .. }
            | Op::Fence { order } => order,
            _ => MemoryOrder::Plain,
        },
    );
    let is_strong = |order: MemoryOrder| matches!(order, MemoryOrder::Plain | MemoryOrder::SeqCst);
    orders.into_iter().any(|order| !is_strong(order))
}

fn tell_verdict(
    subject: &Subject,
    checked: &[Property],
    verdict: &Verdict,
    replayed: &Replayed,
    writer: &mut dyn Write,
) -> io::Result<()> {
    let program = &subject.lifted.program;
    let place = |site: Site| match program.location(site) {
        Some(location) => location.to_string(),
        None => program.function(site.function).name.clone(),
    };
    let list = |writer: &mut dyn Write, open: &[Open]| -> io::Result<()> {
        for Open { reason, site } in open {
            match site {
                Some(site) => writeln!(writer, "  {}: {reason}", place(*site))?,
                None => writeln!(writer, "  {reason}")?,
            }
        }
        Ok(())
    };
    match verdict {
        Verdict::Bug(bug) => tell_bug(program, bug, replayed, writer),
        Verdict::Proved => {
            let scope = match subject.one_input {
                true => "no schedule of this program with this input",
                false => "no schedule and no input",
            };
            let excluded: Vec<&str> = checked.iter().map(|&property| excluded(property)).collect();
            writeln!(writer, "proved: {scope} {}", excluded.join(", or "))
        }
        Verdict::UpTo { bound, open } => {
            writeln!(writer, "no bug up to bound {bound}; these loops may go on beyond it:")?;
            list(writer, open)
        }
        Verdict::Unknown(open) => {
            let name = if subject.one_input { "inconclusive" } else { "unknown" };
            writeln!(writer, "{name}:")?;
            list(writer, open)
        }
    }
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

fn tell_bug(
    program: &Program,
    bug: &Bug,
    replayed: &Replayed,
    writer: &mut dyn Write,
) -> io::Result<()> {
    writeln!(writer, "bug: {}", bug.violation.describe(program))?;
    match replayed {
        Replayed::Confirmed(ending) => {
            writeln!(writer, "replayed on the compiled program, which {ending}; the schedule:")?;
        }
        Replayed::Not(reason) | Replayed::Diverged(reason) => {
            writeln!(writer, "checked by the interpreter, not replayed ({reason}); the schedule:")?;
        }
    }
    let width = bug.steps.iter().map(|step| step.thread.len()).max().unwrap_or(0);
    for step in &bug.steps {
        let kind = if is_indeterminate(program, step.site) { "uninitialised" } else { "input" };
        let input = step.input.map_or(String::new(), |value| format!("   [{kind} {value}]"));
        let what = describe(program, step.site);
        writeln!(writer, "  {:width$}  {what}{input}", step.thread)?;
    }
    Ok(())
}

/// Whether a step gives memory or a variable that is not initialised its value.
fn is_indeterminate(program: &Program, site: Site) -> bool {
    let op = program.instruction(site).map(|instruction| &instruction.op);
    matches!(op, Some(Op::External { name, .. }) if name == "indeterminate")
}
