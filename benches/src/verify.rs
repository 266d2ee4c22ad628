//! One verification of a program in the program form, and the same question as SMT-LIB 2.

use std::path::Path;
use std::time::{Duration, Instant};

use foretrace_program::parse;
use foretrace_verify::{Options, Verdict, reference, verify};

use crate::Outcome;

/// What takes less than this is measured again, and the least time counts.
const SHORT: Duration = Duration::from_millis(200);
const TIMES: usize = 5;

/// How a C program is verified, up to so many seconds.
fn options(seconds: u64) -> Options {
    let deadline = Some(Instant::now() + Duration::from_secs(seconds));
    Options { deadline, indeterminate: true, ..Options::default() }
}

/// Verifies, and prints what that took: CPU time, of all threads.
pub(crate) fn decide(path: &Path, seconds: u64) -> Outcome {
    let program = parse(&std::fs::read_to_string(path)?)?;
    let mut least = Duration::MAX;
    for _ in 0..TIMES {
        let before = used();
        let report = verify(&program, &options(seconds));
        let time = used() - before;
        if time < least {
            least = time;
            let verdict = match report.verdict {
                Verdict::Proved => 0,
                Verdict::Bug(_) => 1,
                Verdict::UpTo { .. } => 2,
                Verdict::Unknown(_) => 3,
            };
            println!("verdict {verdict} number");
            println!("bound {} turns", report.size.bound);
            println!("threads {} threads", report.size.threads);
            println!("accesses {} accesses", report.size.accesses);
            println!("time {} us", least.as_micros());
        }
        if time > SHORT {
            break;
        }
    }
    Ok(())
}

/// Prints the question, for z3.
pub(crate) fn export(path: &Path, seconds: u64) -> Outcome {
    let program = parse(&std::fs::read_to_string(path)?)?;
    print!("{}", reference(&program, &options(seconds)));
    Ok(())
}

/// CPU time of this process.
fn used() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock is one that Linux has, and the time is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
