//! Supplies to a replay what came from outside in the recorded run.
//!
//! **Invariant.** Only results that others than the process decide are given so. What threads of
//! the process do to each other (pipes, eventfds, files, signals among them) happens really: giving
//! its recorded result would confirm what cannot happen.

use std::collections::{HashMap, VecDeque};

use foretrace_recording::file::table;
use foretrace_recording::input::{
    INPUT_WORDS, Input, MAGIC, OF_CHILD, SIGNAL_BYTES, START_WORDS, call,
};

use crate::thread::{Thread, Told};
use crate::world::World;

/// What a call answered in the recorded run.
pub(crate) struct Answer {
    pub(crate) result: i64,
    pub(crate) errno: i32,
    pub(crate) sent: u64,
    pub(crate) data: &'static [u8],
}

/// A signal that a thread of the recorded run handled.
pub(crate) struct Signal {
    pub(crate) number: i32,
    pub(crate) told: Told,
    /// The process had sent it to itself.
    pub(crate) is_own: bool,
}

/// The inputs of a recorded run.
pub(crate) struct Inputs {
    /// Wall-clock and monotonic time at the start; 0 if nobody read them.
    pub(crate) start: [i64; 2],
    /// What descriptors 0 to 2 were.
    pub(crate) descriptors: [u8; 3],
    /// Parent of each thread, and which child of it.
    parents: Vec<(u32, u32)>,
    answers: HashMap<(u32, u32, u32), VecDeque<Answer>>,
    /// The process talks to itself over the network: its names and ports are real.
    pub(crate) talks_to_itself: bool,
    /// Children of the process are started again.
    pub(crate) children_again: bool,
    /// Calls are made really, as in a recording.
    live: bool,
    /// Numbers of processes and threads that the recorded run asked for: the thread, which, and
    /// what it was.
    numbers: Vec<(u32, u32, i32)>,
    /// What is known of files: the call, its result and its data.
    files: Vec<(u32, i64, &'static [u8])>,
    /// How many calls were answered.
    pub(crate) given: u64,
}

impl Inputs {
    /// Reads the file of a replay. `live`: only what is known of the start counts.
    pub(crate) fn read(bytes: &'static [u8], live: bool) -> Option<Inputs> {
        let mut rest = bytes;
        let mut word = || {
            let (word, behind) = rest.split_first_chunk::<8>()?;
            rest = behind;
            Some(u64::from_le_bytes(*word))
        };
        if word()? != MAGIC {
            return None;
        }
        let start: Vec<u64> = (0..START_WORDS).map(|_| word()).collect::<Option<_>>()?;
        let threads = word()?;
        let parents = (0..threads)
            .map(|_| word().map(|word| (word as u32, (word >> 32) as u32)))
            .collect::<Option<_>>()?;
        let mut inputs = Inputs {
            start: [start[0] as i64, start[1] as i64],
            descriptors: std::array::from_fn(|at| (start[2] >> (8 * at)) as u8),
            parents,
            answers: HashMap::new(),
            talks_to_itself: false,
            children_again: live,
            live,
            numbers: Vec::new(),
            files: Vec::new(),
            given: 0,
        };
        let mut of_children = Vec::new();
        while !live && let Some((words, behind)) = rest.split_at_checked(8 * INPUT_WORDS) {
            let words = std::array::from_fn(|at| {
                u64::from_le_bytes(std::array::from_fn(|byte| words[8 * at + byte]))
            });
            let (input, size) = Input::read(words);
            let size = size as usize;
            let (Some(data), padded) = (behind.get(..size), size.next_multiple_of(8)) else {
                break;
            };
            rest = behind.get(padded..).unwrap_or_default();
            inputs.talks_to_itself |= input.call == call::TALKS_TO_ITSELF;
            inputs.children_again |= input.call == call::CHILDREN_AGAIN;
            if input.call == call::NUMBER {
                inputs.numbers.push((input.thread, input.ordinal, input.result as i32));
                continue;
            }
            if matches!(input.call, call::FILE | call::SEEN_FILE) {
                inputs.files.push((input.call, input.result, data));
                continue;
            }
            let key = (input.thread, input.ordinal, input.call);
            let (result, errno, sent) = (input.result, input.errno & !OF_CHILD, input.sent);
            let answer = Answer { result, errno: errno as i32, sent, data };
            if input.errno & OF_CHILD != 0 {
                of_children.push((key, answer));
            } else {
                inputs.answers.entry(key).or_default().push_back(answer);
            }
        }
        // Children that are started again answer by themselves.
        for (key, answer) in of_children.into_iter().filter(|_| !inputs.children_again) {
            inputs.answers.entry(key).or_default().push_back(answer);
        }
        Some(inputs)
    }

