//! Unfolding: every thread alone, all its paths at once.
//!
//! **Computes.** The [`Skeleton`] of a program up to a bound: symbolic execution of each thread,
//! with a fresh symbol for each value that another thread could have written. Paths that meet are
//! merged. Where a loop could go on beyond its bound, and where something is not supported, an
//! *exit* stays: the thread stops in front of it.
//!
//! **Follows.** Interference abstraction and composition of concurrent programs: paper 003,
//! sections 2 to 4. Deviations: (1) an atomic section is one node: what it reads is read at its
//! begin, what it wrote is written at its end; (2) what `main` does before its first fork, and what
//! only one thread accesses, is no event at all; (3) loops are unrolled lazily: turns that are
//! decided by constants cost no bound, and turns that change nothing are left out.
//!
//! **Invariant.** Each execution of the program in which no thread passes an exit is an execution
//! of the skeleton, and the other way round, as far as checks can tell. A thread can always go on
//! between blocking operations, so the skeleton lets threads stop only at these, at failed
//! assumptions and checks, at exits, and at the end of an idle turn of a loop. (`docs/verify.md`
//! has the argument.)
//!
//! | file | what is in it |
//! | --- | --- |
//! | `shape` | loops, and the order of block instances |
//! | `memory` | bytes that a thread knows on its own |
//! | `ways` | paths: their state, and how they merge |
//! | `instruction` | instructions but accesses and synchronisation |
//! | `critical` | critical sections as one node |
//! | `access`, `addresses` | memory: objects, private and shared; what addresses may mean |
//! | `races` | accesses that can race |
//! | `reuse` | addresses of memory that is gone |
//! | `settle` | values that must be known on the way |
//! | `sync`, `threads` | locks, semaphores, barriers, waits; threads |
//! | `stuck` | where threads can be blocked |
//! | `users` | which memory several threads must share |
//! | `meanings` | instructions whose operand may mean several things |

mod access;
mod addresses;
mod critical;
mod instruction;
mod meanings;
mod memory;
mod races;
mod reuse;
mod settle;
mod shape;
mod stuck;
mod sync;
mod threads;
mod users;
mod ways;

pub(crate) use instruction::UNKNOWN;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use foretrace_program::{
    BlockId, Function, FunctionId, Program, RegisterId, Site, Target, TerminatorKind, Undefined,
    Violation,
};
use foretrace_solve::Limits;
use foretrace_words::Cast;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::fault::{Fault, is_seeded};
use crate::skeleton::*;
use crate::terms::Term;

use critical::Protection;
use shape::Shape;
use users::Users;
use ways::{Arrival, Way, apart};

pub(crate) use settle::Guesses;
pub(crate) use sync::EXCLUSIVE;

/// How far to unfold.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    /// How many turns that a branch decides are unfolded of each loop.
    pub(crate) turns: u32,
    /// The same of single loops, where it is more.
    pub(crate) of_loops: FxHashMap<(FunctionId, BlockId), u32>,
    /// How many turns of a loop may do nothing but wait, one behind the other.
    pub(crate) waits: u32,
    /// How many calls may be inside each other.
    pub(crate) calls: u32,
    /// How many instructions there may be in all.
    pub(crate) instructions: u64,
    pub(crate) limits: Limits,
    /// Whether new memory is indeterminate instead of zero.
    pub(crate) indeterminate: bool,
    /// Whether idle turns of loops are left out.
    pub(crate) idle_turns: bool,
    /// Whether stuck states are asked for.
    pub(crate) deadlocks: bool,
    /// Whether critical sections of simple locks are one node.
    pub(crate) critical_sections: bool,
}

/// An object that a thread makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Made {
    pub(crate) size: u32,
    pub(crate) kind: ObjectKind,
    /// Whether it is zero at first also where other new memory is indeterminate.
    pub(crate) is_zero: bool,
}

/// What an earlier unfolding has shown: it only ever grows.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Known {
    /// Words of objects that threads share, by the keys of the objects.
    pub(crate) shared: FxHashSet<(u64, u32)>,
    /// Objects whose life ends.
    pub(crate) ends: FxHashSet<u64>,
    /// The objects that threads make.
    pub(crate) made: BTreeMap<u64, Made>,
    /// Objects whose size depends on data.
    pub(crate) sized: FxHashSet<u64>,
    /// What values may be that must be known.
    pub(crate) guesses: Guesses,
    /// Addresses (object, offset) that may be stored at a place (object, offset).
    pub(crate) stored: BTreeMap<(u64, u32), BTreeSet<(u64, u64)>>,
    /// Locks whose critical sections are not one node.
    pub(crate) broken: FxHashSet<u64>,
    /// Own copies of variables that threads use.
    pub(crate) own: FxHashSet<u64>,
}

