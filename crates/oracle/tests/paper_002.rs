//! Paper 002, Fig. 2 and Tables 1-2: the complete linearisations are exactly the solutions of the
//! paper's constraints α ∧ β ∧ Table 2.
//!
//! The paper's wait e4 and its shadow e4' are our wait and wake. The second column of Table 2 has
//! two misprints, which its third column shows: in e7 a prime is missing (`o4 < o5 ∨ o7 < o4'`
//! should begin with `o4'`), and so it is in e10 (`o4 < o10`).

use std::collections::BTreeSet;

use foretrace_oracle::linearisations;
use foretrace_trace::{EventId, text};
use foretrace_verdict::Model;

/// In recorded order: e0 to e9, the shadow e4', e10.
const FIGURE_2: &str = "\
init x = 0
t1: fork t2
t1: write x : 1
t1: acquire o
t1: write x : 0
t1: wait o o
t2: acquire o
t2: read x : 0
t2: broadcast o
t2: release o
t2: read x : 0
t1: wake o o
t1: release o
";

/// Our numbers of the paper's events, thread by thread; `W` is e4' and 10 is shifted by it.
const W: usize = 10;
const E10: usize = 11;
const THREAD_1: [usize; 7] = [0, 1, 2, 3, 4, W, E10];
const THREAD_2: [usize; 5] = [5, 6, 7, 8, 9];

/// All merges of the two threads.
fn merges(first: &[usize], second: &[usize]) -> Vec<Vec<usize>> {
    match (first, second) {
        ([], rest) | (rest, []) => vec![rest.to_vec()],
        ([a, first_rest @ ..], [b, second_rest @ ..]) => {
            let led = |head: usize, tails: Vec<Vec<usize>>| {
                tails.into_iter().map(move |tail| [vec![head], tail].concat())
            };
            led(*a, merges(first_rest, second)).chain(led(*b, merges(first, second_rest))).collect()
        }
    }
}

/// The order variables: `before(i, j)` is the paper's o_i < o_j.
fn order(schedule: &[usize]) -> impl Fn(usize, usize) -> bool + use<> {
    let mut place = [0; 12];
    for (index, &event) in schedule.iter().enumerate() {
        place[event] = index;
    }
    move |i, j| place[i] < place[j]
}

/// α3 (merging has seen to α1 and α2) and β.
fn partial_order_and_values(schedule: &[usize]) -> bool {
    let o = order(schedule);
    o(0, 5) && (o(6, 1) || o(3, 6)) && (o(9, 1) || o(3, 9))
}

/// The third column of Table 2.
fn table_2_optimised(schedule: &[usize]) -> bool {
    let o = order(schedule);
    let e2 = o(2, 5) || o(8, 2);
    let e4 = (o(5, 2) || o(4, 5)) && (o(8, 2) || o(4, 8));
    let woken_owner =
        (o(4, W) && (o(5, 4) || o(W, 5)) && (o(8, 4) || o(W, 8))) || (o(8, W) && o(4, 8));
    let woken = o(7, W) && o(4, 7);
    let e5 = o(5, 2) || o(E10, 5) || (o(4, 5) && o(5, W) && o(5, E10));
    let owned_by_2 = |e: usize| {
        (o(2, 5) || o(e, 2))
            && (o(4, 5) || o(e, 4))
            && (o(W, 5) || o(e, W))
            && (o(E10, 5) || o(e, E10))
    };
    let e10 = (o(5, W) || o(E10, 5)) && (o(8, W) || o(E10, 8));
    e2 && e4 && woken_owner && woken && e5 && owned_by_2(7) && owned_by_2(8) && e10
}

/// The second column of Table 2, with the two primes put back.
fn table_2_in_full(schedule: &[usize]) -> bool {
    let o = order(schedule);
    let e2 = (o(2, 5) && o(2, 8)) || (o(8, 2) && (o(5, 8) || o(2, 5)));
    let e4 = o(2, 4) && (o(5, 2) || o(4, 5)) && (o(8, 2) || o(4, 8));
    let woken_owner = (o(4, W) && (o(5, 4) || o(W, 5)) && (o(8, 4) || o(W, 8)))
        || (o(8, W) && (o(4, 8) || o(W, 4)) && (o(5, 8) || o(W, 5)));
    let woken = o(7, W) && (o(4, 7) || o(W, 4));
    let e5 = (o(5, 2) && o(5, 4) && o(5, W) && o(5, E10))
        || (o(4, 5) && (o(2, 4) || o(5, 2)) && (o(W, 4) || o(5, W)) && (o(E10, 4) || o(5, E10)))
        || (o(E10, 5)
            && (o(2, E10) || o(5, 2))
            && (o(W, E10) || o(5, W))
            && (o(4, E10) || o(5, 4)));
    let owned_by_2 = |e: usize| {
        o(5, e)
            && (o(2, 5) || o(e, 2))
            && (o(4, 5) || o(e, 4))
            && (o(W, 5) || o(e, W))
            && (o(E10, 5) || o(e, E10))
    };
    let e10 = o(W, E10) && (o(5, W) || o(E10, 5)) && (o(8, W) || o(E10, 8));
    e2 && e4 && woken_owner && woken && e5 && owned_by_2(7) && owned_by_2(8) && e10
}

#[test]
fn linearisations_are_the_solutions_of_the_constraints() {
    let trace = text::parse(FIGURE_2).unwrap_or_else(|error| panic!("{error}"));
    let ours = linearisations(&trace, Model::Values);
    type Table = fn(&[usize]) -> bool;
    for table in [table_2_optimised as Table, table_2_in_full] {
        let solutions: BTreeSet<Vec<EventId>> = merges(&THREAD_1, &THREAD_2)
            .into_iter()
            .filter(|schedule| partial_order_and_values(schedule) && table(schedule))
            .map(|schedule| schedule.into_iter().map(EventId::from).collect())
            .collect();
        assert_eq!(ours, solutions);
    }
    // e9 is free between e8 and the end: beside e4' and e10 it has three places.
    assert_eq!(ours.len(), 3);
}
