//! The recording's file: chunks, each part of a stream.
//!
//! The chunk that a stream fills at the moment is mapped, so that what is in it is in the file
//! whatever ends the process. When it is full, a copy is appended to the file, and it is filled
//! again: writing is cheaper than mapping ever new pages. The copy of the common stream is packed,
//! which is cheaper than to write it as it is. A 0 follows the last record.
//!
//! When the disk is full the program goes on; what it does then is counted, not written.

use std::marker::PhantomPinned;
use std::ptr::null_mut;
use std::sync::atomic::{
    AtomicI32, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering::*,
};

use foretrace_recording::file::{
    self, ALL_THREADS, CHUNK, CHUNK_MAGIC, ChunkHeader, HEADER, Header, MAGIC, META, PAGE, VERSION,
};
use foretrace_recording::pack;
use foretrace_recording::record::{self, near};

use crate::arena;
use crate::futex::system_call;

static FILE: AtomicI32 = AtomicI32::new(-1);
/// Where the file ends.
static END: AtomicU64 = AtomicU64::new(HEADER as u64);
/// Memory to pack chunks in.
static SCRATCH: AtomicPtr<Scratch> = AtomicPtr::new(null_mut());
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);
static HEAD: AtomicPtr<Header> = AtomicPtr::new(null_mut());

const WORDS: usize = CHUNK / 8;
const CHUNK_HEADER_WORDS: usize = size_of::<ChunkHeader>() / 8;

/// Creates the recording; `path` with the process id behind it if there is one already (a program
/// that starts itself again).
pub(crate) fn create(path: &[u8], mode: u32, seed: u64, limit: Option<u64>) -> bool {
    let pid = std::process::id();
    let mut names = [path.to_vec(), [path, b".", pid.to_string().as_bytes()].concat()];
    for name in &mut names {
        name.push(0);
        let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
        // SAFETY: the name ends with a 0.
        let opened = unsafe { libc::open(name.as_ptr().cast(), flags, 0o644) };
        if opened < 0 {
            continue;
        }
        // Out of the way of programs that count on low numbers.
        // SAFETY: the descriptor is ours, and no memory is involved.
        let high = unsafe { libc::fcntl(opened, libc::F_DUPFD_CLOEXEC, 700) };
        let file = if high < 0 { opened } else { high };
        if high >= 0 {
            // SAFETY: it is ours, and its copy is used from now on.
            unsafe { libc::close(opened) };
        }
        let Some(start) = map(file, 0, HEADER) else { return false };
        let header = Header {
            magic: MAGIC,
            version: VERSION,
            mode,
            seed,
            pid,
            flags: 0,
            ending: 0,
            status: 0,
            lost: 0,
        };
        // SAFETY: the page that was just mapped has room for the header and the children behind it,
        // and nobody else knows it yet.
        let children = unsafe {
            start.cast::<Header>().write(header);
            start.byte_add(file::CHILDREN.start)
        };
        CHILDREN.store(children.cast(), Release);
        HEAD.store(start.cast(), Release);
        LIMIT.store(limit.unwrap_or(u64::MAX), Relaxed);
        END.store(HEADER as u64, Relaxed);
        FILE.store(file, Release);
        return true;
    }
    false
}

/// Whether there is a recording of that name already.
pub(crate) fn exists(path: &[u8]) -> bool {
    let name = [path, &[0]].concat();
    // SAFETY: the name ends with a 0.
    unsafe { libc::access(name.as_ptr().cast(), libc::F_OK) == 0 }
}

/// In the child of a fork: the recording is the parent's.
pub(crate) fn abandon() {
    FILE.store(-1, Release);
    HEAD.store(null_mut(), Release);
}

/// Whether this is the process that is recorded.
pub(crate) fn is_own_process() -> bool {
    let head = HEAD.load(Acquire);
    let pid = crate::futex::system_call(libc::SYS_getpid, [0; 6]) as u32;
    // SAFETY: it leads to the mapped header, which stays; this field never changes.
    head.is_null() || unsafe { (*head).pid } == pid
}

