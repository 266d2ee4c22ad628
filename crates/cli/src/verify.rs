//! `foretrace verify`: decides all schedules and inputs of a program without running it.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use foretrace_lift::lift;
use foretrace_program::text::describe;
use foretrace_program::{Program, Site, parse, print, validate};
use foretrace_verify::{Bug, Open, Options, Report, Verdict, verify};

use crate::args::VerifyArguments;
use crate::compile;
use crate::failure::{Failure, Status};
use crate::output::{self, Folder};

/// An unfolded instruction takes about so many bytes.
const BYTES_PER_INSTRUCTION: u64 = 2048;

/// A program to verify.
struct Subject {
    program: Program,
    /// Whether new memory is indeterminate.
    indeterminate: bool,
    /// What clang says about variables that may be read before they are initialised.
    warnings: Vec<String>,
}

pub(crate) fn run(arguments: &VerifyArguments) -> Result<Status, Failure> {
    let started = Instant::now();
    let subject = match &arguments.files[..] {
        [file] if file.extension().is_some_and(|extension| extension == "ftp") => read(file)?,
        _ => compile_all(arguments)?,
    };
    if arguments.print_program {
        output::to_stdout(|writer| write!(writer, "{}", print(&subject.program)))?;
        return Ok(Status::Nothing);
    }
    let options = Options {
        unwind: arguments.unwind,
        deadline: Some(started + arguments.budget),
        instructions: (arguments.memory / BYTES_PER_INSTRUCTION).max(1000),
        indeterminate: subject.indeterminate,
        ..Options::default()
    };
    let mut report = verify(&subject.program, &options);
    if let (Verdict::Proved | Verdict::UpTo { .. }, false) =
        (&report.verdict, subject.warnings.is_empty())
    {
        let reasons = subject.warnings.iter().map(|warning| Open {
            reason: format!("a variable may be read before it is initialised: {warning}"),
            site: None,
        });
        report.verdict = Verdict::Unknown(reasons.collect());
    }
    output::to_stdout(|writer| tell(&subject, &report, writer))?;
    Ok(match report.verdict {
        Verdict::Bug(_) => Status::Found,
        Verdict::Proved => Status::Nothing,
        Verdict::UpTo { .. } | Verdict::Unknown(_) => Status::Uncertain,
    })
}

fn read(file: &Path) -> Result<Subject, Failure> {
    let shown = file.display();
    let text = fs::read_to_string(file)
        .map_err(|error| Failure::input(format_args!("{shown}: {error}")))?;
    let program = parse(&text).map_err(|error| Failure::input(format_args!("{shown}: {error}")))?;
    validate(&program).map_err(|error| Failure::input(format_args!("{shown}: {error}")))?;
    Ok(Subject { program, indeterminate: false, warnings: Vec::new() })
}

fn compile_all(arguments: &VerifyArguments) -> Result<Subject, Failure> {
    let folder = Folder::create()?;
    let (mut objects, mut warnings) = (Vec::new(), Vec::new());
    for (number, file) in arguments.files.iter().enumerate() {
        let shown = file.display();
        if !file.is_file() {
            return Err(Failure::input(format_args!("{shown}: no such file")));
        }
        let object = folder.path().join(format!("{number}.o"));
        let said = compile::object(file, &arguments.flags, &object).map_err(|said| {
            Failure::input(format_args!("{shown} cannot be compiled:\n{said}"))
                .hint("arguments for the compiler follow --, as in: verify a.c -- -Iinclude")
        })?;
        warnings.extend(said.lines().filter(|line| line.contains("uninitialized]")).map(|line| {
            line.split(" [").next().unwrap_or(line).replace("warning: ", "").to_string()
        }));
        let bytes = fs::read(&object)
            .map_err(|error| Failure::input(format_args!("{}: {error}", object.display())))?;
        objects.push((shown.to_string(), bytes));
    }
    let lifted = lift(&objects).map_err(|error| {
        let names: Vec<&str> = objects.iter().map(|(name, _)| name.as_str()).collect();
        Failure::input(format_args!("{}: {error}", names.join(", ")))
    })?;
    Ok(Subject { program: lifted.program, indeterminate: true, warnings })
}

fn tell(subject: &Subject, report: &Report, writer: &mut dyn Write) -> io::Result<()> {
    let program = &subject.program;
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
    match &report.verdict {
        Verdict::Bug(bug) => tell_bug(program, bug, writer)?,
        Verdict::Proved => writeln!(
            writer,
            "proved: no schedule and no input violates an assertion, misuses a lock or accesses \
             memory outside of live objects"
        )?,
        Verdict::UpTo { bound, open } => {
            writeln!(writer, "no bug up to bound {bound}; these loops may go on beyond it:")?;
            list(writer, open)?;
        }
        Verdict::Unknown(open) => {
            writeln!(writer, "unknown:")?;
            list(writer, open)?;
        }
    }
    let size = report.size;
    writeln!(
        writer,
        "{} threads, {} instructions, {} shared accesses; not checked: data races, deadlocks",
        size.threads, size.instructions, size.accesses
    )?;
    let mut assumed = vec!["sequentially consistent memory"];
    if subject.indeterminate {
        assumed.extend([
            "signed overflow wraps",
            "threads and memory can always be had",
            "waits may wake up spuriously",
        ]);
    }
    writeln!(writer, "assumed: {}", assumed.join("; "))
}

fn tell_bug(program: &Program, bug: &Bug, writer: &mut dyn Write) -> io::Result<()> {
    writeln!(writer, "bug: {}", bug.violation.describe(program))?;
    writeln!(writer, "checked by the interpreter, not replayed; the schedule:")?;
    let width = bug.steps.iter().map(|step| step.thread.len()).max().unwrap_or(0);
    for step in &bug.steps {
        let input = step.input.map_or(String::new(), |value| format!("   [input {value}]"));
        let what = describe(program, step.site);
        writeln!(writer, "  {:width$}  {what}{input}", step.thread)?;
    }
    Ok(())
}
