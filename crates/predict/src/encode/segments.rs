//! Context bounds: the schedule as segments of one thread each.
//!
//! **Computes.** For a bound of m switches, segments 0 to m, each with at most one owner thread;
//! every included event lies in a segment of its thread, and order across threads strictly
//! increases the segment. A schedule of the included events with at most m switches exists iff
//! there are such segments.
//!
//! **Follows.** 000 section 6, made exact: the paper's bound on clocks under-counts.
//!
//! **Invariant.** Every clause has the guard of its bound, so an unsatisfiable core without the
//! guard is a proof without the bound.

use rustc_hash::FxHashMap;

use foretrace_solve::Lit;
use foretrace_trace::{EventId, ThreadId};

use super::Encoder;

/// A bound on the switches between the included events, and who may run last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Bound {
    /// How many switches.
    pub(crate) switches: u32,
    /// The owner of the last segment is one of these; empty: anybody.
    pub(crate) last: Vec<ThreadId>,
}

/// The clauses of one bound, as far as there are nodes and atoms.
pub(super) struct Segments {
    guard: Lit,
    /// By segment and thread: "the thread owns the segment".
    owner: Vec<FxHashMap<ThreadId, Lit>>,
    /// By event: "its segment is at least 1, 2, ...".
    at_least: FxHashMap<EventId, Vec<Lit>>,
    /// Events with segments, by thread and position.
    placed: Vec<Vec<EventId>>,
    atoms: usize,
    fixed: usize,
}

