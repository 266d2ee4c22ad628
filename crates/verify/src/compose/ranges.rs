//! Which numbers a value can be.
//!
//! **Computes.** For each term an interval, from what any write could store into the cells that are
//! read. Words become as narrow as their interval before they become bits.
//!
//! **Follows.** Interval analysis (Cousot and Cousot, 1977), over the skeleton instead of the
//! program.
//!
//! **Invariant.** Values are signed numbers of their width; those of one bit are 0 and 1. In an
//! execution, the value of a read follows from writes in a chain without circles, so a chain has at
//! most as many links as there are writes: after so many rounds the intervals are right, even if
//! another round would still change them.
//!
//! **Cost.** Linear in the terms for each round; after [`MOST_ROUNDS`] what still grows becomes
//! unbounded.

use foretrace_words::{BinaryOp, Cast, signed};
use rustc_hash::FxHashMap;

use super::cells::Cell;
use crate::fault::{Fault, is_seeded};
use crate::terms::{Op, Symbol, Term, Terms, address_number};

const MOST_ROUNDS: usize = 200;
/// Rounds times terms.
const MOST_WORK: usize = 20_000_000;

/// The numbers from `low` to `high`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Range {
    pub(crate) low: i128,
    pub(crate) high: i128,
}

/// The intervals of all symbols that reads stand for; others are unbounded.
pub(crate) fn ranges(terms: &Terms, cells: &[Cell]) -> FxHashMap<Symbol, Range> {
    let mut known: FxHashMap<Symbol, Range> = FxHashMap::default();
    let mut readers: Vec<(Symbol, usize, usize)> = Vec::new();
    for (at, cell) in cells.iter().enumerate() {
        for (place, read) in cell.reads.iter().enumerate() {
            if let (Op::Symbol(symbol), true) = (terms.op(read.value), read.is_open) {
                readers.push((symbol, at, place));
            }
        }
    }
    let is_read: FxHashMap<Symbol, ()> = readers.iter().map(|&(symbol, ..)| (symbol, ())).collect();
    let writes: usize = cells.iter().map(|cell| cell.writes.len()).sum();
    let most = MOST_ROUNDS.min(MOST_WORK / terms.len().max(1));
    let mut round = 0;
    loop {
        let values = evaluate(terms, &known, &is_read);
        let mut grown = known.clone();
        for &(symbol, cell, read) in &readers {
            let (cell, read) = (&cells[cell], &cells[cell].reads[read]);
            let initial = cell.initial.filter(|_| read.sees_initial);
            let mut sources = initial
                .into_iter()
                .chain(read.sources.iter().map(|&source| cell.writes[source].value));
            let range = if is_seeded(Fault::RangeTooNarrow) {
                sources.next().and_then(|value| values[value.index()])
            } else {
                sources.filter_map(|value| values[value.index()]).reduce(join)
            };
            // What is indeterminate is never used.
            let Some(range) = range else { continue };
            let range = match known.get(&symbol) {
                Some(&before) if round >= most && before != join(before, range) => {
                    whole(terms.width(read.value))
                }
                Some(&before) => join(before, range),
                None => range,
            };
            grown.insert(symbol, range);
        }
        round += 1;
        if grown == known || round > writes && round <= most {
            return grown;
        }
        known = grown;
    }
}

/// The interval of each term; `None` if no value is known to be possible yet.
fn evaluate(
    terms: &Terms,
    known: &FxHashMap<Symbol, Range>,
    is_read: &FxHashMap<Symbol, ()>,
) -> Vec<Option<Range>> {
    let mut values: Vec<Option<Range>> = Vec::with_capacity(terms.len());
    for term in terms.all() {
        let width = terms.width(term);
        let value = |term: Term| values[term.index()];
        let range = match terms.op(term) {
            Op::Constant(value) => Some(exactly(number(value, width))),
            Op::Address { object, offset } => {
                Some(exactly(number(address_number(object, offset), width)))
            }
            Op::Symbol(symbol) if is_read.contains_key(&symbol) => known.get(&symbol).copied(),
            Op::Symbol(_) => Some(whole(width)),
            Op::Binary(op, a, b) => match (value(a), value(b)) {
                (Some(a), Some(b)) => {
                    let operands = terms.width(match terms.op(term) {
                        Op::Binary(_, a, _) => a,
                        _ => term,
                    });
                    Some(binary(op, a, b, operands))
                }
                _ => None,
            },
            Op::Cast(cast, inner) => {
                value(inner).map(|range| convert(cast, range, terms.width(inner), width))
            }
            Op::Ite(condition, then, otherwise) => match value(condition) {
                None => None,
                Some(Range { low: 1, .. }) => value(then),
                Some(Range { high: 0, .. }) => value(otherwise),
                Some(_) => match (value(then), value(otherwise)) {
                    (Some(a), Some(b)) => Some(join(a, b)),
                    (a, b) => a.or(b),
                },
            },
        };
        values.push(range);
    }
    values
}

