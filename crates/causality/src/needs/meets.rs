//! What events need because of what their threads must have seen, whoever wrote it.
//!
//! **Computes.** The greatest table in which every event needs what it needs anyway, what the
//! events that it needs need, and for each demand that it makes of a read (`Origins`) what *all*
//! possible sources of the read need, and they themselves.
//!
//! **Follows.** `docs/causality.md`, section 6.
//!
//! **Sound.** Let N be a table in which no event needs more than that, and take a feasible
//! schedule. Event by event in its order, what N says holds: the sources of a read are executed
//! before it, so what N says of the one that the schedule has holds already; what all of them need
//! is then executed too. That a source needs the read itself, so that it cannot be one, and that
//! another write comes between the source and the read in every schedule, follow in the same way.
//! So it does no harm that needs support each other in a circle: the greatest table may be taken.
//! It is not larger than the recorded order, which is a feasible schedule; the search begins there.
//!
//! **Cost.** Passes over all demands until nothing changes, at most so much work; then there is no
//! such table.

use foretrace_model::{CellId, Origins, Skeleton};
use foretrace_trace::{EventId, ThreadId};
use rustc_hash::FxHashMap;

use super::{Needs, join};

/// How much work may be done, in numbers that are compared.
const MOST_WORK: u64 = 600_000_000;
/// The largest table, in numbers.
const MOST_NUMBERS: usize = 40_000_000;
/// How often sources are looked through for those that are overwritten in every schedule.
const MOST_ROUNDS: usize = 4;
/// What never happens needs more than there is.
const NEVER: u32 = u32::MAX;

/// A possible source of an origin.
#[derive(Clone, Copy, Debug)]
struct Source {
    /// The row of the write, its thread, and how many events of the thread it makes; `None`: the
    /// initial state.
    write: Option<(u32, ThreadId, u32)>,
    through: Option<u32>,
}

/// An event whose needs are looked at.
struct Point {
    /// `None`: the thread has none.
    event: Option<EventId>,
    /// Rows of what it needs anyway.
    needed: Vec<u32>,
    /// The origins that it demands.
    demands: std::ops::Range<usize>,
}

pub(super) struct Meets<'s> {
    skeleton: &'s Skeleton<'s>,
    base: &'s Needs,
    origins: &'s Origins,
    threads: usize,
    /// The points of each thread: positions, and where the rows begin.
    positions: Vec<Vec<u32>>,
    first_row: Vec<u32>,
    points: Vec<Point>,
    /// Points and origins in recorded order, an origin where its read is; the points are numbered
    /// behind all origins.
    order: Vec<u32>,
    sources: Vec<Option<Vec<Source>>>,
    /// Of these the ones that count: of those of a thread through which nothing is asked in turn,
    /// the first. What it needs, the later ones need.
    first: Vec<Option<Vec<Source>>>,
    /// Of points, then of origins.
    rows: Vec<u32>,
    /// By row: who is looked at again when it changes, by the place in `order`.
    users: Users,
    work: u64,
}

/// Lists of numbers, by number.
#[derive(Default)]
struct Users {
    start: Vec<u32>,
    all: Vec<u32>,
}

impl Users {
    /// From pairs of a number and what is in its list.
    fn new(rows: usize, pairs: &[(u32, u32)]) -> Self {
        let mut start = vec![0; rows + 1];
        for &(row, _) in pairs {
            start[row as usize + 1] += 1;
        }
        for row in 0..rows {
            start[row + 1] += start[row];
        }
        let (mut next, mut all) = (start.clone(), vec![0; pairs.len()]);
        for &(row, user) in pairs {
            all[next[row as usize] as usize] = user;
            next[row as usize] += 1;
        }
        Users { start, all }
    }

    fn of(&self, row: usize) -> &[u32] {
        &self.all[self.start[row] as usize..self.start[row + 1] as usize]
    }
}

/// What is still to be looked at.
struct Waiting(Vec<u64>);

impl Waiting {
    fn all(count: usize) -> Self {
        let mut waiting = Waiting(vec![0; count.div_ceil(64)]);
        (0..count).for_each(|at| waiting.add(at));
        waiting
    }

