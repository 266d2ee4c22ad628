//! `bench verify`: the C programs of `examples/verify`, verified without a run.
//!
//! **Computes.** For each row of `expected.txt`: verdict, threads, shared accesses, the largest
//! bound of a loop, and the CPU seconds from the program form to the verdict (compiling and
//! replaying are not in them, since they are not ours); beside it the seconds of paper 003, Fig. 3,
//! where it has the program, what we set ourselves, and z3 on the same question (assertions up to
//! the same bound, in the paper's form, without reductions of reads and words).

use std::fs;
use std::path::Path;
use std::process::Command;

use super::Bench;
use crate::shell::{Stop, release_build, root};
use crate::tools;

/// How long we may take for a row, and z3.
const SECONDS: u64 = 60;
const REFERENCE_SECONDS: u64 = 20;
/// How many times as fast as z3 we want to be, in the geometric mean.
const RATIO: f64 = 50.0;
const VERDICTS: [&str; 4] = ["proved", "bug", "open", "unknown"];

/// What we set ourselves, in seconds, and what paper 003 needs.
const GOALS: [(&str, &str, f64, Option<f64>); 6] = [
    ("fib.c", "-", 0.15, None),
    ("stack.c", "-", 0.5, None),
    ("qrcu.c", "-", 0.05, None),
    ("indexer.c", "-DTHREADS=32", 1.0, Some(104.0)),
    ("account.c", "-DTHREADS=20", 0.5, Some(10.0)),
    ("synchbench.c", "-", 0.2, Some(3.0)),
];

pub(super) fn verify(bench: &Bench, quick: bool) -> Result<(), Stop> {
    tools::ensure_for_benchmarks()?;
    let foretrace = release_build()?;
    let folder = root().join(".bench").join("verify");
    fs::create_dir_all(&folder)
        .map_err(|error| Stop::usage(format!("{}: {error}", folder.display())))?;
    let examples = root().join("examples/verify");
    let expected = fs::read_to_string(examples.join("expected.txt"))
        .map_err(|error| Stop::usage(format!("expected.txt: {error}")))?;
    println!(
        "{:<30} {:<8} {:>7} {:>8} {:>5} {:>8} {:>7} {:>7} {:>8} {:>7}",
        "program",
        "verdict",
        "threads",
        "accesses",
        "bound",
        "seconds",
        "goal",
        "paper",
        "z3",
        "ratio"
    );
    let (mut logs, mut rows, mut missed, mut wrong) = (0.0, 0u32, 0u32, 0u32);
    for line in expected.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [program, flags, verdict, tier] = words[..] else { continue };
        if quick && tier != "quick" {
            continue;
        }
        let form = folder.join("program.ftp");
        print_program(&foretrace, &examples, program, flags, &form)?;
        let measured = bench.measure_with("verify", &form, &[&SECONDS.to_string()])?;
        let value = |name: &str| measured.get(name).copied().unwrap_or(0);
        let said = VERDICTS.get(value("verdict") as usize).copied().unwrap_or("?");
        let seconds = value("time") as f64 / 1e6;
        let goal = GOALS.iter().find(|goal| (goal.0, goal.1) == (program, flags));
        missed += u32::from(goal.is_some_and(|goal| seconds > goal.2));
        wrong += u32::from(said != verdict);
        let other = z3(bench, &form)?;
        let ratio = other.map(|other| other / seconds.max(1e-4));
        if let Some(ratio) = ratio {
            logs += ratio.ln();
            rows += 1;
        }
        let number = |value: Option<f64>, digits: usize| {
            value.map_or("-".to_string(), |value| format!("{value:.digits$}"))
        };
        println!(
            "{:<30} {said:<8} {:>7} {:>8} {:>5} {seconds:>8.3} {:>7} {:>7} {:>8} {:>7}",
            format!("{program} {flags}"),
            value("threads"),
            value("accesses"),
            value("bound"),
            number(goal.map(|goal| goal.2), 2),
            number(goal.and_then(|goal| goal.3), 0),
            number(other, 2),
            number(ratio, 0),
        );
    }
    let mean = if rows == 0 { 0.0 } else { (logs / f64::from(rows)).exp() };
    let holds = if mean >= RATIO { "holds" } else { "MISSED" };
    println!("verify: {missed} goals missed, {wrong} verdicts differ from expected.txt");
    println!(
        "verify: x {mean:.0} z3 in the geometric mean of the {rows} rows that it answers in {REFERENCE_SECONDS} s (goal x {RATIO:.0}: {holds})"
    );
    Ok(())
}

/// The program form of a C program.
fn print_program(
    foretrace: &Path,
    folder: &Path,
    program: &str,
    flags: &str,
    form: &Path,
) -> Result<(), Stop> {
    let mut command = Command::new(foretrace);
    command.args(["verify", "--print-program", program, "--"]).current_dir(folder);
    command.args(flags.split(',').filter(|flag| *flag != "-"));
    let output = command.output().map_err(|error| Stop::usage(format!("foretrace: {error}")))?;
    if !output.status.success() {
        return Err(Stop::failed(format!("{program} {flags} cannot be compiled")));
    }
    fs::write(form, output.stdout).map_err(|error| Stop::usage(format!("the form: {error}")))
}

/// The seconds that z3 takes for the question; `None` if it does not answer.
fn z3(bench: &Bench, form: &Path) -> Result<Option<f64>, Stop> {
    let mut export = Command::new(&bench.program);
    export.arg("verify-smtlib").arg(form).arg(SECONDS.to_string());
    let question = export.output().map_err(|error| Stop::usage(format!("bench: {error}")))?;
    let path = form.with_extension("smt2");
    fs::write(&path, question.stdout).map_err(|error| Stop::usage(format!("smt2: {error}")))?;
    let mut command = Command::new(&bench.program);
    command.args(["reference", "run", "z3", &format!("-T:{REFERENCE_SECONDS}")]).arg(&path);
    let output = command.output().map_err(|error| Stop::usage(format!("z3: {error}")))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let used = String::from_utf8_lossy(&output.stderr);
    let used = used.lines().find_map(|line| line.strip_prefix("cpu ")?.strip_suffix(" ns"));
    let seconds = used.and_then(|used| used.parse::<f64>().ok()).map(|used| used / 1e9);
    let answers = said.starts_with("sat") || said.starts_with("unsat");
    Ok(seconds.filter(|_| answers))
}
