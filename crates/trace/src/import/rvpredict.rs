//! RV-Predict's LLVM recorder: a directory with one `N_trace.bin` per thread and its metadata.
//!
//! **Computes.** A trace *with values* from records of 37 little-endian bytes: event id i64, thread
//! i64, location i32, address i64, value i64, type u8. The event ids of all files together are the
//! recorded total order, but for racing accesses (8).
//!
//! **Follows.** `EventType` of `runtimeverification/rv-predict`, with these decisions:
//!
//! 1. *Sizes* are not recorded. The newer recorder writes one record per byte; then all values are
//!    below 256, and each address is an object of one byte. The older one writes one record per
//!    access; then each address is an object of eight bytes, one indivisible cell, and accesses
//!    that overlap at different addresses are not known to. This is what RV-Predict assumes as
//!    well. A read that saw such an overlapping write mostly differs from the last write that we
//!    know of, and then the unknown-writer rule keeps everything before it in place.
//! 2. *Atomics.* The recorder writes an atomic access as a plain one between lock and unlock of a
//!    pseudo-lock, and it stays so: two of them exclude each other, so they do not race. The types
//!    2 to 4 are not meant for files; an atomic read or write (2, 3) is taken as such, an atomic
//!    read-modify-write (4) without values, for which of its two the value is is not known: then
//!    it has to see the same write as recorded.
//! 3. *Waits* (9, 10) name the lock only, and notifications are not recorded. So what ends a wait
//!    is not known, and everything that was recorded before the end of the wait has to stay before
//!    it. A wait becomes a release of the whole hold, a read with an unknown writer, which demands
//!    just that, and an acquire. Findings behind it are *possible*, not *real*.
//! 4. *Class initialisation* (13, 14) orders threads in ways that are not recorded: refused.
//! 5. *Calls and returns* (15, 16) have no effect and are left out, except behind a request (17),
//!    where they show that the thread went on.
//! 6. A *request* does not say its mode: that of the acquire that follows it in its thread. Without
//!    one it is exclusive if the lock is never taken shared; else nothing is known and it becomes
//!    an external call.
//! 7. *A lock's own memory.* The recorder sees its own interceptors read the word inside a mutex
//!    that holds its state, but not the writes of it. What a lock does is said by acquire and
//!    release; its memory is left out, and counted.
//! 8. *Racing accesses.* An event id is taken near an access, not atomically with it. `rvorder`
//!    puts racing accesses whose values refute the order of their ids into one that explains them.
//!
//! **Invariant.** An event id that is missing or there twice, a thread's ids out of order, a broken
//! mutual exclusion: all are errors, for an event may be lost, and with it an order.
//!
//! **Cost.** O(n log n) for the sorting.

use std::fs;
use std::path::Path;

use rustc_hash::{FxHashMap, FxHashSet};

use super::rvmeta::{Cell, Texts};
use super::rvorder::{self, Access, Bond, RecordView};
use super::{ImportError, Position, Problem};
use crate::provenance::{LeftOut, Repair};
use crate::{
    Builder, Event, LocationId, LockId, MemoryOrder, Mode, ObjectId, Op, Patience, Place, Request,
    ThreadId, Trace,
};

/// How the files of the single threads are called.
pub const TRACE_SUFFIX: &str = "_trace.bin";

const RECORD: usize = 37;

/// A wait is written out as this many releases at most, which bounds what a record can grow to.
const DEEPEST_WAIT: u32 = 255;

/// Reads a trace from a directory.
pub fn read(directory: &Path) -> Result<Trace, ImportError> {
    let io_error = |error: std::io::Error| Problem::Io(error).at(Position::File).in_file(directory);
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).map_err(io_error)? {
        let path = entry.map_err(io_error)?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        if name.is_some_and(|name| name.ends_with(TRACE_SUFFIX)) {
            files.push(path);
        }
    }
    // The directory's own order is the file system's; the trace must not depend on it.
    files.sort();
    if files.is_empty() {
        let expected = "files called 0_trace.bin, 1_trace.bin, …";
        let problem = Problem::syntax("a directory without traces", expected);
        return Err(problem.at(Position::File).in_file(directory));
    }
    let load = |path: &Path| {
        fs::read(path).map_err(|error| Problem::Io(error).at(Position::File).in_file(path))
    };
    let mut records = Vec::new();
    for file in &files {
        parse_records(&load(file)?, &mut records).map_err(|error| error.in_file(file))?;
    }
    let texts = |name: &str| {
        let path = directory.join(name);
        if !path.exists() {
            return Texts::parse(&[]);
        }
        Texts::parse(&load(&path)?).map_err(|error| error.in_file(&path))
    };
    let (variables, locations) = (texts("var_metadata.bin")?, texts("loc_metadata.bin")?);
    merge(records, &variables, &locations).map_err(|error| error.in_file(directory))
}

