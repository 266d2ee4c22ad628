//! Recordings that end early, and bytes that are not what was written.

use foretrace_recording::file::{CHUNK, HEADER};
use foretrace_recording::record::{acquire, kind};
use foretrace_testing::Random;

use super::writer::{M, Writer, X, site};
use super::*;

fn example(mut writer: Writer) -> Writer {
    writer.chunk_words = 60;
    writer.threads(3);
    writer.push(0, kind::ALLOC, 0, site(10), &[0x5000, 100]);
    for round in 0..6 {
        let thread = round % 3;
        writer.push(thread, kind::ACQUIRE, 0, site(20), &[M]);
        writer.store(thread, site(30), X, round.into()).load(thread, 0, X, round.into());
        writer.range(thread, kind::STORE_RANGE, 0x5000, &[round as u8; 70]);
        writer.push(thread, kind::RELEASE, 0, 0, &[M]);
        writer.push(thread, kind::RMW, 4 | 5 << 4, 0, &[X + 8, round.into(), u64::from(round) + 1]);
    }
    writer.push(1, kind::END, 0, 0, &[]).push(0, kind::JOIN, 0, 0, &[1]);
    writer.push(0, kind::EXIT, 0, 0, &[0]);
    writer
}

#[test]
fn a_recording_may_end_anywhere() {
    for writer in [example(Writer::scheduled()), example(Writer::free())] {
        let whole = writer.bytes();
        let events = import(&whole).len();
        let mut seen = 0;
        // Cut off at every word of every chunk that is in use, and between.
        for chunk in (HEADER + CHUNK..whole.len()).step_by(CHUNK) {
            for at in (0..60 * 8 + 48).step_by(4) {
                let trace = import(&whole[..chunk + at]);
                assert!(trace.len() <= events + 3);
                seen = seen.max(trace.len());
            }
        }
        assert!(seen + 3 >= events);
        // A process that was killed: zeros from a record on.
        for at in (HEADER + CHUNK + 32..HEADER + CHUNK + 512).step_by(8) {
            let mut killed = whole[..HEADER + 2 * CHUNK].to_vec();
            killed[at..].fill(0);
            if let Ok(trace) = parse(&killed, None) {
                check_trace(&trace);
            }
        }
    }
}

#[test]
fn a_cut_header_or_table_is_an_error_or_a_note() {
    let whole = example(Writer::scheduled()).bytes();
    for length in (0..HEADER).step_by(97) {
        let error = parse(&whole[..length], None).unwrap_err().to_string();
        assert!(error.contains("expected a recording"), "{error}");
    }
    // Without events there is nothing whose site could be missing.
    for length in (HEADER..HEADER + 800).step_by(4) {
        assert_eq!(import(&whole[..length]).len(), 0);
    }
}

#[test]
fn packed_chunks_are_chunks() {
    let mut writer = Writer::scheduled();
    writer.chunk_words = 100;
    writer.threads(3);
    for number in 0..3000 {
        let thread = (number / 7 % 3) as u32;
        writer.store(thread, site(10), X + 8 * (number % 2), number).load(thread, 0, X, 7);
        writer.push(thread, kind::ACQUIRE, 0, 0, &[M]).push(thread, kind::RELEASE, 0, 0, &[M]);
        writer.range(thread, kind::STORE_RANGE, X, b"some bytes");
    }
    let plain = writer.bytes();
    writer.packs = true;
    let packed = writer.bytes();
    assert!(packed.len() * 10 < plain.len());
    assert!(import(&packed) == import(&plain));
    // Whatever happens to them, there is no panic, and where they are cut off there is a prefix.
    let mut random = Random::new(5);
    for _ in 0..60 {
        let mut damaged = packed.clone();
        let at = HEADER + random.below(damaged.len() - HEADER);
        damaged[at] ^= 1 << random.below(8);
        let _ = parse(&damaged, None);
        import(&packed[..packed.len() - random.below(packed.len() - HEADER - 300_000)]);
    }
}

