//! Records: the words of a stream, one operation after the other.

use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread::Scope;

use foretrace_recording::record::{self, PATH_OUTCOMES, kind, near};
use foretrace_recording::{file, pack};
use foretrace_trace::import::{ImportError, Position, Problem};
use foretrace_trace::{Deadline, MemoryOrder};

use super::chunks::{Chunk, MAX_THREADS, Recording, long};
use super::order::Order;

/// One record, with its operands.
#[derive(Clone, Copy)]
pub(super) struct Record<'a> {
    /// Where it is in the file.
    pub(super) offset: u64,
    pub(super) kind: u8,
    pub(super) detail: u8,
    pub(super) site: u64,
    operands: &'a [u8],
    /// Address and value of a near access, which has no such operands.
    near: Option<[u64; 2]>,
}

/// A load or store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Touch<'a> {
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) reads: Option<Value<'a>>,
    pub(super) writes: Option<Value<'a>>,
    pub(super) order: MemoryOrder,
}

/// What was loaded or stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Value<'a> {
    Scalar(u64),
    Bytes(&'a [u8]),
}

impl Value<'_> {
    /// The byte at that offset of the access.
    #[inline]
    pub(super) fn byte(&self, offset: usize) -> u8 {
        match self {
            Value::Scalar(word) => (word >> (8 * offset)) as u8,
            Value::Bytes(bytes) => bytes[offset],
        }
    }
}

pub(super) const ORDERS: [MemoryOrder; 6] = [
    MemoryOrder::Plain,
    MemoryOrder::Relaxed,
    MemoryOrder::Acquire,
    MemoryOrder::Release,
    MemoryOrder::AcqRel,
    MemoryOrder::SeqCst,
];

impl<'a> Record<'a> {
    #[inline]
    pub(super) fn word(&self, number: usize) -> u64 {
        match self.near {
            Some(words) => words[number],
            None => long(self.operands, 8 * number),
        }
    }

    /// Whether it says where it is: entries and paths have something else there.
    #[inline]
    pub(super) fn has_site(&self) -> bool {
        !matches!(self.kind, kind::ENTER | kind::PATH)
    }

    /// The stamp, if records of this kind have one.
    #[inline]
    pub(super) fn stamp(&self) -> Option<u64> {
        record::stamped(self.kind).then(|| long(self.operands, self.operands.len() - 8))
    }

    /// An error about this record.
    pub(super) fn error(&self, problem: Problem) -> ImportError {
        problem.at(Position::Byte(self.offset))
    }

    fn wrong(&self, found: String, expected: &str) -> ImportError {
        self.error(Problem::syntax(format!("{found} in a record of kind {}", self.kind), expected))
    }

    /// A thread that the record is about.
    pub(super) fn thread(&self) -> Result<u32, ImportError> {
        let thread = self.word(0);
        if thread < u64::from(MAX_THREADS) {
            return Ok(thread as u32);
        }
        Err(self.wrong(format!("thread {thread}"), "a thread below 2^20"))
    }

    /// The memory order in a detail.
    pub(super) fn order(&self, number: u8) -> Result<MemoryOrder, ImportError> {
        let order = ORDERS.get(usize::from(number)).copied();
        order.ok_or_else(|| self.wrong(format!("memory order {number}"), "0 to 5"))
    }

    /// The memory access that the record is, if it is one.
    #[inline]
    pub(super) fn touch(&self) -> Result<Option<Touch<'a>>, ImportError> {
        let (loads, stores) = match self.kind {
            kind::LOAD | kind::LOAD_RANGE | kind::ATOMIC_LOAD => (true, false),
            kind::STORE | kind::STORE_RANGE | kind::ATOMIC_STORE => (false, true),
            kind::RMW => (true, true),
            _ => return Ok(None),
        };
        let address = self.word(0);
        let mut order = MemoryOrder::Plain;
        let mut size = u64::from(self.detail);
        let (mut first, mut second) = (None, None);
        match self.kind {
            kind::LOAD_RANGE | kind::STORE_RANGE => {
                size = self.word(1);
                if size == 0 || size >= 1 << 31 {
                    return Err(self.wrong(format!("{size} bytes"), "1 to 2^31 - 1 bytes"));
                }
                first = Some(Value::Bytes(&self.operands[16..16 + size as usize]));
            }
            _ => {
                if self.kind >= kind::ATOMIC_LOAD {
                    size = u64::from(self.detail & 15);
                    order = self.order(self.detail >> 4)?;
                }
                if size == 0 || size > 8 {
                    return Err(self.wrong(format!("an access of {size} bytes"), "1 to 8 bytes"));
                }
                let mask = u64::MAX >> (64 - 8 * size);
                first = Some(Value::Scalar(self.word(1) & mask)).or(first);
                if self.kind == kind::RMW {
                    second = Some(Value::Scalar(self.word(2) & mask));
                }
            }
        }
        if self.kind == kind::RMW && order == MemoryOrder::Plain {
            order = MemoryOrder::SeqCst;
        }
        if address.checked_add(size).is_none() {
            return Err(self.wrong(format!("address {address:#x}"), "an access below 2^64"));
        }
        let reads = first.filter(|_| loads);
        let writes = if loads { second } else { first.filter(|_| stores) };
        Ok(Some(Touch { address, size, reads, writes, order }))
    }
}