#[derive(Clone, Copy, Debug)]
struct Record {
    id: i64,
    thread: i64,
    location: i32,
    address: u64,
    value: u64,
    kind: u8,
}

fn parse_records(bytes: &[u8], records: &mut Vec<Record>) -> Result<(), ImportError> {
    let (whole, rest) = bytes.as_chunks::<RECORD>();
    if !rest.is_empty() {
        let at = Position::Byte((bytes.len() - rest.len()) as u64);
        let found = format!("the file ends after {} bytes of a record", rest.len());
        return Err(Problem::syntax(found, "records of 37 bytes").at(at));
    }
    let mut last = None;
    for (number, record) in whole.iter().enumerate() {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| record[at + byte]));
        let record = Record {
            id: word(0) as i64,
            thread: word(8) as i64,
            location: i32::from_le_bytes(std::array::from_fn(|byte| record[16 + byte])),
            address: word(20),
            value: word(28),
            kind: record[36],
        };
        if last.is_some_and(|last| last >= record.id) {
            let broken = format!("event {} follows event {}", record.id, last.unwrap_or(0));
            let rule = "the event ids of a thread are its program order and increase";
            return Err(Problem::rule(broken, rule).at(Position::Byte((number * RECORD) as u64)));
        }
        last = Some(record.id);
        records.push(record);
    }
    Ok(())
}

fn merge(
    mut records: Vec<Record>,
    variables: &Texts,
    locations: &Texts,
) -> Result<Trace, ImportError> {
    records.sort_by_key(|record| record.id);
    for pair in records.windows(2) {
        if pair[0].id.checked_add(1) != Some(pair[1].id) {
            let broken = format!("event {} is followed by event {}", pair[0].id, pair[1].id);
            let rule = "the event ids of all threads together count up by one; an event is lost";
            return Err(Problem::rule(broken, rule).at(Position::File));
        }
    }
    if records.len() >= u32::MAX as usize / 2 {
        return Err(Problem::Unsupported("more than 2^31 events".into()).at(Position::File));
    }
    let byte_wise = records.iter().all(|record| !is_access(record.kind) || record.value < 256);
    let mut merger = Merger {
        variables,
        locations,
        size: if byte_wise { 1 } else { 8 },
        builder: super::imported(),
        objects: FxHashMap::default(),
        locks: FxHashMap::default(),
        names: FxHashSet::default(),
        holds: FxHashMap::default(),
        waiting: FxHashMap::default(),
        last: FxHashMap::default(),
    };
    if !byte_wise {
        let cells = records.iter().filter(|record| is_access(record.kind)).count();
        merger.builder.tell(Repair::AccessWithoutSize, cells as u64);
    }
    for record in &records {
        merger.last.insert(record.thread, record.id);
    }
    let lock_cells: FxHashSet<Cell> = records
        .iter()
        .filter(|record| matches!(record.kind, 5..=10 | 17))
        .map(|record| variables.cell(record.address))
        .collect();
    let (order, repaired) = rvorder::explain(&steps(&records, variables, &lock_cells));
    if repaired > 0 {
        merger.builder.tell(Repair::RacingAccesses, repaired);
        records = order.into_iter().map(|number| records[number as usize]).collect();
    }
    let requests = modes_of_requests(&records, variables);
    for (number, record) in records.iter().enumerate() {
        let request = requests.get(&number).copied();
        if is_access(record.kind) && lock_cells.contains(&variables.cell(record.address)) {
            merger.builder.tell(LeftOut::LockMemory, 1);
            continue;
        }
        merger.push(record, request).map_err(|mut problem| {
            if let Problem::Rule { broken, .. } = &mut problem {
                *broken = format!("at event {}, {broken}", record.id);
            }
            problem.at(Position::File)
        })?;
    }
    Ok(merger.builder.finish())
}

