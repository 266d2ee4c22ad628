//! Export to STD, the text format of RAPID.
//!
//! **Computes.** One line per event. STD has no word for many events, and the first of these is
//! named in the error; nothing is left out or said in another way.
//!
//! **Invariant.** What is written means the same trace without its values: a read has to see the
//! write that it saw. An atomic access written as `r` or `w` would race, a successful try-lock
//! written as `acq` would block, two halves of a read-modify-write could be parted: hence these are
//! refused. Declarations are not written; they matter only to what is refused, or for a lock that
//! is declared not recursive, to an error that STD's readers do not look for.
//!
//! **Cost.** Two passes: STD's objects are cells, so the places of an object must not overlap.

use std::io::{self, Write};

use rustc_hash::FxHashMap;

use crate::{
    EventId, MemoryOrder, Mode, Names, ObjectId, Op, Patience, Place, Request, ThreadId, Trace, ops,
};

/// Why a trace cannot be written as STD.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// STD has no word for it.
    #[error("event {}: STD cannot say {what}", event.0)]
    Inexpressible {
        /// The first event that cannot be written.
        event: EventId,
        /// What it is.
        what: &'static str,
    },
    /// Two accesses overlap without touching the same bytes.
    #[error(
        "event {}: its place overlaps another one of `{object}` in part; STD's objects are \
         indivisible", event.0
    )]
    Overlap {
        /// The access.
        event: EventId,
        /// The name of the object.
        object: String,
    },
    /// A name would not be read back.
    #[error(
        "event {}: STD cannot write the name `{name}`; a name is not empty and has no `|`, \
         parenthesis or line break", event.0
    )]
    Name {
        /// The event that uses the name.
        event: EventId,
        /// The name.
        name: String,
    },
    /// The output could not be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Writes a trace as STD.
pub fn write_std(trace: &Trace, out: &mut dyn Write) -> Result<(), ExportError> {
    let cells = Cells::new(trace)?;
    for (id, event) in trace.events() {
        let thread = name(trace.threads(), event.thread.index(), id)?;
        let location = match event.location {
            Some(location) => {
                let text = trace.name(location);
                // A location may have parentheses, as in `f(int):3`: the field ends with the line.
                if text.is_empty() || text.contains(['|', '\n', '\r']) {
                    return Err(ExportError::Name { event: id, name: text.to_string() });
                }
                text
            }
            None => "",
        };
        let child = |child: ThreadId| name(trace.threads(), child.index(), id);
        let operation = match word(&event.op) {
            Ok(word) => word,
            Err(what) => return Err(ExportError::Inexpressible { event: id, what }),
        };
        match event.op {
            Op::Read { at, .. } | Op::Write { at, .. } => {
                let object = name(trace.objects(), at.object.index(), id)?;
                let suffix = cells.suffix(at);
                let cell = format!("{object}{suffix}");
                // A cell must not share its name with another object.
                if !suffix.is_empty() && trace.objects().find(&cell).is_some() {
                    return Err(ExportError::Name { event: id, name: cell });
                }
                write!(out, "{thread}|{operation}({cell})|")?;
            }
            Op::Acquire { lock, .. }
            | Op::Release { lock, .. }
            | Op::Request(Request::Acquire(lock, _)) => {
                let lock = name(trace.locks(), lock.index(), id)?;
                write!(out, "{thread}|{operation}({lock})|")?;
            }
            Op::Fork { child: thread_id } | Op::Join { child: thread_id } => {
                write!(out, "{thread}|{operation}({})|", child(thread_id)?)?;
            }
            ops!(object data cond sem barrier call mark Rmw AcquireFailed Destroy Request Begin End
                Exit) => write!(out, "{thread}|{operation}|")?,
        }
        writeln!(out, "{location}")?;
    }
    Ok(())
}

/// STD's word for an operation, or what the operation is that STD has no word for.
fn word(op: &Op) -> Result<&'static str, &'static str> {
    use MemoryOrder::Plain;
    use Mode::Exclusive;
    use Patience::Blocking;
    match op {
        Op::Read { order: Plain, .. } => Ok("r"),
        Op::Write { order: Plain, .. } => Ok("w"),
        Op::Read { .. } | Op::Write { .. } => Err("an atomic access"),
        Op::Rmw { .. } => Err("a read-modify-write"),
        Op::Acquire { mode: Exclusive, patience: Blocking, .. } => Ok("acq"),
        Op::Release { mode: Exclusive, .. } => Ok("rel"),
        Op::Request(Request::Acquire(_, Exclusive)) => Ok("req"),
        Op::Acquire { mode: Exclusive, .. } => Err("a try-lock or timed lock"),
        Op::Acquire { .. } | Op::Release { .. } | Op::Request(Request::Acquire(..)) => {
            Err("a shared hold")
        }
        Op::AcquireFailed { .. } => Err("a lock that was not acquired"),
        Op::Request(_) => Err("a request of anything but a lock"),
        Op::Fork { .. } => Ok("fork"),
        Op::Join { .. } => Ok("join"),
        Op::Begin => Ok("begin"),
        Op::End => Ok("end"),
        Op::Branch { .. } | Op::Assert { .. } | Op::Assume { .. } => Err("a condition"),
        Op::Destroy { .. } => Err("the end of a lock"),
        Op::Wait { .. } | Op::Wake { .. } | Op::Signal { .. } | Op::Broadcast { .. } => {
            Err("a condition variable")
        }
        Op::SemWait { .. } | Op::SemWaitFailed { .. } | Op::SemPost { .. } => Err("a semaphore"),
        Op::Arrive { .. } | Op::Leave { .. } => Err("a barrier"),
        Op::Exit => Err("the end of the process"),
        Op::Alloc { .. } | Op::Free { .. } => Err("an allocation"),
        Op::RegionBegin | Op::RegionEnd => Err("an atomic region"),
        Op::Fence { .. } => Err("a fence"),
        Op::External => Err("an external call"),
        Op::EnterCall { .. } | Op::LeaveCall => Err("a call on channels"),
        Op::Let => Err("a local variable"),
    }
}