/// The fields of the header that change while the process runs. Any thread may change them.
struct Changing {
    flags: &'static AtomicU32,
    ending: &'static AtomicU32,
    status: &'static AtomicU32,
    lost: &'static AtomicU64,
}

/// They, if there is a recording.
fn changing() -> Option<Changing> {
    let head = HEAD.load(Acquire);
    // SAFETY: a pointer that is not null leads to the mapped header, which is never unmapped. Its
    // fields are aligned, and once it is made these are touched in no other way.
    (!head.is_null()).then(|| unsafe {
        Changing {
            flags: AtomicU32::from_ptr(&raw mut (*head).flags),
            ending: AtomicU32::from_ptr(&raw mut (*head).ending),
            status: AtomicU32::from_ptr(&raw mut (*head).status),
            lost: AtomicU64::from_ptr(&raw mut (*head).lost),
        }
    })
}

/// The process ends, in one of the ways of [`file::ending`].
pub(crate) fn ends(ending: u32, status: u32) {
    if let Some(header) = changing() {
        header.ending.store(ending, Relaxed);
        header.status.store(status, Relaxed);
    }
}

/// Sets one of [`file::flags`].
pub(crate) fn flag(flag: u32) {
    if let Some(header) = changing() {
        header.flags.fetch_or(flag, Relaxed);
    }
}

/// The bytes of the children, see [`file::CHILDREN`]; in a child, those of its parent's recording.
static CHILDREN: AtomicPtr<AtomicU8> = AtomicPtr::new(null_mut());
static CHILD_COUNT: AtomicUsize = AtomicUsize::new(0);

/// There is a new child; returns its place.
pub(crate) fn add_child(what: u8) -> usize {
    let place = CHILD_COUNT.fetch_add(1, Relaxed);
    if place >= file::CHILDREN.len() {
        flag(file::flags::CHILDREN_AGAIN);
    }
    if what == file::child::PROGRAM {
        flag(file::flags::STARTED);
    }
    set_child(place, what);
    place
}

/// What became of a child.
pub(crate) fn set_child(place: usize, what: u8) {
    let children = CHILDREN.load(Acquire);
    if !children.is_null() && place < file::CHILDREN.len() {
        // SAFETY: they are behind the mapped header, which is never unmapped (a child of a fork has
        // it too), and the place is one of them.
        unsafe { (*children.add(place)).store(what, Relaxed) };
    }
}

/// Reserves bytes of the file on the disk, and maps them.
fn map(file: i32, offset: u64, size: usize) -> Option<*mut u64> {
    // Not through the C library, which would act upon a cancellation here.
    let reserve = |number: i64, arguments: [usize; 6]| system_call(number, arguments);
    let (start, length) = (offset as usize, size);
    let reserved = match reserve(libc::SYS_fallocate, [file as usize, 0, start, length, 0, 0]) {
        0 => true,
        // Where there is no such thing, zeros do it.
        error if error == -(libc::EOPNOTSUPP as isize) => {
            static ZEROS: [u8; 4096] = [0; 4096];
            (0..length).step_by(ZEROS.len()).all(|at| {
                let page = [file as usize, ZEROS.as_ptr() as usize, ZEROS.len(), start + at, 0, 0];
                reserve(libc::SYS_pwrite64, page) == ZEROS.len() as isize
            })
        }
        _ => false,
    };
    let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
    reserved.then(|| arena::map(size, flags, file, offset)).flatten().map(|start| start.cast())
}

/// Where a chunk is packed.
#[repr(C)]
struct Scratch {
    header: ChunkHeader,
    content: [u8; PACKED],
    table: pack::Table,
}

/// A chunk that takes more is not worth packing.
const PACKED: usize = CHUNK - 2 * PAGE - size_of::<ChunkHeader>();

