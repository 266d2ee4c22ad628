//! The skeleton as SMT-LIB 2: the reference that benchmarks compare with.
//!
//! **Computes.** The question whether an assertion can fail, a lock be misused or memory be
//! accessed outside of live objects, up to the bound: words as bit-vectors, moments as integers,
//! and the axioms of sequential consistency of paper 003, section 4, in its copy form: a read has
//! the value of a write before it, and no other write of the cell comes between. It shares the
//! skeleton with [`super::formula`], and no clause.

use std::fmt::Write;

use foretrace_words::{BinaryOp, Cast};

use super::cells::{Cell, CellRead};
use super::order::Order;
use crate::skeleton::{NodeId, Skeleton};
use crate::terms::{Op, Term, Terms, address_number};

/// The formula; it is satisfiable if one of `asked` can be true.
pub(crate) fn export(skeleton: &Skeleton, order: &Order, cells: &[Cell], asked: &[Term]) -> String {
    let terms = &skeleton.terms;
    let mut text = String::from("(set-logic ALL)\n");
    for term in terms.all() {
        let (width, name) = (terms.width(term), term.index());
        let line = match terms.op(term) {
            Op::Symbol(_) => format!("(declare-const t{name} (_ BitVec {width}))"),
            op => format!("(define-fun t{name} () (_ BitVec {width}) {})", body(terms, op, width)),
        };
        let _ = writeln!(text, "{line}");
    }
    for node in 0..skeleton.nodes.len() {
        let _ = writeln!(text, "(declare-const o{node} Int)");
    }
    let mut require = |fact: String| {
        let _ = writeln!(text, "(assert {fact})");
    };
    let chains = skeleton.threads.iter().flat_map(|thread| thread.nodes.windows(2));
    let edges = chains.map(|pair| (pair[0], pair[1]));
    for (a, b) in edges.chain(Order::edges(skeleton, order.has_joins)) {
        require(before(a, b));
    }
    for join in &skeleton.joins {
        let child = &skeleton.threads[join.child];
        let ends: Vec<String> = child.ends.iter().map(|&end| holds(end)).collect();
        require(format!("(=> {} {})", holds(join.passes), any(&ends)));
        if let Some(&last) = child.nodes.last() {
            require(format!("(=> {} {})", holds(join.passes), before(last, join.node)));
        }
    }
    for cell in cells {
        for read in &cell.reads {
            let sources = sources(cell, read);
            require(format!("(=> {} {})", holds(read.guard), any(&sources)));
        }
    }
    skeleton.facts.iter().for_each(|&fact| require(holds(fact)));
    let asked: Vec<String> = asked.iter().map(|&term| holds(term)).collect();
    require(any(&asked));
    text.push_str("(check-sat)\n");
    text
}

/// One condition for each source that a read may have.
fn sources(cell: &Cell, read: &CellRead) -> Vec<String> {
    let mut sources = Vec::new();
    let initial = read.sees_initial.then_some(None);
    for source in initial.into_iter().chain(read.sources.iter().map(|&at| Some(at))) {
        let mut all = Vec::new();
        let value = source.map_or(cell.initial, |at| Some(cell.writes[at].value));
        all.extend(value.map(|value| format!("(= t{} t{})", read.value.index(), value.index())));
        if let Some(is_first) = read.is_first {
            let is_first = holds(is_first);
            all.push(if source.is_none() { is_first } else { format!("(not {is_first})") });
        }
        let from = source.map(|at| cell.writes[at]);
        if let Some(write) = from {
            all.extend([holds(write.guard), before(write.node, read.node)]);
        }
        for (at, write) in cell.writes.iter().enumerate() {
            let same = write.node == read.node || from.is_some_and(|from| from.node == write.node);
            if Some(at) == source || same {
                continue;
            }
            let mut either = vec![format!("(not {})", holds(write.guard))];
            either.push(before(read.node, write.node));
            either.extend(from.map(|from| before(write.node, from.node)));
            all.push(any(&either));
        }
        sources.push(format!("(and true {})", all.join(" ")));
    }
    sources
}

fn holds(term: Term) -> String {
    format!("(= t{} #b1)", term.index())
}

fn before(a: NodeId, b: NodeId) -> String {
    format!("(< o{} o{})", a.index(), b.index())
}

fn any(conditions: &[String]) -> String {
    format!("(or false {})", conditions.join(" "))
}

/// What a term is made of.
fn body(terms: &Terms, op: Op, width: u8) -> String {
    let name = |term: Term| format!("t{}", term.index());
    match op {
        Op::Constant(value) => format!("(_ bv{value} {width})"),
        Op::Address { object, offset } => format!("(_ bv{} 64)", address_number(object, offset)),
        Op::Symbol(_) => unreachable!("symbols are declared"),
        Op::Cast(cast, a) => {
            let more = i32::from(width) - i32::from(terms.width(a));
            match cast {
                Cast::ZeroExtend => format!("((_ zero_extend {more}) {})", name(a)),
                Cast::SignExtend => format!("((_ sign_extend {more}) {})", name(a)),
                Cast::Truncate => format!("((_ extract {} 0) {})", width - 1, name(a)),
            }
        }
        Op::Ite(condition, a, b) => format!("(ite {} {} {})", holds(condition), name(a), name(b)),
        Op::Binary(op, a, b) => {
            let plain = |function: &str| format!("({function} {} {})", name(a), name(b));
            let truth = |function: &str| format!("(ite {} #b1 #b0)", plain(function));
            match op {
                BinaryOp::Add => plain("bvadd"),
                BinaryOp::Sub => plain("bvsub"),
                BinaryOp::Mul => plain("bvmul"),
                BinaryOp::UDiv => plain("bvudiv"),
                BinaryOp::SDiv => plain("bvsdiv"),
                BinaryOp::URem => plain("bvurem"),
                BinaryOp::SRem => plain("bvsrem"),
                BinaryOp::And => plain("bvand"),
                BinaryOp::Or => plain("bvor"),
                BinaryOp::Xor => plain("bvxor"),
                BinaryOp::Shl => plain("bvshl"),
                BinaryOp::LShr => plain("bvlshr"),
                BinaryOp::AShr => plain("bvashr"),
                BinaryOp::Eq => truth("="),
                BinaryOp::Ne => truth("distinct"),
                BinaryOp::Ult => truth("bvult"),
                BinaryOp::Ule => truth("bvule"),
                BinaryOp::Slt => truth("bvslt"),
                BinaryOp::Sle => truth("bvsle"),
            }
        }
    }
}
