//! Puts racing accesses into an order that explains the values that they saw.
//!
//! **Computes.** A permutation of the records of an RV-Predict log. Its recorder takes the number
//! of an event *near* the access, not atomically with it, so the numbers of two racing accesses can
//! be the wrong way round: a read is logged behind a write of another thread, but still saw what
//! the cell held before. For such a read r of thread t, and the last write w of its cell, by thread
//! u: all events of u from w on are put behind r; or else all events of t from w on, r among them,
//! are put before w.
//!
//! **Follows.** Huang, Meredith, Roşu, *Maximal Sound Predictive Race Detection with Control Flow
//! Abstraction*, PLDI 2014 (RV-Predict), for what makes an order one of the run: it keeps the
//! sequence of each thread and the order of the synchronisation, and each read sees the last write.
//! Any total order that keeps the first two and explains the third is one in which the run can have
//! happened. The log's order of unsynchronised accesses is evidence for one such order only where
//! the values do not refute it, and here they do.
//!
//! **Invariant.** A move is kept only if
//!
//! 1. each thread keeps its own order;
//! 2. nothing that moves is synchronisation (nor atomic), and no thread moves over its own fork or
//!    join. So the synchronisation keeps its order, and what moves has no synchronisation in its
//!    thread between the old and the new place: only accesses that it does not order change places;
//! 3. nothing moves over, or with, another read with an unknown writer, nor over the end of a wait:
//!    what is known of those is that they stay behind all that was logged before them, and this set
//!    stays as it is. (A *private* one, see `docs/theory.md`, demands nothing and may be passed.);
//! 4. r becomes explained, by a recorded write or a known initial value; every other read is
//!    explained by a value exactly if it was before; and no cell's initial value, nor the contents
//!    behind the window, change.
//!
//! So the new order is a possible order of the same run with one unknown writer less. Dropping the
//! rule that held r behind everything before it takes away no order of the run: that rule stands in
//! for a writer that is not recorded, and there is a recorded one. That the value is the same by
//! chance is possible here as with every other read; the model `values` is about the value.
//!
//! **Cost.** Linear, plus O([`LONGEST_WINDOW`]) for each read that the cell's value before the last
//! write would explain: at most two attempts for each, at most one move.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

/// How far apart, in events, a read and the write that it did not see may be.
const LONGEST_WINDOW: usize = 1000;

/// What this pass needs to know of a record.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordView {
    pub(super) thread: i64,
    /// The cell that is accessed, by a number from 0 on without gaps, and how.
    pub(super) access: Option<(u32, Access)>,
    pub(super) bond: Bond,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Access {
    Read(u64),
    Write(u64),
    /// Reads and writes values that are not known.
    Opaque,
}

/// What keeps a record in its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Bond {
    /// Its thread's order and the values alone.
    Values,
    /// It synchronises: others may pass it, it does not move.
    Sync,
    /// As `Sync`, and this thread, which it starts or joins, does not pass it.
    Life(i64),
    /// As `Sync`, and nothing passes it.
    Wall,
}

/// The steps in an order that explains more of their values, and how many reads were repaired.
pub(super) fn explain(steps: &[RecordView]) -> (Vec<u32>, u64) {
    let mut log = Log::new(steps);
    let mut repaired = 0;
    for step in 0..steps.len() as u32 {
        log.push(step);
        if log.explain_last() {
            repaired += 1;
        }
    }
    (log.order, repaired)
}

/// What a cell holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Held {
    /// Nothing has touched it.
    Fresh,
    Value(u64),
    /// What this step, which has no value, left.
    Unvalued(u32),
}

#[derive(Clone, Copy)]
struct Cell {
    held: Held,
    /// Where in the order the last write stands, and what the cell held before it.
    last_write: Option<(u32, Held)>,
}

/// How a read relates to what its cell held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Seen {
    /// It is none, or the values agree, or it tells the initial value.
    Agrees,
    Differs,
    /// What it read has no value of its own, so it has to stay with this writer.
    Unvalued(u32),
}

/// What a step did to its cell.
#[derive(Clone, Copy)]
struct Done {
    before: Cell,
    seen: Seen,
}

