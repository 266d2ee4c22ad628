//! What the program received from outside, in the form in which a replay needs it
//! (`foretrace_recording::input`).
//!
//! The trace only keeps it. Nothing of what is predicted depends on it.

use foretrace_recording::input::{self, Input, START_WORDS, call};

use super::tables::Tables;

impl Tables {
    /// The file that a replay gets; empty if the recording does not say how the process began.
    pub(super) fn inputs_for_replays(&self, starts_children_again: bool) -> Vec<u8> {
        let Some(start) = self.start.as_deref() else { return Vec::new() };
        let word = |bytes: &[u8], at: usize| {
            let bytes = bytes.get(8 * at..8 * at + 8);
            u64::from_le_bytes(bytes.and_then(|bytes| bytes.try_into().ok()).unwrap_or_default())
        };
        let mut words = vec![input::MAGIC];
        words.extend((0..START_WORDS).map(|at| word(start, at)));
        if !self.reads_clocks() {
            // Runs that differ in nothing but their time have the same trace.
            words[1..3].fill(0);
        }
        let count = self.threads.keys().max().map_or(0, |last| last + 1);
        words.push(u64::from(count));
        words.extend((0..count).map(|thread| {
            let (parent, place) =
                self.threads.get(&thread).copied().unwrap_or((u32::MAX, u32::MAX));
            u64::from(parent) | u64::from(place) << 32
        }));
        let mut bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
        bytes.extend_from_slice(&self.inputs);
        if starts_children_again {
            let call = call::CHILDREN_AGAIN;
            let again = Input { thread: 0, call, ordinal: 0, errno: 0, result: 0, sent: 0 };
            bytes.extend(again.words(0).into_iter().flat_map(u64::to_le_bytes));
        }
        bytes
    }

    fn reads_clocks(&self) -> bool {
        input::inputs(&self.inputs).any(|input| input.call == call::CLOCK)
    }
}
