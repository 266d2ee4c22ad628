//! Writes recordings as the runtime does.

use foretrace_recording::file::{
    ALL_THREADS, CHUNK, CHUNK_MAGIC, HEADER, MAGIC, META, PAGE, VERSION, mode, table,
};
use foretrace_recording::pack;
use foretrace_recording::record::{head, kind, stamped};

pub(super) const SITES: u64 = 0x40_0000;
/// `x`, 16 bytes; `m`, 40 bytes; two variables called `static`, 8 bytes each.
pub(super) const X: u64 = 0x60_0000;
pub(super) const M: u64 = 0x60_0100;
pub(super) const STATICS: [u64; 2] = [0x60_0200, 0x60_0208];
/// An instrumented function.
pub(super) const FUNCTION: u64 = 0x40_1000;

pub(super) struct Writer {
    pub(super) mode: u32,
    /// For each stream its chunks of words.
    streams: Vec<(u32, Vec<Vec<u64>>)>,
    meta: Vec<u64>,
    thread: Option<u32>,
    stamp: u64,
    pub(super) ending: (u32, u32),
    pub(super) flags: u32,
    pub(super) chunk_words: usize,
    /// All chunks of records but the last are packed.
    pub(super) packs: bool,
}

/// The site on line 10, 20, … of `bank.c`, in `main`.
pub(super) fn site(line: u64) -> u64 {
    SITES + 16 * (line / 10 - 1)
}

impl Writer {
    pub(super) fn scheduled() -> Writer {
        Writer::new(mode::RANDOM)
    }

    pub(super) fn free() -> Writer {
        Writer::new(mode::FREE)
    }

    fn new(mode: u32) -> Writer {
        let mut writer = Writer {
            mode,
            streams: Vec::new(),
            meta: Vec::new(),
            thread: None,
            stamp: 0,
            ending: (0, 0),
            flags: 0,
            chunk_words: CHUNK / 8 - 4,
            packs: false,
        };
        writer.module();
        writer
    }

    fn module(&mut self) {
        let strings = b"bank.c\0main\0x\0m\0static\0other.c\0\0";
        let (file, function, other, empty) = (0u32, 7u32, 23u32, 31u32);
        let _ = empty;
        let names = [12u32, 14, 16, 16];
        let mut bytes = Vec::new();
        let count = 9u64;
        for number in [SITES, count, strings.len() as u64, 4, 1] {
            bytes.extend(number.to_le_bytes());
        }
        for site in 0..count as u32 {
            for word in [file, function, 10 * (site + 1), 5] {
                bytes.extend(word.to_le_bytes());
            }
        }
        bytes.extend(strings);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let addresses = [(X, 16u64), (M, 40), (STATICS[0], 8), (STATICS[1], 8)];
        for (at, (address, size)) in addresses.into_iter().enumerate() {
            bytes.extend(address.to_le_bytes());
            bytes.extend(size.to_le_bytes());
            let of = if at == 3 { other } else { file };
            for word in [names[at], of, 1, 0] {
                bytes.extend(word.to_le_bytes());
            }
        }
        bytes.extend(FUNCTION.to_le_bytes());
        bytes.extend(u64::from(function).to_le_bytes());
        self.table(table::MODULE, &bytes);
    }

    pub(super) fn table(&mut self, tag: u64, content: &[u8]) {
        self.meta.extend([tag, content.len() as u64]);
        self.meta.extend(words(content));
    }

    /// A table that is an address (and perhaps a size), and a text.
    pub(super) fn text(&mut self, tag: u64, numbers: &[u64], text: &str) {
        let mut content: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        content.extend(text.as_bytes());
        self.table(tag, &content);
    }

    /// Appends a record; the stamp is added.
    pub(super) fn push(
        &mut self,
        thread: u32,
        number: u8,
        detail: u8,
        site: u64,
        operands: &[u64],
    ) -> &mut Self {
        let mut record = vec![head(number, detail, site)];
        record.extend(operands);
        if stamped(number) {
            self.stamp += 1;
            record.push(self.stamp);
        }
        self.record(thread, &record)
    }

