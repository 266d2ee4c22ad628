//! `foretrace verify`: decides all schedules and inputs of a program without running it.

mod native;
mod property;
mod recorded;

use std::fs;
use std::io;
use std::path::Path;
use std::time::Instant;

use foretrace_findings::{Replayed, Verified};
use foretrace_lift::{ANY, Lifted, lift};
use foretrace_program::{Op, Site, parse, print, validate};
use foretrace_report::verified::{About, Answer};
use foretrace_verdict::Property;
use foretrace_verify::{Bug, Open, Options, Verdict, verify};

use crate::args::{VERIFIED, VerifyArguments};
use crate::compile;
use crate::failure::{Failure, Status};
use crate::folder::Folder;
use crate::output;
use crate::predict::style;
use crate::{interrupt, sources};
use native::{Native, Started};
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

impl Subject {
    /// Which calls give values that the program may never get.
    fn outside(&self) -> fn(&str) -> bool {
        if self.one_input { |name| name != "indeterminate" } else { |name| name.starts_with(ANY) }
    }
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
        overflows: subject.lifted.overflows.clone(),
        asks_overflow: arguments.overflow,
        lock_errors: asks(Property::Lock),
        races: asks(Property::Race),
        deadlocks: asks(Property::Deadlock),
        unwind: arguments.unwind,
        deadline: Some(started + arguments.budget),
        stop: interrupt::STOP.flag(),
        instructions: (arguments.memory / BYTES_PER_INSTRUCTION).max(1000),
        indeterminate: subject.indeterminate,
        outside: subject.outside(),
        walks: !arguments.no_replay,
        ..Options::default()
    };
    let options = asked.iter().fold(options, |options, asked| asked.choose(options));
    interrupt::listen();
    let missing = asked.as_ref().and_then(|asked| asked.missing).map(str::to_string);
    let doubts = missing.into_iter().chain(subject.lifted.doubts.iter().cloned());
    let doubts: Vec<Open> = doubts.map(|reason| Open { reason, site: None }).collect();
    let answer = |options: &Options| {
        let mut report = verify(&subject.lifted.program, options);
        for verdict in [Some(&mut report.verdict), report.besides.as_mut()].into_iter().flatten() {
            if let (Verdict::Proved | Verdict::UpTo { .. }, false) = (&verdict, doubts.is_empty()) {
                *verdict = Verdict::Unknown(doubts.clone());
            }
        }
        let replayed = replay(&subject, &report.verdict, arguments.no_replay)?;
        Ok::<_, Failure>((report, replayed))
    };
    let (mut report, mut replayed) = answer(&options)?;
    let is_confirmed = matches!(replayed, Replayed::Confirmed(_)) || subject.native.is_none();
    if report.by_walk && !is_confirmed {
        // Walks have addresses as the interpreter makes them up; unfolding knows of all others.
        (report, replayed) = answer(&Options { walks: false, ..options.clone() })?;
    }
    // What is outside of the program, or is not modelled, may never give such values.
    let outside = match (&report.verdict, &replayed) {
        (Verdict::Bug(bug), Replayed::Not(why) | Replayed::Diverged(why)) => {
            given_from_outside(&subject, bug).map(|given| (given, why, bug))
        }
        _ => None,
    };
    if let Some(((name, site), why, bug)) = outside {
        let what = bug.violation.describe(&subject.lifted.program);
        let reason = format!(
            "this is possible if {name} may be what it would have to be, but it was not replayed \
             ({why}): {what}"
        );
        report.verdict = Verdict::Unknown(vec![Open { reason, site: Some(site) }]);
        report.besides = None;
    } else if let Replayed::Diverged(what) = &replayed {
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
    let verified = Verified {
        program: &subject.lifted.program,
        checked: &checked,
        options: &options,
        report: &report,
        replayed: &replayed,
        one_input: subject.one_input,
    };
    if let Some(file) = &arguments.witness {
        write_witness(arguments, &verified.answer(None), file)?;
    }
    let property = asked.as_ref().map(|asked| asked.name.as_str());
    let mut told = verified.told();
    told.iter_mut().for_each(sources::attach);
    let style = style(arguments.full_schedule);
    output::to_stdout(|writer| match arguments.json {
        true => writeln!(writer, "{}", verified.answer(property).json()),
        false => {
            verified.write(told.as_ref(), style, writer)?;
            let result = property.map(|property| verified.result(property));
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
        let is_doubtful = subject.outside();
        let op = subject.lifted.program.instruction(step.site).map(|instruction| &instruction.op);
        match op {
            Some(Op::External { name, .. }) if is_doubtful(name) && step.input.is_some() => {
                Some((name.clone(), step.site))
            }
            _ => None,
        }
    })
}

/// Forces the schedule of a bug on the compiled program, if there is one.
fn replay(subject: &Subject, verdict: &Verdict, no_replay: bool) -> Result<Replayed, Failure> {
    Ok(match (verdict, &subject.native) {
        (Verdict::Bug(bug), Some(native)) if !no_replay => {
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
fn write_witness(arguments: &VerifyArguments, answer: &Answer, to: &Path) -> Result<(), Failure> {
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
    let asks_overflow = arguments.overflow || asked.is_some_and(|asked| asked.overflow);
    let (mut objects, mut paths) = (Vec::new(), Vec::new());
    for (number, file) in arguments.files.iter().enumerate() {
        let shown = file.display();
        if !file.is_file() {
            return Err(Failure::input(format_args!("{shown}: no such file")));
        }
        let object = folder.path().join(format!("{number}.o"));
        compile::object(file, &arguments.flags, &object, asks_overflow).map_err(|said| {
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
