//! What the runtime reports about a replay.

use foretrace_recording::input::{call, problem};
use foretrace_recording::plan::outcome;
use foretrace_recording::record::kind;

/// An operation in words a reader knows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operation {
    /// `load`, `acquire`, ...
    pub what: &'static str,
    /// `file:line:column`, if known.
    pub place: Option<String>,
}

/// What came of a replay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The violation was there.
    Confirmed,
    /// All steps were done, but the violation was not there at their end.
    NotReached,
    /// A step could not be done.
    Diverged {
        /// Which step, from 0; the number of steps for what comes after them.
        step: usize,
        /// The event of the trace that was to happen.
        event: u32,
        /// What the thread was about to do instead; `None` if there was no such thread, or it had
        /// ended.
        seen: Option<Operation>,
        /// Which visible operation of the thread was expected, and which was next.
        ordinals: (u32, Option<u32>),
    },
    /// A call on the outside is not the recorded one.
    OtherCall {
        /// After so many steps.
        step: usize,
        /// What is called.
        call: &'static str,
        /// What is different.
        why: &'static str,
        /// `file:line:column`, if known.
        place: Option<String>,
    },
    /// The program ended by itself after so many steps.
    Ended {
        /// How many steps were done.
        steps: usize,
    },
}

impl Outcome {
    /// How many calls on the outside were answered as recorded, in a replay that was confirmed.
    pub fn given(bytes: &[u8]) -> u64 {
        let word = |at: usize| {
            let word = bytes.get(8 * at..8 * at + 8);
            word.map_or(0, |word| u64::from_le_bytes(word.try_into().expect("eight bytes")))
        };
        if word(1) == outcome::CONFIRMED { word(3) } else { 0 }
    }

    /// Reads the runtime's answer; `None` if there is none (the process was killed) or it is
    /// damaged.
    pub fn read(bytes: &[u8]) -> Option<Outcome> {
        let words: Vec<u64> = bytes
            .chunks_exact(8)
            .map(|word| u64::from_le_bytes(word.try_into().expect("chunks of eight")))
            .collect();
        let (&magic, words) = words.split_first()?;
        if magic != outcome::MAGIC {
            return None;
        }
        let word = |index: usize| words.get(index).copied();
        let step = word(1)? as usize;
        Some(match word(0)? {
            outcome::CONFIRMED => Outcome::Confirmed,
            outcome::NOT_REACHED => Outcome::NotReached,
            outcome::OTHER_CALL => {
                let (line, length) = (word(4)?, word(5)? as usize);
                let file: Vec<u8> = words[6..].iter().flat_map(|word| word.to_le_bytes()).collect();
                let file = String::from_utf8_lossy(file.get(..length)?).into_owned();
                Outcome::OtherCall {
                    step,
                    call: call::name(word(2)? as u32),
                    why: difference(word(3)?),
                    place: (length > 0).then(|| format!("{file}:{}:{}", line as u32, line >> 32)),
                }
            }
            outcome::UNFINISHED => Outcome::Ended { steps: step },
            outcome::DIVERGED => {
                let (line, length) = (word(9)?, word(10)? as usize);
                let file: Vec<u8> =
                    words[11..].iter().flat_map(|word| word.to_le_bytes()).collect();
                let file = String::from_utf8_lossy(file.get(..length)?).into_owned();
                let ordinal = word(6)?;
                let seen = (ordinal != u64::MAX).then(|| Operation {
                    what: name(word(7).unwrap_or(0) as u8),
                    place: (length > 0).then(|| format!("{file}:{}:{}", line as u32, line >> 32)),
                });
                Outcome::Diverged {
                    step,
                    event: word(5)? as u32,
                    seen,
                    ordinals: (word(3)? as u32, u32::try_from(ordinal).ok()),
                }
            }
            _ => return None,
        })
    }
}

/// What is different about a call.
fn difference(why: u64) -> &'static str {
    match why {
        problem::OTHER_BYTES => "it sends other bytes than in the recorded run",
        problem::NOT_READY => "a descriptor that was ready in the recorded run is not",
        problem::OTHER_DESCRIPTOR => "the new descriptor has another number",
        problem::OTHER_FILE => "the file has changed since the recorded run",
        problem::FILE_NOT_KEPT => {
            "what the file held before the recorded run changed it was too large to be kept"
        }
        problem::NOT_GIVEN => "what the recorded run got here cannot be given again",
        problem::FILE_NOT_CHANGED => "the recorded run did not change this file",
        problem::NOT_SENT => "no thread has sent it",
        _ => "the recorded run has no such call here, so its result is not known",
    }
}

/// The name of a kind of operation.
fn name(kind: u8) -> &'static str {
    match kind {
        kind::LOAD | kind::LOAD_RANGE => "read",
        kind::STORE | kind::STORE_RANGE => "write",
        kind::ATOMIC_LOAD => "atomic read",
        kind::ATOMIC_STORE => "atomic write",
        kind::RMW => "atomic read-modify-write",
        kind::FENCE => "fence",
        kind::REGION_BEGIN => "region begin",
        kind::REGION_END => "region end",
        kind::ASSERT => "assertion",
        kind::BEGIN => "begin",
        kind::END => "end",
        kind::FORK => "fork",
        kind::JOIN => "join",
        kind::ACQUIRE | kind::ACQUIRE_FAILED => "acquire",
        kind::RELEASE => "release",
        kind::LOCK_DESTROY => "destroy",
        kind::WAIT => "wait",
        kind::WAKE => "wake",
        kind::SIGNAL => "signal",
        kind::BROADCAST => "broadcast",
        kind::SEM_WAIT | kind::SEM_WAIT_FAILED => "semwait",
        kind::SEM_POST => "sempost",
        kind::ARRIVE => "arrive",
        kind::LEAVE => "leave",
        _ => "wait for something that is not there",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn answers_are_read() {
        let confirmed = bytes(&[outcome::MAGIC, outcome::CONFIRMED, 5]);
        assert_eq!(Outcome::read(&confirmed), Some(Outcome::Confirmed));
        assert_eq!(Outcome::read(&confirmed[..8]), None);
        assert_eq!(Outcome::read(b"something"), None);
        let file = u64::from_le_bytes(*b"bank.c\0\0");
        let words = [
            outcome::MAGIC,
            outcome::DIVERGED,
            3,
            1,
            7,
            8,
            20,
            9,
            u64::from(kind::ACQUIRE),
            1,
            12 | 5 << 32,
            6,
            file,
        ];
        let expected = Outcome::Diverged {
            step: 3,
            event: 20,
            seen: Some(Operation { what: "acquire", place: Some("bank.c:12:5".into()) }),
            ordinals: (7, Some(9)),
        };
        assert_eq!(Outcome::read(&bytes(&words)), Some(expected));
        let (code, why) = (u64::from(call::WRITE), problem::OTHER_BYTES);
        let words = [outcome::MAGIC, outcome::OTHER_CALL, 3, code, why, 12 | 5 << 32, 6, file];
        let expected = Outcome::OtherCall {
            step: 3,
            call: "write",
            why: "it sends other bytes than in the recorded run",
            place: Some("bank.c:12:5".into()),
        };
        assert_eq!(Outcome::read(&bytes(&words)), Some(expected));
        assert_eq!(Outcome::given(&bytes(&words)), 0);
        assert_eq!(Outcome::given(&confirmed), 0);
        assert_eq!(Outcome::given(&bytes(&[outcome::MAGIC, outcome::CONFIRMED, 5, 7])), 7);
    }
}
