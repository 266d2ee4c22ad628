//! Measures the solver on synthetic traces, used as the pipeline uses it.
//!
//! `bench orders THREADS EVENTS CANDIDATES SEED [eager]` makes a random trace with locks, asks for
//! each candidate pair whether some prefix puts both accesses next to each other, and prints what
//! it cost. Constraints are added lazily, only those that the replay of a model violates, or
//! `eager`ly, all at once.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::HashMap;
use std::time::{Duration, Instant};

use foretrace_solve::{Limits, Lit, Node, Outcome, Solver};
use foretrace_testing::Random;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Acquire,
    Release,
    Read,
    Write,
}

struct Event {
    thread: u32,
    position: u32,
    kind: Kind,
    object: usize,
    /// Of a read: the write it saw. Of an acquire: its release; of a release: its acquire.
    partner: Option<usize>,
}

/// A trace in which some accesses are protected and others are not.
fn random_trace(threads: usize, length: usize, seed: u64) -> Vec<Event> {
    let (locks, variables) = (threads, 4 * threads);
    let mut random = Random::new(seed);
    let mut below = |bound: usize| random.below(bound);
    let mut events: Vec<Event> = Vec::new();
    let mut positions = vec![0; threads];
    let mut holder: Vec<Option<usize>> = vec![None; locks];
    let mut held: Vec<Option<usize>> = vec![None; threads];
    let mut last_write: Vec<Option<usize>> = vec![None; variables];
    while events.len() < length {
        let thread = below(threads);
        let choice = below(10);
        let lock = below(locks);
        let (kind, object, partner) = match (held[thread], choice) {
            (None, 0..2) if holder[lock].is_none() => {
                holder[lock] = Some(events.len());
                held[thread] = Some(lock);
                (Kind::Acquire, lock, None)
            }
            (Some(lock), 0..3) => {
                held[thread] = None;
                let acquire = holder[lock].take().unwrap();
                events[acquire].partner = Some(events.len());
                (Kind::Release, lock, Some(acquire))
            }
            (_, 0..6) => {
                let variable = below(variables);
                (Kind::Read, variable, last_write[variable])
            }
            _ => {
                let variable = below(variables);
                last_write[variable] = Some(events.len());
                (Kind::Write, variable, None)
            }
        };
        let position = positions[thread];
        positions[thread] += 1;
        events.push(Event { thread: thread as u32, position, kind, object, partner });
    }
    events
}

struct Run {
    events: Vec<Event>,
    by_thread: Vec<Vec<usize>>,
    by_variable: Vec<Vec<usize>>,
    by_lock: Vec<Vec<usize>>,
    solver: Solver,
    moment: Node,
    /// Active events, by event and by node; the moment has no event.
    nodes: HashMap<usize, Node>,
    names: Vec<usize>,
    clauses: usize,
    solving: Duration,
}

impl Run {
    fn new(events: Vec<Event>, threads: usize) -> Self {
        let group = |keep: fn(Kind) -> bool, count: usize| {
            let mut groups = vec![Vec::new(); count];
            for (id, event) in events.iter().enumerate() {
                if keep(event.kind) {
                    groups[event.object].push(id);
                }
            }
            groups
        };
        let by_variable = group(|kind| kind == Kind::Write, 4 * threads);
        let by_lock = group(|kind| kind == Kind::Acquire, threads);
        let mut by_thread = vec![Vec::new(); threads];
        for (id, event) in events.iter().enumerate() {
            by_thread[event.thread as usize].push(id);
        }
        let mut solver = Solver::new();
        let moment = solver.free_node(0);
        Run {
            events,
            by_thread,
            by_variable,
            by_lock,
            solver,
            moment,
            nodes: HashMap::new(),
            names: vec![usize::MAX],
            clauses: 0,
            solving: Duration::ZERO,
        }
    }

    fn node(&mut self, event: usize) -> Node {
        let Event { thread, position, .. } = self.events[event];
        let node = self.solver.node(thread, position, 2 * event as u64);
        if node.index() == self.names.len() {
            self.names.push(event);
            self.nodes.insert(event, node);
        }
        node
    }

