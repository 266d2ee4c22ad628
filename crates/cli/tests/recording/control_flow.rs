//! What is recorded of the way that a program takes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use foretrace_recording::file::{self, CHUNK, HEADER, flags};
use foretrace_recording::pack;
use foretrace_recording::record::{self, kind};

use crate::harness::{Program, command, folder, source};

/// The records of control flow, by thread: kind, detail, and what is where the site would be, or
/// the operands.
struct Recorded {
    flags: u32,
    records: BTreeMap<u64, Vec<(u8, u8, u64)>>,
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]))
}

fn paths(test: &str) -> Program {
    let folder = folder(test);
    let (object, path) = (folder.join("paths.o"), folder.join("program"));
    let (object_name, name) = (object.display().to_string(), path.display().to_string());
    let abi = format!("-DABI={}u", foretrace_recording::site::ABI);
    let plain = ["-c", "-O1", "-pthread", &abi, &source("paths.c"), "-o", &object_name];
    command(Path::new("clang-19"), &plain, "").ended_with(0);
    crate::harness::foretrace(&["cc", "-pthread", &object_name, "-o", &name]).ended_with(0);
    Program { path, folder }
}

/// Runs the program, and reads its recording.
fn record(program: &Program, way: &str, schedule: &str, control_flow: &str) -> Recorded {
    read(&run(program, way, &[("SCHEDULE", schedule), ("CONTROL_FLOW", control_flow)]))
}

/// The bytes of a recording.
fn run(program: &Program, way: &str, settings: &[(&str, &str)]) -> Vec<u8> {
    let file = program.folder.join("run.ftrec");
    // There is none the first time.
    let _ = fs::remove_file(&file);
    let status = Command::new(&program.path)
        .arg(way)
        .env("FORETRACE_RECORDING", &file)
        .envs(settings.iter().map(|(name, value)| (format!("FORETRACE_{name}"), value)))
        .status()
        .unwrap();
    assert!(status.success(), "{way}: {status}");
    foretrace_importer::open(&file).unwrap();
    fs::read(&file).unwrap()
}

fn read(bytes: &[u8]) -> Recorded {
    let mut streams: BTreeMap<(u64, u64), Vec<u8>> = BTreeMap::new();
    let (mut start, mut table) = (HEADER, pack::Table::empty());
    while start < bytes.len() {
        let head = long(bytes, start);
        if head as u32 != file::CHUNK_MAGIC {
            start += file::PAGE;
            continue;
        }
        let (used, packed) = (long(bytes, start + 16) as usize, long(bytes, start + 24) as usize);
        let content = &bytes[start + 32..];
        let mut words = Vec::new();
        if packed > 0 {
            // Packed chunks lie in their order.
            pack::unpack(&content[..packed], used / 8, &mut table, &mut words).unwrap();
        } else {
            words.extend_from_slice(&content[..content.len().min(CHUNK - 32)]);
        }
        if (head >> 32) as u32 != file::META {
            streams.insert((head >> 32, long(bytes, start + 8)), words);
        }
        start += if packed > 0 { (32 + packed).next_multiple_of(file::PAGE) } else { CHUNK };
    }
    let mut records: BTreeMap<u64, Vec<_>> = BTreeMap::new();
    // A chunk of the common stream may begin in mid-turn.
    let mut turn = 0;
    for ((stream, _), bytes) in streams {
        let is_common = stream == u64::from(file::ALL_THREADS);
        let (bytes, mut at) = (&bytes[..], 0);
        while at + 8 <= bytes.len() && long(bytes, at) != 0 {
            let head = long(bytes, at);
            let number = head as u8;
            let own = records.entry(if is_common { turn } else { stream }).or_default();
            match number {
                kind::THREAD => turn = long(bytes, at + 8),
                kind::LAND => own.push((number, 0, long(bytes, at + 16))),
                kind::SWITCH..=kind::PATH => own.push((number, (head >> 8) as u8, head >> 16)),
                _ => {}
            }
            at += 8 + 8 * record::operands(number).unwrap();
        }
    }
    records.retain(|_, of_thread| !of_thread.is_empty());
    Recorded { flags: (long(bytes, 24) >> 32) as u32, records }
}

/// The outcomes in path records.
fn outcomes(records: &[(u8, u8, u64)]) -> Vec<bool> {
    let paths = records.iter().filter(|record| record.0 == kind::PATH);
    paths.flat_map(|&(_, count, bits)| (0..count).map(move |bit| bits >> bit & 1 == 1)).collect()
}