    /// Appends the words of a record.
    pub(super) fn record(&mut self, thread: u32, record: &[u64]) -> &mut Self {
        let scheduled = self.mode != mode::FREE;
        if scheduled && self.thread != Some(thread) {
            self.thread = Some(thread);
            self.put(ALL_THREADS, &[head(kind::THREAD, 0, 0), u64::from(thread)]);
        }
        self.put(if scheduled { ALL_THREADS } else { thread }, record);
        self
    }

    fn put(&mut self, stream: u32, record: &[u64]) {
        let at = self.streams.iter().position(|(of, _)| *of == stream).unwrap_or_else(|| {
            self.streams.push((stream, vec![Vec::new()]));
            self.streams.len() - 1
        });
        let chunks = &mut self.streams[at].1;
        if chunks.last().unwrap().len() + record.len() > self.chunk_words {
            chunks.push(Vec::new());
        }
        chunks.last_mut().unwrap().extend(record);
    }

    pub(super) fn load(&mut self, thread: u32, site: u64, address: u64, value: u64) -> &mut Self {
        self.push(thread, kind::LOAD, 8, site, &[address, value])
    }

    pub(super) fn store(&mut self, thread: u32, site: u64, address: u64, value: u64) -> &mut Self {
        self.push(thread, kind::STORE, 8, site, &[address, value])
    }

    pub(super) fn range(
        &mut self,
        thread: u32,
        number: u8,
        address: u64,
        bytes: &[u8],
    ) -> &mut Self {
        let mut operands = vec![address, bytes.len() as u64];
        operands.extend(words(bytes));
        self.push(thread, number, 0, 0, &operands)
    }

    /// Thread 0 begins, and threads up to `count` are forked and begin.
    pub(super) fn threads(&mut self, count: u32) -> &mut Self {
        for thread in 0..count {
            if thread > 0 {
                self.push(0, kind::FORK, 0, 0, &[u64::from(thread)]);
            }
            let stack = 0x7f00_0000_0000 + 0x10_0000 * u64::from(thread);
            self.push(thread, kind::BEGIN, 0, 0, &[stack, stack + 0x10_0000]);
        }
        self
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut file = Vec::new();
        file.extend(MAGIC);
        for word in [VERSION, self.mode] {
            file.extend(word.to_le_bytes());
        }
        file.extend(7u64.to_le_bytes());
        for word in [1, self.flags, self.ending.0, self.ending.1] {
            file.extend(word.to_le_bytes());
        }
        file.resize(HEADER, 0);
        let meta = vec![self.meta.clone()];
        let all = self.streams.iter().map(|(stream, chunks)| (*stream, chunks));
        for (stream, chunks) in [(META, &meta)].into_iter().chain(all) {
            let mut table = pack::Table::empty();
            for (sequence, chunk) in chunks.iter().enumerate() {
                let end = file.len() + CHUNK;
                let mut packed = vec![0; 9 * chunk.len()];
                if self.packs && sequence + 1 < chunks.len() {
                    let words = chunk.iter().copied();
                    let length = pack::pack(words, &mut table, &mut packed).unwrap();
                    packed.truncate(length);
                    file.extend(CHUNK_MAGIC.to_le_bytes());
                    file.extend(stream.to_le_bytes());
                    let used = 8 * chunk.len() as u64;
                    for word in [sequence as u64, used, packed.len() as u64] {
                        file.extend(word.to_le_bytes());
                    }
                    file.extend(packed);
                    file.resize(file.len().next_multiple_of(PAGE), 0);
                    continue;
                }
                file.extend(CHUNK_MAGIC.to_le_bytes());
                file.extend(stream.to_le_bytes());
                file.extend((sequence as u64).to_le_bytes());
                file.extend((8 * chunk.len() as u64).to_le_bytes());
                file.extend([0; 8]);
                file.extend(chunk.iter().flat_map(|word| word.to_le_bytes()));
                file.resize(end, 0);
            }
        }
        file
    }
}

fn words(bytes: &[u8]) -> Vec<u64> {
    let word = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    };
    bytes.chunks(8).map(word).collect()
}
