//! Recordings as a runtime with a fault would have written them: what is predicted of some must
//! differ from the truth, or the comparison would not notice such a fault. And which way the
//! threads of a recording went.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use foretrace_recording::file::{ALL_THREADS, CHUNK, CHUNK_MAGIC, HEADER, META, table};
use foretrace_recording::record::{self, kind, stream};

/// What the runtime forgets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// The channels whose names begin like this.
    Channel(&'static str),
    /// Calls that found nothing, or were refused.
    Refusals,
    /// That reads got less than they wanted.
    ShortReads,
}

pub(crate) const FAULTS: [Fault; 6] = [
    Fault::Channel("descriptors"),
    Fault::Channel("pipe of"),
    Fault::Channel("eventfd of"),
    Fault::Channel("pair of sockets"),
    Fault::Refusals,
    Fault::ShortReads,
];

/// Bytes of the header of a chunk.
const CHUNK_HEADER: usize = 32;
/// A list without channels; the runtime never has so many.
const NO_CHANNELS: u64 = 1 << 32;

/// The recording with the fault, in a file beside it; `None` if it is the same.
pub(crate) fn seed(recording: &Path, fault: Fault) -> Option<PathBuf> {
    let before = fs::read(recording).unwrap();
    let mut file = Recording { bytes: before.clone() };
    match fault {
        Fault::Channel(name) => file.forget_channels(name),
        Fault::Refusals => {
            file.change_calls(|call| (call.result < 0).then_some((NO_CHANNELS, call.size)))
        }
        Fault::ShortReads => file.change_calls(|call| {
            let is_short = call.is_read && call.result > 0 && (call.result as u64) < call.size;
            is_short.then_some((call.list, call.result as u64))
        }),
    }
    if file.bytes == before {
        return None;
    }
    file.add_empty_list();
    let faulty = recording.with_extension("faulty.ftrec");
    fs::write(&faulty, file.bytes).unwrap();
    Some(faulty)
}

/// Which way the threads of a recording went: the outcomes of their branches, and whether one came
/// to a switch.
pub(crate) fn ways(recording: &Path) -> (Vec<Vec<bool>>, bool) {
    let file = Recording { bytes: fs::read(recording).unwrap() };
    let (mut outcomes, mut has_switch) = (Vec::new(), false);
    for (thread, at) in file.records() {
        if outcomes.len() <= thread {
            outcomes.resize(thread + 1, Vec::new());
        }
        let head = file.word(at);
        match head as u8 {
            kind::PATH => {
                let count = (head >> 8) as u8;
                outcomes[thread].extend((0..count).map(|which| head >> (16 + which) & 1 == 1));
            }
            kind::SWITCH => has_switch = true,
            _ => {}
        }
    }
    (outcomes, has_switch)
}

struct Recording {
    bytes: Vec<u8>,
}

/// A call that came back.
struct Call {
    list: u64,
    size: u64,
    is_read: bool,
    result: i64,
}

impl Recording {
    fn word(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.bytes[at..at + 8].try_into().unwrap())
    }

    fn set(&mut self, at: usize, word: u64) {
        self.bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
    }

    /// Where the words of a stream are, chunk after chunk.
    fn stream(&self, stream: u32) -> Vec<usize> {
        let starts = (HEADER..self.bytes.len()).step_by(CHUNK);
        let mut chunks: Vec<(u64, usize)> = starts
            .filter(|&at| self.word(at) == u64::from(CHUNK_MAGIC) | u64::from(stream) << 32)
            .map(|at| (self.word(at + 8), at))
            .collect();
        chunks.sort_unstable();
        chunks.dedup_by_key(|(sequence, _)| *sequence);
        let words = |at: usize| {
            let used =
                if stream == META { self.word(at + 16) as usize } else { CHUNK - CHUNK_HEADER };
            (at + CHUNK_HEADER..at + CHUNK_HEADER + used).step_by(8)
        };
        chunks.into_iter().flat_map(|(_, at)| words(at)).collect()
    }

    fn forget_channels(&mut self, name: &str) {
        let words = self.stream(META);
        let mut forgotten = Vec::new();
        let mut at = 0;
        while at < words.len() {
            let (tag, size) = (self.word(words[at]), self.word(words[at + 1]) as usize / 8);
            let content = &words[at + 2..at + 2 + size];
            if tag == table::CHANNEL {
                let text: Vec<u8> =
                    content[1..].iter().flat_map(|&at| self.word(at).to_le_bytes()).collect();
                if text.starts_with(name.as_bytes()) {
                    forgotten.push(self.word(content[0]));
                }
            } else if tag == table::CHANNELS {
                for &at in &content[1..] {
                    let number = self.word(at) as u32;
                    if forgotten.contains(&u64::from(number)) {
                        // It neither gives nor takes.
                        self.set(at, u64::from(number));
                    }
                }
            }
            at += 2 + size;
        }
    }

    /// The records, each with its thread.
    fn records(&self) -> Vec<(usize, usize)> {
        let mut records = Vec::new();
        let mut thread = 0;
        let mut words = self.stream(ALL_THREADS).into_iter();
        while let Some(at) = words.next() {
            let head = self.word(at);
            let number = head as u8;
            if number == 0 {
                // The rest of a chunk.
                continue;
            }
            let mut length = record::operands(number).expect("our own records are known");
            match number {
                kind::THREAD => thread = self.word(at + 8) as usize,
                kind::LOAD_RANGE | kind::STORE_RANGE => {
                    length += (self.word(at + 16) as usize).div_ceil(8);
                }
                _ => {}
            }
            if number != kind::THREAD {
                records.push((thread, at));
            }
            for _ in 0..length {
                words.next();
            }
        }
        records
    }

    /// Gives calls another list of channels and another size.
    fn change_calls(&mut self, change: impl Fn(&Call) -> Option<(u64, u64)>) {
        let mut open: HashMap<usize, Vec<usize>> = HashMap::new();
        for (thread, at) in self.records() {
            match self.word(at) as u8 {
                kind::ENTER_CALL => open.entry(thread).or_default().push(at),
                kind::LEAVE_CALL => {
                    let enter = open.entry(thread).or_default().pop().unwrap();
                    let detail = (self.word(enter) >> 8) as u8;
                    let call = Call {
                        list: self.word(enter + 8),
                        size: self.word(enter + 16),
                        is_read: detail & stream::READ != 0,
                        result: self.word(at + 8) as i64,
                    };
                    if let Some((list, size)) = change(&call) {
                        self.set(enter + 8, list);
                        self.set(enter + 16, size);
                    }
                }
                _ => {}
            }
        }
    }

    fn add_empty_list(&mut self) {
        let last = *self.stream(META).last().unwrap() + 8;
        let chunk = HEADER + (last - HEADER) / CHUNK * CHUNK;
        for (word, offset) in [table::CHANNELS, 8, NO_CHANNELS].into_iter().zip([0, 8, 16]) {
            self.set(last + offset, word);
        }
        self.set(chunk + 16, self.word(chunk + 16) + 24);
    }
}
