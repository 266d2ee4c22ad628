//! A term of an expression is worth what the trace crate says of the expression.

use expect_test::{Expect, expect};
use foretrace_model::terms::{SymbolId, TermId, Terms};
use foretrace_testing::Random;
use foretrace_trace::NameId;
use foretrace_trace::expr::{BinaryOp, CastWidth, Expr, UnaryOp};
use foretrace_trace::text::eval;

use crate::shown::show;

fn word(random: &mut Random) -> u64 {
    let edges = [0, 1, 2, 7, 63, 64, 255, 256, 1 << 31, 1 << 62, 1 << 63, u64::MAX];
    match random.below(3) {
        0 => random.number(),
        1 => random.pick(&edges),
        _ => random.pick(&edges).wrapping_neg(),
    }
}

/// The names, by the bytes of the reads that bound them.
const SIZES: [u32; 5] = [1, 2, 4, 8, 8];

fn random_expr(random: &mut Random, depth: usize) -> Expr {
    if depth == 0 {
        return match random.below(2) {
            0 => Expr::Literal(word(random)),
            _ => Expr::Name(NameId(random.below(SIZES.len()) as u32)),
        };
    }
    let below = |random: &mut Random| {
        let depth = random.below(depth);
        Box::new(random_expr(random, depth))
    };
    match random.below(11) {
        8..11 => {
            let width = match random.below(2) {
                0 => random.pick(&[1, 8, 16, 31, 32, 33]),
                _ => 1 + random.below(63) as u32,
            };
            let width = CastWidth::new(width).unwrap();
            let ops = [UnaryOp::ZeroExtend(width), UnaryOp::SignExtend(width)];
            Expr::Unary(random.pick(&ops), below(random))
        }
        0 | 1 => {
            let ops = [UnaryOp::Neg, UnaryOp::Not, UnaryOp::BitNot];
            Expr::Unary(random.pick(&ops), below(random))
        }
        2 => Expr::IfThenElse(below(random), below(random), below(random)),
        _ => Expr::Binary(random.pick(&BinaryOp::ALL), below(random), below(random)),
    }
}

/// One symbol for each name, as wide as its read.
fn names(terms: &mut Terms) -> Vec<TermId> {
    let symbol = |(name, &size): (usize, &u32)| terms.symbol(SymbolId(name as u32), 8 * size);
    SIZES.iter().enumerate().map(symbol).collect()
}

fn check(expr: &Expr, random: &mut Random, context: &str) {
    let mut terms = Terms::new();
    let names = names(&mut terms);
    let term = terms.from_expr(expr.nodes(), |name| names[name.index()]);
    assert_eq!(terms.width(term), 64);
    let shown = show(&terms, term, |symbol| format!("n{}", symbol.0)).to_string();
    for _ in 0..6 {
        let values = SIZES.map(|size| eval::truncate(word(random), size));
        let expected = eval::evaluate(expr, &|name| Some(values[name.index()])).unwrap();
        let assignment = |symbol: SymbolId| values[symbol.0 as usize] as u128;
        let found = terms.evaluate(term, &assignment);
        assert_eq!(found, expected as u128, "{context} {values:?}\n{expr:?}\n{shown}");
        for size in [1, 2, 4, 8] {
            let stored = terms.trunc(term, 8 * size);
            let found = terms.evaluate(stored, &assignment);
            assert_eq!(found, eval::truncate(expected, size) as u128, "{context}: stored");
        }
    }
}

#[test]
fn random_expressions() {
    for seed in 1..20_000 {
        let mut random = Random::new(seed);
        let depth = random.below(8);
        let expr = random_expr(&mut random, depth);
        check(&expr, &mut random, &format!("seed {seed}"));
    }
}

/// Each operator on the corners of `docs/trace-format.md`, as a constant and as a name.
#[test]
fn corner_cases() {
    let words = [0, 1, 2, 63, 64, 65, 1 << 40, 1 << 63, (1 << 63) - 1, u64::MAX, u64::MAX - 1];
    let mut terms = Terms::new();
    let symbols = [0, 1].map(|symbol| terms.symbol(SymbolId(symbol), 64));
    let operand = |name: u32, literal: Option<u64>| {
        Box::new(literal.map_or(Expr::Name(NameId(name)), Expr::Literal))
    };
    for op in BinaryOp::ALL {
        for a in words {
            for b in words {
                for (left, right) in
                    [(Some(a), Some(b)), (Some(a), None), (None, Some(b)), (None, None)]
                {
                    let expr = Expr::Binary(op, operand(0, left), operand(1, right));
                    let term = terms.from_expr(expr.nodes(), |name| symbols[name.index()]);
                    let read = |symbol: SymbolId| [a, b][symbol.0 as usize] as u128;
                    let found = terms.evaluate(term, &read);
                    assert_eq!(found, eval::binary(op, a, b) as u128, "{a} {op:?} {b}");
                }
            }
        }
    }
}