fn is_access(kind: u8) -> bool {
    kind <= 4
}

/// The records as `rvorder` sees them. Accesses that are left out are nothing there either.
fn steps(records: &[Record], variables: &Texts, left_out: &FxHashSet<Cell>) -> Vec<RecordView> {
    let mut numbers: FxHashMap<Cell, u32> = FxHashMap::default();
    let step = |record: &Record| {
        let bond = match record.kind {
            0 | 1 | 15 | 16 => Bond::Values,
            11 | 12 => Bond::Life(record.address as i64),
            // An access without values; the end of a wait, which stays behind all before it.
            4 | 10 => Bond::Wall,
            _ => Bond::Sync,
        };
        let access = match record.kind {
            0 | 2 => Some(Access::Read(record.value)),
            1 | 3 => Some(Access::Write(record.value)),
            4 => Some(Access::Opaque),
            _ => None,
        };
        let cell = variables.cell(record.address);
        let access = access.filter(|_| !left_out.contains(&cell)).map(|access| {
            let fresh = numbers.len() as u32;
            (*numbers.entry(cell).or_insert(fresh), access)
        });
        RecordView { thread: record.thread, access, bond }
    };
    records.iter().map(step).collect()
}

/// What a request, by its place in the order, turns out to be about to do.
#[derive(Clone, Copy)]
enum Asked {
    For(Mode),
    Unknown,
    /// A call or return behind a request.
    WentOn,
}

fn modes_of_requests(records: &[Record], variables: &Texts) -> FxHashMap<usize, Asked> {
    let mut asked = FxHashMap::default();
    let mut next: FxHashMap<i64, &Record> = FxHashMap::default();
    let shared: FxHashSet<Cell> = records
        .iter()
        .filter(|record| record.kind == 7)
        .map(|record| variables.cell(record.address))
        .collect();
    for (number, record) in records.iter().enumerate().rev() {
        if record.kind == 17 {
            let lock = variables.cell(record.address);
            let follower = next.get(&record.thread).map(|next| (next.kind, next.address));
            let mode = match follower {
                Some((5, address)) if variables.cell(address) == lock => {
                    Asked::For(Mode::Exclusive)
                }
                Some((7, address)) if variables.cell(address) == lock => Asked::For(Mode::Shared),
                _ if !shared.contains(&lock) => Asked::For(Mode::Exclusive),
                _ => Asked::Unknown,
            };
            asked.insert(number, mode);
        }
        next.insert(record.thread, record);
    }
    let mut requesting: FxHashSet<i64> = FxHashSet::default();
    for (number, record) in records.iter().enumerate() {
        let behind = requesting.remove(&record.thread);
        match record.kind {
            17 => {
                requesting.insert(record.thread);
            }
            15 | 16 if behind => {
                asked.insert(number, Asked::WentOn);
            }
            _ => {}
        }
    }
    asked
}

struct Merger<'a> {
    variables: &'a Texts,
    locations: &'a Texts,
    size: u32,
    builder: Builder,
    objects: FxHashMap<Cell, ObjectId>,
    locks: FxHashMap<Cell, LockId>,
    /// Names given to objects (true) and locks (false), to keep different cells apart.
    names: FxHashSet<(bool, String)>,
    /// The open holds: thread, mode and depth.
    holds: FxHashMap<LockId, Vec<(i64, Mode, u32)>>,
    /// The hold that a thread gave up to wait.
    waiting: FxHashMap<i64, (LockId, u32)>,
    /// The last event of each thread.
    last: FxHashMap<i64, i64>,
}

