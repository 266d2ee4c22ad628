//! How fast the way from a file to the candidates is, phase by phase.

use std::path::Path;
use std::time::Duration;

use foretrace_predict::{Options, Stage, prepare};
use foretrace_trace::{binary, validate::validate};

use crate::Outcome;
use crate::clock::{Clock, peak_memory};

/// Reads, checks and prepares the trace and prints what each phase took.
pub(crate) fn front(path: &Path) -> Outcome {
    let clock = Clock::new();
    let mut before = clock.used();
    let mut phase = |name: &str| -> Duration {
        let now = clock.used();
        let time = now - std::mem::replace(&mut before, now);
        println!("{name} {} ns", time.as_nanos());
        time
    };
    let trace = binary::read(path)?;
    let mut total = phase("read");
    validate(&trace).map_err(|invalid| invalid.to_string())?;
    total += phase("validate");
    let prepared = prepare(&trace, &Options::default(), &mut |stage| {
        total += phase(match stage {
            Stage::Skeleton => "skeleton",
            Stage::MustHappenBefore => "must-happen-before",
            Stage::Locksets => "locksets",
            Stage::Candidates => "candidates",
        });
    });
    println!("total {} ns", total.as_nanos());
    println!("memory {} bytes", peak_memory());
    println!("events {} events", trace.len());
    println!("candidates-listed {} classes", prepared.candidates());
    Ok(())
}
