//! Cells that say whose turn it is: the number that a ticket lock serves, the place of a token.
//!
//! **Computes.** For a cell, the holds. A hold begins with a *look*, a read of which the thread's
//! way says that it has found what the thread waits for, its *turn*; it ends with the next write of
//! the cell by the thread, which passes the turn on. The turns of different threads differ in every
//! schedule: they are different constants, or what the threads found in a counter, to which every
//! addition adds the same number in a step of its own (`sums`).
//!
//! **Follows.** Two holds of different threads exclude each other, if every write of the cell, but
//! for the first ones, ends a hold of its own thread; what it stores does not matter. While a hold
//! is open, from the look to the write, no other hold ends: let W be the first write in a schedule
//! that ends a hold H although a hold G of another thread is open. Both looks were before W, and
//! found different numbers, so a write V came between them, which ends a hold. V is not the end of
//! H or G, which is W or later; so it ends a hold of a third thread, or another one of H's or G's
//! threads, which is not between the look and the end of that thread's hold. So V is of another
//! thread than the one of the earlier look, whose hold was open: V came before W, and W was not the
//! first. Now let two looks be made, and the hold of the earlier one not be over at the later one:
//! they found different numbers, so again a write came between them, which ended another hold while
//! the earlier one was open.
//!
//! **Cost.** Linear in the accesses of the cell and the conditions on them.

use rustc_hash::FxHashMap;

use foretrace_causality::MustHappenBefore;
use foretrace_model::terms::{BinaryOp, Node, SymbolId, TermId, Terms, UnaryOp};
use foretrace_model::{CellId, Data, Skeleton};
use foretrace_trace::{EventId, ThreadId};

use super::behind_first_writes;
use super::latches::{Latched, Numbers, Test, Tests, is_plain};
use super::sums::Sums;
use crate::fault::{Fault, is_seeded};

/// What a thread waits for.
#[derive(Debug)]
enum Turn {
    /// What the thread has found in this counter.
    Ticket(CellId),
    /// One of these numbers.
    Numbers(Vec<u64>),
}

/// The holds of a cell that is used so; `None`: it is not.
pub(super) fn holds_of_turns(
    skeleton: &Skeleton,
    order: &MustHappenBefore,
    tests: &Tests,
    sums: &Sums,
    cell: CellId,
) -> Option<Vec<Latched>> {
    let (trace, data) = (skeleton.trace, skeleton.free_data()?);
    let all = skeleton.memory.accesses(cell);
    if !all.iter().any(|event| tests.contains_key(event)) || !is_plain(skeleton, cell) {
        return None;
    }
    let (_, accesses) = behind_first_writes(skeleton, order, cell);
    let mut numbers = None;
    let mut turn = |read: EventId| {
        let tests = tests.get(&read)?;
        let ticket = tests.iter().find_map(|test| {
            let ticket = ticket(data, read, test)?;
            let is_own = trace.thread_of(ticket) == trace.thread_of(read);
            let counter = counter(skeleton, sums, ticket).filter(|_| is_own)?;
            Some((Turn::Ticket(counter), test.event))
        });
        ticket.or_else(|| {
            let numbers = numbers.get_or_insert_with(|| Numbers::new(skeleton, order, cell));
            let numbers = numbers.as_ref()?;
            tests.iter().find_map(|test| {
                let found = numbers.found(data, read, test)?;
                (found.len() < numbers.all.len()).then_some((Turn::Numbers(found), test.event))
            })
        })
    };
    let mut open: FxHashMap<ThreadId, usize> = FxHashMap::default();
    let (mut holds, mut turns): (Vec<Latched>, Vec<Turn>) = (Vec::new(), Vec::new());
    for &event in accesses {
        let (access, thread) = (trace.access(event)?, trace.thread_of(event));
        if access.writes {
            let Some(hold) = open.remove(&thread) else {
                if is_seeded(Fault::TurnPassedByAnyone) {
                    continue;
                }
                return None;
            };
            if holds[hold].tested > event {
                return None;
            }
            holds[hold].give = Some(event);
        } else if !open.contains_key(&thread)
            && let Some((turn, tested)) = turn(event)
        {
            open.insert(thread, holds.len());
            holds.push(Latched { thread, take: event, tested, give: None });
            turns.push(turn);
        }
    }
    let threads = || holds.iter().map(|hold| hold.thread);
    let differ = differ(&turns, threads()) || is_seeded(Fault::TurnsAlike);
    (holds.len() > 1 && differ).then_some(holds)
}

/// The other read with which the test says that the read is equal.
fn ticket(data: &Data, read: EventId, test: &Test) -> Option<EventId> {
    let terms = data.terms();
    let (mut condition, mut outcome) = (test.condition, test.outcome);
    // A condition holds if it is not 0.
    loop {
        match terms.node(condition) {
            Node::Unary(UnaryOp::Not, of) if terms.width(of) == 1 => {
                (condition, outcome) = (of, !outcome);
            }
            Node::Unary(UnaryOp::ZeroExtend, of) => condition = of,
            Node::Binary(BinaryOp::Eq, of, zero) if terms.as_constant(zero) == Some(0) => {
                (condition, outcome) = (of, !outcome);
            }
            Node::Binary(BinaryOp::Eq, a, b) => {
                let [a, b] = [symbol(terms, a)?, symbol(terms, b)?];
                let read = SymbolId(read.0);
                let other = if a == read { b } else { a };
                let is_ticket = outcome && other != read && (a == read || b == read);
                return is_ticket.then_some(EventId(other.0));
            }
            Node::Constant(_)
            | Node::Symbol(_)
            | Node::Unary(..)
            | Node::Binary(..)
            | Node::Concat(..)
            | Node::Extract { .. }
            | Node::Ite(..) => return None,
        }
    }
}

