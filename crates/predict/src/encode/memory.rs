//! What reads see: the choice of a source, and nothing else written in between.
//!
//! **Computes.** For a pinned read r of a cell: some source w that leaves what r expects precedes
//! r, and every write that leaves something else comes before w or after r.
//!
//! **Follows.** 002 section 3.2, the predecessor write sets; writes of the same identity need not
//! be kept apart. The second half is added write by write, when a schedule shows it to be broken.

use foretrace_model::{CellId, Identity};
use foretrace_solve::Lit;
use foretrace_trace::{EventId, Op};

use super::{Encoder, Questions};
use crate::explain::Reason;
use crate::fault::{Fault, is_seeded};

/// Where a read may get its contents: a write, or the initial state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    pub(super) write: Option<EventId>,
    /// True if the read uses this source.
    pub(super) chosen: Lit,
}

impl Encoder<'_> {
    /// The guard of a read's value: included, unless it is a remote access whose thread stops
    /// there, or released for the assertion that is asked about.
    pub(crate) fn pinned(&mut self, read: EventId) -> Lit {
        let is_plain_read = matches!(self.skeleton.trace.op(read), Op::Read { .. });
        let released_for = match self.questions {
            Questions::Assertions if self.skeleton.pins_reads() => {
                self.skeleton.data.as_ref().and_then(|data| data.released_for(read))
            }
            Questions::Plain | Questions::Atomicity | Questions::Assertions => None,
        };
        let is_remote = self.questions == Questions::Atomicity
            && is_plain_read
            && !is_seeded(Fault::RemoteReadPinned);
        if !is_remote && released_for.is_none() {
            return self.included(read);
        }
        if let Some(&pinned) = self.pinned.get(&read) {
            return pinned;
        }
        let pinned = self.solver.literal();
        let included = self.included(read);
        if let Some(assertion) = released_for {
            let asked = self.asked(assertion);
            self.solver.clause(&[!included, asked, pinned]);
        } else {
            let remote = self.remote(read);
            self.solver.clause(&[!included, remote, pinned]);
            // What follows needs the recorded value: the thread's next event, or a join of the
            // thread.
            for later in self.skeleton.needing_more_than(read) {
                let goes_on = self.included(later);
                self.solver.clause(&[!goes_on, pinned]);
            }
        }
        self.pinned.insert(read, pinned);
        pinned
    }

    /// "`access` is the remote access of the question": true of at most one.
    pub(crate) fn remote(&mut self, access: EventId) -> Lit {
        if let Some(&remote) = self.remotes.get(&access) {
            return remote;
        }
        let remote = self.solver.literal();
        self.one_remote.add(&mut self.solver, remote);
        self.remotes.insert(access, remote);
        remote
    }

    /// The assumption that no read with an unknown writer is included, but a remote one whose value
    /// is free.
    pub(super) fn explained(&mut self) -> Lit {
        if let Some(explained) = self.explained {
            return explained;
        }
        let explained = self.solver.literal();
        // What follows such a read in its thread includes it.
        let first = self.skeleton.memory.first_unknown_writers(self.skeleton.trace);
        for read in first.into_iter().flatten() {
            let counts = if is_seeded(Fault::FreeReadUnexplained) {
                self.included(read)
            } else {
                self.pinned(read)
            };
            self.solver.clause(&[!explained, !counts]);
        }
        self.explained = Some(explained);
        explained
    }

    /// Asks for a source. Returns whether this is new.
    pub(super) fn require_source(&mut self, read: EventId, cell: CellId) -> bool {
        if self.reads.contains_key(&(read, cell)) {
            return false;
        }
        let writes = self.possible_sources(read, cell);
        let reason = || Reason::Read {
            read,
            sources: writes.iter().flatten().copied().collect(),
            initial: writes.contains(&None),
        };
        let sources = self.under(reason, |encoder| encoder.choose_source(read, cell, &writes));
        self.reads.insert((read, cell), sources);
        true
    }

    fn choose_source(
        &mut self,
        read: EventId,
        cell: CellId,
        writes: &[Option<EventId>],
    ) -> Vec<Source> {
        let pinned = self.pinned(read);
        let mut sources = Vec::with_capacity(writes.len());
        if let [write] = *writes
            && !self.explains()
        {
            // No choice, no variable: the read uses it whenever it is pinned.
            if let Some(write) = write {
                let before = self.before(write, read);
                self.rule(&[!pinned, before]);
            }
            sources.push(Source { write, chosen: pinned });
        } else {
            let mut some = vec![!pinned];
            for &write in writes {
                let recorded = self.recorded_writer(read, cell) == write;
                let chosen = self.solver.literal_with_phase(recorded);
                if let Some(write) = write {
                    let before = self.before(write, read);
                    self.rule(&[!chosen, before]);
                }
                some.push(chosen);
                sources.push(Source { write, chosen });
            }
            self.rule(&some);
        }
        sources
    }

    pub(super) fn recorded_writer(&self, read: EventId, cell: CellId) -> Option<EventId> {
        self.skeleton.memory.recorded_writer(self.skeleton.trace, read, cell)
    }

    /// The writes (`None`: the initial state) that leave what the read expects and are not always
    /// overwritten before it or later than it.
    fn possible_sources(&self, read: EventId, cell: CellId) -> Vec<Option<EventId>> {
        let trace = self.skeleton.trace;
        let memory = &self.skeleton.memory;
        let expected = memory.expected(trace, read, cell);
        if let Identity::Event(write) = expected {
            return vec![Some(write)];
        }
        let mut sources = self.unhidden_sources(read, cell);
        sources.retain(|&source| match source {
            Some(write) => memory.written(trace, write, cell) == expected,
            None => memory.initial(cell) == expected,
        });
        if is_seeded(Fault::OneSource) {
            sources.truncate(1);
        }
        sources
    }

    /// The writes (`None`: the initial state) that are not always overwritten before the read or
    /// later than it.
    pub(super) fn unhidden_sources(&self, read: EventId, cell: CellId) -> Vec<Option<EventId>> {
        let trace = self.skeleton.trace;
        let memory = &self.skeleton.memory;
        let is_write =
            |event: &EventId| trace.op(*event).access().is_some_and(|access| access.writes);
        let all_writes = || memory.accesses(cell).iter().copied().filter(is_write).collect();
        let writes = self.writes.borrow_mut().entry(cell).or_insert_with(all_writes).clone();
        let writes = || writes.iter().copied();
        // The last write of each thread that must precede the read hides those that must precede
        // it.
        let mut last: Vec<Option<EventId>> = vec![None; trace.threads().len()];
        for write in writes() {
            let is_certain =
                self.skeleton.data.as_ref().is_none_or(|data| data.occurs(write).is_none());
            if is_certain && self.precedes(write, read) {
                let last = &mut last[trace.thread_of(write).index()];
                *last = (*last).max(Some(write));
            }
        }
        let hiding: Vec<EventId> = last.iter().flatten().copied().collect();
        let initial_hidden = !hiding.is_empty();
        let mut sources = Vec::new();
        if !initial_hidden && !is_seeded(Fault::NoInitialSource) {
            sources.push(None);
        }
        for write in writes() {
            if write != read
                && last[trace.thread_of(write).index()].is_none_or(|last| last <= write)
                && !self.is_before_some(write, &hiding)
                && !self.precedes(read, write)
            {
                sources.push(Some(write));
            }
        }
        sources
    }

    /// Keeps `other`, which leaves something else, out from between the chosen source and the read.
    /// Returns whether this is new.
    pub(super) fn keep_apart(
        &mut self,
        read: EventId,
        cell: CellId,
        source: Source,
        other: EventId,
    ) -> bool {
        if !self.from_reads.insert((read, cell, source.chosen, other)) {
            return false;
        }
        let mut clause = vec![!source.chosen, self.before(read, other)];
        if let Some(write) = source.write
            && !is_seeded(Fault::FromReadOneWay)
        {
            clause.push(self.before(other, write));
        }
        clause.extend(self.occurs(other).map(|occurs| !occurs));
        let reason = || Reason::Between { read, source: source.write, write: other };
        self.under(reason, |encoder| encoder.rule(&clause));
        true
    }

    /// The source that the last model chose for a read.
    pub(super) fn chosen_source(&self, read: EventId, cell: CellId) -> Option<Source> {
        let sources = self.reads.get(&(read, cell))?;
        sources.iter().copied().find(|source| self.solver.value(source.chosen))
    }
}
