//! What is recorded of control flow, and the code that it belongs to.

use foretrace_recording::file::table;
use foretrace_recording::record::{head, kind, with_outcome};

use super::writer::{FUNCTION, M, SITES, Writer, X, site};
use super::*;
use crate::chunks::Recording;
use crate::order::Order;
use crate::records::{Limit, for_each};
use crate::tables::Tables;
use foretrace_trace::Deadline;

/// Three bytes of code with one symbol, a constant of 4 bytes and one whose bytes are not kept.
fn image() -> Vec<u64> {
    let (long, short) = ([0x50_0100, 1 << 21, 0], [0x50_0000, 4, 4, 0x0403_0201]);
    [&[3, 1, 2][..], &[0x0007_0201], &[FUNCTION], &short, &long].concat()
}

fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn the_code_of_a_module_is_found() {
    let mut writer = Writer::scheduled();
    writer.table(table::IMAGE, &bytes(&image()));
    writer.threads(1);
    let file = writer.bytes();
    import(&file);
    let recording = Recording::parse(&file, Deadline::NEVER).unwrap();
    let tables = Tables::parse(&recording).unwrap();
    let [code] = &tables.code()[..] else { panic!("one module") };
    assert_eq!((code.sites_base, code.is_system.len()), (SITES, 9));
    assert!(code.strings.starts_with(b"bank.c\0main\0"));
    assert_eq!((code.image, code.symbols), (&[1, 2, 7][..], &[FUNCTION][..]));
    assert_eq!(code.constants, [(0x50_0000, &[1, 2, 3, 4][..])]);
    assert_eq!(code.functions, [(FUNCTION, "main".to_string())]);
}

#[test]
fn a_recording_without_code_is_one() {
    let file = Writer::scheduled().threads(1).bytes();
    let recording = Recording::parse(&file, Deadline::NEVER).unwrap();
    assert!(Tables::parse(&recording).unwrap().code().is_empty());
}

#[test]
fn damaged_code_is_an_error_with_its_offset() {
    let error = |tables: &[&[u64]]| {
        let mut writer = Writer::scheduled();
        tables.iter().for_each(|words| writer.table(table::IMAGE, &bytes(words)));
        parse(&writer.bytes(), None).unwrap_err().to_string()
    };
    let with = |at: usize, word: u64| {
        let mut words = image();
        words[at] = word;
        error(&[&words])
    };
    for (found, expected) in [
        (with(0, 1 << 40), "byte 4504: a table with 72 bytes left; expected 1099511627776 bytes"),
        (with(1, 1 << 40), "byte 4504: a table with 64 bytes left; expected 8796093022208 bytes"),
        (with(2, 3), "byte 4504: a table with 0 bytes left; expected 8 bytes"),
        (with(7, 5), "byte 4504: 5 of the 4 bytes of a constant; expected all of them, or none"),
        (with(9, u64::MAX), "byte 4504: a constant of 2097152 bytes at 0xffffffffffffffff"),
        (
            error(&[&image(), &image()]),
            "byte 4616: an image; expected first the table of its module",
        ),
    ] {
        assert!(found.starts_with(expected), "{found}\n{expected}");
    }
}

/// Outcomes of branches, entries and landings are records of their threads wherever they are, in
/// both kinds of recordings.
#[test]
fn records_for_the_walk_are_handed_through() {
    for mut writer in [Writer::scheduled(), Writer::free()] {
        writer.threads(2);
        for thread in [0, 1, 0] {
            let path = [true, false, true].into_iter().fold(head(kind::PATH, 0, 0), with_outcome);
            writer.record(thread, &[path]).push(thread, kind::ENTER, 0, FUNCTION, &[]);
            writer.push(thread, kind::ACQUIRE, 0, site(20), &[M]);
            writer.load(thread, site(30), X, 0).push(
                thread,
                kind::LAND,
                0,
                site(10),
                &[FUNCTION, 3],
            );
            writer.store(thread, site(40), X, 0).push(thread, kind::RELEASE, 0, 0, &[M]);
        }
        writer.push(1, kind::ENTER, 0, FUNCTION, &[]);
        let file = writer.bytes();
        assert_eq!(import(&file).len(), 3 + 3 * 4);
        let recording = Recording::parse(&file, Deadline::NEVER).unwrap();
        let order = Order::find(&recording, Deadline::NEVER).unwrap();
        let mut seen = [const { Vec::new() }; 2];
        for_each(&recording, &order, Limit::ALL, |thread, record| {
            if record.kind == kind::PATH {
                assert_eq!((record.site, record.detail), (0b101, 3));
            }
            if !record.has_site() {
                assert!(record.kind == kind::PATH || record.site == FUNCTION);
            }
            seen[thread as usize].push(record.kind);
            Ok(())
        })
        .unwrap();
        use kind::*;
        let round = [PATH, ENTER, ACQUIRE, LOAD, LAND, STORE, RELEASE];
        assert_eq!(seen[0], [&[BEGIN, FORK][..], &round, &round].concat());
        assert_eq!(seen[1], [&[BEGIN][..], &round, &[ENTER]].concat());
    }
}
