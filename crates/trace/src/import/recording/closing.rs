//! What is said of the recording as a whole: benign races, notes, whether forks are counted alike.

use foretrace_recording::file::{ending, flags};

use super::chunks::Recording;
use super::emit::{Emit, Row};
use super::objects::{Found, What};
use super::order::Order;
use crate::{LocationId, Place};

/// Locations for which reads with an unknown writer are counted one by one.
const COUNTED_LOCATIONS: usize = 50;

impl Emit<'_> {
    /// A replay finds threads by their forks; the runtime has counted these as well.
    pub(super) fn check_lineages(&mut self) {
        let lineages = self.builder.so_far().lineages();
        let differs = |(number, row): &(&u32, &Row)| {
            let Some(&(parent, child)) = self.tables.threads.get(*number) else { return false };
            let parent = self.threads.get(&parent).and_then(|row| row.id);
            let lineage = row.id.and_then(|id| lineages[id.index()]);
            lineage.is_some() && lineage != parent.map(|parent| (parent, child))
        };
        let count = self.threads.iter().filter(differs).count() as u64;
        if count > 0 {
            self.builder.note("thread whose forks were counted otherwise by the runtime", count);
        }
    }

    /// Declares the benign races in a new object.
    pub(super) fn benign_in(&mut self, found: &Found) {
        let tables = self.tables;
        for benign in &tables.benign {
            let (start, end) = (benign.start.max(found.start), benign.end.min(found.end));
            if start < end {
                let object = self.object(found);
                let (offset, size) = ((start - found.start) as u32, (end - start) as u32);
                self.builder.declare_benign(Place { object, offset, size }, &benign.reason);
            }
        }
    }

    /// Declares the benign races in what is there at the end and is no block of the heap.
    pub(super) fn declare_benign(&mut self) {
        let tables = self.tables;
        for benign in &tables.benign {
            let mut pieces = Vec::new();
            let size = benign.end.saturating_sub(benign.start).min(1 << 32);
            self.objects.split(benign.start, size.min(u64::MAX - benign.start), |found, bytes| {
                pieces.push((found, bytes));
            });
            for (found, bytes) in pieces {
                let known = self.object_ids.get(&found.object).copied();
                let Some(object) = known.filter(|_| !matches!(found.what, What::Heap(_))) else {
                    continue;
                };
                let offset = (bytes.start - found.start) as u32;
                let size = (bytes.end - bytes.start) as u32;
                self.builder.declare_benign(Place { object, offset, size }, &benign.reason);
            }
        }
    }

    pub(super) fn finish_notes(&mut self, order: &Order) {
        let Recording { flags: set, ending: how, status, lost, unreachable, .. } = *self.recording;
        let counts = std::mem::take(&mut self.counts);
        let mut note = |text: &str, count: u64| {
            if count > 0 {
                self.builder.note(text, count);
            }
        };
        note("access to memory of one thread left out", counts.private);
        note("block of memory of one thread left out", counts.blocks);
        note("record after exit left out", counts.after_exit);
        note("record of a thread whose state is not known left out", counts.unresolved);
        note("access to freed memory, in a region", counts.freed);
        if let Order::Runs(_) = order {
            note("free-running recording: order of accesses reconstructed", 1);
        }
        let why = match set & flags::LIMITED {
            0 => "the disk was full",
            _ => "it reached its largest size",
        };
        let is_cut_off = u64::from(set & flags::TRUNCATED != 0);
        note(&format!("recording is a prefix: {why}"), is_cut_off);
        note(&format!("operation lost since {why}"), lost);
        note("chunk of the recording behind a missing one", unreachable);
        note("tables of the recording cut off", u64::from(self.tables.incomplete));
        note(
            "thread blocked where the scheduler does not see it",
            u64::from(set & flags::WATCHDOG != 0),
        );
        note(
            "locks or the like that other processes can use: what those do is not seen",
            u64::from(set & flags::SHARED != 0),
        );
        note("process forked; the child is not recorded", u64::from(set & flags::FORKED != 0));
        note("programs started; they are not recorded", u64::from(set & flags::STARTED != 0));
        note("children that replays start again", u64::from(self.recording.starts_children_again));
        match how {
            ending::SIGNAL => note(&format!("process ended by signal {status}"), 1),
            ending::DEADLOCK => note("process ended in a deadlock", 1),
            _ => {}
        }
        if let Some(assertion) = &self.tables.assertion {
            note(&format!("assertion failed: {assertion}"), 1);
        }
        let unknown = std::mem::take(&mut self.unknown_writers);
        let mut unknown: Vec<(Option<LocationId>, u64)> = unknown.into_iter().collect();
        unknown.sort_by_key(|&(location, count)| (std::cmp::Reverse(count), location));
        for (number, (location, count)) in unknown.into_iter().enumerate() {
            let location = location.filter(|_| number < COUNTED_LOCATIONS);
            let place = location.map_or("other places", |location| {
                self.builder.so_far().locations().get(location.index())
            });
            let text = format!("unknown writer reads at {place}");
            self.builder.note(&text, count);
        }
    }
}
