//! Rounds of questions, shard by shard, on several threads.
//!
//! **Invariant.** A shard is a fixed number of neighbouring classes of one property, whatever the
//! number of threads is; only one thread works on a shard, in the order of its classes.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use foretrace_solve::Limits;

use crate::candidates::Class;
use crate::pipeline::{PredictError, Work};
use crate::prediction::Phase;
use crate::shard::Shard;

/// How many classes make a shard. More of them share what a solver has learnt, and wait for each
/// other.
const CLASSES_PER_SHARD: usize = 64;

/// Classes, by number, in shards.
pub(crate) struct Shards(Vec<Vec<usize>>);

impl Shards {
    /// Shards of these classes. The first ones of all properties come first, so that no property
    /// has to wait for all of another.
    pub(crate) fn new(classes: &[Class], chosen: &[usize]) -> Self {
        let of_one_property =
            chosen.chunk_by(|&one, &other| classes[one].property == classes[other].property);
        let numbered = of_one_property
            .flat_map(|those| those.chunks(CLASSES_PER_SHARD).map(<[usize]>::to_vec).enumerate());
        let mut numbered: Vec<(usize, Vec<usize>)> = numbered.collect();
        numbered.sort_by_key(|&(number, _)| number);
        Shards(numbered.into_iter().map(|(_, shard)| shard).collect())
    }

    /// Each of these classes by itself.
    pub(crate) fn alone(chosen: &[usize]) -> Self {
        Shards(chosen.iter().map(|&at| vec![at]).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The same shards with some of their classes only.
    pub(crate) fn only(&self, is_asked: impl Fn(usize) -> bool) -> Shards {
        let those = |shard: &Vec<usize>| shard.iter().copied().filter(|&at| is_asked(at)).collect();
        let shards = self.0.iter().map(those);
        Shards(shards.filter(|shard: &Vec<usize>| !shard.is_empty()).collect())
    }
}

/// One round.
pub(crate) struct Round<'r> {
    pub(crate) work: &'r Work<'r>,
    /// For each question.
    pub(crate) limits: Limits,
    /// How many threads work. Changes nothing in the answers.
    pub(crate) jobs: usize,
    /// How many of all classes are decided when it begins.
    pub(crate) done: u64,
    pub(crate) total: u64,
}

impl Round<'_> {
    /// What `decide` answers for every class of the shards.
    pub(crate) fn ask<T: Send>(
        &self,
        shards: &Shards,
        decide: impl Fn(&mut Shard, usize) -> Result<T, PredictError> + Sync,
    ) -> Result<Vec<(usize, T)>, PredictError> {
        let (next_shard, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let done = AtomicU64::new(self.done);
        type Answers<T> = Vec<(usize, Result<T, PredictError>)>;
        let answers: Mutex<Answers<T>> = Mutex::default();
        let work = || {
            while let Some(classes) = shards.0.get(next_shard.fetch_add(1, Ordering::Relaxed)) {
                let mut shard = Shard::new(self.work, self.limits.clone());
                let mut mine = Vec::new();
                for &at in classes {
                    if failed.load(Ordering::Relaxed) {
                        break;
                    }
                    let answer = decide(&mut shard, at);
                    failed.fetch_or(answer.is_err(), Ordering::Relaxed);
                    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                    self.work.progress.report(Phase::Deciding, done.min(self.total), self.total);
                    mine.push((at, answer));
                }
                answers.lock().expect("no thread panics").extend(mine);
            }
        };
        std::thread::scope(|scope| {
            // This thread works too: one worker needs no other, and its memory stays in one place.
            for _ in 1..self.jobs.min(shards.0.len()) {
                scope.spawn(work);
            }
            work();
        });
        let mut answers = answers.into_inner().expect("no thread panics");
        answers.sort_unstable_by_key(|&(at, _)| at);
        answers.into_iter().map(|(at, answer)| Ok((at, answer?))).collect()
    }
}
