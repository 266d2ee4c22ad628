//! Recovers from the recorded path of each thread what it computed. It does not know models,
//! solvers, or what the trace is used for.
//!
//! **Computes.** For each thread, along its recorded path through the program's image: what stored
//! values, addresses, branches and assertions are in terms of what the thread read from memory that
//! others touch too. What goes through registers and through memory that only this thread touches
//! is substituted away.
//!
//! **Follows.** `docs/image.md`; papers 000 sections 3.1 and 9, 003 section 3; `docs/recording.md`
//! says what becomes of it.
//!
//! **Invariant.** Whatever is not expressed is guarded: before a value that depends on reads is
//! used as a number (as an address, as an argument of code that is not instrumented, where a
//! computation is not modelled), the trace has a branch that says that what it depends on is as in
//! the recorded run. A thread whose path is lost is opaque from there on: nothing that it has read
//! may change. So a wrong guess of the walk costs findings, never adds any, as long as what it says
//! of a value is true; every value that a record knows as well is compared.
//!
//! **Cost.** Linear in the instructions on the paths.
//!
//! | file | what it does |
//! | --- | --- |
//! | `told` | what the walk is shown, and what it tells |
//! | `terms` | values in terms of reads, and their expressions |
//! | `sharing` | equal terms are one |
//! | `expressions` | how operations are written in the trace |
//! | `memory` | what memory of one thread holds |
//! | `libraries` | what is known of functions that are not instrumented |
//! | `stacks` | the calls that a thread is inside of |
//! | `thread` | one thread: frames, what it waits for, guards |
//! | `run` | instructions that need no record |
//! | `simple` | those that only compute |
//! | `records` | records, and the instructions that made them |
//! | `calls` | functions that begin, code that is left and come back to, exceptions |
//! | `updates` | operations that read and write in one step |
//! | `copies` | copies and accesses of many bytes |

mod calls;
mod copies;
mod counts;
mod expressions;
mod libraries;
mod memory;
mod records;
mod run;
mod sharing;
mod simple;
mod stacks;
mod terms;
#[cfg(test)]
mod tests;
mod thread;
mod told;
mod updates;

use std::collections::BTreeMap;
use std::ops::Range;

use counts::Counts;
use foretrace_image::Function;
use foretrace_trace::provenance::Walked;
use rustc_hash::FxHashMap;
use stacks::Stacks;
use thread::Thread;

pub use foretrace_image::Code;
pub use told::{Extent, Seen, Sharing, Told, WalkStep};

/// A walk along the paths of all threads of a recording.
#[derive(Default)]
pub struct Walker {
    program: Program,
    threads: FxHashMap<u32, Thread>,
    counts: Counts,
    stacks: Stacks,
}

/// What all threads run.
#[derive(Default)]
struct Program {
    functions: Vec<Function>,
    /// By address, and by what records call them.
    by_address: FxHashMap<u64, u32>,
    /// Constants by address.
    constants: BTreeMap<u64, Vec<u8>>,
    /// The first address of a constant, and the first behind all.
    constant_range: Range<u64>,
    /// Addresses of sites in system headers: first, behind the last, which.
    systems: Vec<(u64, u64, Vec<bool>)>,
}

impl Program {
    /// The function at an address.
    fn at(&self, address: u64) -> Option<u32> {
        self.by_address.get(&address).copied()
    }

    /// Whether a record with site `seen` may come from an instruction at `site`.
    fn may_be(&self, seen: u64, site: u64) -> bool {
        seen == site || site == 0 || self.is_system(site)
    }

    fn is_system(&self, site: u64) -> bool {
        let module = self.systems.iter().find(|(first, end, _)| (*first..*end).contains(&site));
        module.is_some_and(|(first, _, which)| {
            which.get(((site - first) / 16) as usize).copied().unwrap_or(false)
        })
    }