const UNTOUCHED: Cell = Cell { held: Held::Fresh, last_write: None };

struct Log<'a> {
    steps: &'a [RecordView],
    /// The steps so far, in the repaired order.
    order: Vec<u32>,
    /// For the last steps of `order`, what they did, so that it can be undone.
    done: VecDeque<Done>,
    cells: Vec<Cell>,
    /// Whether one thread only touches the cell.
    private: Vec<bool>,
}

impl<'a> Log<'a> {
    fn new(steps: &'a [RecordView]) -> Self {
        let mut owners: Vec<Option<i64>> = Vec::new();
        let mut private = Vec::new();
        for step in steps {
            let Some((cell, _)) = step.access else { continue };
            let cell = cell as usize;
            if cell >= owners.len() {
                owners.resize(cell + 1, None);
                private.resize(cell + 1, true);
            }
            private[cell] &= *owners[cell].get_or_insert(step.thread) == step.thread;
        }
        Log {
            steps,
            order: Vec::with_capacity(steps.len()),
            done: VecDeque::with_capacity(LONGEST_WINDOW),
            cells: vec![UNTOUCHED; private.len()],
            private,
        }
    }

    fn push(&mut self, step: u32) {
        let mut done = Done { before: UNTOUCHED, seen: Seen::Agrees };
        if let Some((cell, access)) = self.steps[step as usize].access {
            let cell = &mut self.cells[cell as usize];
            done.before = *cell;
            let at = self.order.len() as u32;
            let mut write = |held: Held| {
                *cell = Cell { held, last_write: Some((at, cell.held)) };
            };
            match access {
                Access::Write(value) => write(Held::Value(value)),
                Access::Opaque => write(Held::Unvalued(step)),
                Access::Read(value) => match cell.held {
                    Held::Fresh => cell.held = Held::Value(value),
                    Held::Value(held) if held == value => {}
                    Held::Value(_) => done.seen = Seen::Differs,
                    Held::Unvalued(writer) => done.seen = Seen::Unvalued(writer),
                },
            }
        }
        self.order.push(step);
        if self.done.len() == LONGEST_WINDOW {
            self.done.pop_front();
        }
        self.done.push_back(done);
    }

    /// Takes back the steps from `start` on.
    fn undo(&mut self, start: usize) {
        while self.order.len() > start {
            let step = self.order.pop().expect("it is longer than `start`");
            let done = self.done.pop_back().expect("a window is at most as long as `done`");
            if let Some((cell, _)) = self.steps[step as usize].access {
                self.cells[cell as usize] = done.before;
            }
        }
    }

    fn redo(&mut self, window: impl IntoIterator<Item = u32>) {
        for step in window {
            self.push(step);
        }
    }

    /// Repairs the order if the last step is a read that another order explains.
    fn explain_last(&mut self) -> bool {
        let Some((start, reader, writer)) = self.misplaced_last() else { return false };
        let window = self.order[start..].to_vec();
        if !self.may_be_passed(&window) {
            return false;
        }
        let split = |thread: i64| -> (Vec<u32>, Vec<u32>) {
            window.iter().partition(|&&step| self.steps[step as usize].thread == thread)
        };
        let (of_writer, others) = split(writer);
        let write_later = [others, of_writer].concat();
        let (of_reader, others) = split(reader);
        let read_earlier = [of_reader, others].concat();
        (self.may_move(writer, &window) && self.reorder(start, &window, &write_later))
            || (self.may_move(reader, &window) && self.reorder(start, &window, &read_earlier))
    }

    /// If the last step is a plain read that did not see the last write, but what was there before:
    /// the place of that write, the reading and the writing thread.
    fn misplaced_last(&self) -> Option<(usize, i64, i64)> {
        let read = self.steps[*self.order.last()? as usize];
        let Some((cell, Access::Read(value))) = read.access else { return None };
        if self.done.back()?.seen != Seen::Differs || read.bond != Bond::Values {
            return None;
        }
        let (start, held_before) = self.cells[cell as usize].last_write?;
        let start = start as usize;
        let writer = self.steps[self.order[start] as usize].thread;
        let fits = held_before == Held::Value(value)
            && writer != read.thread
            && self.order.len() - start <= LONGEST_WINDOW;
        fits.then_some((start, read.thread, writer))
    }