impl Known {
    pub(crate) fn include(&mut self, other: Known) {
        self.shared.extend(other.shared);
        self.ends.extend(other.ends);
        self.sized.extend(other.sized);
        self.made.extend(other.made);
        for (place, addresses) in other.stored {
            self.stored.entry(place).or_default().extend(addresses);
        }
        self.broken.extend(other.broken);
        self.own.extend(other.own);
    }
}

/// Unfolds until an unfolding shows nothing new about which memory is shared.
pub(crate) fn unfold(program: &Program, bounds: &Bounds, guesses: &Guesses) -> Skeleton {
    let mut known = Known { guesses: guesses.clone(), ..Known::default() };
    loop {
        let (skeleton, seen) = Unfolder::new(program, bounds, &known).run();
        if !seen.broken.is_subset(&known.broken) {
            // What it noted besides may come from sections that are none.
            known.broken.extend(seen.broken);
            continue;
        }
        let mut grown = known.clone();
        grown.include(seen);
        if grown == known {
            return skeleton;
        }
        known = grown;
    }
}

/// How many turns of a loop are free if constants decide them.
const FREE_TURNS: u32 = 10_000;
/// The same if the thread may stop in each of them.
const FREE_STOPS: u32 = 256;

struct Unfolder<'p> {
    program: &'p Program,
    bounds: &'p Bounds,
    known: &'p Known,
    skeleton: Skeleton,
    shapes: FxHashMap<FunctionId, Rc<Shape>>,
    private_slots: Vec<FxHashSet<RegisterId>>,
    /// Threads that were forked and are still to be unfolded.
    waiting: Vec<Waiting>,
    /// Objects by key.
    objects: FxHashMap<u64, u32>,
    /// How often each thread has come to a site that makes something.
    instances: FxHashMap<(u64, Site), u32>,
    users: Users,
    seen: Known,
    /// The place that the symbol of a read stands for.
    reads_of: FxHashMap<Term, Place>,
    /// Symbols of memory that was not initialised.
    indeterminate: FxHashSet<Term>,
    /// The one of memory that nobody has written.
    indeterminate_words: FxHashMap<Place, Term>,
    /// Values that the program was given for what it has not initialised: no pointer may be one.
    arbitrary: FxHashSet<Term>,
    /// What an atomic section has read at its begin.
    snapshots: FxHashMap<(NodeId, Place), (Term, Option<Term>)>,
    protection: Protection,
    /// States as they are at the end.
    finals: BTreeMap<Place, Term>,
    /// The thread that is unfolded, and its key.
    thread: usize,
    thread_key: u64,
}

/// A thread that is still to be unfolded.
#[derive(Clone)]
struct Waiting {
    thread: usize,
    key: u64,
    function: FunctionId,
    args: Vec<Term>,
    way: Way,
}

/// A key for something that a thing with a key makes.
fn key(parts: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}

impl<'p> Unfolder<'p> {
    fn new(program: &'p Program, bounds: &'p Bounds, known: &'p Known) -> Self {
        let mut unfolder = Unfolder {
            program,
            bounds,
            known,
            skeleton: Skeleton::default(),
            shapes: FxHashMap::default(),
            private_slots: program.functions.iter().map(Function::private_slots).collect(),
            waiting: Vec::new(),
            objects: FxHashMap::default(),
            instances: FxHashMap::default(),
            users: Users::default(),
            seen: Known::default(),
            reads_of: FxHashMap::default(),
            indeterminate: FxHashSet::default(),
            indeterminate_words: FxHashMap::default(),
            arbitrary: FxHashSet::default(),
            snapshots: FxHashMap::default(),
            finals: BTreeMap::new(),
            protection: Protection::default(),
            thread: 0,
            thread_key: 0,
        };
        for (index, global) in program.globals.iter().enumerate() {
            let made = unfolder.object(
                key(("global", index)),
                global.size,
                Some(global.bytes()),
                ObjectKind::Global,
            );
            assert_eq!(made as usize, index, "globals are the first objects");
        }
        unfolder
    }

