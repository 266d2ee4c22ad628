//! The parts of `cargo xtask bench` that compare with a solver of SMT-LIB. Times are CPU time: what
//! else the machine does counts little.
//!
//! `reference decide FILE MODEL VIOLATION [OPTION...]` asks z3 one question; VIOLATION is
//! `race:EVENT,EVENT`, `assertion:EVENT` or, of the only one, `assertion`. Where there is no
//! answer, there is no line `feasible`. `reference races FILE` lists the pairs of accesses that
//! conflict and share no lock. `reference run PROGRAM ARGUMENT...` runs a program and says on
//! standard error what it used.
//!
//! | option | meaning |
//! | --- | --- |
//! | `bound=N` | at most N context switches |
//! | `times=N` | the same question so many times, in one process of z3; the answers are not looked at |
//! | `limit=S` | seconds of CPU time that z3 may take |
//! | `variables` | no summaries: a variable for whatever a thread computes |
//! | `eager` | no pruning: each read linked with all writes of its cell |

mod races;
mod usage;

use std::io::Write;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use foretrace_reference::{Limits, Options, SolverCommand, SolverError, decode, encode, smtlib};
use foretrace_trace::open;
use foretrace_trace::{EventId, Op, Trace};
use foretrace_verdict::{Model, Violation};

use crate::Outcome;
use usage::{of_children, of_this_process};

/// Formulas with more orders are not made: z3 does not even read them within a minute.
const MOST_ORDERS: u64 = 20_000_000;

pub(crate) fn reference(arguments: &[&str]) -> Outcome {
    match *arguments {
        ["decide", file, model, violation, ref options @ ..] => {
            decide(file, model, violation, options)
        }
        ["races", file] => races::list(file),
        _ => Err("usage: reference decide FILE MODEL VIOLATION [OPTION...] | races FILE | run PROGRAM ARGUMENT...".into()),
    }
}

fn decide(file: &str, model: &str, violation: &str, options: &[&str]) -> Outcome {
    let trace = open(file)?.trace;
    let violation = parse_violation(&trace, violation)
        .ok_or("a violation is `assertion`, `assertion:1` or `race:1,2`")?;
    let model = Model::ALL.into_iter().find(|one| one.name() == model).ok_or("no such model")?;
    let (mut limit, mut times) = (60, 1);
    let mut asked = Options::new(model);
    for option in options {
        match option.split_once('=').unwrap_or((option, "")) {
            ("bound", number) => asked.bound = Some(number.parse()?),
            ("limit", seconds) => limit = seconds.parse()?,
            ("times", number) => times = number.parse()?,
            ("variables", "") => asked.summarise = false,
            ("eager", "") => asked.prune = false,
            _ => return Err(format!("no option `{option}`").into()),
        }
    }
    println!("events {} events", trace.len());
    println!("threads {} threads", trace.threads().len());
    println!("reads {} events", trace.accesses().filter(|(_, access)| access.reads).count());
    println!("writes {} events", trace.accesses().filter(|(_, access)| access.writes).count());
    if orders(&trace) > MOST_ORDERS {
        println!("too-large 1");
        return Ok(());
    }
    let before = of_this_process();
    let formula = match encode(&trace, &violation, &asked) {
        Ok(formula) => formula,
        Err(unsupported) => {
            eprintln!("{file}: {unsupported}");
            return Ok(());
        }
    };
    let mut text = Vec::new();
    smtlib::write(&formula, &mut text)?;
    println!("encode {} ns", (of_this_process() - before).as_nanos());
    println!("size {} bytes", text.len());
    if times > 1 {
        return ask_again(&text, times, limit);
    }
    drop(text);
    // The system ends z3 when it has used its time; how long that takes depends on what else the
    // machine does.
    let z3 = SolverCommand::parse(&format!("sh -c 'ulimit -t {limit}; exec z3 -in'"))?;
    let answer = z3.solve(&formula, Limits { time: Duration::from_secs(10 * limit) });
    println!("solve {} ns", of_children().as_nanos());
    match answer {
        Ok(Some(assignment)) => {
            decode::schedule(&formula, &assignment);
            println!("feasible 1");
        }
        Ok(None) => println!("feasible 0"),
        Err(SolverError::OutOfTime { .. } | SolverError::Killed { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// Asks the same question again and again, in one process of z3 that forgets everything in between.
fn ask_again(text: &[u8], times: u32, limit: u64) -> Outcome {
    let mut z3 = Command::new("sh")
        .args(["-c", &format!("ulimit -t {limit}; exec z3 -in")])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()?;
    let mut input = z3.stdin.take().expect("it is piped");
    for _ in 0..times {
        input.write_all(b"(reset)\n")?;
        input.write_all(text)?;
    }
    drop(input);
    z3.wait()?;
    println!("solve {} ns", of_children().as_nanos());
    Ok(())
}

/// How many orders the π-functions of the reads have at most.
fn orders(trace: &Trace) -> u64 {
    let mut counts = std::collections::BTreeMap::new();
    for (_, access) in trace.accesses() {
        let (reads, writes): &mut (u64, u64) = counts.entry(access.at).or_default();
        *reads += u64::from(access.reads);
        *writes += u64::from(access.writes);
    }
    counts.values().map(|(reads, writes)| 2 * reads * writes * writes).sum()
}

fn parse_violation(trace: &Trace, text: &str) -> Option<Violation> {
    let event = |text: &str| text.parse().ok().map(EventId);
    if text == "assertion" {
        let is_one = |(_, op): &(EventId, Op)| matches!(op, Op::Assert { .. });
        let mut all = trace.other_ops().filter(is_one);
        let only = all.next().filter(|_| all.next().is_none())?;
        return Some(Violation::Assertion(only.0));
    }
    match text.split_once(':')? {
        ("assertion", number) => Some(Violation::Assertion(event(number)?)),
        ("race", pair) => {
            let (a, b) = pair.split_once(',')?;
            Some(Violation::Race(event(a)?, event(b)?))
        }
        _ => None,
    }
}

/// Runs a program; its status is ours.
pub(crate) fn run(program: &str, arguments: &[&str]) -> ExitCode {
    match Command::new(program).args(arguments).status() {
        Ok(status) => {
            eprintln!("cpu {} ns", of_children().as_nanos());
            ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(255))
        }
        Err(error) => {
            eprintln!("bench: cannot run {program}: {error}");
            ExitCode::from(255)
        }
    }
}