    /// Whether the window, its last step apart, has nothing that stays behind all before it.
    fn may_be_passed(&self, window: &[u32]) -> bool {
        let done = self.done.iter().skip(self.done.len() - window.len());
        window[..window.len() - 1].iter().zip(done).all(|(&step, done)| {
            let step = self.steps[step as usize];
            let is_private = step.access.is_some_and(|(cell, _)| self.private[cell as usize]);
            step.bond != Bond::Wall && (done.seen != Seen::Differs || is_private)
        })
    }

    /// Whether the steps of this thread in the window may change places with the others.
    fn may_move(&self, thread: i64, window: &[u32]) -> bool {
        window.iter().map(|&step| self.steps[step as usize]).all(|step| {
            step.bond != Bond::Life(thread) && (step.thread != thread || step.bond == Bond::Values)
        })
    }

    /// Puts the window, which ends with a read that differs, in another order if that explains it
    /// and changes no other read.
    fn reorder(&mut self, start: usize, window: &[u32], other: &[u32]) -> bool {
        let recorded = self.outcome(start);
        self.undo(start);
        self.redo(other.iter().copied());
        let read = window[window.len() - 1];
        let mut wanted = recorded;
        wanted.seen.insert(read, Seen::Agrees);
        if self.outcome(start) == wanted {
            return true;
        }
        self.undo(start);
        self.redo(window.iter().copied());
        false
    }

    fn outcome(&self, start: usize) -> Outcome {
        let mut outcome = Outcome::default();
        let done = self.done.iter().skip(self.done.len() - (self.order.len() - start));
        for (&step, done) in self.order[start..].iter().zip(done) {
            let Some((cell, access)) = self.steps[step as usize].access else { continue };
            outcome.seen.insert(step, done.seen);
            outcome.left.insert(cell, self.cells[cell as usize].held);
            if done.before.held == Held::Fresh {
                let told = if let Access::Read(value) = access { Some(value) } else { None };
                outcome.initial.insert(cell, told);
            }
        }
        outcome
    }
}