/// Packs the words of a chunk of the common stream, of which there is one, so that nobody else
/// packs at the same time; returns what is to be written.
///
/// # Safety
///
/// The chunk begins with its header, and so many words behind that are written.
unsafe fn packed(chunk: *const u64, words: usize) -> Option<(*const u64, usize)> {
    let mut scratch = SCRATCH.load(Relaxed);
    if scratch.is_null() {
        scratch = arena::pages(size_of::<Scratch>()).cast();
        SCRATCH.store(scratch, Relaxed);
    }
    // SAFETY: it is null or leads to memory of this size that is mapped and zero at first, for
    // which all of these are values; and only the writer of the common stream has it.
    let scratch = unsafe { scratch.as_mut()? };
    // SAFETY: the caller says so.
    let (header, words) = unsafe {
        let content = std::slice::from_raw_parts(chunk.add(CHUNK_HEADER_WORDS), words);
        (*chunk.cast::<ChunkHeader>(), content)
    };
    let (table, content) = (&mut scratch.table, &mut scratch.content);
    let Some(length) = pack::pack(words.iter().copied(), table, content) else {
        table.clear();
        return None;
    };
    scratch.header = ChunkHeader { used: 8 * words.len() as u64, packed: length as u64, ..header };
    let size = (size_of::<ChunkHeader>() + length).next_multiple_of(PAGE);
    Some(((&raw const *scratch).cast(), size))
}

/// Appends so many bytes of a full chunk to the file.
fn append(file: i32, chunk: *const u64, size: usize, offset: u64) -> bool {
    let mut done = 0;
    while done < size {
        let start = chunk as usize + done;
        let arguments = [file as usize, start, size - done, offset as usize + done, 0, 0];
        match system_call(libc::SYS_pwrite64, arguments) {
            written if written > 0 => done += written as usize,
            interrupted if interrupted == -(libc::EINTR as isize) => {}
            _ => {
                // Part of a chunk that is still there as a whole: no chunk.
                let none = [0u64; CHUNK_HEADER_WORDS];
                let size = done.min(size_of_val(&none));
                let arguments =
                    [file as usize, none.as_ptr() as usize, size, offset as usize, 0, 0];
                system_call(libc::SYS_pwrite64, arguments);
                return false;
            }
        }
    }
    true
}

/// One stream of the recording. Whoever may write to it has it alone.
///
/// **Invariant.** `chunk` is null or leads to [`CHUNK`] bytes of memory that is mapped and ours. If
/// it is null, so are `at` and `end`; else `at` is within the chunk and not behind `end`, which is
/// the chunk's last word.
///
/// The common stream is a part of the world, and the thread whose turn it is reaches it by a
/// pointer while another one may hold the world: `PhantomPinned` keeps the compiler from assuming
/// that there is only one way to it.
pub(crate) struct Writer {
    at: *mut u64,
    end: *mut u64,
    chunk: *mut u64,
    stream: u32,
    sequence: u64,
    /// How often the chunk was begun anew, or given up.
    filling: u64,
    near: near::Table,
    /// Nothing is written any more; `chunk` is scratch memory.
    lost: bool,
    _shared: PhantomPinned,
}

impl Writer {
    pub(crate) const fn new(stream: u32) -> Writer {
        let none = null_mut();
        Writer {
            at: none,
            end: none,
            chunk: none,
            stream,
            sequence: 0,
            filling: 0,
            near: [(0, 0); 256],
            lost: false,
            _shared: PhantomPinned,
        }
    }

    /// Writes to memory of [`CHUNK`] bytes that is given; what does not fit is lost.
    ///
    /// # Safety
    ///
    /// The memory is mapped, and the writer's alone from now on.
    pub(crate) unsafe fn over(stream: u32, chunk: *mut u64) -> Writer {
        // SAFETY: both are within the chunk that the caller gives away.
        let (at, end) = unsafe { (chunk.add(CHUNK_HEADER_WORDS), chunk.add(WORDS - 1)) };
        // SAFETY: as above.
        unsafe { at.write_volatile(0) };
        Writer { at, end, chunk, ..Writer::new(stream) }
    }

    /// How many words of the chunk are written, its header included.
    pub(crate) fn position(&self) -> usize {
        (self.at as usize).wrapping_sub(self.chunk as usize) / 8
    }

