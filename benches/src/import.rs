//! `cargo xtask bench rewalk`: what an import takes with and without the walk along the recorded
//! paths; the facts of the walk go to standard error.

use std::path::Path;

use foretrace_rewalk::Walker;
use foretrace_trace::import::recording::{Code, Seen, Told, Walk, read};
use foretrace_trace::provenance::Walked;

use crate::Outcome;
use crate::clock::{Clock, peak_memory};

/// Imports a recording; `walks`: along its paths as well.
pub(crate) fn import(file: &Path, walks: bool) -> Outcome {
    let clock = Clock::new();
    let mut counting = Counting { walker: Walker::default(), records: 0 };
    let walk: Option<&mut dyn Walk> = if walks { Some(&mut counting) } else { None };
    let trace = read(file, walk)?;
    println!("time {} ns", clock.used().as_nanos());
    println!("records {} records", counting.records);
    let (instructions, branches) = counting.walker.followed();
    println!("instructions {instructions} instructions");
    println!("branches {branches} branches");
    println!("events {} events", trace.len());
    println!("memory {} bytes", peak_memory());
    for (fact, count) in counting.walker.facts() {
        eprintln!("{fact:?} = {count}");
    }
    Ok(())
}

/// A walk that counts what it is shown.
struct Counting {
    walker: Walker,
    records: u64,
}

impl Walk for Counting {
    fn module(&mut self, code: &Code<'_>) {
        self.walker.module(code);
    }

    fn follow(&mut self, thread: u32, seen: Seen, told: &mut Told) {
        self.records += 1;
        self.walker.follow(thread, seen, told);
    }

    fn again(&mut self) {
        self.walker.again();
    }

    fn facts(&self) -> Vec<(Walked, u64)> {
        self.walker.facts()
    }
}
