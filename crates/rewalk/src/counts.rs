//! How much of a recording could be expressed.

use std::collections::BTreeMap;

/// What happened to values, and why some are numbers though they depend on reads.
#[derive(Default, Debug)]
pub(crate) struct Counts {
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
    pub(crate) guards: BTreeMap<&'static str, u64>,
    /// Threads whose path was lost, by the reason.
    pub(crate) lost: BTreeMap<String, u64>,
    /// Values that were not as computed, by what they are.
    pub(crate) differing: BTreeMap<&'static str, u64>,
    /// Images that could not be read.
    pub(crate) broken_images: u64,
}

impl Counts {
    pub(crate) fn guard(&mut self, why: &'static str) {
        *self.guards.entry(why).or_default() += 1;
    }

    pub(crate) fn differs(&mut self, what: &'static str) {
        *self.differing.entry(what).or_default() += 1;
    }

    /// What a user should know.
    pub(crate) fn notes(&self) -> Vec<(String, u64)> {
        let mut notes = vec![
            ("terms: shared writes".to_string(), self.writes),
            ("terms: branches".to_string(), self.branches),
            ("terms: writes and branches in terms of reads".to_string(), self.expressed),
            ("terms: writes and branches kept as recorded".to_string(), self.concretised),
        ];
        for (why, count) in &self.guards {
            notes.push((format!("terms: read kept as recorded: {why}"), *count));
        }
        for (what, count) in &self.differing {
            notes.push((format!("terms: not as computed: {what}"), *count));
        }
        for (why, count) in &self.lost {
            notes.push((format!("terms: path of a thread lost: {why}"), *count));
        }
        notes
            .push(("terms: image of a module that cannot be read".to_string(), self.broken_images));
        notes.retain(|(_, count)| *count > 0);
        notes
    }
}
