//! Counts how much of a recording the walk could express.

use std::collections::BTreeMap;

use foretrace_trace::provenance::{Differing, Kept, Walked};

/// What happened to values, and why some are numbers though they depend on reads.
#[derive(Default, Debug)]
pub(crate) struct Counts {
    /// Records that were shown.
    pub(crate) records: u64,
    /// Writes of memory that others touch, and branches.
    pub(crate) writes: u64,
    pub(crate) branches: u64,
    /// Instructions that needed no record.
    pub(crate) instructions: u64,
    /// Those that depend on reads, and are expressed.
    pub(crate) expressed: u64,
    /// Those that depend on reads, and are kept as recorded.
    pub(crate) concretised: u64,
    /// Guards, by what made them necessary.
    pub(crate) guards: BTreeMap<Kept, u64>,
    /// Threads whose path was lost, by the reason.
    pub(crate) lost: BTreeMap<Walked, u64>,
    /// Values that were not as computed, by what they are.
    pub(crate) differing: BTreeMap<Differing, u64>,
    /// Images that could not be read.
    pub(crate) broken_images: u64,
}

impl Counts {
    pub(crate) fn guard(&mut self, why: Kept) {
        *self.guards.entry(why).or_default() += 1;
    }

    pub(crate) fn differs(&mut self, what: Differing) {
        *self.differing.entry(what).or_default() += 1;
    }

    /// What a user should know.
    pub(crate) fn facts(&self) -> Vec<(Walked, u64)> {
        let mut facts = vec![
            (Walked::SharedWrites, self.writes),
            (Walked::Branches, self.branches),
            (Walked::Expressed, self.expressed),
            (Walked::Concretised, self.concretised),
        ];
        facts.extend(self.guards.iter().map(|(&why, &count)| (Walked::ReadKept(why), count)));
        let differing = self.differing.iter();
        facts.extend(differing.map(|(&what, &count)| (Walked::NotAsComputed(what), count)));
        facts.extend(self.lost.iter().map(|(reason, &count)| (reason.clone(), count)));
        facts.push((Walked::BrokenImage, self.broken_images));
        facts.retain(|(_, count)| *count > 0);
        facts
    }
}
