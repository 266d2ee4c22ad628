//! Facts about the recording as a whole: benign races, what was left out, whether the runtime
//! counted forks as the trace does.

use foretrace_recording::file::{ending, flags};
use foretrace_trace::provenance::{Cut, LeftOut, Private, Recorded, Taken, Unit};
use foretrace_trace::{LocationId, Place, Provenance};

use super::chunks::Recording;
use super::emit::{Emit, Row};
use super::objects::{Found, What};
use super::order::Order;
use super::records::Reached;

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
            self.builder.tell(Taken::ForksCounted, count);
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

    pub(super) fn finish_facts(&mut self, order: &Order, reached: Reached) {
        let Recording { flags: set, ending: how, status, lost, unreachable, .. } = *self.recording;
        let counts = std::mem::take(&mut self.counts);
        let mut tell = |fact: Provenance, count: u64| {
            if count > 0 {
                self.builder.tell(fact, count);
            }
        };
        tell(Private::Access.into(), counts.private);
        tell(Private::Block.into(), counts.blocks);
        tell(LeftOut::AfterExit.into(), counts.after_exit);
        tell(LeftOut::LostThread.into(), counts.unresolved);
        tell(Provenance::FreedAccess, counts.freed);
        if let Order::Runs(_) = order {
            tell(Recorded::FreeRunning.into(), 1);
        }
        let why = match set & flags::LIMITED {
            0 => Cut::DiskFull,
            _ => Cut::SizeLimit,
        };
        let is_set = |flag| u64::from(set & flag != 0);
        tell(Provenance::Prefix(why), is_set(flags::TRUNCATED));
        let (read, total, unit) = (reached.bytes, self.recording.size(), Unit::Bytes);
        tell(Provenance::CutByBudget { read, total, unit }, u64::from(!reached.is_all));
        tell(Provenance::OperationLost(why), lost);
        tell(Recorded::ChunkUnreachable.into(), unreachable);
        tell(Recorded::TablesCutOff.into(), u64::from(self.tables.incomplete));
        tell(Recorded::BlockedUnseen.into(), is_set(flags::WATCHDOG));
        tell(Recorded::SharedLocks.into(), is_set(flags::SHARED));
        tell(Recorded::HandlerUnseen.into(), is_set(flags::HANDLER));
        tell(Recorded::Forked.into(), is_set(flags::FORKED));
        tell(Recorded::Started.into(), is_set(flags::STARTED));
        let again = u64::from(self.recording.starts_children_again);
        tell(Recorded::StartsChildrenAgain.into(), again);
        match how {
            ending::SIGNAL => tell(Provenance::EndedBySignal(status), 1),
            ending::DEADLOCK => tell(Recorded::Deadlocked.into(), 1),
            _ => {}
        }
        if let Some(assertion) = &self.tables.assertion {
            tell(Provenance::AssertionFailed(assertion.to_string()), 1);
        }
        let unknown = std::mem::take(&mut self.unknown_writers);
        let mut unknown: Vec<(Option<LocationId>, u64)> = unknown.into_iter().collect();
        unknown.sort_by_key(|&(location, count)| (std::cmp::Reverse(count), location));
        for (number, (location, count)) in unknown.into_iter().enumerate() {
            let location = location.filter(|_| number < COUNTED_LOCATIONS);
            let at = location.map(|location| self.builder.so_far().name(location).to_string());
            self.builder.tell(Provenance::UnknownWriter { at }, count);
        }
    }
}