/// What is printed of an expression over words is read by the text form, and means the same.
#[test]
fn printed_terms_are_expressions() {
    let mut read_back = 0;
    for seed in 1..4_000 {
        let mut random = Random::new(seed);
        let depth = random.below(6);
        let expr = random_expr(&mut random, depth);
        let mut terms = Terms::new();
        let words: Vec<TermId> =
            (0..SIZES.len()).map(|name| terms.symbol(SymbolId(name as u32), 64)).collect();
        let term = terms.from_expr(expr.nodes(), |name| words[name.index()]);
        let shown = show(&terms, term, |symbol| format!("n{}", symbol.0)).depth(40).to_string();
        // What is computed in fewer bits has no place in the text form, nor have booleans.
        let is_cast = |at: usize| {
            let behind = shown[at..].trim_start_matches(['u', 'i']);
            behind.starts_with(|c: char| c.is_ascii_digit()) && !shown[..at].ends_with('n')
        };
        let has_cast = shown.match_indices(['u', 'i']).any(|(at, _)| is_cast(at));
        let special = ["bits", "concat", "true", "false", "…"];
        if has_cast || special.iter().any(|special| shown.contains(special)) {
            continue;
        }
        let reads: String =
            (0..SIZES.len()).map(|name| format!("t: n{name} = read x{name}[0:8]\n")).collect();
        let text = format!("foretrace-trace 1\n{reads}t: write y[0:8] = {shown}\n");
        let trace = foretrace_trace::text::parse(&text)
            .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        let write = trace.events().last().expect("the write").0;
        let Some(back) = trace.expression(write) else { continue };
        read_back += 1;
        for _ in 0..4 {
            let values = SIZES.map(|_| word(&mut random));
            let value = |name: NameId| Some(values[name.index()]);
            let (before, after) = (eval::evaluate(&expr, &value), back.evaluate(&value));
            assert_eq!(before, after, "seed {seed}: {shown}\n{expr:?}\n{back:?}");
        }
    }
    assert!(read_back > 1_000, "{read_back} terms were read back");
}

/// What an expression over reads of 4 bytes (`a`, `b`, `c`), one byte (`p`, `q`) and 8 bytes (`w`)
/// becomes.
fn check_shown(text: &str, expected: &Expect) {
    let reads = "t: a = read a[0:4]\nt: b = read b[0:4]\nt: c = read c[0:4]\n\
                 t: p = read p[0:1]\nt: q = read q[0:1]\nt: w = read w[0:8]\n";
    let trace = foretrace_trace::text::parse(format!("{reads}t: let r = {text}\n"))
        .unwrap_or_else(|error| panic!("{error}"));
    let widths = [32, 32, 32, 8, 8, 64];
    let mut terms = Terms::new();
    let symbols: Vec<TermId> =
        (0..6).map(|name| terms.symbol(SymbolId(name), widths[name as usize])).collect();
    let expr = trace.expression(trace.events().last().unwrap().0).unwrap();
    let term = terms.from_expr(expr.nodes(), |name| symbols[name.index()]);
    let names = |symbol: SymbolId| ["a", "b", "c", "p", "q", "w"][symbol.0 as usize].to_owned();
    expected.assert_eq(&show(&terms, term, names).to_string());
}

/// What a program computes with 32 bits, the trace writes in 64 and the solver sees in 32.
#[test]
fn computations_on_narrow_reads_are_narrow() {
    check_shown("u32(a + b)", &expect!["u64(a + b)"]);
    check_shown("s32(u32(a + b)) < s32(u32(c))", &expect!["a + b < c"]);
    check_shown("s32(u32(a + 1)) > s32(b)", &expect!["a + 1 > b"]);
    check_shown("u32(a * b + c - (a << 3)) == c", &expect!["c + a * b - (a << 3) == c"]);
    check_shown("u32(a /u b) <u c", &expect!["a /u b <u c"]);
    check_shown("u32(s32(a) / s32(b)) != 0", &expect!["a / b != 0"]);
    check_shown("s32(a) / 3 <= s32(b)", &expect!["a / 3 <= b"]);
    check_shown("s32(a) % s32(b) == s32(c)", &expect!["a % b == c"]);
    check_shown("a %u b >=u c", &expect!["a %u b >=u c"]);
    check_shown("a >>u b == u32(a << b)", &expect!["a >>u b == a << b"]);
    check_shown("u32(s32(a) >> p)", &expect!["u64(a >> p)"]);
    check_shown("s32(a) < s32(u32(p))", &expect!["a < p"]);
    check_shown("s32(a) < s32(u32(s8(p)))", &expect!["i32(p) > a"]);
    check_shown("s32(a) < -5 || a <u 5000000000", &expect!["1"]);
    check_shown("(a <u b ? a : b) == c", &expect!["(a <u b ? a : b) == c"]);
    check_shown("u32(p <u q ? u32(a + 1) : 7) == c", &expect!["(p <u q ? a + 1 : 7) == c"]);
    check_shown("u8(p + q) == u8(u32(p + 300))", &expect!["q == 44"]);
    check_shown("u32(~a & b | c ^ 255)", &expect!["u64(c ^ 255 | b & ~a)"]);
    check_shown("u32(w + 1) == a", &expect!["u32(w + 1) == a"]);
    check_shown("s32(u32(w)) == w", &expect!["i64(u32(w)) == w"]);
    check_shown("u1(a <u b) != 0", &expect!["a <u b"]);
}
