//! `bench front`: reading, validation, skeleton, must-happen-before, locksets and candidates.
//!
//! **Computes.** For each length of trace the time of each phase in nanoseconds of one core per
//! event, the throughput of all together, the most memory per event, and how the time per event
//! grows with the length.

use super::{Bench, Measured};
use crate::shell::Stop;

const SIZES: [usize; 3] = [100_000, 1_000_000, 10_000_000];
const RUNS: usize = 3;
const PHASES: [&str; 7] =
    ["read", "validate", "skeleton", "must-happen-before", "locksets", "candidates", "total"];

pub(super) fn front(bench: &Bench, quick: bool) -> Result<(), Stop> {
    let sizes = if quick { &SIZES[..2] } else { &SIZES[..] };
    let mut columns = Vec::new();
    for &size in sizes {
        let trace = bench.trace("program", size)?;
        let mut best: Option<Measured> = None;
        for _ in 0..RUNS {
            let measured = bench.measure("front", &trace)?;
            if best.as_ref().is_none_or(|best| measured["total"] < best["total"]) {
                best = Some(measured);
            }
        }
        columns.extend(best);
    }
    print_row("events", columns.iter().map(|column| column["events"].to_string()));
    println!("nanoseconds of one core per event (best of {RUNS} runs)");
    for phase in PHASES {
        print_row(phase, columns.iter().map(|column| format!("{:.1}", per_event(column, phase))));
    }
    let million_per_second = |column| 1000.0 / per_event(column, "total");
    let speeds = columns.iter().map(|column| format!("{:.2}", million_per_second(column)));
    print_row("million events/s", speeds);
    let memory = columns.iter().map(|column| format!("{:.1}", per_event(column, "memory")));
    print_row("peak bytes/event", memory);
    let growth = columns.iter().enumerate().map(|(at, column)| match at {
        0 => String::new(),
        _ => {
            let before = per_event(&columns[at - 1], "total");
            format!("x {:.2}", per_event(column, "total") / before)
        }
    });
    print_row("growth per event", growth);
    Ok(())
}

fn per_event(measured: &Measured, name: &str) -> f64 {
    measured[name] as f64 / measured["events"] as f64
}

fn print_row(name: &str, cells: impl Iterator<Item = String>) {
    let cells: String = cells.map(|cell| format!(" {cell:>12}")).collect();
    println!("{name:<20}{cells}");
}