/// The records of one stream.
pub(super) struct Stream<'a> {
    bytes: &'a [u8],
    chunks: &'a [Chunk],
    chunk: usize,
    at: usize,
    near: Box<near::Table>,
    /// Where in the file the bytes begin, if they are a part of it.
    first: usize,
}

impl<'a> Stream<'a> {
    pub(super) fn new(bytes: &'a [u8], chunks: &'a [Chunk]) -> Self {
        let at = chunks.first().map_or(0, |chunk| chunk.content.start);
        Stream { bytes, chunks, chunk: 0, at, near: Box::new([(0, 0); 256]), first: 0 }
    }

    /// How much of the file it has read.
    pub(super) fn bytes(&self) -> u64 {
        let read = self.chunks.iter().take(self.chunk).map(|chunk| chunk.content.len());
        let rest = self.chunks.get(self.chunk).map_or(0, |chunk| self.at - chunk.content.start);
        (read.sum::<usize>() + rest) as u64
    }

    /// Which of its chunks is read.
    pub(super) fn chunk(&self) -> usize {
        self.chunk
    }

    /// The next record; `None` at the end of what was recorded.
    pub(super) fn next(&mut self) -> Result<Option<Record<'a>>, ImportError> {
        loop {
            let Some(chunk) = self.chunks.get(self.chunk) else { return Ok(None) };
            let end = chunk.content.end;
            let head = if self.at + 8 <= end { long(self.bytes, self.at) } else { 0 };
            if head == 0 {
                self.chunk += 1;
                self.at = self.chunks.get(self.chunk).map_or(0, |chunk| chunk.content.start);
                continue;
            }
            let (number, detail) = (head as u8, (head >> 8) as u8);
            let at = Position::Byte((self.first + self.at) as u64);
            let Some(words) = record::operands(number) else {
                let found = format!("a record of kind {number}");
                return Err(Problem::syntax(found, "one of the known kinds").at(at));
            };
            let start = self.at + 8;
            let mut length = 8 * words;
            if matches!(number, kind::LOAD_RANGE | kind::STORE_RANGE) && start + 16 <= end {
                let bytes = usize::try_from(long(self.bytes, start + 8)).unwrap_or(usize::MAX);
                length = 16usize.saturating_add(bytes.min(usize::MAX - 64).next_multiple_of(8));
            }
            if length > end - start {
                // The first word is written last, so only the end of the file can cut a record.
                if !chunk.whole {
                    self.chunk = self.chunks.len();
                    return Ok(None);
                }
                let found = format!("a record of kind {number} with {length} bytes of operands");
                let expected = format!("at most the {} bytes left in its chunk", end - start);
                return Err(Problem::syntax(found, expected).at(at));
            }
            self.at = start + length;
            let operands = &self.bytes[start..start + length];
            let offset = (self.first + start) as u64 - 8;
            if matches!(number, kind::LOAD_NEAR..=kind::STORE_NEAR_WIDE) {
                let (kind, size, site, address, value) = near::decode(&mut self.near, head);
                let value = if operands.is_empty() { value } else { long(operands, 0) };
                let near = Some([address, value]);
                return Ok(Some(Record { offset, kind, detail: size, site, operands, near }));
            }
            let site = head >> 16;
            if number == kind::PATH && !(1..=PATH_OUTCOMES).contains(&u32::from(detail)) {
                let expected = format!("1 to {PATH_OUTCOMES}");
                return Err(
                    Problem::syntax(format!("a path of {detail} outcomes"), expected).at(at)
                );
            }
            if matches!(number, kind::LOAD | kind::STORE) {
                self.near[near::slot(site)] = (site, long(operands, 0));
            }
            return Ok(Some(Record { offset, kind: number, detail, site, operands, near: None }));
        }
    }
}

/// So many chunks are unpacked ahead of those that are read.
const AHEAD: usize = 8;

/// The contents of packed chunks, one after the other, which another thread unpacks meanwhile.
struct Unpacked {
    /// `None`: it cannot be unpacked.
    contents: Receiver<Option<Vec<u8>>>,
    used: Sender<Vec<u8>>,
}

impl Unpacked {
    /// Begins with the first chunk. The thread ends when nobody wants any more.
    fn begin<'s, 'e>(scope: &'s Scope<'s, 'e>, bytes: &'e [u8], chunks: &'e [Chunk]) -> Unpacked {
        let (unpacked, contents) = sync_channel(AHEAD);
        let (used, free) = channel::<Vec<u8>>();
        if chunks.iter().any(|chunk| chunk.unpacked.is_some()) {
            scope.spawn(move || {
                let mut table = pack::Table::empty();
                for chunk in chunks {
                    let Some(length) = chunk.unpacked else {
                        table.clear();
                        continue;
                    };
                    let mut content = free.try_recv().unwrap_or_default();
                    content.clear();
                    let packed = &bytes[chunk.content.clone()];
                    let result = pack::unpack(packed, length / 8, &mut table, &mut content);
                    if unpacked.send(result.map(|()| content)).is_err() || result.is_none() {
                        return;
                    }
                }
            });
        }
        Unpacked { contents, used }
    }

