//! How terms look to people.

use expect_test::{Expect, expect};
use foretrace_model::terms::{SymbolId, TermId, Terms};
use foretrace_trace::text;

use crate::shown;

/// The condition of a branch over `a`, `b`, `c` (words), `s` (2 bytes) and `k` (1 byte).
fn check(expression: &str, expected: &Expect) {
    let reads = "foretrace-trace 1\nt: a = read x[0:8]\nt: b = read x[8:8]\nt: c = read x[16:8]\n\
                 t: s = read x[24:2]\nt: k = read x[26:1]\n";
    let text = format!("{reads}t: branch {expression} : true\n");
    let trace = text::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let branch = trace.events().last().expect("the branch").0;
    let mut terms = Terms::new();
    let symbols = [64, 64, 64, 16, 8].into_iter().enumerate();
    let names: Vec<TermId> =
        symbols.map(|(symbol, width)| terms.symbol(SymbolId(symbol as u32), width)).collect();
    let expr = trace.expression(branch).expect("its condition");
    let term = terms.from_expr(expr.nodes(), |name| names[name.index()]);
    expected.assert_eq(&show(&terms, term));
}

fn show(terms: &Terms, term: TermId) -> String {
    shown::show(terms, term, |symbol| ["a", "b", "c", "s", "k"][symbol.0 as usize].to_owned())
        .to_string()
}

#[test]
fn sums() {
    check("a + 1 > b", &expect!["a + 1 > b"]);
    check("b < a + 1", &expect!["a + 1 > b"]);
    check("1 + a", &expect!["a + 1"]);
    check("a - 1", &expect!["a - 1"]);
    check("a + -5 + 2 * b", &expect!["a - 5 + b * 2"]);
    check("100 - a", &expect!["100 - a"]);
    check("-a", &expect!["-a"]);
    check("-(a + b)", &expect!["-(a + b)"]);
    check("a - (b - c)", &expect!["a - (b - c)"]);
    check("a - b - c", &expect!["a - b - c"]);
    check("a + (b + c)", &expect!["a + b + c"]);
    check("(a + b) * c", &expect!["c * (a + b)"]);
    check("a * (b * c)", &expect!["a * b * c"]);
    check("a / b * c % 7", &expect!["c * (a / b) % 7"]);
    check("a / (b * c)", &expect!["a / (b * c)"]);
}

#[test]
fn bits() {
    check("a & 255", &expect!["a & 255"]);
    check("a & ~7", &expect!["a & -8"]);
    check("~a | b ^ c & 1", &expect!["~a | b ^ c & 1"]);
    check("(a | b) & c", &expect!["c & (a | b)"]);
    check("a << 3 >> b", &expect!["a << 3 >> b"]);
    check("a << (b >> 1)", &expect!["a << (b >> 1)"]);
    check("(a & 1) == 0", &expect!["(a & 1) == 0"]);
    check("a ^ 0x8000000000000000", &expect!["a ^ 0x8000000000000000"]);
}

#[test]
fn conditions() {
    check("a != 0", &expect!["a != 0"]);
    check("!a", &expect!["a == 0"]);
    check("!(a == 1)", &expect!["a != 1"]);
    check("a > 0 && b <= 5 || !c", &expect!["a > 0 && b <= 5 || c == 0"]);
    check("(a || b) && c", &expect!["(a != 0 || b != 0) && c != 0"]);
    check("5 < a", &expect!["a > 5"]);
    check("!(a < b)", &expect!["b <= a"]);
    check("(a < b) + 1", &expect!["(a < b) + 1"]);
    check("(a < b) == (b < c)", &expect!["(a < b) == (b < c)"]);
    check("a ? b : c", &expect!["a == 0 ? c : b"]);
    check("a > 1 ? b : c > 2 ? a : 7", &expect!["a > 1 ? b : c > 2 ? a : 7"]);
    check("(a ? b : c) + 1", &expect!["(a == 0 ? c : b) + 1"]);
    check("a == 1 ? 10 : 20", &expect!["a == 1 ? 10 : 20"]);
    check("a && !a", &expect!["0"]);
}