    /// Takes a constant. Where a module was loaded in place of another, nobody knows which of the
    /// two it was.
    fn add_constant(&mut self, address: u64, bytes: &[u8]) {
        let end = address.saturating_add(bytes.len() as u64);
        self.constant_range = match self.constant_range.is_empty() {
            true => address..end,
            false => self.constant_range.start.min(address)..self.constant_range.end.max(end),
        };
        let before = self.constants.range(..end).next_back();
        let overlapping = before.filter(|(start, old)| *start + old.len() as u64 > address);
        match overlapping.map(|(start, old)| (*start, old == bytes)) {
            None => _ = self.constants.insert(address, bytes.to_vec()),
            Some((start, true)) if start == address => {}
            Some((start, _)) => _ = self.constants.remove(&start),
        }
    }

    /// Bytes of a constant, if all are known.
    fn constant(&self, address: u64, size: u64) -> Option<&[u8]> {
        if !self.constant_range.contains(&address) {
            return None;
        }
        let (&start, bytes) = self.constants.range(..=address).next_back()?;
        let from = usize::try_from(address - start).ok()?;
        bytes.get(from..from.checked_add(usize::try_from(size).ok()?)?)
    }
}

impl Walker {
    /// Of each assertion that a branch of the thread became, in their order: which of the thread's
    /// outcomes it is, from 0.
    pub fn assertions(&self, thread: u32) -> &[u64] {
        self.threads.get(&thread).map_or(&[], |thread| &thread.assertions)
    }

    /// Records, instructions of the image that were followed between them, and branches among
    /// these.
    pub fn followed(&self) -> (u64, u64, u64) {
        (self.counts.records, self.counts.instructions, self.counts.branches)
    }

    /// Code that the records may run. All modules come before the first record.
    pub fn module(&mut self, code: &Code<'_>) {
        let program = &mut self.program;
        let end = code.sites_base + 16 * code.is_system.len() as u64;
        program.systems.push((code.sites_base, end, code.is_system.clone()));
        code.constants.iter().for_each(|(address, bytes)| program.add_constant(*address, bytes));
        let Some(functions) = foretrace_image::decode(code) else {
            self.counts.broken_images += 1;
            return;
        };
        for mut function in functions {
            function.is_system = program.is_system(function.first_site());
            let number = program.functions.len() as u32;
            for address in [function.identity, function.address] {
                if address != 0 {
                    program.by_address.entry(address).or_insert(number);
                }
            }
            program.functions.push(function);
        }
    }

    /// The innermost call of [`Told::callers`], a site, and the calls inside which it was made;
    /// `None` if there is none.
    pub fn call(&self, callers: u32) -> Option<(u32, u64)> {
        self.stacks.call(callers)
    }

    /// How many functions with an image the thread is in, and how many of them so far code without
    /// one has called; `None` if nothing is known of its path.
    pub fn depth(&self, thread: u32) -> Option<(usize, u64)> {
        let Some(thread) = self.threads.get(&thread) else { return Some((0, 0)) };
        (!thread.is_lost()).then_some((thread.frames.len(), thread.callbacks))
    }

    /// A record of a thread, in program order. `told` is empty.
    pub fn follow(&mut self, number: u32, seen: Seen, told: &mut Told) {
        self.counts.records += 1;
        if let Seen::Alloc { address, size } | Seen::Free { address, size } = seen {
            let end = address.saturating_add(size);
            self.threads.values_mut().for_each(|thread| thread.forget(address, end));
        }
        if let Seen::Fork { child } = seen
            && let Some(start) = self.threads.get(&number).and_then(|one| one.start.clone())
        {
            self.threads.entry(child).or_default().start = Some(start);
        }
        let thread = self.threads.entry(number).or_default();
        thread.follow(&self.program, &mut self.counts, &mut self.stacks, seen, told);
    }

    /// What the walk has to say of itself, with counts.
    pub fn facts(&self) -> Vec<(Walked, u64)> {
        self.counts.facts()
    }
}