    /// The content of the next packed chunk, which is to have so many bytes.
    fn next(&self, chunk: &Chunk, length: usize) -> Result<Vec<u8>, ImportError> {
        self.contents.recv().ok().flatten().ok_or_else(|| {
            let found = "a chunk that cannot be unpacked";
            let problem = Problem::syntax(found, format!("one of {length} bytes"));
            problem.at(Position::Byte(chunk.content.start as u64))
        })
    }
}

/// The same for the one stream of a scheduled recording.
fn for_each_scheduled(
    recording: &Recording,
    chunks: &[Chunk],
    limit: Limit,
    each: impl FnMut(u32, Record) -> Result<(), ImportError>,
) -> Result<Reached, ImportError> {
    std::thread::scope(|scope| {
        let unpacked = Unpacked::begin(scope, recording.bytes, chunks);
        for_each_unpacked(recording, chunks, &unpacked, limit, each)
    })
}

fn for_each_unpacked(
    recording: &Recording,
    chunks: &[Chunk],
    unpacked: &Unpacked,
    limit: Limit,
    mut each: impl FnMut(u32, Record) -> Result<(), ImportError>,
) -> Result<Reached, ImportError> {
    let (mut near, mut thread): (Box<near::Table>, Option<u32>) = (Box::new([(0, 0); 256]), None);
    let mut reached = Reached { records: 0, bytes: 0, is_all: false };
    for chunk in chunks {
        let first = chunk.content.start;
        let content = chunk.unpacked.map(|length| unpacked.next(chunk, length)).transpose()?;
        let bytes = content.as_deref().unwrap_or(&recording.bytes[chunk.content.clone()]);
        let whole = [Chunk { content: 0..bytes.len(), ..chunk.clone() }];
        let mut records = Stream { bytes, chunks: &whole, chunk: 0, at: 0, near, first };
        while let Some(record) = records.next()? {
            match (record.kind, thread) {
                (kind::THREAD, _) => thread = Some(record.thread()?),
                (_, Some(_)) if limit.is_reached(reached.records) => return Ok(reached),
                (_, Some(thread)) => match each(thread, record) {
                    Ok(()) => reached.records += 1,
                    Err(_) if recording.is_part => return Ok(reached),
                    Err(error) => return Err(error),
                },
                (_, None) => {
                    let found = format!("a record of kind {}", record.kind);
                    let expected = "first a record that says of which thread";
                    return Err(record.error(Problem::syntax(found, expected)));
                }
            }
        }
        near = records.near;
        if let Some(content) = content {
            // Who unpacks may have ended.
            let _ = unpacked.used.send(content);
        }
        reached.bytes += chunk.content.len() as u64;
        if !chunk.whole {
            break;
        }
    }
    reached.is_all = !recording.is_part;
    Ok(reached)
}

/// How much of a recording is to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    /// So many records.
    pub(super) records: u64,
    pub(super) deadline: Deadline,
}

impl Limit {
    /// All that there is.
    pub(super) const ALL: Limit = Limit { records: u64::MAX, deadline: Deadline::NEVER };

    fn is_reached(&self, records: u64) -> bool {
        // The clock is asked only now and then.
        records >= self.records || (records % 1024 == 1023 && self.deadline.has_passed())
    }
}

/// How much was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Reached {
    pub(super) records: u64,
    pub(super) bytes: u64,
    pub(super) is_all: bool,
}

/// Calls `each` with every record and its thread, in the order of the run, up to the limit. Where
/// tables may be missing, a record that cannot be understood is such a limit.
pub(super) fn for_each<'a>(
    recording: &'a Recording,
    order: &Order,
    limit: Limit,
    mut each: impl FnMut(u32, Record) -> Result<(), ImportError>,
) -> Result<Reached, ImportError> {
    let stream = |chunks: &'a Vec<Chunk>| Stream::new(recording.bytes, chunks);
    let mut count = 0;
    let Order::Runs(runs) = order else {
        let Some(chunks) = recording.streams.get(&file::ALL_THREADS) else {
            return Ok(Reached { records: 0, bytes: 0, is_all: true });
        };
        return for_each_scheduled(recording, chunks, limit, each);
    };
    let threads: Vec<u32> = recording.streams.keys().copied().collect();
    let mut streams: Vec<Stream> = recording.streams.values().map(stream).collect();
    'runs: for run in runs {
        for _ in 0..run.records {
            if limit.is_reached(count) {
                break 'runs;
            }
            let Some(record) = streams[run.stream as usize].next()? else { break };
            match each(threads[run.stream as usize], record) {
                Ok(()) => count += 1,
                Err(_) if recording.is_part => break 'runs,
                Err(error) => return Err(error),
            }
        }
    }
    let bytes = streams.iter().map(Stream::bytes).sum();
    let mut is_all = !recording.is_part;
    for stream in &mut streams {
        is_all &= stream.next()?.is_none();
    }
    Ok(Reached { records: count, bytes, is_all })
}