    fn run(mut self) -> (Skeleton, Known) {
        let truth = self.skeleton.terms.truth(true);
        let is_alone = self.program.threads.len() == 1;
        for (index, thread) in self.program.threads.iter().enumerate() {
            let head = self.program.function(thread.function);
            let args = head.params.iter().zip(&thread.args);
            let args =
                args.map(|(&param, &arg)| self.skeleton.terms.constant(arg, head.width(param)));
            let args = args.collect();
            let way = Way::new(truth, truth, is_alone);
            let (key, function) = (key(("thread", index)), thread.function);
            let thread = self.new_thread(None, truth);
            self.waiting.push(Waiting { thread, key, function, args, way });
        }
        let mut at = 0;
        while at < self.waiting.len() {
            let Waiting { thread, key, function, args, way } = self.waiting[at].clone();
            (self.thread, self.thread_key) = (thread, key);
            if let Some((mut way, value)) = self.call(way, function, args, 0) {
                let site = Site { function, block: Function::ENTRY, index: 0 };
                self.end_thread(&mut way, value, site);
            }
            at += 1;
        }
        // Handles in memory may be those of threads that an earlier unfolding had.
        let count = self.skeleton.threads.len();
        for join in self.skeleton.joins.extract_if(.., |join| join.child >= count) {
            let never = self.skeleton.terms.not(join.passes);
            self.skeleton.facts.push(never);
        }
        self.skeleton.ending.blocking.retain(|blocking| match blocking.until {
            Until::End(child) => child < count,
            Until::State(_) | Until::Notified(..) => true,
        });
        self.end_all();
        for (object, word) in self.users.shared() {
            self.seen.shared.insert((self.skeleton.objects[object as usize].key, word));
        }
        self.seen.broken.extend(self.protection.find_broken(&self.skeleton));
        (self.skeleton, self.seen)
    }

    fn new_thread(&mut self, fork: Option<NodeId>, started: Term) -> usize {
        let (steps, ends, nodes) = (Vec::new(), Vec::new(), Vec::new());
        self.skeleton.threads.push(Thread { fork, started, steps, ends, nodes });
        self.skeleton.threads.len() - 1
    }

    /// The thread has come to its end, and gives a value.
    fn end_thread(&mut self, way: &mut Way, value: Option<Term>, site: Site) {
        self.breaks_section(way);
        if way.section.is_some() {
            let why = "a thread that ends in an atomic section";
            return self.exit(way, site, Why::Unsupported(why.to_string()));
        }
        let truth = self.skeleton.terms.truth(true);
        let value = value.unwrap_or_else(|| self.skeleton.terms.constant(0, 64));
        let value = self.skeleton.terms.cast(Cast::ZeroExtend, value, 64);
        let place = self.result_of(self.thread);
        self.write(way, &mut None, place, value, truth);
        let guard = way.guard(&mut self.skeleton.terms);
        self.skeleton.threads[self.thread].ends.push(guard);
    }

    /// A new moment of the thread.
    fn node(&mut self) -> NodeId {
        let node = NodeId(self.skeleton.nodes.len() as u32);
        self.skeleton.nodes.push(self.thread);
        self.skeleton.threads[self.thread].nodes.push(node);
        node
    }

    /// Lists a step of the thread.
    fn step(&mut self, way: &Way, guard: Term, node: Option<NodeId>, how: How) {
        let node = way.section.as_ref().map(|section| section.node).or(node);
        self.skeleton.threads[self.thread].steps.push(Step { guard, node, how });
    }

    /// The way ends in front of something that is not unfolded.
    fn exit(&mut self, way: &mut Way, site: Site, why: Why) {
        let truth = self.skeleton.terms.truth(true);
        self.exit_if(way, truth, site, why);
    }

    /// The same if the condition is true.
    fn exit_if(&mut self, way: &mut Way, condition: Term, site: Site, why: Why) {
        let guard = way.guard(&mut self.skeleton.terms);
        let guard = self.skeleton.terms.and(guard, condition);
        if !self.skeleton.terms.is_false(guard) {
            self.skeleton.exits.push(Exit { guard, why, site });
        }
        way.stop_if(&mut self.skeleton.terms, condition);
    }

    /// A violation, and the end of the way, if the condition is true.
    fn check(&mut self, way: &mut Way, condition: Term, what: Violation) {
        self.note_check(way, condition, what, None);
        way.stop_if(&mut self.skeleton.terms, condition);
    }