#[test]
fn damage_is_an_error_with_its_offset() {
    let whole = example(Writer::scheduled()).bytes();
    let events = HEADER + CHUNK + 32;
    let with = |at: usize, word: u64| {
        let mut bytes = whole.clone();
        bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
        parse(&bytes, None).unwrap_err().to_string()
    };
    for (at, word, message) in [
        (0, 0, "byte 0: a file of "),
        (8, 1, "byte 8: version 1 of recordings; expected version 4"),
        (8, 4 | 9 << 32, "byte 12: scheduling mode 9"),
        (events, 21, "byte 266272: a record of kind 21; expected one of the known kinds"),
        (events, 8 | 8 << 8, "byte 266272: a record of kind 8; expected first a record that says"),
        (events + 8, 1 << 40, "byte 266272: thread 1099511627776"),
        (events + 16, 8 | 9 << 8, "byte 266288: an access of 9 bytes"),
        (events, 7 | 49 << 8, "byte 266272: a path of 49 outcomes; expected 1 to 48"),
        (events + 16, 40 | 0x68 << 8, "byte 266288: memory order 6"),
        (events + 16, 32 | 5 << 16, "byte 266288: site 0x5; expected a site of one of the modules"),
        (
            HEADER + CHUNK,
            u64::from(foretrace_recording::file::CHUNK_MAGIC) | 3 << 32,
            "byte 266244: a chunk of stream 3",
        ),
        (HEADER + CHUNK + 8, 1, "byte 528392: chunk 1 of stream 4294967294 again"),
        (HEADER + 16, 1 << 30, "byte 4112: 1073741824 bytes in use"),
        (HEADER + 32 + 24, 1 << 40, "byte 4128: a table with "),
    ] {
        let error = with(at, word);
        assert!(error.starts_with(message), "{error}\n{message}");
    }
}

#[test]
fn flipped_bits_never_panic() {
    for (seed, writer) in [(1, example(Writer::scheduled())), (2, example(Writer::free()))] {
        let whole = writer.bytes();
        let mut random = Random::new(seed);
        let (mut errors, mut traces) = (0, 0);
        let used: Vec<usize> = (0..whole.len()).filter(|&at| whole[at] != 0).collect();
        for _ in 0..3000 {
            let mut bytes = whole.clone();
            for _ in 0..1 + random.below(3) {
                let near = random.pick(&used) / 8 * 8 + random.below(8);
                bytes[near] ^= 1 << random.below(8);
            }
            match parse(&bytes, None) {
                Ok(trace) => {
                    check_trace(&trace);
                    traces += 1;
                }
                Err(_) => errors += 1,
            }
        }
        assert!(errors > 100 && traces > 100, "{errors} errors, {traces} traces");
    }
}

/// Any records in any order: never a panic, always a valid trace.
#[test]
fn random_records_give_valid_traces() {
    let kinds: Vec<u8> = (1..=kind::HANDED)
        .filter(|&kind| foretrace_recording::record::operands(kind).is_some())
        .collect();
    for seed in 1..1500 {
        let mut random = Random::new(seed);
        let mut writer = if seed % 2 == 0 { Writer::scheduled() } else { Writer::free() };
        writer.threads(3);
        for _ in 0..random.below(120) {
            let thread = random.below(4) as u32;
            let number = loop {
                let number = random.pick(&kinds);
                if number != kind::THREAD && (number != kind::EXIT || random.below(10) == 0) {
                    break number;
                }
            };
            let detail = match number {
                kind::LOAD | kind::STORE => 1 + random.below(8) as u8,
                kind::ATOMIC_LOAD..=kind::RMW => {
                    random.pick(&[1, 2, 4, 8]) | (random.below(6) as u8) << 4
                }
                kind::ACQUIRE => random.below(6) as u8,
                kind::ACQUIRE_FAILED => {
                    random.below(6) as u8 | random.pick(&[0, acquire::NOT_RECOVERABLE])
                }
                kind::RELEASE => random.below(8) as u8,
                kind::PATH => 1 + random.below(48) as u8,
                _ => random.below(3) as u8,
            };
            let address = match number {
                kind::FORK..=kind::REQUEST_JOIN => random.below(5) as u64,
                kind::ALLOC | kind::FREE => random.pick(&[0x5000, 0x5020, X]),
                kind::BEGIN => random.pick(&[0x5000, 0x7f00_0000_0000]),
                kind::ENTER_CALL => foretrace_recording::channel::EVERY,
                kind::LOAD..=kind::STORE_RANGE | kind::ATOMIC_LOAD..=kind::RMW => {
                    random.pick(&[X, 0x5000, 0x5018, 0x5020, 0x7f00_0000_0000])
                        + random.below(10) as u64
                }
                _ => random.pick(&[M, M + 8, 0x5008]),
            };
            if matches!(number, kind::LOAD_RANGE | kind::STORE_RANGE) {
                writer.range(
                    thread,
                    number,
                    address,
                    &vec![random.below(2) as u8; 1 + random.below(90)],
                );
                continue;
            }
            let second = match number {
                kind::BEGIN => address + 64,
                kind::WAIT | kind::WAKE => random.pick(&[M, M + 8]),
                kind::SEM_INIT | kind::BARRIER_INIT => 1 + random.below(2) as u64,
                kind::ALLOC => 48,
                _ => random.below(3) as u64,
            };
            let stamp = usize::from(foretrace_recording::record::stamped(number));
            let count = foretrace_recording::record::operands(number).unwrap() - stamp;
            writer.push(thread, number, detail, 0, &[address, second, 1][..count]);
        }
        let trace = parse(&writer.bytes(), None);
        check_trace(&trace.unwrap_or_else(|error| panic!("seed {seed}: {error}")));
    }
}
