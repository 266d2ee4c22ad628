//! What a program computes with 32 bits costs a circuit of 32 bits, though expressions of traces
//! are words of 64.

use std::collections::HashMap;

use foretrace_model::terms::{BinaryOp, Node, SymbolId, TermId, Terms, UnaryOp};
use foretrace_solve::{CircuitSize, Gates, Solver, Word};

/// The circuit of an expression over reads of 4 bytes, `a`, `b`, `c`, as a condition.
fn size_of(expression: &str) -> CircuitSize {
    let text = format!(
        "t: a = read a[0:4]\nt: b = read b[0:4]\nt: c = read c[0:4]\nt: let r = {expression}\n"
    );
    let trace = foretrace_trace::text::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let last = trace.events().last().expect("the definition").0;
    let mut terms = Terms::new();
    let reads = [0, 1, 2].map(|read| terms.symbol(SymbolId(read), 32));
    let expr = trace.expression(last).expect("it has an expression");
    let term = terms.from_expr(expr.nodes(), |name| reads[name.index()]);
    let condition = terms.truth(term);
    size_of_circuit(&terms, condition)
}

/// By a small encoder that knows sums and orders only.
fn size_of_circuit(terms: &Terms, term: TermId) -> CircuitSize {
    let (mut solver, mut gates) = (Solver::new(), Gates::default());
    let mut circuits = gates.on(&mut solver);
    let mut words: HashMap<TermId, Word> = HashMap::new();
    // Operands are older than what is made of them.
    for index in 0..=term.index() {
        let id = TermId::from(index);
        if !is_below(terms, id, term) {
            continue;
        }
        let width = terms.width(id) as usize;
        let word = match terms.node(id) {
            Node::Constant(bits) => Word::constant(width, bits.get()),
            Node::Symbol(_) => circuits.fresh(width),
            Node::Unary(UnaryOp::ZeroExtend, a) => words[&a].zext(width),
            Node::Unary(UnaryOp::SignExtend, a) => words[&a].sext(width),
            Node::Extract { of, low } => words[&of].extract(low as usize, width),
            Node::Binary(BinaryOp::Add, a, b) => circuits.add(&words[&a], &words[&b]),
            Node::Binary(BinaryOp::Slt, a, b) => Word::new([circuits.slt(&words[&a], &words[&b])]),
            node => panic!("no circuit for {node:?}"),
        };
        words.insert(id, word);
    }
    gates.size()
}

fn is_below(terms: &Terms, id: TermId, root: TermId) -> bool {
    let mut open = vec![root];
    while let Some(term) = open.pop() {
        if term == id {
            return true;
        }
        open.extend(terms.children(term));
    }
    false
}

/// An adder and a comparison of so many bits.
fn sum_and_order(width: usize) -> CircuitSize {
    let (mut solver, mut gates) = (Solver::new(), Gates::default());
    let mut circuits = gates.on(&mut solver);
    let [a, b, c] = [0, 1, 2].map(|_| circuits.fresh(width));
    let sum = circuits.add(&a, &b);
    circuits.slt(&sum, &c);
    gates.size()
}

#[test]
fn a_sum_of_ints_is_an_adder_of_32_bits() {
    let narrow = sum_and_order(32);
    assert_eq!(size_of("s32(u32(a + b)) < s32(u32(c))"), narrow);
    assert_eq!(size_of("s32(a + b) < s32(c)"), narrow);
    assert_eq!(size_of("s32(u32(a + b)) < s32(c) ? 1 : 0"), narrow);
    assert!(narrow.variables < sum_and_order(64).variables);
}
