//! Imports recordings: what our runtime wrote inside the user's process becomes a trace. It does
//! not know models or solvers. `docs/recording.md` has the format.
//!
//! **Computes.** A valid trace, in which every event knows which visible operation of its thread it
//! is. A scheduled recording is in its order already; for a free-running one `order` finds an order
//! that explains the values. Then two passes over the records: the first finds out which bytes more
//! than one thread touches, the second makes events of what touches those, and of all
//! synchronisation.
//!
//! **Invariant.** Accesses that touch one byte during one life of its memory are in one object at
//! one offset. An access is left out only where no other thread touches its bytes. What the rules
//! of a trace do not allow is left out with a note, and behind it stands a *pin*: a read of
//! `unexplained` with an unknown writer, which keeps everything recorded before it before it, and
//! makes findings behind it `possible` only.
//!
//! **Cost.** Linear in the recording. Memory for the bytes that are touched and alive, 4 bytes per
//! 8, and for the trace.
//!
//! | file | what it does |
//! | --- | --- |
//! | `chunks` | header and streams |
//! | `tables` | sites, globals, names |
//! | `names` | what the programmer calls memory |
//! | `code` | what the modules' code is |
//! | `records` | the words of one record |
//! | `order` | the order of a free-running recording |
//! | `search` | which accesses explain a load there |
//! | `objects` | which object an address is in |
//! | `shadow` | which words more than one thread touches |
//! | `image` | what memory holds |
//! | `sync` | locks, condition variables, semaphores, barriers: who holds what |
//! | `calls` | calls on channels: which of them matter |
//! | `streams` | which writes the reads of a pipe depend on |
//! | `feeds` | which calls wait until others feed them |
//! | `inputs` | what came from outside, for replays |
//! | `contents` | what memory holds at first, and whether reads see what it holds |
//! | `survey`, then `emit`, `emit_life`, `emit_sync`, `closing` | the two passes |
//! | `emit_names` | what objects, locks and the like are called |
//! | `emit_walk` | what a walk along the recorded paths adds |
//! | `together` | several recordings of one program |
//! | `loaded` | code and variables of the process, for verification |
//! | `open` | a trace in whatever format it is |

#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod calls;
mod chunks;
mod closing;
mod code;
mod contents;
mod emit;
mod emit_life;
mod emit_names;
mod emit_sync;
mod emit_walk;
mod feeds;
mod handed;
mod image;
mod inputs;
mod loaded;
mod names;
mod objects;
mod open;
mod order;
mod pages;
mod reach;
mod records;
mod search;
mod shadow;
mod streams;
mod survey;
mod sync;
mod tables;
#[cfg(test)]
mod tests;
mod together;

pub use loaded::loaded;
pub use open::{Format, is_recording, open, open_as, open_until};
pub use together::{parse_together, read_together};

use std::fs::File;
use std::path::Path;

use foretrace_rewalk::Walker;
use foretrace_trace::import::{ImportError, Position, Problem};
use foretrace_trace::{Deadline, Trace};
use records::Limit;

/// The first bytes of a recording.
pub const MAGIC: [u8; 8] = foretrace_recording::file::MAGIC;

/// Reads the recording at a path; a walk adds what threads computed.
pub fn read(path: &Path, walk: Option<&mut Walker>) -> Result<Trace, ImportError> {
    read_until(path, walk, Deadline::NEVER)
}

/// The same, or the first part of it for which there is time.
pub fn read_until(
    path: &Path,
    walk: Option<&mut Walker>,
    deadline: Deadline,
) -> Result<Trace, ImportError> {
    let io = |error: std::io::Error| Problem::Io(error).at(Position::File).in_file(path);
    let file = File::open(path).map_err(io)?;
    if file.metadata().map_err(io)?.len() == 0 {
        return parse_until(&[], walk, deadline).map_err(|error| error.in_file(path));
    }
    // SAFETY: the map is read-only. If the process that writes it still runs, records appear behind
    // those that are there, or bytes change while they are read: each number is checked where it is
    // used, so that gives an error or other numbers, never more. A process that shortens the file
    // meanwhile ends this one with a bus error.
    let map = unsafe { memmap2::Mmap::map(&file) }.map_err(io)?;
    parse_until(&map, walk, deadline).map_err(|error| error.in_file(path))
}

/// Reads the bytes of a recording.
pub fn parse(bytes: &[u8], walk: Option<&mut Walker>) -> Result<Trace, ImportError> {
    parse_until(bytes, walk, Deadline::NEVER)
}

/// The shares of the time that is left for the search for chunks, for the order of a free-running
/// recording, for the survey, and for the events; the rest is for the end.
const SHARES: [f64; 4] = [0.15, 0.4, 0.3, 0.9];

/// Reads the first part of the bytes for which there is time. The survey sees at least as much of
/// the recording as becomes events, so these are the first events of the trace that a process
/// leaves which is killed where the survey ends.
fn parse_until(
    bytes: &[u8],
    walk: Option<&mut Walker>,
    deadline: Deadline,
) -> Result<Trace, ImportError> {
    let [found, ordered, surveyed, emitted] = SHARES;
    let recording = chunks::Recording::parse(bytes, deadline.share(found))?;
    let tables = tables::Tables::parse(&recording)?;
    let order = order::Order::find(&recording, deadline.share(ordered))?;
    let limit = |share: f64| Limit { records: u64::MAX, deadline: deadline.share(share) };
    let survey = survey::Survey::of(&recording, &tables, &order, limit(surveyed))?;
    let emit = emit::Emit::new(&recording, &tables, &survey, walk);
    emit.trace(&order, limit(emitted)).map(|(trace, _)| trace)
}
