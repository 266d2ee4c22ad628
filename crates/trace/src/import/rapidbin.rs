//! RapidBin, the binary format of the deadlock analysers around RAPID.
//!
//! **Computes.** A trace from a big-endian header (i16 threads, i32 locks, i32 variables, i64
//! events) and one 64-bit word per event: thread in bits 0-9, operation in bits 10-13, object in
//! bits 14-47, location in bits 48-62. Names are `T0`, `L0`, `V0`; the location is its number.
//!
//! **Invariant.** As for STD: no values, objects are cells, and the named defects (repeated
//! `begin`s at the head of the file, `end`s before a thread's last event) are repaired by
//! `threads`. A join that the recorder wrote as an acquire and release of a pseudo-lock around an
//! access stays what it is: the read in it still has to see the write of the thread that ended.
//!
//! **Cost.** One pass, and the repairs after it.

use super::steps::{Positions, Steps, What};
use super::{ImportError, Position, Problem};
use crate::Trace;

const HEADER: usize = 18;

/// What the operation numbers 0 to 8 mean.
const OPERATIONS: [What; 9] = [
    What::Acquire,
    What::Release,
    What::Read,
    What::Write,
    What::Fork,
    What::Join,
    What::Begin,
    What::End,
    What::Request,
];

/// Reads a trace from the bytes of a `.rapidbin` file.
pub fn parse(bytes: &[u8]) -> Result<Trace, ImportError> {
    let header = Header::parse(bytes)?;
    let mut steps = Steps::new(Positions::Words { header: HEADER as u64 });
    for (number, word) in bytes[HEADER..].as_chunks::<8>().0.iter().enumerate() {
        let at = Position::Byte((HEADER + 8 * number) as u64);
        header.push(&mut steps, u64::from_be_bytes(*word)).map_err(|problem| problem.at(at))?;
    }
    steps.into_trace()
}

/// Whether the bytes are a RapidBin file: the header has no magic number, but its event count must
/// fit the length.
pub(crate) fn is_rapidbin(bytes: &[u8]) -> bool {
    Header::parse(bytes).is_ok()
}

struct Header {
    threads: u64,
    locks: u64,
    variables: u64,
}

impl Header {
    fn parse(bytes: &[u8]) -> Result<Header, ImportError> {
        let Some((header, words)) = bytes.split_first_chunk::<HEADER>() else {
            let found = format!("a file of {} bytes", bytes.len());
            return Err(Problem::syntax(found, "a header of 18 bytes").at(Position::File));
        };
        let field = |range: std::ops::Range<usize>, what: &str| {
            // Big-endian and signed: the first bit is the sign.
            if header[range.start] & 0x80 != 0 {
                let found = format!("a negative number of {what}");
                return Err(
                    Problem::syntax(found, "a count").at(Position::Byte(range.start as u64))
                );
            }
            Ok(header[range].iter().fold(0u64, |value, &byte| value << 8 | u64::from(byte)))
        };
        let threads = field(0..2, "threads")?;
        let locks = field(2..6, "locks")?;
        let variables = field(6..10, "variables")?;
        let events = field(10..18, "events")?;
        if events == 0 || u128::from(events) * 8 != words.len() as u128 {
            let found = format!("{} bytes after the header", words.len());
            let expected = format!("8 for each of its {events} events, and at least one event");
            return Err(Problem::syntax(found, expected).at(Position::Byte(10)));
        }
        Ok(Header { threads, locks, variables })
    }

