//! What the fuzz targets do, as plain functions.
//!
//! **Computes.** Nothing: a function that returns has found nothing. Each takes any bytes; what a
//! reader accepts must be judged by `validate` without a panic, and keep its meaning in the binary
//! form and, if it is valid, in the text form.
//!
//! **Follows.** `cargo +nightly fuzz run TARGET` runs them under libFuzzer;
//! `crates/oracle/tests/fuzz_smoke.rs` includes this file and runs them on stable over a few
//! thousand inputs.

use std::ops::Range;
use std::path::PathBuf;
use std::{array, env, fs, process, thread};

use foretrace_oracle::compare;
use foretrace_trace::import::{
    csv as csv_import, rapidbin as rapidbin_import, rapidstd, rvpredict as rvpredict_import,
};
use foretrace_trace::validate::validate;
use foretrace_trace::{Trace, binary as binary_form, export, text as text_form};

/// The predictor agrees with the oracle on the trace of a seed: the first eight bytes.
pub fn oracle(bytes: &[u8]) {
    let seed = u64::from_le_bytes(array::from_fn(|at| bytes.get(at).copied().unwrap_or(0)));
    let outcome = compare(
        seed,
        Some(&|trace, options| {
            foretrace_predict::predict(trace, options, &()).map_err(|error| error.to_string())
        }),
    );
    if let Err(disagreement) = outcome {
        panic!("{disagreement}");
    }
}

/// The text form.
pub fn text(bytes: &[u8]) {
    if let Ok((trace, lines)) = text_form::parse_with_lines(bytes) {
        if let Err(invalid) = validate(&trace) {
            let _ = invalid.with_lines(&lines).to_string();
        }
        accepted(&trace);
    }
}

/// The binary form: as it is, and with checksums that fit, since else nothing gets past them.
pub fn binary(bytes: &[u8]) {
    let mut repaired = bytes.to_vec();
    repair_checksums(&mut repaired);
    for bytes in [bytes, &repaired] {
        match binary_form::decode(bytes) {
            Ok(trace) => accepted(&trace),
            Err(error) => drop(error.to_string()),
        }
    }
}

/// STD, plain or compressed.
pub fn std(bytes: &[u8]) {
    match rapidstd::parse(bytes) {
        Ok(trace) => accepted(&trace),
        Err(error) => drop(error.to_string()),
    }
}

/// RapidBin.
pub fn rapidbin(bytes: &[u8]) {
    match rapidbin_import::parse(bytes) {
        Ok(trace) => accepted(&trace),
        Err(error) => drop(error.to_string()),
    }
}

/// Recordings of our runtime: as it is, and as the records of a well-formed file; the first byte
/// says of which mode.
pub fn recording(bytes: &[u8]) {
    let mut file = vec![0; 4096 + 256 * 1024];
    let scheduled = bytes.first().is_some_and(|byte| byte % 2 == 1);
    let words = bytes.get(1..).unwrap_or(&[]);
    let words = &words[..words.len().min(200_000)];
    file[..8].copy_from_slice(&foretrace_importer::MAGIC);
    file[8] = 3;
    file[12] = u8::from(scheduled);
    file[4096..4100].copy_from_slice(b"CHNK");
    let stream: u32 = if scheduled { u32::MAX - 1 } else { 0 };
    file[4100..4104].copy_from_slice(&stream.to_le_bytes());
    file[4128..4128 + words.len()].copy_from_slice(words);
    for bytes in [bytes, &file] {
        match foretrace_importer::parse(bytes, None) {
            Ok(trace) => accepted(&trace),
            Err(error) => drop(error.to_string()),
        }
    }
}

/// The CSV of SpeedyGo.
pub fn csv(bytes: &[u8]) {
    match csv_import::parse(bytes) {
        Ok(trace) => accepted(&trace),
        Err(error) => drop(error.to_string()),
    }
}

/// RV-Predict's directory. The first byte says how many threads there are and whether there is
/// metadata; the rest is dealt out to the files in equal parts.
pub fn rvpredict(bytes: &[u8]) {
    const RECORD: usize = 37;
    let (&first, rest) = bytes.split_first().unwrap_or((&0, &[]));
    let threads = 1 + usize::from(first % 4);
    let with_metadata = first & 0x80 != 0;
    let files = threads + if with_metadata { 2 } else { 0 };
    // Whole records, else only the check of the length would ever be seen.
    let part = rest.len() / files / RECORD * RECORD;
    let directory = TemporaryDirectory::new();
    for file in 0..files {
        let from = file * part;
        let to = if file + 1 == files { rest.len() } else { from + part };
        let name = match file.checked_sub(threads) {
            None => format!("{file}_trace.bin"),
            Some(0) => "var_metadata.bin".to_string(),
            Some(_) => "loc_metadata.bin".to_string(),
        };
        fs::write(directory.0.join(name), &rest[from..to]).expect("the directory is ours");
    }
    match rvpredict_import::read(&directory.0) {
        Ok(trace) => accepted(&trace),
        Err(error) => drop(error.to_string()),
    }
}

/// What a reader accepted keeps its meaning in our own forms, and is valid or is not, without a
/// panic.
fn accepted(trace: &Trace) {
    let valid = validate(trace).map_err(|invalid| invalid.to_string());
    let printed = text_form::print(trace);
    match text_form::parse(&printed) {
        // The binary form can say what the text form refuses, such as an initial value of nine
        // bytes.
        Err(_) if valid.is_err() => {}
        Ok(again) => assert_eq!(text_form::print(&again), printed, "the text form of a text form"),
        Err(error) => panic!("{error}\n{printed}"),
    }
    if let Ok(encoded) = binary_form::encode(trace) {
        let decoded = binary_form::decode(&encoded).expect("what we wrote can be read");
        assert_eq!(&decoded, trace, "the binary form of\n{printed}");
    }
    let mut exported = Vec::new();
    if export::write_std(trace, &mut exported).is_ok() {
        let _ = rapidstd::parse(&exported);
    }
}

/// Makes the checksums fit, as far as the lengths do: 16 bytes of header, then sections with a
/// header of 32 bytes each (`docs/trace-format.md`).
fn repair_checksums(bytes: &mut [u8]) {
    let length = bytes.len();
    if length < 16 {
        return;
    }
    put_checksum(bytes, 0..12, 12);
    let mut at = 16;
    while at + 32 <= length {
        let stored = u64::from_le_bytes(array::from_fn(|byte| bytes[at + 8 + byte]));
        let left = length - at - 32;
        let Some(stored) = usize::try_from(stored).ok().filter(|&stored| stored <= left) else {
            break;
        };
        put_checksum(bytes, at + 32..at + 32 + stored, at + 24);
        put_checksum(bytes, at..at + 28, at + 28);
        at += 32 + stored.next_multiple_of(8);
    }
}

fn put_checksum(bytes: &mut [u8], of: Range<usize>, at: usize) {
    let checksum = crc32(&bytes[of]).to_le_bytes();
    bytes[at..at + 4].copy_from_slice(&checksum);
}

/// CRC-32 of IEEE 802.3, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| {
            (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg())
        })
    })
}

/// A directory of one input, removed with it.
struct TemporaryDirectory(PathBuf);

impl TemporaryDirectory {
    fn new() -> Self {
        let name = format!("foretrace-fuzz-{}-{:?}", process::id(), thread::current().id());
        let path = env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a temporary directory can be made");
        TemporaryDirectory(path)
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
