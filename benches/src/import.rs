//! `cargo xtask bench rewalk`: what an import takes with and without the walk along the recorded
//! paths; the facts of the walk go to standard error.

use std::path::Path;

use foretrace_importer::read;
use foretrace_rewalk::Walker;

use crate::Outcome;
use crate::clock::{Clock, peak_memory};

/// Imports a recording; `walks`: along its paths as well.
pub(crate) fn import(file: &Path, walks: bool) -> Outcome {
    let clock = Clock::new();
    let mut walker = Walker::default();
    let trace = read(file, walks.then_some(&mut walker))?;
    println!("time {} ns", clock.used().as_nanos());
    let (records, instructions, branches) = walker.followed();
    println!("records {records} records");
    println!("instructions {instructions} instructions");
    println!("branches {branches} branches");
    println!("events {} events", trace.len());
    println!("memory {} bytes", peak_memory());
    for (fact, count) in walker.facts() {
        eprintln!("{fact:?} = {count}");
    }
    Ok(())
}