fn name(names: &Names, index: usize, event: EventId) -> Result<&str, ExportError> {
    let name = names.get(index);
    if name.is_empty() || name.contains(['|', '(', ')', '\n', '\r']) {
        return Err(ExportError::Name { event, name: name.to_string() });
    }
    Ok(name)
}

/// The places of each object, sorted and disjoint.
struct Cells {
    places: FxHashMap<ObjectId, Vec<Place>>,
}

impl Cells {
    fn new(trace: &Trace) -> Result<Cells, ExportError> {
        let mut places: FxHashMap<ObjectId, Vec<(Place, EventId)>> = FxHashMap::default();
        for (id, event) in trace.events() {
            if let Some(access) = event.op.access() {
                let known = places.entry(access.at.object).or_default();
                if known.last().is_none_or(|&(last, _)| last != access.at) {
                    known.push((access.at, id));
                }
            }
        }
        let mut cells = FxHashMap::default();
        for (object, mut places) in places {
            places.sort();
            places.dedup_by_key(|&mut (place, _)| place);
            if let Some(pair) = places.windows(2).find(|pair| pair[0].0.overlaps(pair[1].0)) {
                let object = trace.name(object).to_string();
                return Err(ExportError::Overlap { event: pair[0].1.max(pair[1].1), object });
            }
            cells.insert(object, places.into_iter().map(|(place, _)| place).collect());
        }
        Ok(Cells { places: cells })
    }

    /// What tells the places of one object apart: nothing if there is one only.
    fn suffix(&self, at: Place) -> String {
        match self.places.get(&at.object) {
            Some(places) if places.len() > 1 => format!("[{}..{}]", at.offset, at.end()),
            _ => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::write_std;
    use crate::import::rapidstd;
    use crate::{Event, MemoryOrder, Op, Place, Trace};

    fn export(trace: &Trace) -> Result<String, String> {
        let mut out = Vec::new();
        write_std(trace, &mut out).map_err(|error| error.to_string())?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn std_survives_the_way_there_and_back() {
        let text = "A|w(x)|1\nA|fork(B)|f(int):2\nB|begin|3\nB|req(m)|\nB|acq(m)|4\nB|r(x)|5\n\
                    B|rel(m)|7\nB|end|8\nA|join(B)|9\n";
        assert_eq!(export(&rapidstd::parse(text.as_bytes()).unwrap()).unwrap(), text);
    }

    fn with_places(places: &[(u32, u32)]) -> Trace {
        let mut builder = Trace::builder();
        let (thread, object) = (builder.thread("t"), builder.object("x"));
        for &(offset, size) in places {
            let at = Place { object, offset, size };
            let op = Op::Read { at, value: None, order: MemoryOrder::Plain };
            builder.push(Event { thread, op, location: None });
        }
        builder.finish()
    }

    #[test]
    fn disjoint_places_become_cells_and_overlapping_ones_are_refused() {
        assert_eq!(export(&with_places(&[(4, 4), (4, 4)])).unwrap(), "t|r(x)|\nt|r(x)|\n");
        let two = export(&with_places(&[(4, 4), (0, 4)])).unwrap();
        assert_eq!(two, "t|r(x[4..8])|\nt|r(x[0..4])|\n");
        let overlap = export(&with_places(&[(0, 4), (8, 1), (2, 4)])).unwrap_err();
        assert!(overlap.starts_with("event 2: its place overlaps another one of `x` in part"));
    }

    #[test]
    fn what_std_cannot_say_is_named() {
        let mut builder = Trace::builder();
        let thread = builder.thread("t");
        builder.push(Event { thread, op: Op::Begin, location: None });
        builder.push(Event { thread, op: Op::External, location: None });
        let error = export(&builder.finish()).unwrap_err();
        assert_eq!(error, "event 1: STD cannot say an external call");

        let mut builder = Trace::builder();
        let thread = builder.thread("a|b");
        builder.push(Event { thread, op: Op::Begin, location: None });
        assert!(export(&builder.finish()).unwrap_err().contains("cannot write the name `a|b`"));
    }
}