/// What a read has seen, perhaps with zeros before it.
fn symbol(terms: &Terms, term: TermId) -> Option<SymbolId> {
    match terms.node(term) {
        Node::Symbol(symbol) => Some(symbol),
        Node::Unary(UnaryOp::ZeroExtend, of) => symbol(terms, of),
        Node::Constant(_)
        | Node::Unary(..)
        | Node::Binary(..)
        | Node::Concat(..)
        | Node::Extract { .. }
        | Node::Ite(..) => None,
    }
}

/// The counter that the read adds to, if no two such reads find the same number.
fn counter(skeleton: &Skeleton, sums: &Sums, ticket: EventId) -> Option<CellId> {
    let at = skeleton.trace.access(ticket)?.at;
    let mut cells = skeleton.memory.cells_of(at);
    let (Some(cell), None) = (cells.next(), cells.next()) else { return None };
    let sum = sums.of(cell).filter(|sum| sum.reads.contains(&ticket))?;
    let terms = skeleton.free_data()?.terms();
    let amount = |&(_, what): &(EventId, TermId)| terms.as_constant(what);
    let first = amount(sum.additions.first()?)?;
    let is_same = sum.additions.iter().all(|addition| amount(addition) == Some(first));
    let bits = 8 * at.size.min(8);
    let total = first.checked_mul(sum.additions.len() as u128)?;
    (is_same && first > 0 && total >> bits == 0).then_some(cell)
}

/// Whether the turns of different threads are never the same.
fn differ(turns: &[Turn], threads: impl Iterator<Item = ThreadId>) -> bool {
    let mut owners: FxHashMap<u64, ThreadId> = FxHashMap::default();
    let mut counters = Vec::new();
    let mut are_numbers = false;
    for (turn, thread) in turns.iter().zip(threads) {
        match turn {
            Turn::Ticket(counter) => counters.push(*counter),
            Turn::Numbers(numbers) => {
                are_numbers = true;
                if numbers.iter().any(|&n| *owners.entry(n).or_insert(thread) != thread) {
                    return false;
                }
            }
        }
    }
    counters.dedup();
    if are_numbers { counters.is_empty() } else { counters.len() == 1 }
}

#[cfg(test)]
mod tests {
    use foretrace_verdict::Model;

    use super::*;
    use crate::cells::Cells;

    const TICKETS: &str = "init next = 0\ninit serving = 0\ninit x = 0\n\
        a: t = rmw next : 0 -> t + 1 : 1\na: s = read serving : 0 atomic\n\
        a: branch s == t : true\na: write x = 1\na: write serving = t + 1 : 1 atomic\n\
        b: t = rmw next : 1 -> t + 1 : 2\nb: s = read serving : 1 atomic\n\
        b: branch s != t : false\nb: write x = 2\nb: write serving = t + 1 : 2 atomic\n";

    const TOKEN: &str = "init token = 0\ninit x = 0\n\
        a: s = read token : 0 atomic\na: branch s == 0 : true\na: write x = 1\n\
        a: write token = 1 atomic\n\
        b: s = read token : 1 atomic\nb: branch s == 1 : true\nb: write x = 2\n\
        b: write token = 0 atomic\n";

    /// Whether the two writes of `x` exclude each other because of turns.
    fn excludes(text: &str) -> bool {
        let trace = foretrace_trace::text::parse(text).unwrap();
        let skeleton = Skeleton::new(&trace, Model::Symbolic);
        let cells = Cells::new(&skeleton, &MustHappenBefore::new(&trace));
        let of_x = |(event, access): (EventId, foretrace_trace::Access)| {
            (trace.objects().get(access.at.object.index()) == "x").then_some(event)
        };
        let writes: Vec<EventId> = trace.accesses().filter_map(of_x).collect();
        cells.latches.exclude(&trace, &writes[..1], &writes[1..])
    }

    #[test]
    fn different_turns_exclude_each_other() {
        assert!(excludes(TICKETS));
        assert!(excludes(TOKEN));
    }

    #[test]
    fn turns_must_differ_and_be_passed_by_their_owners() {
        for (text, from, to) in [
            (TICKETS, "rmw next : 1 -> t + 1 : 2", "rmw next : 1 -> t + 2 : 3"),
            (TICKETS, "b: branch s != t : false\n", ""),
            (TICKETS, "b: branch s != t : false", "b: branch s >= t : true"),
            (TICKETS, "b: t = rmw next : 1 -> t + 1 : 2", "b: t = read next : 1 atomic"),
            (TICKETS, "b: write x = 2\n", "a: write serving = 1 atomic\nb: write x = 2\n"),
            (TOKEN, "b: branch s == 1", "b: branch s != 7"),
            (
                TOKEN,
                "a: write x = 1\na: write token = 1 atomic\n",
                "a: write token = 1 atomic\na: write x = 1\n",
            ),
        ] {
            let changed = text.replace(from, to);
            assert_ne!(changed, text);
            assert!(!excludes(&changed), "{changed}");
        }
    }
}