    fn add(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    /// The first one from there on.
    fn take(&mut self, from: usize) -> Option<usize> {
        let mut word = from / 64;
        let mut bits = self.0.get(word)? & (u64::MAX << (from % 64));
        while bits == 0 {
            word += 1;
            bits = *self.0.get(word)?;
        }
        let at = bits.trailing_zeros() as usize;
        self.0[word] &= !(1 << at);
        Some(64 * word + at)
    }
}

impl<'s> Meets<'s> {
    /// `None`: that would be too large.
    pub(super) fn new(
        skeleton: &'s Skeleton<'s>,
        base: &'s Needs,
        origins: &'s Origins,
    ) -> Option<Self> {
        let trace = skeleton.trace;
        let threads = trace.threads().len();
        let changes = base.changes.iter();
        let mut positions: Vec<Vec<u32>> = changes
            .map(|changes| changes.iter().map(|&(position, _)| position).collect())
            .collect();
        for &(event, _) in &origins.demands {
            positions[trace.thread_of(event).index()].push(trace.position(event) as u32);
        }
        let mut first_row = vec![0];
        for positions in &mut positions {
            positions.sort_unstable();
            positions.dedup();
            first_row.push(first_row[first_row.len() - 1] + positions.len() as u32);
        }
        let rows = first_row[threads] as usize + origins.origins.len();
        if rows.saturating_mul(threads) > MOST_NUMBERS {
            return None;
        }
        let mut meets = Meets {
            skeleton,
            base,
            origins,
            threads,
            positions,
            first_row,
            points: Vec::new(),
            order: Vec::new(),
            sources: Vec::new(),
            first: Vec::new(),
            rows: Vec::new(),
            users: Users::default(),
            work: 0,
        };
        meets.list_points();
        meets.list_sources();
        Some(meets)
    }

    /// The row that holds at a position of a thread.
    fn row_of(&self, thread: ThreadId, position: u32) -> u32 {
        let positions = &self.positions[thread.index()];
        let at = positions.partition_point(|&from| from <= position) - 1;
        self.first_row[thread.index()] + at as u32
    }

    fn row(&self, row: u32) -> &[u32] {
        &self.rows[row as usize * self.threads..][..self.threads]
    }

    fn of_origin(&self, origin: u32) -> u32 {
        self.first_row[self.threads] + origin
    }

    fn list_points(&mut self) {
        let trace = self.skeleton.trace;
        let demands = &self.origins.demands;
        let mut points = Vec::new();
        for thread in trace.thread_ids() {
            let mut last: Option<&[u32]> = None;
            for &position in &self.positions[thread.index()] {
                let events = trace.thread_events(thread);
                let Some(&event) = events.get(position as usize) else {
                    points.push(Point { event: None, needed: Vec::new(), demands: 0..0 });
                    continue;
                };
                let from = demands.partition_point(|&(other, _)| other < event);
                let to = demands.partition_point(|&(other, _)| other <= event);
                let base = self.base.of(thread, position);
                let mut needed = Vec::new();
                if last != Some(base) {
                    for (other, &count) in base.iter().enumerate() {
                        let other = ThreadId::from(other);
                        if count > 0 && other != thread {
                            needed.push(self.row_of(other, count - 1));
                        }
                    }
                    last = Some(base);
                }
                points.push(Point { event: Some(event), needed, demands: from..to });
            }
        }
        self.points = points;
        // At the same event, the origins come first.
        let origins = self.origins.origins.iter().map(|origin| Some(origin.read));
        let count = self.origins.origins.len();
        let events: Vec<Option<EventId>> =
            origins.chain(self.points.iter().map(|point| point.event)).collect();
        self.order = (0..events.len() as u32).collect();
        self.order.sort_by_key(|&item| (events[item as usize], item as usize >= count));
    }

    fn list_sources(&mut self) {
        let trace = self.skeleton.trace;
        let mut all = Vec::with_capacity(self.origins.origins.len());
        for origin in &self.origins.origins {
            let sources = origin.sources.as_ref().map(|sources| {
                let sources = sources.iter().map(|source| Source {
                    write: source.write.map(|write| {
                        let (thread, at) = (trace.thread_of(write), trace.position(write) as u32);
                        (self.row_of(thread, at), thread, at + 1)
                    }),
                    through: source.through,
                });
                sources.collect()
            });
            all.push(sources);
        }
        self.sources = all;
    }

