//! `bench classes`: whole predictions where millions of conflicting pairs fall into few classes.

use super::{Bench, Measured};
use crate::shell::Stop;

/// Shapes with their lengths; see `benches/src/classes.rs`.
const SHAPES: [(&str, usize); 2] = [("hammer", 10_000), ("wide", 75_000)];
const LOCKINGS: [&str; 3] = ["racy", "guarded", "handed"];

pub(super) fn classes(bench: &Bench, quick: bool) -> Result<(), Stop> {
    let shapes = if quick { &SHAPES[..1] } else { &SHAPES[..] };
    println!(
        "{:<24}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}",
        "trace", "pairs", "prepare", "predict", "violated", "infeas.", "undecided"
    );
    for &(shape, events) in shapes {
        for locking in LOCKINGS {
            for values in ["plain", "values"] {
                let kind = format!("{shape}-{locking}-{values}");
                let measured = bench.measure("predict", &bench.trace(&kind, events)?)?;
                print_row(&kind, &measured);
            }
        }
    }
    Ok(())
}

fn print_row(kind: &str, measured: &Measured) {
    let seconds = |name: &str| format!("{:.3} s", measured[name] as f64 / 1e9);
    println!(
        "{kind:<24}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}",
        measured["pairs"],
        seconds("prepare"),
        seconds("predict"),
        measured["violated"],
        measured["infeasible"],
        measured["undecided"]
    );
}