    /// Writes one record; the first word goes last.
    #[inline(always)]
    pub(crate) fn record<const N: usize>(&mut self, head: u64, operands: [u64; N]) {
        let at = self.reserve(N + 1);
        // SAFETY: there is room for N + 1 words, and for the 0 behind them.
        unsafe {
            at.add(N + 1).write(0);
            for (index, operand) in operands.into_iter().enumerate() {
                at.add(index + 1).write(operand);
            }
            std::sync::atomic::compiler_fence(Release);
            at.write_volatile(head);
        }
    }

    /// Writes a record of one word, and returns where it is: it may change as long as
    /// [`Self::filling`] does not.
    pub(crate) fn word(&mut self, head: u64) -> *mut u64 {
        let at = self.reserve(1);
        // SAFETY: there is room for a word, and for the 0 behind it.
        unsafe {
            at.add(1).write(0);
            std::sync::atomic::compiler_fence(Release);
            at.write_volatile(head);
        }
        at
    }

    /// Changes whenever the records that were written last are out of reach.
    #[inline(always)]
    pub(crate) fn filling(&self) -> u64 {
        self.filling
    }

    /// Writes a plain access of at most 8 bytes.
    #[inline(always)]
    pub(crate) fn access(&mut self, kind: u8, size: u8, site: u64, address: u64, value: u64) {
        let load = kind == record::kind::LOAD;
        match near::encode(&mut self.near, load, size, site, address, value) {
            Some(head) if head as u8 >= record::kind::LOAD_NEAR_WIDE => self.record(head, [value]),
            Some(head) => self.record(head, []),
            None => self.record(record::head(kind, size, site), [address, value]),
        }
    }

    /// Writes a range's record, with `size` bytes that are at `bytes`.
    ///
    /// # Safety
    ///
    /// The bytes can be read. Others may change them meanwhile, if the program does so: then some
    /// of what was there is recorded.
    pub(crate) unsafe fn range(&mut self, head: u64, address: u64, bytes: *const u8, size: usize) {
        let words = size.div_ceil(8);
        assert!(words < WORDS / 2, "a range's record does not fit into a chunk");
        let at = self.reserve(3 + words);
        // SAFETY: there is room for 3 + `words` words, which the bytes fit into, and for the 0
        // behind them. The bytes are the caller's; the chunk is none of the program's memory.
        unsafe {
            at.add(3 + words).write(0);
            at.add(1).write(address);
            at.add(2).write(size as u64);
            if words > 0 {
                at.add(2 + words).write(0);
            }
            std::ptr::copy_nonoverlapping(bytes, at.add(3).cast(), size);
            std::sync::atomic::compiler_fence(Release);
            at.write_volatile(head);
        }
    }

    /// Room for so many words, far fewer than a chunk has. One more word is there behind them.
    #[inline(always)]
    fn reserve(&mut self, words: usize) -> *mut u64 {
        if (self.end as usize).wrapping_sub(self.at as usize) < words * 8 || self.at.is_null() {
            self.next_chunk();
        }
        let at = self.at;
        // SAFETY: the chunk has room for them before `end`, or it was begun anew and is empty.
        self.at = unsafe { at.add(words) };
        at
    }