/// The number that a word stands for.
fn number(value: u64, width: u8) -> i128 {
    if width == 1 { value.into() } else { signed(value, width).into() }
}

fn exactly(number: i128) -> Range {
    Range { low: number, high: number }
}

/// All numbers of a width.
pub(crate) fn whole(width: u8) -> Range {
    match width {
        1 => Range { low: 0, high: 1 },
        _ => Range { low: -(1 << (width - 1)), high: (1 << (width - 1)) - 1 },
    }
}

fn join(a: Range, b: Range) -> Range {
    Range { low: a.low.min(b.low), high: a.high.max(b.high) }
}

/// The interval, if all of it fits into the width.
fn fit(low: i128, high: i128, width: u8) -> Range {
    let all = whole(width);
    if low >= all.low && high <= all.high { Range { low, high } } else { all }
}

fn binary(op: BinaryOp, a: Range, b: Range, width: u8) -> Range {
    let truth = |always: bool, never: bool| match (always, never) {
        (true, _) => exactly(1),
        (_, true) => exactly(0),
        _ => whole(1),
    };
    let both_positive = a.low >= 0 && b.low >= 0;
    // All numbers with as many bits as the larger one.
    let below_power =
        |high: i128| Range { low: 0, high: (high as u128 + 1).next_power_of_two() as i128 - 1 };
    match op {
        BinaryOp::Eq | BinaryOp::Ne => {
            let apart = a.high < b.low || b.high < a.low;
            let same = a == b && a.low == a.high;
            if op == BinaryOp::Eq { truth(same, apart) } else { truth(apart, same) }
        }
        BinaryOp::Slt if width > 1 => truth(a.high < b.low, a.low >= b.high),
        BinaryOp::Sle if width > 1 => truth(a.high <= b.low, a.low > b.high),
        BinaryOp::Ult if both_positive => truth(a.high < b.low, a.low >= b.high),
        BinaryOp::Ule if both_positive => truth(a.high <= b.low, a.low > b.high),
        _ if op.is_comparison() || width == 1 => whole(1),
        BinaryOp::Add => fit(a.low + b.low, a.high + b.high, width),
        BinaryOp::Sub => fit(a.low - b.high, a.high - b.low, width),
        BinaryOp::Mul => {
            // Numbers of 64 bits: their products fit.
            let products = [a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high];
            let (low, high) = (products.iter().min(), products.iter().max());
            fit(*low.expect("four"), *high.expect("four"), width)
        }
        BinaryOp::And if both_positive => Range { low: 0, high: a.high.min(b.high) },
        BinaryOp::And if a.low >= 0 => Range { low: 0, high: a.high },
        BinaryOp::And if b.low >= 0 => Range { low: 0, high: b.high },
        BinaryOp::Or | BinaryOp::Xor if both_positive => below_power(a.high.max(b.high)),
        BinaryOp::Shl
            if a.low >= 0 && b.low == b.high && (0..i128::from(width)).contains(&b.low) =>
        {
            fit(a.low << b.low, a.high << b.low, width)
        }
        BinaryOp::LShr if both_positive && b.low == b.high && b.low < i128::from(width) => {
            Range { low: a.low >> b.low, high: a.high >> b.low }
        }
        BinaryOp::UDiv | BinaryOp::SDiv if both_positive && b.low > 0 => {
            Range { low: 0, high: a.high }
        }
        BinaryOp::URem | BinaryOp::SRem if both_positive && b.low > 0 => {
            Range { low: 0, high: a.high.min(b.high - 1) }
        }
        _ => whole(width),
    }
}

fn convert(cast: Cast, range: Range, from: u8, to: u8) -> Range {
    match cast {
        Cast::ZeroExtend if range.low >= 0 => range,
        Cast::ZeroExtend => fit(0, (1i128 << from) - 1, to),
        Cast::SignExtend if from == 1 => Range { low: -range.high, high: -range.low },
        Cast::SignExtend => range,
        Cast::Truncate => fit(range.low, range.high, to),
    }
}
