//! The program behind `cargo xtask bench rewalk`: `import walk FILE` imports a recording and walks
//! along its paths, `import plain FILE` only imports it. It prints what that took, a line
//! `name value unit` each, and the facts of the walk on standard error.

use std::path::Path;
use std::process::ExitCode;

use foretrace_importer::read;
use foretrace_rewalk::Walker;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (walks, file) = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["walk", file] => (true, file),
        ["plain", file] => (false, file),
        _ => {
            eprintln!("usage: import walk|plain FILE");
            return ExitCode::FAILURE;
        }
    };
    let mut walker = Walker::default();
    let trace = match read(Path::new(file), walks.then_some(&mut walker)) {
        Ok(trace) => trace,
        Err(error) => {
            eprintln!("import: {file}: {error}");
            return ExitCode::FAILURE;
        }
    };
    println!("time {} ns", time_used());
    let (records, instructions, branches) = walker.followed();
    println!("records {records} records");
    println!("instructions {instructions} instructions");
    println!("branches {branches} branches");
    println!("events {} events", trace.len());
    println!("memory {} bytes", peak_memory());
    for (fact, count) in walker.facts() {
        eprintln!("{fact:?} = {count}");
    }
    ExitCode::SUCCESS
}

/// The time that this thread has run on a core, in nanoseconds; 0 where it is not known.
fn time_used() -> u64 {
    // The kernel brings the count up to date when the thread gives its core away.
    std::thread::yield_now();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|time| time.parse().ok()).unwrap_or(0)
}

/// The most memory that this process has had, in bytes; 0 where it is not known.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = peak.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1024
}