/// What a window comes to, apart from the order in it.
#[derive(Default, PartialEq, Eq)]
struct Outcome {
    seen: FxHashMap<u32, Seen>,
    /// What the cells hold behind it.
    left: FxHashMap<u32, Held>,
    /// The initial values that it tells; none if a cell is written first.
    initial: FxHashMap<u32, Option<u64>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps such as `1 w x 5`, `2 r x 5`, `1 sync`, `1 fork 2`, `1 join 2` and `1 wall`, one in
    /// each line; the numbers of the lines in the repaired order.
    #[track_caller]
    fn check(text: &str, expected: &[u32]) {
        let mut cells: Vec<&str> = Vec::new();
        let mut cell = |name| {
            let known = cells.iter().position(|&cell| cell == name);
            known.unwrap_or_else(|| {
                cells.push(name);
                cells.len() - 1
            }) as u32
        };
        let steps: Vec<RecordView> = text
            .split(',')
            .map(|line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                let thread = words[0].parse().unwrap();
                let (access, bond) = match words[1..] {
                    ["r", x, v] => {
                        (Some((cell(x), Access::Read(v.parse().unwrap()))), Bond::Values)
                    }
                    ["w", x, v] => {
                        (Some((cell(x), Access::Write(v.parse().unwrap()))), Bond::Values)
                    }
                    ["atomic", x, v] => {
                        (Some((cell(x), Access::Write(v.parse().unwrap()))), Bond::Sync)
                    }
                    ["rmw", x] => (Some((cell(x), Access::Opaque)), Bond::Wall),
                    ["sync"] => (None, Bond::Sync),
                    ["life", child] => (None, Bond::Life(child.parse().unwrap())),
                    ["wall"] => (None, Bond::Wall),
                    _ => panic!("{line}"),
                };
                RecordView { thread, access, bond }
            })
            .collect();
        let (order, repaired) = explain(&steps);
        assert_eq!(order, expected);
        assert_eq!(repaired > 0, !order.is_sorted());
    }

    #[test]
    fn a_write_goes_behind_the_read_that_did_not_see_it() {
        check("1 w x 2, 1 w x 0, 2 r x 2", &[0, 2, 1]);
        // With what its thread did since, and a known initial value is as good as a write.
        check("1 r x 2, 1 w x 0, 2 r y 1, 1 r x 0, 2 r x 2, 2 r x 0", &[0, 2, 4, 1, 3, 5]);
        // Byte by byte.
        check("1 r x 2, 1 r y 2, 1 w x 0, 1 w y 0, 2 r x 2, 2 r y 2", &[0, 1, 4, 2, 5, 3]);
        // Locks of other threads may be passed.
        check("1 w x 2, 1 w x 0, 2 sync, 2 r x 2", &[0, 2, 3, 1]);
    }

    #[test]
    fn a_read_goes_before_the_write_that_it_did_not_see() {
        check("1 w x 2, 1 w x 0, 1 sync, 2 r y 1, 2 r x 2", &[0, 3, 4, 1, 2]);
    }

    #[test]
    fn what_the_log_explains_stays() {
        check("1 w x 2, 2 r x 2, 1 w x 0, 2 r x 0", &[0, 1, 2, 3]);
        check("1 w x 2, 1 w x 0, 2 r x 7", &[0, 1, 2]);
        // What the cell held first is not known.
        check("1 w x 0, 2 r x 2", &[0, 1]);
        // The unrecorded writer is the reader's own thread.
        check("1 w x 2, 1 w x 0, 1 r x 2", &[0, 1, 2]);
    }

    #[test]
    fn synchronisation_stays() {
        check("1 w x 2, 1 w x 0, 1 sync, 2 sync, 2 r x 2", &[0, 1, 2, 3, 4]);
        check("1 w x 2, 1 w x 0, 1 sync, 1 life 2, 2 r x 2", &[0, 1, 2, 3, 4]);
        check("1 w x 2, 1 w x 0, 2 life 1, 2 r x 2", &[0, 1, 2, 3]);
        check("1 w x 2, 1 atomic x 0, 2 sync, 2 r x 2", &[0, 1, 2, 3]);
        // What stays behind everything before it is passed by nothing.
        check("1 w x 2, 1 w x 0, 3 wall, 2 r x 2", &[0, 1, 2, 3]);
        check("1 w x 2, 1 w z 0, 1 w x 0, 3 r z 9, 2 r x 2", &[0, 1, 2, 3, 4]);
    }

    #[test]
    fn other_reads_keep_their_explanation() {
        // Thread 3 saw the write; and so did thread 2, so that the read cannot go before it either.
        check("1 w x 2, 1 w x 0, 3 r x 0, 2 sync, 2 r x 2", &[0, 1, 2, 3, 4]);
        check("1 w x 2, 1 w x 0, 1 w y 1, 2 r y 1, 2 r x 2", &[0, 1, 2, 3, 4]);
        // Nor what a later read sees.
        check("1 w x 2, 1 w x 0, 1 w y 1, 2 sync, 2 w y 2, 2 r x 2", &[0, 1, 2, 3, 4, 5]);
        // Nor which value was there first.
        check("1 w x 2, 1 w x 0, 2 sync, 1 r y 1, 2 w y 1, 2 r x 2", &[0, 1, 2, 3, 4, 5]);
        check("1 w x 2, 3 rmw x, 1 w x 0, 2 r x 2", &[0, 1, 2, 3]);
    }

    #[test]
    fn far_apart_stays() {
        let log = |between: usize| {
            let (write, read) = ("1 w x 2, 1 w x 0, ", "2 r x 2");
            format!("{write}{}{read}", "3 r y 1, ".repeat(between))
        };
        let far = LONGEST_WINDOW as u32 + 2;
        check(&log(LONGEST_WINDOW - 1), &(0..far).collect::<Vec<_>>());
        let moved: Vec<u32> = [0].into_iter().chain(2..far - 1).chain([1]).collect();
        check(&log(LONGEST_WINDOW - 2), &moved);
    }
}