    fn before(&mut self, a: usize, b: usize) -> Lit {
        let (a, b) = (self.node(a), self.node(b));
        self.solver.before(a, b)
    }

    fn included(&mut self, event: usize) -> Lit {
        let node = self.node(event);
        self.solver.before(node, self.moment)
    }

    fn clause(&mut self, lits: &[Lit]) {
        self.clauses += 1;
        self.solver.clause(lits);
    }

    /// An included read sees its write, not `other`.
    fn constrain_read(&mut self, read: usize, other: Option<usize>) {
        let skip = !self.included(read);
        let write = self.events[read].partner;
        if let Some(write) = write {
            let order = self.before(write, read);
            self.clause(&[skip, order]);
        }
        if let Some(other) = other {
            let mut clause = vec![skip, self.before(read, other)];
            if let Some(write) = write {
                clause.push(self.before(other, write));
            }
            self.clause(&clause);
        }
    }

    /// Two critical sections do not overlap.
    fn constrain_lock(&mut self, first: usize, second: usize) {
        let mut clause = vec![!self.included(first), !self.included(second)];
        for (a, b) in [(first, second), (second, first)] {
            if let Some(release) = self.events[a].partner {
                clause.push(self.before(release, b));
            }
        }
        self.clause(&clause);
    }

    fn constrain_everything(&mut self) {
        for id in 0..self.events.len() {
            let event = &self.events[id];
            match event.kind {
                Kind::Read => {
                    self.constrain_read(id, None);
                    let partner = self.events[id].partner;
                    for other in self.by_variable[self.events[id].object].clone() {
                        if Some(other) != partner {
                            self.constrain_read(id, Some(other));
                        }
                    }
                }
                Kind::Acquire => {
                    for other in self.by_lock[event.object].clone() {
                        if other < id && self.events[other].thread != self.events[id].thread {
                            self.constrain_lock(other, id);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Replays the model's prefix in an order near the recorded one; adds the constraints that it
    /// violates and returns how many.
    fn refine(&mut self) -> usize {
        let edges = self.solver.model_edges();
        // The prefix: all ancestors of the moment, over chains and model edges.
        let mut earlier = vec![Vec::new(); self.names.len()];
        for &(from, to) in &edges {
            earlier[to.index()].push(from);
        }
        let mut ends = vec![0; self.by_thread.len()];
        let mut todo = vec![self.moment];
        while let Some(node) = todo.pop() {
            for &from in &earlier[node.index()] {
                let Event { thread, position, .. } = self.events[self.names[from.index()]];
                let end = ends[thread as usize];
                let added = end..(position + 1).max(end);
                ends[thread as usize] = added.end;
                let added = added.map(|at| self.by_thread[thread as usize][at as usize]);
                todo.extend(added.filter_map(|id| self.nodes.get(&id)));
            }
        }
        let is_included =
            |events: &[Event], id: usize| events[id].position < ends[events[id].thread as usize];
        let mut waits_for = vec![0u32; self.names.len()];
        let mut enables = vec![Vec::new(); self.names.len()];
        for &(from, to) in &edges {
            let (a, b) = (self.names[from.index()], self.names[to.index()]);
            if a != usize::MAX && b != usize::MAX && is_included(&self.events, b) {
                waits_for[to.index()] += 1;
                enables[from.index()].push(to.index());
            }
        }

        let mut due = vec![0u32; self.by_thread.len()];
        let mut ready: BinaryHeap<Reverse<usize>> = BinaryHeap::new();
        let mut blocked: Vec<bool> = vec![false; self.by_thread.len()];
        let mut last_write: Vec<Option<usize>> = vec![None; self.by_variable.len()];
        let mut holder: Vec<Option<usize>> = vec![None; self.by_lock.len()];
        let mut wrong = Vec::new();
        let mut steps = 0;
        for thread in 0..ends.len() {
            self.offer(thread, &due, &ends, &waits_for, &mut ready, &mut blocked);
        }
        while let Some(Reverse(id)) = ready.pop() {
            steps += 1;
            let Event { thread, kind, object, partner, .. } = self.events[id];
            match kind {
                Kind::Read if last_write[object] != partner => {
                    wrong.push(Wrong::Read(id, last_write[object]));
                }
                Kind::Read => {}
                Kind::Write => last_write[object] = Some(id),
                Kind::Acquire => {
                    if let Some(other) = holder[object] {
                        wrong.push(Wrong::Lock(other, id));
                    }
                    holder[object] = Some(id);
                }
                Kind::Release => holder[object] = None,
            }
            due[thread as usize] += 1;
            self.offer(thread as usize, &due, &ends, &waits_for, &mut ready, &mut blocked);
            if let Some(&node) = self.nodes.get(&id) {
                for &next in &enables[node.index()] {
                    waits_for[next] -= 1;
                    let thread = self.events[self.names[next]].thread as usize;
                    if waits_for[next] == 0 && blocked[thread] {
                        self.offer(thread, &due, &ends, &waits_for, &mut ready, &mut blocked);
                    }
                }
            }
        }
        assert_eq!(steps, ends.iter().sum::<u32>(), "the model has a cycle");
        for &wrong in &wrong {
            match wrong {
                Wrong::Read(read, other) => self.constrain_read(read, other),
                Wrong::Lock(first, second) => self.constrain_lock(first, second),
            }
        }
        wrong.len()
    }

    /// Makes the next event of a thread ready unless the model lets it wait for others.
    fn offer(
        &self,
        thread: usize,
        due: &[u32],
        ends: &[u32],
        waits_for: &[u32],
        ready: &mut BinaryHeap<Reverse<usize>>,
        blocked: &mut [bool],
    ) {
        blocked[thread] = false;
        if due[thread] < ends[thread] {
            let id = self.by_thread[thread][due[thread] as usize];
            match self.nodes.get(&id) {
                Some(node) if waits_for[node.index()] > 0 => blocked[thread] = true,
                _ => ready.push(Reverse(id)),
            }
        }
    }

    /// Whether some prefix has both accesses next.
    fn ask(&mut self, a: usize, b: usize) -> Outcome {
        self.solver.set_home(self.moment, 2 * a.min(b) as u64 + 1);
        let mut assumptions = Vec::new();
        for id in [a, b] {
            assumptions.push(!self.included(id));
            let Event { thread, position, .. } = self.events[id];
            if position > 0 {
                let previous = self.by_thread[thread as usize][position as usize - 1];
                assumptions.push(self.included(previous));
            }
        }
        loop {
            let start = Instant::now();
            let outcome = self.solver.solve(&assumptions, &Limits::conflicts(100_000));
            self.solving += start.elapsed();
            if outcome != Outcome::Satisfiable || self.refine() == 0 {
                return outcome;
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Wrong {
    Read(usize, Option<usize>),
    Lock(usize, usize),
}

pub(crate) fn orders(arguments: &[&str]) -> crate::Outcome {
    let number =
        |at: usize, default: usize| arguments.get(at).map_or(Ok(default), |text| text.parse());
    let (threads, length) = (number(0, 5)?, number(1, 1000)?);
    let (candidates, seed) = (number(2, 100)?, number(3, 1)? as u64);
    let mut run = Run::new(random_trace(threads, length, seed), threads);
    let start = Instant::now();
    if arguments.get(4).is_some_and(|word| *word == "eager") {
        run.constrain_everything();
    }
    let mut random = Random::new(seed);
    let mut tally = [0; 3];
    let mut asked = 0;
    while asked < candidates {
        let mut pick = || random.below(length);
        let a = pick();
        let b = (a + 1 + pick() % (20 * threads)) % length;
        let (first, second) = (&run.events[a], &run.events[b]);
        let is_access = |event: &Event| matches!(event.kind, Kind::Read | Kind::Write);
        let is_candidate = first.thread != second.thread
            && is_access(first)
            && is_access(second)
            && first.object == second.object
            && (first.kind == Kind::Write || second.kind == Kind::Write);
        if is_candidate {
            asked += 1;
            tally[run.ask(a, b) as usize] += 1;
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let solving = run.solving.as_secs_f64();
    println!(
        "{solving:.3} s of {seconds:.3} s in the solver; yes, no, undecided: {tally:?}; {} clauses",
        run.clauses
    );
    println!("{:?}", run.solver.statistics());
    Ok(())
}
