//! Records and chunks, in memory and in a file.

use std::sync::{Mutex, MutexGuard, PoisonError};

use foretrace_recording::record::kind::{ATOMIC_LOAD, FENCE, LOAD_RANGE};

use super::*;

/// The file is one for the process: tests that write to it, or need that there is none, take turns.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A writer to fresh memory, and where that is.
fn writer() -> (Writer, *const u64) {
    let chunk: *mut u64 = arena::pages(CHUNK).cast();
    assert!(!chunk.is_null());
    // SAFETY: the pages are new, and have the size of a chunk.
    (unsafe { Writer::over(5, chunk) }, chunk)
}

/// The first words of a chunk behind its header.
fn words<const N: usize>(chunk: *const u64) -> [u64; N] {
    // SAFETY: the tests below use it while the pages are mapped.
    std::array::from_fn(|at| unsafe { *chunk.add(CHUNK_HEADER_WORDS + at) })
}

#[test]
fn a_record_is_its_head_its_operands_and_an_end() {
    let (mut writer, chunk) = writer();
    let (first, second) = (head(FENCE, 1, 2), head(FENCE, 3, 4));
    writer.record(first, [10, 11]);
    assert_eq!(words(chunk), [first, 10, 11, 0]);
    writer.record(second, []);
    assert_eq!(words(chunk), [first, 10, 11, second, 0]);
    assert_eq!(writer.position(), CHUNK_HEADER_WORDS + 4);
}

#[test]
fn a_word_may_change_until_the_next_filling() {
    let (mut writer, chunk) = writer();
    let (place, filling) = (writer.word(head(FENCE, 0, 0)), writer.filling());
    writer.record(head(FENCE, 0, 1), [7]);
    assert_eq!(writer.filling(), filling);
    // SAFETY: it is the record of one word, and the writer is at the same filling.
    unsafe { place.write(head(FENCE, 9, 9)) };
    assert_eq!(words(chunk), [head(FENCE, 9, 9), head(FENCE, 0, 1), 7, 0]);
}

#[test]
fn the_last_word_of_a_range_is_filled_up_with_zeros() {
    let (mut writer, chunk) = writer();
    writer.record(head(FENCE, 0, 0), [u64::MAX; 4]);
    let bytes: [u8; 11] = std::array::from_fn(|at| at as u8 + 1);
    let range = head(LOAD_RANGE, 0, 3);
    // SAFETY: the bytes are an array's.
    unsafe { writer.range(range, 0x1000, bytes.as_ptr(), bytes.len()) };
    let found: [u64; 11] = words(chunk);
    assert_eq!(found[5..], [range, 0x1000, 11, 0x0807_0605_0403_0201, 0x000b_0a09, 0]);
}

#[test]
#[should_panic(expected = "does not fit")]
fn a_range_that_no_chunk_can_hold_is_refused() {
    let (mut writer, _) = writer();
    let bytes = vec![0u8; CHUNK];
    // SAFETY: the bytes are a vector's.
    unsafe { writer.range(head(LOAD_RANGE, 0, 3), 0, bytes.as_ptr(), bytes.len()) };
}

#[test]
fn what_does_not_fit_is_lost_and_written_nowhere_else() {
    let _alone = alone();
    let (mut writer, _) = writer();
    let filling = writer.filling();
    for number in 0..WORDS as u64 {
        writer.record(head(FENCE, 0, 0), [number, number]);
        assert!(writer.position() < WORDS, "there is room for the end");
    }
    assert!(writer.filling() > filling && writer.lost);
}

#[test]
fn a_file_has_the_chunks_of_a_stream_in_order() {
    let _alone = alone();
    let name = std::env::temp_dir().join(format!("foretrace-log-{}.ftrec", std::process::id()));
    let name = name.to_str().unwrap();
    assert!(create(name.as_bytes(), 1, 77, None));
    let mut writer = Writer::new(3);
    let records = 3 * WORDS as u64 / 2;
    for number in 1..=records {
        writer.record(head(FENCE, 0, number), [number]);
    }
    flag(file::flags::FORKED);
    ends(file::ending::EXIT, 4);
    let bytes = std::fs::read(name).unwrap();
    abandon();
    writer.close();
    std::fs::remove_file(name).unwrap();

    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let half = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!(&bytes[..8], b"FTRECORD");
    let at = |field: usize| half(field);
    assert_eq!(at(std::mem::offset_of!(Header, flags)), file::flags::FORKED);
    assert_eq!(at(std::mem::offset_of!(Header, ending)), file::ending::EXIT);
    assert_eq!(at(std::mem::offset_of!(Header, status)), 4);
    let mut chunks: Vec<usize> = (HEADER..bytes.len()).step_by(CHUNK).collect();
    assert!(chunks.iter().all(|&chunk| half(chunk) == CHUNK_MAGIC && half(chunk + 4) == 3));
    chunks.sort_by_key(|&chunk| word(chunk + 8));
    let mut expected = 1;
    for (sequence, chunk) in chunks.into_iter().enumerate() {
        assert_eq!(word(chunk + 8), sequence as u64);
        let mut place = chunk + size_of::<ChunkHeader>();
        while word(place) != 0 {
            assert_eq!([word(place), word(place + 8)], [head(FENCE, 0, expected), expected]);
            expected += 1;
            place += 16;
        }
    }
    assert_eq!(expected, records + 1);
}

#[test]
fn the_common_stream_is_packed() {
    let _alone = alone();
    let name = std::env::temp_dir().join(format!("foretrace-pack-{}.ftrec", std::process::id()));
    let name = name.to_str().unwrap();
    assert!(create(name.as_bytes(), 1, 77, None));
    let mut writer = Writer::new(ALL_THREADS);
    let records = 5 * WORDS as u64 / 2;
    for number in 1..=records {
        writer.record(head(ATOMIC_LOAD, 0x58, 3), [0x1000, 7, number]);
    }
    let bytes = std::fs::read(name).unwrap();
    abandon();
    writer.close();
    std::fs::remove_file(name).unwrap();

    assert!(bytes.len() < HEADER + 2 * CHUNK, "{} bytes", bytes.len());
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    // The first chunk is the one that is filled; the full ones follow it.
    let (mut at, mut sequence, mut all) = (HEADER + CHUNK, 0, Vec::new());
    let mut table = pack::Table::empty();
    while at < bytes.len() {
        let (used, packed) = (word(at + 16) as usize, word(at + 24) as usize);
        assert_eq!((word(at) as u32, word(at + 8)), (CHUNK_MAGIC, sequence));
        let content = &bytes[at + size_of::<ChunkHeader>()..][..packed];
        pack::unpack(content, used / 8, &mut table, &mut all).expect("what was packed");
        at += (size_of::<ChunkHeader>() + packed).next_multiple_of(PAGE);
        sequence += 1;
    }
    all.extend_from_slice(&bytes[HEADER + size_of::<ChunkHeader>()..][..CHUNK / 2]);
    let words = all.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
    let expected = (1..=records).flat_map(|number| [head(ATOMIC_LOAD, 0x58, 3), 0x1000, 7, number]);
    assert!(sequence > 8 && words.zip(expected).all(|(word, expected)| word == expected));
}