    /// The sources that count, and who is looked at again when they change.
    fn list_users(&mut self) {
        let mut first = Vec::with_capacity(self.sources.len());
        for sources in &self.sources {
            first.push(sources.as_ref().map(|sources| firsts(sources)));
        }
        self.first = first;
        let count = self.origins.origins.len();
        let mut pairs = Vec::new();
        for (at, &item) in self.order.iter().enumerate() {
            let at = at as u32;
            let Some(point) = (item as usize).checked_sub(count) else {
                for source in self.first[item as usize].iter().flatten() {
                    pairs.extend(source.write.map(|(row, ..)| (row, at)));
                    pairs.extend(source.through.map(|origin| (self.of_origin(origin), at)));
                }
                continue;
            };
            if self.first_row.binary_search(&(point as u32)).is_err() {
                pairs.push((point as u32 - 1, at));
            }
            let Point { needed, demands, .. } = &self.points[point];
            pairs.extend(needed.iter().map(|&row| (row, at)));
            let demands = &self.origins.demands[demands.clone()];
            pairs.extend(demands.iter().map(|&(_, origin)| (self.of_origin(origin), at)));
        }
        self.users = Users::new(self.points.len() + count, &pairs);
    }

    /// The greatest table; `None`: it takes too long.
    pub(super) fn table(mut self) -> Option<Needs> {
        if self.origins.demands.is_empty() {
            return None;
        }
        let mut table = None;
        for _ in 0..MOST_ROUNDS {
            self.list_users();
            self.begin();
            // What the rounds before have found holds, if this one takes too long.
            if self.settle().is_none() {
                break;
            }
            table = self.finish();
            if !self.drop_overwritten() {
                break;
            }
        }
        table
    }

    /// Everything that was recorded before an event, and never for every origin.
    fn begin(&mut self) {
        let trace = self.skeleton.trace;
        self.rows.clear();
        let mut counts = vec![0u32; self.threads];
        self.rows.resize((self.points.len() + self.origins.origins.len()) * self.threads, NEVER);
        let mut next = 0;
        for &item in &self.order {
            let Some(point) = (item as usize).checked_sub(self.origins.origins.len()) else {
                continue;
            };
            let event = self.points[point].event.map_or(0, EventId::index);
            while next < event {
                counts[trace.thread_of(EventId::from(next)).index()] += 1;
                next += 1;
            }
            self.rows[point * self.threads..][..self.threads].copy_from_slice(&counts);
        }
    }

    /// Looks at everything, and again at what uses something that has changed.
    fn settle(&mut self) -> Option<()> {
        let (mut new, mut one) = (vec![0; self.threads], vec![0; self.threads]);
        let count = self.origins.origins.len();
        let (mut waiting, mut from) = (Waiting::all(self.order.len()), 0);
        loop {
            let Some(at) = waiting.take(from) else {
                if from == 0 {
                    return Some(());
                }
                from = 0;
                continue;
            };
            from = at;
            let item = self.order[at] as usize;
            let row = match item.checked_sub(count) {
                Some(point) => {
                    self.at_point(point, &mut new);
                    point
                }
                None => {
                    self.at_origin(item, &mut new, &mut one);
                    self.of_origin(item as u32) as usize
                }
            };
            self.work += self.threads as u64;
            if self.work > MOST_WORK {
                return None;
            }
            let mut changed = false;
            for (old, &new) in self.rows[row * self.threads..].iter_mut().zip(&new) {
                changed |= new < *old;
                *old = new.min(*old);
            }
            if changed {
                self.users.of(row).iter().for_each(|&user| waiting.add(user as usize));
            }
        }
    }

    fn at_point(&mut self, point: usize, new: &mut [u32]) {
        let trace = self.skeleton.trace;
        let Point { event, ref needed, ref demands } = self.points[point];
        let Some(event) = event else { return new.fill(0) };
        let (thread, position) = (trace.thread_of(event), trace.position(event) as u32);
        new.copy_from_slice(self.base.of(thread, position));
        if point > self.first_row[thread.index()] as usize {
            join(new, self.row(point as u32 - 1));
        }
        for &row in needed {
            join(new, self.row(row));
        }
        for &(_, origin) in &self.origins.demands[demands.clone()] {
            join(new, self.row(self.of_origin(origin)));
        }
        self.work += (needed.len() + demands.len()) as u64 * self.threads as u64;
    }