impl Merger<'_> {
    fn push(&mut self, record: &Record, asked: Option<Asked>) -> Result<(), Problem> {
        let thread = self.thread(record.thread);
        let location = self.location(record.location);
        let event = |builder: &mut Builder, op: Op| {
            builder.push(Event { thread, op, location });
        };
        if self.builder.so_far().len() > u32::MAX as usize - 2 * DEEPEST_WAIT as usize {
            return Err(Problem::Unsupported("more than 2^32 - 512 events".into()));
        }
        if self.waiting.contains_key(&record.thread) && !matches!(record.kind, 10 | 15 | 16) {
            return Err(Problem::rule(
                format!("T{} goes on", record.thread),
                "it waits: the end of the wait comes first",
            ));
        }
        match record.kind {
            0..=4 => {
                let op = self.access(record);
                event(&mut self.builder, op);
            }
            5 | 7 => {
                let mode = if record.kind == 5 { Mode::Exclusive } else { Mode::Shared };
                let lock = self.lock(record.address);
                self.open(record.thread, lock, mode)?;
                event(&mut self.builder, Op::Acquire { lock, mode, patience: Patience::Blocking });
            }
            6 | 8 => {
                let mode = if record.kind == 6 { Mode::Exclusive } else { Mode::Shared };
                let lock = self.lock(record.address);
                self.close(record.thread, lock, mode)?;
                event(&mut self.builder, Op::Release { lock, mode });
            }
            9 => {
                let (lock, mode) = (self.lock(record.address), Mode::Exclusive);
                let depth = self.depth(record.thread, lock);
                if depth == 0 {
                    return Err(self.not_held(record.thread, lock));
                }
                if depth > DEEPEST_WAIT {
                    let problem = format!("event {}: a wait at depth {depth}", record.id);
                    return Err(Problem::Unsupported(problem));
                }
                for _ in 0..depth {
                    self.close(record.thread, lock, mode)?;
                    event(&mut self.builder, Op::Release { lock, mode });
                }
                self.waiting.insert(record.thread, (lock, depth));
            }
            10 => {
                let (lock, mode) = (self.lock(record.address), Mode::Exclusive);
                let Some((waited, depth)) = self.waiting.remove(&record.thread) else {
                    let broken = format!("T{} ends a wait", record.thread);
                    return Err(Problem::rule(broken, "it has not begun one"));
                };
                if waited != lock {
                    let broken = format!("T{} ends a wait on another lock", record.thread);
                    return Err(Problem::rule(broken, "a wait takes the lock that it gave up"));
                }
                let woken = self.unknown_writer();
                event(&mut self.builder, woken);
                for _ in 0..depth {
                    self.open(record.thread, lock, mode)?;
                    event(
                        &mut self.builder,
                        Op::Acquire { lock, mode, patience: Patience::Blocking },
                    );
                }
            }
            11 => {
                let child = self.child(record)?;
                event(&mut self.builder, Op::Fork { child });
            }
            12 => {
                let child = self.joined(record)?;
                event(&mut self.builder, Op::Join { child });
            }
            13 | 14 => {
                return Err(Problem::Unsupported(format!(
                    "event {}: class initialisation (type {}) is Java's; the orders that it makes \
                     are not recorded",
                    record.id, record.kind
                )));
            }
            15 | 16 => {
                if let Some(Asked::WentOn) = asked {
                    event(&mut self.builder, Op::External);
                }
            }
            17 => {
                let lock = self.lock(record.address);
                let op = match asked {
                    Some(Asked::For(mode)) => Op::Request(Request::Acquire(lock, mode)),
                    _ => Op::External,
                };
                event(&mut self.builder, op);
            }
            other => {
                let found = format!("event {} of type {other}", record.id);
                return Err(Problem::syntax(found, "a type from 0 to 17"));
            }
        }
        Ok(())
    }

    fn access(&mut self, record: &Record) -> Op {
        let at = Place { object: self.object(record.address), offset: 0, size: self.size };
        let value = Some(record.value);
        match record.kind {
            0 => Op::Read { at, value, order: MemoryOrder::Plain },
            1 => Op::Write { at, value, order: MemoryOrder::Plain },
            2 => Op::Read { at, value, order: MemoryOrder::SeqCst },
            3 => Op::Write { at, value, order: MemoryOrder::SeqCst },
            _ => Op::Rmw { at, read: None, written: None, order: MemoryOrder::SeqCst },
        }
    }

    /// A read of a fresh byte that is declared 0 and seen as 1.
    fn unknown_writer(&mut self) -> Op {
        let object = self.builder.object("what ended a wait");
        let at = Place { object, offset: 0, size: 1 };
        if self.builder.so_far().initial().is_empty() {
            self.builder.set_initial(at, 0);
        }
        self.builder.tell(Repair::EndOfWait, 1);
        Op::Read { at, value: Some(1), order: MemoryOrder::SeqCst }
    }

    fn thread(&mut self, number: i64) -> ThreadId {
        self.builder.thread(&format!("T{number}"))
    }

    fn location(&mut self, id: i32) -> Option<LocationId> {
        match self.locations.get(id.into()) {
            Some(text) => Some(self.builder.location(text)),
            None => Some(self.builder.location(&format!("location {id}"))),
        }
    }

    fn object(&mut self, address: u64) -> ObjectId {
        let cell = self.variables.cell(address);
        if let Some(&known) = self.objects.get(&cell) {
            return known;
        }
        let name = self.fresh_name(true, cell, address);
        let object = self.builder.object(&name);
        self.objects.insert(cell, object);
        object
    }

    fn lock(&mut self, address: u64) -> LockId {
        let cell = self.variables.cell(address);
        if let Some(&known) = self.locks.get(&cell) {
            return known;
        }
        let name = self.fresh_name(false, cell, address);
        let lock = self.builder.lock(&name);
        self.locks.insert(cell, lock);
        lock
    }

    fn fresh_name(&mut self, object: bool, cell: Cell, address: u64) -> String {
        let mut name = self.variables.name(cell);
        while !self.names.insert((object, name.clone())) {
            name.push_str(&format!(" [{address:#x}]"));
        }
        name
    }

    fn depth(&self, thread: i64, lock: LockId) -> u32 {
        let holds = self.holds.get(&lock).map_or(&[][..], Vec::as_slice);
        let own = holds.iter().find(|hold| hold.0 == thread && hold.1 == Mode::Exclusive);
        own.map_or(0, |hold| hold.2)
    }

    fn open(&mut self, thread: i64, lock: LockId, mode: Mode) -> Result<(), Problem> {
        let holds = self.holds.entry(lock).or_default();
        if let Some(own) = holds.iter_mut().find(|hold| hold.0 == thread && hold.1 == mode) {
            own.2 += 1;
            return Ok(());
        }
        if let Some(other) = holds.iter().find(|hold| hold.0 != thread && hold.1.conflicts(mode)) {
            let name = self.builder.so_far().name(lock);
            let broken = format!("T{thread} acquires {name}, which T{} holds", other.0);
            return Err(Problem::rule(broken, "holds in conflicting modes exclude each other"));
        }
        holds.push((thread, mode, 1));
        Ok(())
    }

    fn close(&mut self, thread: i64, lock: LockId, mode: Mode) -> Result<(), Problem> {
        let holds = self.holds.entry(lock).or_default();
        match holds.iter().position(|hold| hold.0 == thread && hold.1 == mode) {
            Some(own) if holds[own].2 > 1 => holds[own].2 -= 1,
            Some(own) => {
                holds.swap_remove(own);
            }
            None => return Err(self.not_held(thread, lock)),
        }
        Ok(())
    }

    fn not_held(&self, thread: i64, lock: LockId) -> Problem {
        let name = self.builder.so_far().name(lock);
        let broken = format!("T{thread} gives up {name}, which it does not hold");
        Problem::rule(broken, "a release ends a recorded hold of its own thread")
    }

    fn child(&mut self, record: &Record) -> Result<ThreadId, Problem> {
        let name = format!("T{}", record.address as i64);
        if self.builder.so_far().threads().find(&name).is_some() {
            let broken = format!("T{} starts {name}, which is known already", record.thread);
            return Err(Problem::rule(broken, "a thread is started once, before its first event"));
        }
        Ok(self.builder.thread(&name))
    }

    fn joined(&mut self, record: &Record) -> Result<ThreadId, Problem> {
        let child = record.address as i64;
        if self.last.get(&child).is_some_and(|&last| last >= record.id) {
            let broken = format!("T{} joins T{child}, which goes on", record.thread);
            return Err(Problem::rule(broken, "a join returns after the thread's last event"));
        }
        Ok(self.thread(child))
    }
}

#[cfg(test)]
#[path = "rvpredict_tests.rs"]
mod tests;