    /// Room for more: a chunk of the file, or the old one again.
    #[cold]
    fn next_chunk(&mut self) {
        self.filling += 1;
        let file = FILE.load(Acquire);
        if self.lost || file < 0 {
            return self.lose(file);
        }
        // Tables are few, and are not copied.
        let is_copied = !self.chunk.is_null() && self.stream != META;
        let (mut copy, mut size) = (self.chunk.cast_const(), CHUNK);
        if is_copied && self.stream == ALL_THREADS {
            // SAFETY: the chunk is filled up to `at`.
            let packed = unsafe { packed(self.chunk, self.position() - CHUNK_HEADER_WORDS) };
            (copy, size) = packed.unwrap_or((copy, size));
        }
        let offset = END.fetch_add(size as u64, Relaxed);
        if offset + size as u64 > LIMIT.load(Relaxed) {
            flag(file::flags::LIMITED);
            return self.lose(file);
        }
        if !is_copied {
            let Some(chunk) = map(file, offset, CHUNK) else { return self.lose(file) };
            if !self.chunk.is_null() {
                arena::unmap(self.chunk.cast(), CHUNK);
            }
            self.chunk = chunk;
        } else if !append(file, copy, size, offset) {
            return self.lose(file);
        }
        // SAFETY: the header is at the beginning of the chunk.
        let first = unsafe { self.chunk.add(CHUNK_HEADER_WORDS) };
        let header = ChunkHeader {
            magic: CHUNK_MAGIC,
            stream: self.stream,
            sequence: self.sequence,
            used: 0,
            packed: 0,
        };
        // SAFETY: the chunk is mapped and ours; the header and the word behind it are within it.
        unsafe {
            // Empty before it is the next one: a reader must not take the old content for the new.
            first.write_volatile(0);
            std::sync::atomic::compiler_fence(Release);
            self.chunk.cast::<ChunkHeader>().write_volatile(header);
        }
        self.sequence += 1;
        self.at = first;
        // One word stays free for the 0.
        // SAFETY: it is the last word of the chunk.
        self.end = unsafe { self.chunk.add(WORDS - 1) };
    }

    /// From now on records go to scratch memory, over and over.
    fn lose(&mut self, file: i32) {
        if !self.lost {
            self.lost = true;
            if file >= 0 {
                flag(file::flags::TRUNCATED);
                // Others stop too: what they write behind this point could not be explained.
                FILE.store(-1, Release);
            }
            if !self.chunk.is_null() {
                arena::unmap(self.chunk.cast(), CHUNK);
            }
            self.chunk = crate::arena::pages(CHUNK).cast();
            if self.chunk.is_null() {
                crate::message::say("out of memory");
                crate::message::leave(125);
            }
        }
        if let Some(header) = changing() {
            header.lost.fetch_add(1, Relaxed);
        }
        self.at = self.chunk;
        // SAFETY: it is the last word of the scratch memory.
        self.end = unsafe { self.chunk.add(WORDS - 1) };
    }

    /// Drops the mapping of a stream that has ended.
    pub(crate) fn close(&mut self) {
        if !self.chunk.is_null() {
            arena::unmap(self.chunk.cast(), CHUNK);
        }
        let (lost, filling) = (self.lost, self.filling + 1);
        *self = Writer { lost, filling, ..Writer::new(self.stream) };
    }

    /// Appends bytes to the stream of tables, across chunks.
    fn bytes(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.at == self.end || self.at.is_null() {
                self.next_chunk();
            }
            if self.lost {
                return;
            }
            let room = self.end as usize - self.at as usize;
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            // SAFETY: there are `room` bytes between `at` and `end`, and the chunk begins with its
            // header.
            unsafe {
                std::ptr::copy_nonoverlapping(now.as_ptr(), self.at.cast(), now.len());
                self.at = self.at.byte_add(now.len());
                let used = self.at as usize - self.chunk as usize - size_of::<ChunkHeader>();
                (*self.chunk.cast::<ChunkHeader>()).used = used as u64;
            }
            bytes = later;
        }
    }

    /// Appends a table; each part is padded to words.
    pub(crate) fn table(&mut self, tag: u64, parts: &[&[u8]]) {
        let padded = |part: &&[u8]| part.len().next_multiple_of(8);
        let size: usize = parts.iter().map(padded).sum();
        self.bytes(&[tag.to_le_bytes(), (size as u64).to_le_bytes()].concat());
        for part in parts {
            self.bytes(part);
            self.bytes(&[0; 8][..padded(part) - part.len()]);
        }
    }
}

/// The writer of tables; the world's holder has it.
pub(crate) const fn tables() -> Writer {
    Writer::new(META)
}

/// The first word of a record of a thread at a site.
#[inline(always)]
pub(crate) fn head(kind: u8, detail: u8, site: u64) -> u64 {
    record::head(kind, detail, site)
}

#[cfg(test)]
mod tests;
