//! Several recordings of one program, read so that their traces can be merged.
//!
//! **Computes.** One trace for each recording. A word that more than one thread touches, in one
//! recording or in different ones, is shared in all of them; and what is the same memory in
//! different recordings has the same name.
//!
//! **Follows.** What is the same: a global variable by its name; the stack of a thread by its
//! lineage (which child of which thread it is); a block of the heap by the lineage of the thread
//! that asked for it, the place where, and how many that thread had asked for there; all else by
//! its address, which is the same in runs that `foretrace run` starts.
//!
//! **Invariant.** An access is left out only where no other thread touches its bytes in any of the
//! recordings.
//!
//! **Cost.** The surveys of all recordings at once: 4 bytes per 8 bytes that are touched, also of
//! memory that was given back.

use std::fs::File;
use std::path::Path;

use foretrace_rewalk::Walker;
use foretrace_trace::import::{ImportError, Position, Problem};
use foretrace_trace::{Deadline, Trace};
use rustc_hash::{FxHashMap, FxHashSet};

use super::chunks::Recording;
use super::emit::Emit;
use super::objects::{Found, What};
use super::order::Order;
use super::records::Limit;
use super::shadow::Shadow;
use super::survey::Survey;
use super::tables::Tables;

/// How often recordings are read to find the objects that addresses range over: what is found in
/// one pass may show more in the next.
const PASSES: usize = 4;

/// Reads recordings of one program; a walk adds what threads computed in each of them.
///
/// If addresses are to `range` over their objects, the traces have all accesses to objects in which
/// an address depends on what was read.
pub fn read_together(paths: &[&Path], range: bool) -> Result<Vec<(Trace, Walker)>, ImportError> {
    let mut maps = Vec::new();
    for path in paths {
        let io = |error: std::io::Error| Problem::Io(error).at(Position::File).in_file(path);
        let file = File::open(path).map_err(io)?;
        let map = match file.metadata().map_err(io)?.len() {
            0 => None,
            // SAFETY: as in `read`.
            _ => Some(unsafe { memmap2::Mmap::map(&file) }.map_err(io)?),
        };
        maps.push(map);
    }
    let bytes: Vec<&[u8]> = maps.iter().map(|map| map.as_deref().unwrap_or_default()).collect();
    parse_together(&bytes, range).map_err(|(number, error)| error.in_file(paths[number]))
}

/// Reads the bytes of recordings; an error is told with the number of its recording.
pub fn parse_together(
    all: &[&[u8]],
    range: bool,
) -> Result<Vec<(Trace, Walker)>, (usize, ImportError)> {
    let mut parsed = Vec::new();
    for (number, bytes) in all.iter().enumerate() {
        let parts = || {
            let recording = Recording::parse(bytes, Deadline::NEVER)?;
            let tables = Tables::parse(&recording)?;
            let order = Order::find(&recording, Deadline::NEVER)?;
            Ok((recording, tables, order))
        };
        parsed.push(parts().map_err(|error| (number, error))?);
    }
    let is_other = |(_, tables, _): &(_, Tables, _)| !tables.is_same_program(&parsed[0].1);
    if let Some(other) = parsed.iter().position(is_other) {
        let problem = Problem::Unsupported("recordings of different programs together".into());
        return Err((other, problem.at(Position::File)));
    }
    let mut surveys = Vec::new();
    for (number, (recording, tables, order)) in parsed.iter().enumerate() {
        surveys.push(Survey::of_all(recording, tables, order).map_err(|error| (number, error))?);
    }
    let mut keys = Keys::default();
    let known: Vec<FxHashMap<u32, u32>> = parsed
        .iter()
        .zip(&surveys)
        .map(|((_, tables, _), survey)| {
            let found = survey.found.iter();
            found.map(|(&object, found)| (object, keys.number(object_key(tables, found)))).collect()
        })
        .collect();
    let mut union = Shadow::default();
    for (((_, tables, _), survey), known) in parsed.iter().zip(&surveys).zip(&known) {
        let threads: FxHashMap<u32, u32> = survey
            .threads
            .keys()
            .map(|&thread| (thread, keys.number(tables.lineage(thread))))
            .collect();
        union.join(&survey.shadow, known, &threads);
    }
    for (survey, known) in surveys.iter_mut().zip(&known) {
        survey.shadow.share_as(&union, known);
    }
    let mut whole: FxHashSet<u32> = FxHashSet::default();
    for pass in 1.. {
        let (mut traces, mut found) = (Vec::new(), whole.clone());
        for (number, (recording, tables, order)) in parsed.iter().enumerate() {
            let mut walker = Walker::default();
            let walk = Some(&mut walker);
            let emit = Emit::new(recording, tables, &surveys[number], walk).together();
            let (trace, ranged_over) =
                emit.trace(order, Limit::ALL).map_err(|error| (number, error))?;
            traces.push((trace, walker));
            found.extend(ranged_over.iter().filter_map(|object| known[number].get(object)));
        }
        if !range || found.len() == whole.len() || pass == PASSES {
            return Ok(traces);
        }
        whole = found;
        for (survey, known) in surveys.iter_mut().zip(&known) {
            let is_whole = |(_, key): &(&u32, &u32)| whole.contains(key);
            survey.whole = known.iter().filter(is_whole).map(|(&object, _)| object).collect();
            survey.shadow.share_whole(&survey.whole);
        }
    }
    unreachable!("the last pass returns")
}

/// What an object is called in all recordings.
fn object_key(tables: &Tables, found: &Found) -> String {
    match found.what {
        What::Global(at) => format!("global {}", tables.globals[at].name),
        What::Heap(block) => {
            let place = tables.place(block.site).ok().flatten();
            let place = place.map_or(String::new(), |place| place.show());
            format!("heap {} {} {place}", tables.lineage(block.thread), block.nth)
        }
        What::Stack(thread) => format!("stack {}", tables.lineage(thread)),
        What::Region => format!("region {:#x}", found.start),
    }
}

/// Numbers for texts.
#[derive(Default)]
struct Keys(FxHashMap<String, u32>);

impl Keys {
    fn number(&mut self, text: String) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(text).or_insert(next)
    }
}
