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
const CLASSES_PER_SHARD: usize = 128;

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

    pub(crate) fn len(&self) -> usize {
        self.0.len()
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
    /// Whether what takes long is left out.
    pub(crate) in_haste: bool,
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
        let done = AtomicU64::new(self.done);
        self.ask_shards(shards, |classes| {
            let new = if self.in_haste { Shard::in_haste } else { Shard::new };
            let mut shard = new(self.work, self.limits.clone());
            let mut answers = Vec::new();
            for &at in classes {
                answers.push((at, decide(&mut shard, at)?));
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                self.work.progress.report(Phase::Deciding, done.min(self.total), self.total);
            }
            Ok(answers)
        })
    }

    /// What `decide` answers for each shard, sorted by class.
    pub(crate) fn ask_shards<T: Send>(
        &self,
        shards: &Shards,
        decide: impl Fn(&[usize]) -> Result<Vec<(usize, T)>, PredictError> + Sync,
    ) -> Result<Vec<(usize, T)>, PredictError> {
        let (next_shard, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        type Answers<T> = Vec<Result<Vec<(usize, T)>, PredictError>>;
        let answers: Mutex<Answers<T>> = Mutex::default();
        let work = || {
            while let Some(classes) = shards.0.get(next_shard.fetch_add(1, Ordering::Relaxed))
                && !failed.load(Ordering::Relaxed)
            {
                let mine = decide(classes);
                failed.fetch_or(mine.is_err(), Ordering::Relaxed);
                answers.lock().expect("no thread panics").push(mine);
            }
        };
        std::thread::scope(|scope| {
            // This thread works too: one worker needs no other, and its memory stays in one place.
            for _ in 1..self.jobs.min(shards.0.len()) {
                scope.spawn(work);
            }
            work();
        });
        let mut all = Vec::new();
        for mine in answers.into_inner().expect("no thread panics") {
            all.extend(mine?);
        }
        all.sort_unstable_by_key(|&(at, _)| at);
        Ok(all)
    }
}