/// The outcomes of a thread of `paths.c`.
fn pattern(thread: u64) -> Vec<bool> {
    let mut state = thread + 1;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state >> 63 == 1
    };
    (0..300_000).map(|_| next()).collect()
}

#[test]
fn every_outcome_is_in_its_place() {
    let program = paths("paths");
    for schedule in ["random", "round-robin", "free"] {
        let recorded = record(&program, "threads", schedule, "1");
        assert_eq!(recorded.flags, 0, "{schedule}");
        assert_eq!(recorded.records.len(), 2, "{schedule}");
        for (&thread, records) in &recorded.records {
            assert!(outcomes(records) == pattern(thread), "{schedule}: thread {thread}");
            let full = records.iter().filter(|record| record.1 == 48).count();
            assert!(full * 48 > 290_000, "{schedule}: {full} records are full");
            let kinds: Vec<u8> = records
                .iter()
                .map(|record| record.0)
                .filter(|&number| number != kind::PATH)
                .collect();
            assert_eq!(kinds, [kind::ENTER, kind::LAND], "{schedule}");
            assert!(records.contains(&(kind::LAND, 0, 7)), "{schedule}");
        }
        assert!(record(&program, "threads", schedule, "0").records.is_empty(), "{schedule}");
    }
}

#[test]
fn a_recording_that_is_cut_off_has_a_prefix() {
    let program = paths("paths-cut");
    // Tables, and the stream of all threads; or the streams of two threads.
    for (schedule, chunks) in [("random", 2), ("free", 3)] {
        let limit = (HEADER + chunks * CHUNK + 100).to_string();
        let recorded =
            read(&run(&program, "threads", &[("SCHEDULE", schedule), ("LIMIT", &limit)]));
        assert_eq!(recorded.flags, flags::TRUNCATED | flags::LIMITED, "{schedule}");
        let mut all = 0;
        for (&thread, records) in &recorded.records {
            let seen = outcomes(records);
            assert!(pattern(thread).starts_with(&seen), "{schedule}: thread {thread}");
            all += seen.len();
        }
        assert!(all > 1000 && all < 599_000, "{schedule}: {all}");
    }
}

#[test]
fn the_code_of_a_module_is_copied() {
    let program = paths("paths-module");
    let table = |control_flow: &str| {
        let bytes = run(&program, "module", &[("CONTROL_FLOW", control_flow)]);
        let (mut at, mut found) = (HEADER + 32, None);
        while long(&bytes, at) != 0 {
            let (tag, size) = (long(&bytes, at), long(&bytes, at + 8) as usize);
            if tag == file::table::IMAGE {
                let words = (0..size / 8).map(|word| long(&bytes, at + 16 + 8 * word));
                found = Some(words.collect::<Vec<u64>>());
            }
            at += 16 + size.next_multiple_of(8);
        }
        found
    };
    let text = |text: &[u8; 8]| u64::from_le_bytes(*text);
    let mut words = table("1").expect("a table");
    // Where it is loaded.
    (words[6], words[10]) = (0, 0);
    let constants = [0, 5, 5, text(b"text\0\0\0\0"), 0, (1 << 20) + 1, 0, 0, 8, 0];
    assert_eq!(words, [&[5, 2, 3, text(b"image\0\0\0"), 17, 18][..], &constants].concat());
    assert_eq!(table("0"), None);
}

#[test]
fn the_outcomes_of_a_handler_are_behind_its_entry() {
    let program = paths("paths-handler");
    for schedule in ["random", "free"] {
        let recorded = record(&program, "between", schedule, "1");
        assert_eq!(recorded.flags, flags::WAITS_END, "{schedule}");
        let shown: Vec<(u8, u64)> = recorded.records[&0]
            .iter()
            .map(|&(number, count, bits)| match number {
                kind::PATH => (count, bits),
                _ => (0, 0),
            })
            .collect();
        assert_eq!(shown, [(1, 0), (0, 0), (2, 1)], "{schedule}");
    }
}

#[test]
fn a_handler_inside_the_runtime_is_noted() {
    let program = paths("paths-inside");
    for schedule in ["random", "free"] {
        let recorded = record(&program, "inside", schedule, "1");
        assert_eq!(recorded.flags, flags::PATH_LOST, "{schedule}");
        assert!(recorded.records.is_empty(), "{schedule}");
    }
}