#[test]
fn narrow_reads() {
    check("s + 1", &expect!["s + 1"]);
    check("s > 5", &expect!["s >u 5"]);
    check("s == 70000", &expect!["0"]);
    check("s < k", &expect!["s <u k"]);
    check("s - k > 0", &expect!["s - k > 0"]);
    check("(s + k) / 2", &expect!["(s + k) / 2"]);
    check("s & k", &expect!["s & k"]);
}

#[test]
fn casts() {
    let mut terms = Terms::new();
    let a = terms.symbol(SymbolId(0), 64);
    let k = terms.symbol(SymbolId(4), 8);
    let one = terms.constant(1, 8);
    let next = terms.add(k, one);
    let shown = [
        terms.zext(next, 64),
        terms.sext(k, 64),
        terms.trunc(a, 8),
        terms.extract(a, 8, 8),
        terms.concat(next, k),
        {
            let limit = terms.constant(250, 8);
            terms.ult(next, limit)
        },
        {
            let limit = terms.constant(250, 8);
            terms.slt(next, limit)
        },
        {
            let three = terms.constant(3, 64);
            let quotient = terms.udiv(a, three);
            let remainder = terms.urem(a, three);
            let shifted = terms.lshr(a, three);
            let sum = terms.add(quotient, remainder);
            terms.add(sum, shifted)
        },
    ]
    .map(|term| show(&terms, term))
    .join("\n");
    expect![[r#"
        u64(k + 1)
        i64(k)
        u8(a)
        bits(a, 8..16)
        concat(k + 1, k)
        k + 1 <u 250
        k + 1 < -6
        (a >>u 3) + a /u 3 + a %u 3"#]]
    .assert_eq(&shown);
}

#[test]
fn numbers() {
    let mut terms = Terms::new();
    let numbers: [(i128, u32); 14] = [
        (0, 1),
        (1, 1),
        (7, 3),
        (-1, 8),
        (200, 8),
        (-1, 32),
        (-65_535, 32),
        (-65_537, 32),
        (4_294_967_295, 64),
        (4_294_967_296, 64),
        (-1_000_000, 64),
        (i64::MIN as i128, 64),
        (i64::MAX as i128, 64),
        (-3, 128),
    ];
    let shown = numbers.map(|(value, width)| {
        let constant = terms.constant(value as u128, width);
        format!("{width:>3}: {}", show(&terms, constant))
    });
    expect![[r#"
          1: false
          1: true
          3: 7
          8: -1
          8: 200
         32: -1
         32: -65535
         32: 4294901759
         64: 4294967295
         64: 0x100000000
         64: -1000000
         64: 0x8000000000000000
         64: 0x7fffffffffffffff
        128: -3"#]]
    .assert_eq(&shown.join("\n"));
}

#[test]
fn deep_terms_are_cut() {
    let mut terms = Terms::new();
    let a = terms.symbol(SymbolId(0), 64);
    let b = terms.symbol(SymbolId(1), 64);
    let mut chain = a;
    for _ in 0..1000 {
        let product = terms.mul(chain, b);
        chain = terms.add(product, a);
    }
    expect!["a + b * (a + b * (a + b * (a + b * (a + b * (a + b * …)))))"]
        .assert_eq(&show(&terms, chain));
    let names = |symbol: SymbolId| ["a", "b"][symbol.0 as usize].to_owned();
    expect!["a + b * …"].assert_eq(&shown::show(&terms, chain, names).depth(2).to_string());
    // Sharing makes a small term a large text.
    let mut shared = a;
    for _ in 0..30 {
        let quotient = terms.sdiv(shared, b);
        shared = terms.srem(quotient, shared);
    }
    expect!["… % … / b % (… / b % (… % …)) / b % (… / b % (… % …) / b % (… % … / b % (… / b % (… % …))))"].assert_eq(&show(&terms, shared));
}