    /// A violation if the condition is true.
    fn note_check(&mut self, way: &Way, condition: Term, what: Violation, wait: Option<usize>) {
        let guard = way.guard(&mut self.skeleton.terms);
        let guard = self.skeleton.terms.and(guard, condition);
        if !self.skeleton.terms.is_false(guard) {
            let thread = self.thread;
            let steps = self.skeleton.threads[thread].steps.len();
            let section = way.section.as_ref().map(|section| section.node);
            self.skeleton.checks.push(Check { guard, what, thread, steps, section, wait });
        }
    }

    fn shape(&mut self, function: FunctionId) -> Rc<Shape> {
        let program = self.program;
        let make = || Rc::new(Shape::new(program.function(function)));
        self.shapes.entry(function).or_insert_with(make).clone()
    }

    /// Runs a function; where it returns, and with what. `None` if it never does.
    fn call(
        &mut self,
        way: Way,
        function: FunctionId,
        args: Vec<Term>,
        depth: u32,
    ) -> Option<(Way, Option<Term>)> {
        let head = self.program.function(function);
        let shape = self.shape(function);
        let mut registers = vec![None; head.registers.len()];
        for (&param, arg) in head.params.iter().zip(args) {
            registers[param.index()] = Some(arg);
        }
        let mut arrivals: BTreeMap<Vec<u32>, (BlockId, Vec<u32>, Vec<Arrival>)> = BTreeMap::new();
        let entry = Function::ENTRY;
        let turns = vec![0; shape.loops(entry).len()];
        let start = Arrival { way, registers, turns: Vec::new(), slots: Vec::new() };
        arrivals.insert(shape.place(entry, &turns), (entry, turns, vec![start]));
        let mut returns: Vec<(Arrival, Option<Term>)> = Vec::new();
        while let Some((_, (block, turns, arrived))) = arrivals.pop_first() {
            let begins_turn = shape.loops(block).last() == Some(&block);
            for arrived in apart(arrived, begins_turn) {
                let Some(mut here) = self.merge(arrived, function, block) else { continue };
                if begins_turn {
                    here.begin_turn(shape.loops(block).len(), head.block(block));
                }
                let targets = self.block(&mut here, function, block, depth, &mut returns);
                let site =
                    Site { function, block, index: head.block(block).instructions.len() as u32 };
                for (condition, target) in &targets {
                    if self.skeleton.terms.is_false(*condition) {
                        here.decide(shape.loops(block), shape.loops(target.block));
                    }
                }
                for (condition, target) in targets {
                    let mut next = here.clone();
                    next.way.path = self.skeleton.terms.and(next.way.path, condition);
                    next.way.settle(&mut self.skeleton.terms);
                    if next.way.is_dead(&self.skeleton.terms) {
                        continue;
                    }
                    if let Some(turns) = self.go(&mut next, &shape, site, &turns, &target) {
                        let place = shape.place(target.block, &turns);
                        let entry = arrivals.entry(place);
                        entry.or_insert_with(|| (target.block, turns, Vec::new())).2.push(next);
                    }
                }
            }
        }
        self.merge_returns(returns, function)
    }

    /// Runs a block; where it goes on, and under which conditions.
    fn block(
        &mut self,
        here: &mut Arrival,
        function: FunctionId,
        block: BlockId,
        depth: u32,
        returns: &mut Vec<(Arrival, Option<Term>)>,
    ) -> Vec<(Term, Target)> {
        let count = self.program.function(function).block(block).instructions.len() as u32;
        for index in 0..count {
            if !self.instruction(here, Site { function, block, index }, depth) {
                return Vec::new();
            }
        }
        if here.way.is_dead(&self.skeleton.terms) {
            return Vec::new();
        }
        self.targets(here, Site { function, block, index: count }, returns)
    }

