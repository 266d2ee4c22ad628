//! Terms as straight-line code.
//!
//! **Computes.** The value of a term from what reads saw. A read that keeps no place among the
//! values of its thread has seen what it saw in the recorded run.
//!
//! **Invariant.** The code of a trace is the same for all explorations; only where the values of
//! reads are kept differs.
//!
//! **Cost.** One pass over the distinct parts of the term, without a table.

use foretrace_model::Skeleton;
use foretrace_model::terms::{BinaryOp, Node, TermId, Terms, UnaryOp};
use foretrace_trace::{EventId, Trace};
use foretrace_words::{cut, signed};
use rustc_hash::FxHashMap;

/// What a read saw: kept in the state, or a constant.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Seen {
    Slot(u32),
    Recorded(u64),
}

/// The code of one term. The last instruction gives the value.
#[derive(Debug)]
pub(crate) struct Formula {
    code: Vec<Instruction>,
    /// The reads that it uses.
    pub(crate) reads: Vec<EventId>,
}

/// The code of all events.
#[derive(Default, Debug)]
pub(crate) struct Code {
    results: FxHashMap<EventId, Formula>,
    assumed: FxHashMap<EventId, Formula>,
}

impl Code {
    pub(crate) fn new(skeleton: &Skeleton) -> Self {
        let mut code = Code::default();
        let Some(data) = &skeleton.data else { return code };
        for (event, _) in skeleton.trace.ops() {
            let formula = |term: TermId| (event, Formula::new(data.terms(), term));
            code.results.extend(data.result(event).map(formula));
            code.assumed.extend(data.assumed(event).map(formula));
        }
        code
    }

    /// How many positions values are used over, all together: so much room do the lists of values
    /// take that are still used.
    pub(crate) fn spans(&self, trace: &Trace) -> u64 {
        let mut last: FxHashMap<EventId, EventId> = FxHashMap::default();
        for (&event, formula) in self.results.iter().chain(&self.assumed) {
            for &read in &formula.reads {
                let known = last.entry(read).or_insert(event);
                *known = event.max(*known);
            }
        }
        let span = |(&read, &last)| (trace.position(last) - trace.position(read)) as u64;
        last.iter().map(span).sum()
    }

    /// What an event stores or tests.
    pub(crate) fn result(&self, event: EventId) -> Option<&Formula> {
        self.results.get(&event)
    }

    /// What a read-modify-write assumes.
    pub(crate) fn assumed(&self, event: EventId) -> Option<&Formula> {
        self.assumed.get(&event)
    }
}

/// A formula in which reads have other names: what is equal computes the same.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Shape(Vec<Instruction>);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Instruction {
    Constant(u128),
    Seen(EventId),
    Unary { op: UnaryOp, of: u32, from: u32, width: u32 },
    Binary { op: BinaryOp, left: u32, right: u32, width: u32 },
    Concat { high: u32, low: u32, width_of_low: u32 },
    Extract { of: u32, low: u32, width: u32 },
    Ite(u32, u32, u32),
}

impl Formula {
    fn new(terms: &Terms, term: TermId) -> Self {
        let mut reads = Vec::new();
        let parts = terms.reachable([term]);
        let at = |part: TermId| parts.binary_search(&part).expect("children are parts") as u32;
        let code = parts.iter().map(|&part| {
            let width = terms.width(part);
            match terms.node(part) {
                Node::Constant(bits) => Instruction::Constant(bits.get()),
                Node::Symbol(symbol) => {
                    reads.push(EventId(symbol.0));
                    Instruction::Seen(EventId(symbol.0))
                }
                Node::Unary(op, of) => {
                    Instruction::Unary { op, of: at(of), from: terms.width(of), width }
                }
                Node::Binary(op, left, right) => {
                    let width = terms.width(right);
                    Instruction::Binary { op, left: at(left), right: at(right), width }
                }
                Node::Concat(high, low) => Instruction::Concat {
                    high: at(high),
                    low: at(low),
                    width_of_low: terms.width(low),
                },
                Node::Extract { of, low } => {
                    Instruction::Extract { of: at(of), low: low.into(), width }
                }
                Node::Ite(condition, then, other) => {
                    Instruction::Ite(at(condition), at(then), at(other))
                }
            }
        });
        let code = code.collect();
        Formula { code, reads }
    }

    /// The same with other names for the reads.
    pub(crate) fn shape(&self, name: impl Fn(EventId) -> u32) -> Shape {
        let rename = |&instruction: &Instruction| match instruction {
            Instruction::Seen(read) => Instruction::Seen(EventId(name(read))),
            other @ (Instruction::Constant(_)
            | Instruction::Unary { .. }
            | Instruction::Binary { .. }
            | Instruction::Concat { .. }
            | Instruction::Extract { .. }
            | Instruction::Ite(..)) => other,
        };
        Shape(self.code.iter().map(rename).collect())
    }

    /// The value; `values` are what reads saw, by slot, `seen` says which slot a read has, and
    /// `scratch` is room to compute in.
    pub(crate) fn value(&self, values: &[u64], seen: &[Seen], scratch: &mut Vec<u128>) -> u128 {
        scratch.clear();
        for &instruction in &self.code {
            let part = |at: u32| scratch[at as usize];
            let value = match instruction {
                Instruction::Constant(value) => value,
                Instruction::Seen(read) => match seen[read.index()] {
                    Seen::Slot(slot) => values[slot as usize].into(),
                    Seen::Recorded(value) => value.into(),
                },
                Instruction::Unary { op, of, from, width } => {
                    let value = part(of);
                    match op {
                        UnaryOp::Not => cut(!value, width),
                        UnaryOp::Neg => cut(value.wrapping_neg(), width),
                        UnaryOp::ZeroExtend => value,
                        UnaryOp::SignExtend => cut(signed(value, from) as u128, width),
                    }
                }
                Instruction::Binary { op, left, right, width } => {
                    op.apply(part(left), part(right), width)
                }
                Instruction::Concat { high, low, width_of_low } => {
                    part(high) << width_of_low | part(low)
                }
                Instruction::Extract { of, low, width } => cut(part(of) >> low, width),
                Instruction::Ite(condition, then, other) => {
                    part(if part(condition) == 1 { then } else { other })
                }
            };
            scratch.push(value);
        }
        *scratch.last().expect("a term has a value")
    }
}
