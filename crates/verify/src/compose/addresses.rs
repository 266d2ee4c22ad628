//! Whether the result of the program depends on where objects lie.
//!
//! **Computes.** Whether an address gets into an operation whose result differs between layouts of
//! memory: anything but adding a number, comparing for equality, choosing, storing and loading.
//!
//! **Follows.** Taint analysis over the skeleton; a read is tainted if a write that it may see is.

use foretrace_words::{BinaryOp, Cast};
use rustc_hash::FxHashMap;

use super::cells::Cell;
use crate::terms::{Op, Symbol, Term, Terms};

/// Whether an address is used as a number.
pub(crate) fn used_as_numbers(terms: &Terms, cells: &[Cell]) -> bool {
    let mut tainted: FxHashMap<Symbol, bool> = FxHashMap::default();
    loop {
        let (taints, wrong) = spread(terms, &tainted);
        if wrong {
            return true;
        }
        let mut changed = false;
        for cell in cells {
            for read in &cell.reads {
                let (Op::Symbol(symbol), true) = (terms.op(read.value), read.is_open) else {
                    continue;
                };
                let is_tainted =
                    read.sources.iter().any(|&at| taints[cell.writes[at].value.index()]);
                if is_tainted && tainted.insert(symbol, true).is_none() {
                    changed = true;
                }
            }
        }
        if !changed {
            return false;
        }
    }
}

/// Which terms are made of addresses, and whether one of them is used as a number.
fn spread(terms: &Terms, tainted: &FxHashMap<Symbol, bool>) -> (Vec<bool>, bool) {
    let mut taints: Vec<bool> = Vec::with_capacity(terms.len());
    let mut wrong = false;
    for term in terms.all() {
        let of = |term: Term| taints[term.index()];
        let (is_tainted, is_wrong) = match terms.op(term) {
            Op::Constant(_) => (false, false),
            Op::Address { .. } => (true, false),
            Op::Symbol(symbol) => (tainted.contains_key(&symbol), false),
            Op::Ite(_, a, b) => (of(a) || of(b), false),
            Op::Binary(BinaryOp::Eq | BinaryOp::Ne, a, b) => {
                // Only null is no address in every layout.
                let is_null = |term: Term| terms.as_constant(term) == Some(0);
                let plain =
                    |term: Term| !of(term) && !is_null(term) && terms.as_constant(term).is_some();
                // Halves of addresses may be equal, but are not 0.
                let halves = of(a) && of(b) && terms.width(a) < 64;
                (false, of(a) && plain(b) || of(b) && plain(a) || halves)
            }
            Op::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) => {
                let is_half = terms.width(term) < 64;
                (of(a) || of(b), of(a) && of(b) || is_half && (of(a) || of(b)))
            }
            Op::Binary(_, a, b) => (of(a) || of(b), of(a) || of(b)),
            Op::Cast(Cast::ZeroExtend | Cast::SignExtend, a) => (of(a), of(a)),
            Op::Cast(Cast::Truncate, a) => (of(a), of(a) && terms.width(term) < 32),
        };
        taints.push(is_tainted);
        wrong |= is_wrong;
    }
    (taints, wrong)
}