    fn push(&self, steps: &mut Steps, word: u64) -> Result<(), Problem> {
        let thread = word & 0x3ff;
        let operation = (word >> 10 & 0xf) as usize;
        let object = word >> 14 & 0x3_ffff_ffff;
        let location = word >> 48 & 0x7fff;
        if word >> 63 != 0 {
            return Err(Problem::syntax("bit 63 is set", "0"));
        }
        let Some(&what) = OPERATIONS.get(operation) else {
            return Err(Problem::syntax(format!("operation {operation}"), "a number from 0 to 8"));
        };
        let in_table = |number: u64, count: u64, table: &str| {
            if number < count {
                return Ok(());
            }
            let expected = format!("one of the {count} {table} that the header announces");
            Err(Problem::syntax(format!("number {number}"), expected))
        };
        in_table(thread, self.threads, "threads")?;
        let target = match what {
            What::Read | What::Write => {
                in_table(object, self.variables, "variables")?;
                format!("V{object}")
            }
            What::Acquire | What::Release | What::Request => {
                in_table(object, self.locks, "locks")?;
                format!("L{object}")
            }
            What::Fork | What::Join => {
                in_table(object, self.threads, "threads")?;
                format!("T{object}")
            }
            _ => String::new(),
        };
        steps
            .push(&format!("T{thread}"), what, &target, Some(&location.to_string()))
            .map_err(|error| error.problem)
    }
}

#[cfg(test)]
mod tests {
    use super::{is_rapidbin, parse};
    use crate::Op;
    use crate::provenance::Repair;

    fn file(threads: i16, events: &[(u64, u64, u64, u64)]) -> Vec<u8> {
        let mut bytes = threads.to_be_bytes().to_vec();
        bytes.extend(3i32.to_be_bytes());
        bytes.extend(4i32.to_be_bytes());
        bytes.extend((events.len() as i64).to_be_bytes());
        for &(thread, operation, object, location) in events {
            let word = thread | operation << 10 | object << 14 | location << 48;
            bytes.extend(word.to_be_bytes());
        }
        bytes
    }

    #[test]
    fn fields_and_names_are_unpacked() {
        let bytes = file(2, &[(0, 3, 2, 7), (0, 4, 1, 8), (1, 8, 2, 0x7fff), (1, 0, 2, 9)]);
        assert!(is_rapidbin(&bytes));
        let trace = parse(&bytes).unwrap();
        assert_eq!(trace.threads().iter().collect::<Vec<_>>(), ["T0", "T1"]);
        assert_eq!(trace.objects().iter().collect::<Vec<_>>(), ["V2"]);
        assert_eq!(trace.locks().iter().collect::<Vec<_>>(), ["L2"]);
        assert_eq!(trace.locations().iter().collect::<Vec<_>>(), ["7", "8", "32767", "9"]);
        assert!(trace.provenance().is_empty());
    }

    #[test]
    fn begins_at_the_head_of_the_file_do_not_precede_the_fork() {
        let bytes = file(
            2,
            &[(0, 6, 0, 0), (1, 6, 0, 0), (0, 4, 1, 1), (1, 6, 0, 0), (1, 2, 0, 2), (1, 7, 0, 0)],
        );
        let trace = parse(&bytes).unwrap();
        let ops: Vec<Op> = trace.events().map(|(_, event)| event.op).collect();
        assert_eq!(ops[0], Op::Begin);
        assert!(matches!(ops[1], Op::Fork { .. }));
        assert_eq!(ops[2], Op::Begin);
        assert_eq!(ops.len(), 5);
        assert_eq!(trace.provenance(), [(Repair::MisplacedBegin.into(), 1)]);
    }

    #[test]
    fn damage_is_an_error_with_its_offset() {
        let good = file(2, &[(0, 3, 2, 7), (0, 2, 2, 8)]);
        for length in 0..good.len() {
            assert!(parse(&good[..length]).is_err());
        }
        for (bytes, message) in [
            (file(2, &[(2, 3, 0, 0)]), "byte 18: number 2; expected one of the 2 threads"),
            (file(2, &[(0, 3, 0, 0), (0, 9, 0, 0)]), "byte 26: operation 9; expected"),
            (file(2, &[(0, 3, 4, 0)]), "byte 18: number 4; expected one of the 4 variables"),
            (file(2, &[(0, 0, 3, 0)]), "byte 18: number 3; expected one of the 3 locks"),
            (file(2, &[(0, 4, 2, 0)]), "byte 18: number 2; expected one of the 2 threads"),
            (file(2, &[(0, 3, 0, 0x8000)]), "byte 18: bit 63 is set"),
            (file(-1, &[(0, 3, 0, 0)]), "byte 0: a negative number of threads"),
            (file(2, &[]), "byte 10: 0 bytes after the header"),
        ] {
            let error = parse(&bytes).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