    /// Where a block goes on, and under which conditions.
    fn targets(
        &mut self,
        here: &mut Arrival,
        site: Site,
        returns: &mut Vec<(Arrival, Option<Term>)>,
    ) -> Vec<(Term, Target)> {
        let block = self.program.function(site.function).block(site.block);
        let truth = self.skeleton.terms.truth(true);
        match &block.terminator.kind {
            TerminatorKind::Jump(target) => vec![(truth, target.clone())],
            TerminatorKind::Branch { condition, then, otherwise } => {
                let condition = self.operand(here, *condition);
                let not = self.skeleton.terms.not(condition);
                vec![(condition, then.clone()), (not, otherwise.clone())]
            }
            TerminatorKind::Switch { value, cases, default } => {
                let value = self.operand(here, *value);
                let mut rest = truth;
                let mut targets = Vec::new();
                for (case, target) in cases {
                    let terms = &mut self.skeleton.terms;
                    let equal = terms.equals(value, *case);
                    targets.push((terms.and(rest, equal), target.clone()));
                    let differs = terms.not(equal);
                    rest = terms.and(rest, differs);
                }
                targets.push((rest, default.clone()));
                targets
            }
            TerminatorKind::Return(value) => {
                let value = value.map(|value| self.operand(here, value));
                self.end_slots(here);
                returns.push((here.clone(), value));
                Vec::new()
            }
            // The process ends; others may have come as far as they like before that.
            TerminatorKind::Exit => Vec::new(),
            TerminatorKind::ThreadExit(value) => {
                let value = value.map(|value| self.operand(here, value));
                self.end_thread(&mut here.way, value, site);
                Vec::new()
            }
            TerminatorKind::Unreachable => {
                let what = Violation::Undefined(Undefined::Unreachable, site);
                self.check(&mut here.way, truth, what);
                Vec::new()
            }
        }
    }

    /// Follows an edge; `None` if it is not followed.
    fn go(
        &mut self,
        next: &mut Arrival,
        shape: &Shape,
        site: Site,
        turns: &[u32],
        target: &Target,
    ) -> Option<Vec<u32>> {
        let args: Vec<Term> = target.args.iter().map(|&arg| self.operand(next, arg)).collect();
        let params = &self.program.function(site.function).block(target.block).params;
        let (from, to) = (shape.loops(site.block), shape.loops(target.block));
        let common = from.iter().zip(to).take_while(|(a, b)| a == b).count();
        let mut turns = turns[..common].to_vec();
        next.turns.truncate(common);
        let is_back = common > 0 && to.len() == common && to[common - 1] == target.block;
        if is_back {
            turns[common - 1] += 1;
            let turn = &mut next.turns[common - 1];
            let is_busy = match is_seeded(Fault::IdleTurnCounts) {
                true => Some(self.skeleton.terms.truth(false)),
                false => turn.is_busy(&mut self.skeleton.terms, &next.way, &args),
            };
            let is_idle = is_busy.is_some_and(|busy| self.skeleton.terms.is_false(busy));
            let waits = turn.only_waits(&next.way, &args);
            turn.waited = if waits { turn.waited + 1 } else { 0 };
            let most = if is_seeded(Fault::WaitForgotten) { 1 } else { self.bounds.waits };
            let waits_again = turn.waited >= most;
            if (is_idle || waits_again) && self.bounds.idle_turns {
                if !is_idle && !is_seeded(Fault::SignalsOnce) {
                    self.skeleton.ending.again.insert(self.thread);
                }
                return None;
            }
            let most = if turn.is_live(&next.way) { FREE_TURNS } else { FREE_STOPS };
            let is_free = turn.is_free(&next.way, &args) && turns[common - 1] < most;
            turn.counted += u32::from(!is_free);
            // Where the turn is idle, the thread need not go on behind it.
            if let (Some(busy), true) = (is_busy, self.bounds.idle_turns) {
                next.way.path = self.skeleton.terms.and(next.way.path, busy);
                if next.way.is_dead(&self.skeleton.terms) {
                    return None;
                }
            }
            let of_loop = self.bounds.of_loops.get(&(site.function, target.block));
            let bound = of_loop.map_or(self.bounds.turns, |&more| more.max(self.bounds.turns));
            if turn.counted > bound {
                if is_seeded(Fault::ExitForgotten) {
                    return None;
                }
                self.exit(&mut next.way, Site { block: target.block, index: 0, ..site }, Why::Loop);
                return None;
            }
        }
        turns.resize(to.len(), 0);
        let is_header = to.last() == Some(&target.block);
        next.enter_behind(to.len() - usize::from(is_header));
        for (&param, arg) in params.iter().zip(args) {
            next.registers[param.index()] = Some(arg);
        }
        Some(turns)
    }

    /// Whether unfolding must stop.
    fn is_too_large(&mut self) -> bool {
        self.skeleton.instructions += 1;
        self.skeleton.instructions > self.bounds.instructions
            || self.skeleton.instructions.is_multiple_of(64) && self.bounds.limits.is_over()
    }
}