    fn at_origin(&mut self, number: usize, new: &mut [u32], one: &mut [u32]) {
        let trace = self.skeleton.trace;
        let read = self.origins.origins[number].read;
        let (thread, position) = (trace.thread_of(read), trace.position(read) as u32);
        let Some(sources) = &self.first[number] else {
            new.fill(0);
            return;
        };
        new.fill(NEVER);
        for source in sources {
            one.fill(0);
            if let Some((row, of, count)) = source.write {
                join(one, self.row(row));
                one[of.index()] = one[of.index()].max(count);
            }
            if let Some(through) = source.through {
                join(one, self.row(self.of_origin(through)));
            }
            // What needs the read, comes after it.
            if one[thread.index()] <= position {
                for (least, &this) in new.iter_mut().zip(&*one) {
                    *least = (*least).min(this);
                }
            }
        }
        self.work += sources.len() as u64 * self.threads as u64;
    }

    /// Drops sources that come too late, or are overwritten before the read in every schedule.
    /// Whether there were any.
    fn drop_overwritten(&mut self) -> bool {
        let mut writes: FxHashMap<CellId, Vec<(ThreadId, Vec<u32>)>> = FxHashMap::default();
        let mut all = std::mem::take(&mut self.sources);
        let mut dropped = false;
        for (origin, sources) in self.origins.origins.iter().zip(&mut all) {
            let Some(sources) = sources else { continue };
            let writes = writes.entry(origin.cell).or_insert_with(|| self.writes_of(origin.cell));
            let last = self.last_before(origin.read, writes);
            let before = sources.len();
            sources.retain(|source| !self.is_overwritten(source, &last));
            dropped |= sources.len() < before;
        }
        self.sources = all;
        dropped
    }

    fn writes_of(&self, cell: CellId) -> Vec<(ThreadId, Vec<u32>)> {
        let trace = self.skeleton.trace;
        let mut writes: Vec<(ThreadId, Vec<u32>)> = Vec::new();
        for &access in self.skeleton.memory.accesses(cell) {
            if !trace.op(access).access().is_some_and(|access| access.writes) {
                continue;
            }
            let (thread, position) = (trace.thread_of(access), trace.position(access) as u32);
            match writes.iter_mut().find(|(known, _)| *known == thread) {
                Some((_, positions)) => positions.push(position),
                None => writes.push((thread, vec![position])),
            }
        }
        writes
    }

    /// The last write of each thread that comes before the read in every schedule.
    fn last_before(&self, read: EventId, writes: &[(ThreadId, Vec<u32>)]) -> Vec<(ThreadId, u32)> {
        let trace = self.skeleton.trace;
        let (own, position) = (trace.thread_of(read), trace.position(read) as u32);
        let row = position.checked_sub(1).map(|before| self.row_of(own, before));
        let last = writes.iter().filter_map(|(thread, positions)| {
            let count = match row {
                _ if *thread == own => position,
                Some(row) => self.row(row)[thread.index()],
                None => 0,
            };
            let at = positions.partition_point(|&position| position < count);
            Some((*thread, positions[at.checked_sub(1)?]))
        });
        last.collect()
    }

    fn is_overwritten(&self, source: &Source, last: &[(ThreadId, u32)]) -> bool {
        let Some((_, of, count)) = source.write else { return !last.is_empty() };
        last.iter().any(|&(thread, position)| {
            let known = match thread == of {
                true => position,
                false => self.row(self.row_of(thread, position))[of.index()],
            };
            known >= count
        })
    }

    fn finish(&self) -> Option<Needs> {
        let threads = self.threads;
        let mut needs = Needs { threads, changes: vec![Vec::new(); threads], rows: Vec::new() };
        for thread in self.skeleton.trace.thread_ids() {
            let mut last: Option<&[u32]> = None;
            for (nth, &position) in self.positions[thread.index()].iter().enumerate() {
                let row = self.row(self.first_row[thread.index()] + nth as u32);
                if last != Some(row) {
                    needs.set(thread, position, row)?;
                    last = Some(row);
                }
            }
        }
        Some(needs)
    }
}

/// Of the sources of one thread through which nothing is asked in turn, the first; and all others.
fn firsts(sources: &[Source]) -> Vec<Source> {
    let mut first: Vec<Source> = Vec::new();
    let mut known: FxHashMap<ThreadId, usize> = FxHashMap::default();
    for &source in sources {
        match source {
            Source { write: Some((_, thread, count)), through: None } => {
                let at = *known.entry(thread).or_insert(first.len());
                match first.get_mut(at) {
                    Some(Source { write: Some((_, _, least)), .. }) if *least <= count => {}
                    Some(other) => *other = source,
                    None => first.push(source),
                }
            }
            Source { .. } => first.push(source),
        }
    }
    first
}