impl Encoder<'_> {
    /// The assumptions that say that the bound is kept, brought up to date.
    pub(super) fn bounded(&mut self, bound: &Bound) -> Vec<Lit> {
        let mut segments = match self.segments.remove(&bound.switches) {
            Some(segments) => segments,
            None => Segments {
                guard: self.solver.literal(),
                owner: vec![FxHashMap::default(); bound.switches as usize + 1],
                at_least: FxHashMap::default(),
                placed: vec![Vec::new(); self.skeleton.trace.threads().len()],
                atoms: 0,
                fixed: 0,
            },
        };
        self.place_new_events(&mut segments);
        self.follow_new_orders(&mut segments);
        let mut assumptions = vec![segments.guard];
        if !bound.last.is_empty() {
            let mut some = Vec::new();
            for &thread in &bound.last {
                some.push(self.owner(&mut segments, bound.switches as usize, thread));
            }
            let last = self.solver.literal();
            some.push(!last);
            self.solver.clause(&some);
            assumptions.push(last);
        }
        self.segments.insert(bound.switches, segments);
        assumptions
    }

    /// The guard of a bound that was asked for.
    pub(super) fn guard_of(&self, bound: &Bound) -> Lit {
        self.segments[&bound.switches].guard
    }

    fn owner(&mut self, segments: &mut Segments, segment: usize, thread: ThreadId) -> Lit {
        if let Some(&owner) = segments.owner[segment].get(&thread) {
            return owner;
        }
        let new = self.solver.literal();
        for &other in segments.owner[segment].values() {
            self.solver.clause(&[!segments.guard, !new, !other]);
        }
        segments.owner[segment].insert(thread, new);
        new
    }

    /// Gives segments to events that have become nodes since the last time.
    fn place_new_events(&mut self, segments: &mut Segments) {
        let trace = self.skeleton.trace;
        self.add_certain_neighbours(segments);
        let mut new: Vec<EventId> = self
            .events
            .iter()
            .flatten()
            .copied()
            .filter(|event| !segments.at_least.contains_key(event))
            .collect();
        new.sort_unstable();
        let guard = segments.guard;
        for event in new {
            let thread = trace.thread_of(event);
            let (included, occurs) = (self.included_node(event), self.occurs(event));
            let switches = segments.owner.len() - 1;
            let at_least: Vec<Lit> = (0..switches).map(|_| self.solver.literal()).collect();
            for pair in at_least.windows(2) {
                self.solver.clause(&[!guard, !pair[1], pair[0]]);
            }
            for segment in 0..=switches {
                let owner = self.owner(segments, segment, thread);
                let mut clause = vec![!guard, !included, owner];
                clause.extend(occurs.map(|occurs| !occurs));
                if segment > 0 {
                    clause.push(!at_least[segment - 1]);
                }
                clause.extend(at_least.get(segment));
                self.solver.clause(&clause);
            }
            let placed = &mut segments.placed[thread.index()];
            let at = placed.partition_point(|&other| other < event);
            let neighbours =
                [at.checked_sub(1).map(|before| placed[before]), placed.get(at).copied()];
            placed.insert(at, event);
            segments.at_least.insert(event, at_least);
            let [before, after] = neighbours;
            for (early, late) in before
                .map(|before| (before, event))
                .into_iter()
                .chain(after.map(|after| (event, after)))
            {
                let included = self.included_node(late);
                for (&early, &late) in
                    segments.at_least[&early].iter().zip(&segments.at_least[&late])
                {
                    self.solver.clause(&[!guard, !included, !early, late]);
                }
            }
        }
    }

    /// What does not happen is in no segment, so what comes before it cannot go with it: up to the
    /// next event that always happens, events before conditional ones become nodes too.
    fn add_certain_neighbours(&mut self, segments: &Segments) {
        let Some(data) = self.skeleton.data.as_ref().filter(|data| data.is_program()) else {
            return;
        };
        let trace = self.skeleton.trace;
        let nodes: Vec<EventId> = self.events.iter().flatten().copied().collect();
        for event in nodes.into_iter().filter(|event| !segments.at_least.contains_key(event)) {
            let mut at = event;
            while data.occurs(at).is_some()
                && let Some(before) = trace.previous(at)
            {
                self.node(before);
                at = before;
            }
        }
    }

    /// Makes orders across threads increase the segment.
    fn follow_new_orders(&mut self, segments: &mut Segments) {
        let atoms = self.solver.atoms_from(segments.atoms);
        segments.atoms += atoms.len();
        for (a, b, before) in atoms {
            let (Some(a), Some(b)) = (self.events[a.index()], self.events[b.index()]) else {
                continue;
            };
            self.increases(segments, a, b, before);
            self.increases(segments, b, a, !before);
        }
        let fixed: Vec<(EventId, EventId)> = self.fixed[segments.fixed..].to_vec();
        segments.fixed += fixed.len();
        let always = self.solver.constant(true);
        for (a, b) in fixed {
            self.increases(segments, a, b, always);
        }
    }

    fn increases(&mut self, segments: &Segments, early: EventId, late: EventId, if_so: Lit) {
        let included = self.included_node(late);
        let mut guards = vec![!segments.guard, !if_so, !included];
        for event in [early, late] {
            guards.extend(self.occurs(event).map(|occurs| !occurs));
        }
        let (early, late) = (&segments.at_least[&early], &segments.at_least[&late]);
        for segment in 0..=early.len() {
            let mut clause = guards.clone();
            if segment > 0 {
                clause.push(!early[segment - 1]);
            }
            clause.extend(late.get(segment));
            self.solver.clause(&clause);
        }
    }

    /// The included events of the last model, segment by segment.
    pub(super) fn by_segments(&self, bound: &Bound, cut: &[u32]) -> Vec<EventId> {
        let trace = self.skeleton.trace;
        let segments = &self.segments[&bound.switches];
        let mut pieces: Vec<(usize, Vec<EventId>)> = Vec::new();
        for thread in trace.thread_ids() {
            // What does not happen is in no segment.
            let placed = segments.placed[thread.index()].iter();
            let placed: Vec<EventId> =
                placed.copied().filter(|&event| self.occurs_in_model(event)).collect();
            let segment_of = |event: &EventId| {
                let at_least = &segments.at_least[event];
                at_least.iter().take_while(|&&lit| self.solver.value(lit)).count()
            };
            let mut next = placed.iter().peekable();
            // What comes before the first node goes with it, everything else with the node before
            // it.
            let mut segment = next.peek().map_or(0, |event| segment_of(event));
            let mut piece = Vec::new();
            for &event in &trace.thread_events(thread)[..cut[thread.index()] as usize] {
                if next.next_if(|&&node| node == event).is_some() {
                    let own = segment_of(&event);
                    if own != segment {
                        pieces.push((segment, std::mem::take(&mut piece)));
                        segment = own;
                    }
                }
                piece.push(event);
            }
            pieces.push((segment, piece));
        }
        pieces.sort_by_key(|&(segment, _)| segment);
        pieces.into_iter().flat_map(|(_, events)| events).collect()
    }
}