    /// Which thread of the recording the parent's child number `place` is.
    pub(crate) fn child(&self, parent: Option<u32>, place: u32) -> Option<u32> {
        let wanted = (parent?, place);
        let found = self.parents.iter().skip(1).position(|&known| known == wanted);
        found.map(|index| index as u32 + 1)
    }

    /// Whether a thread of the recorded run handled signals.
    pub(crate) fn has_signals(&self, thread: Option<u32>) -> bool {
        thread.is_some_and(|thread| {
            self.answers.keys().any(|&(of, _, call)| {
                of == thread && matches!(call, call::SIGNAL | call::OWN_SIGNAL)
            })
        })
    }

    /// The number that a thread of the recorded run had, or the process; see
    /// `foretrace_recording::input::number`.
    pub(crate) fn number(&mut self, thread: Option<u32>, what: u32) -> Option<i32> {
        let wanted = (thread?, what);
        let mut known = self.numbers.iter();
        let number = known.find(|&&(thread, what, _)| (thread, what) == wanted)?.2;
        self.given += 1;
        Some(number)
    }

    /// The signals that the process sent to itself and handled, as often as it did.
    pub(crate) fn own_signals(&self) -> impl Iterator<Item = i32> {
        let own = self.answers.iter().filter(|((_, _, call), _)| *call == call::OWN_SIGNAL);
        own.flat_map(|(_, answers)| answers.iter().map(|answer| answer.result as i32))
    }

    /// Whether a thread of the recorded run handled a signal behind so many operations, asleep or
    /// not.
    pub(crate) fn has_signal_at(&self, thread: Option<u32>, ordinal: u32, asleep: bool) -> bool {
        thread.is_some_and(|thread| {
            [call::SIGNAL, call::OWN_SIGNAL].iter().any(|&call| {
                let answers = self.answers.get(&(thread, ordinal, call)).into_iter().flatten();
                answers.into_iter().any(|answer| (answer.sent >> 32 != 0) == asleep)
            })
        })
    }

    /// The signal that a thread of the recorded run handled behind so many operations, at this
    /// [`Thread::depth`].
    pub(crate) fn signal(
        &mut self,
        thread: Option<u32>,
        ordinal: u32,
        depth: u64,
    ) -> Option<Signal> {
        for call in [call::SIGNAL, call::OWN_SIGNAL] {
            let answers = self.answers.get_mut(&(thread?, ordinal, call));
            if let Some(answers) = answers
                && let Some(answer) = answers.pop_front_if(|answer| answer.sent == depth)
            {
                let is_own = call == call::OWN_SIGNAL;
                // What the process itself does is no input.
                self.given += u64::from(!is_own);
                let told = answer.data.first_chunk().copied().unwrap_or([0; SIGNAL_BYTES]);
                return Some(Signal { number: answer.result as i32, told, is_own });
            }
        }
        None
    }

    /// What a call returned and set in the recorded run that this run makes really.
    pub(crate) fn seen(
        &self,
        thread: Option<u32>,
        ordinal: u32,
        call: u32,
    ) -> Option<(i64, &'static [u8])> {
        let answers = self.answers.get(&(thread?, ordinal, call))?;
        answers.front().map(|answer| (answer.result, answer.data))
    }

    /// What the recorded run knew of files.
    pub(crate) fn take_files(&mut self) -> Vec<(u32, i64, &'static [u8])> {
        std::mem::take(&mut self.files)
    }

    pub(crate) fn is_live(&self) -> bool {
        self.live
    }

    fn take(&mut self, thread: Option<u32>, ordinal: u32, call: u32) -> Option<Answer> {
        let answer = self.answers.get_mut(&(thread?, ordinal, call))?.pop_front();
        self.given += u64::from(answer.is_some());
        answer
    }
}

impl World {
    /// Whether calls that depend on the outside are not made, but answered.
    pub(crate) fn is_fed(&self) -> bool {
        self.inputs.as_ref().is_some_and(|inputs| !inputs.is_live())
    }

    /// What the call that a thread makes behind so many operations answered in the recorded run.
    pub(crate) fn answer(&mut self, thread: &Thread, ordinal: u32, call: u32) -> Option<Answer> {
        self.inputs.as_mut()?.take(thread.recorded, ordinal, call)
    }

    /// Keeps what a call got from outside.
    pub(crate) fn keep_input(&mut self, input: &Input, data: &[u8]) {
        let words = input.words(data.len()).map(u64::to_le_bytes);
        self.tables.table(table::INPUT, &[words.as_flattened(), data]);
    }
}
