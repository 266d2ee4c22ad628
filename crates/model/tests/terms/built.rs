//! What terms become while they are built, and that depth is no danger.

use expect_test::{Expect, expect};
use foretrace_model::terms::{BinaryOp::Add, Evaluation, Node, SymbolId, TermId, Terms};

use crate::shown::show;

/// Equal terms have equal ids, however they were built.
#[test]
fn terms_are_shared() {
    let mut terms = Terms::new();
    let x = terms.symbol(SymbolId(0), 32);
    let y = terms.symbol(SymbolId(1), 32);
    let one = terms.constant(1, 32);
    assert_eq!(terms.add(x, y), terms.add(y, x));
    let (left, right) = (terms.sub(x, y), terms.sub(y, x));
    assert_eq!(terms.neg(left), right);
    let sum = terms.add(x, one);
    let hundred = (0..99).fold(sum, |sum, _| terms.add(one, sum));
    let constant = terms.constant(100, 32);
    assert_eq!(terms.node(hundred), Node::Binary(Add, x, constant));
    assert_eq!(terms.size(hundred), 3);
    let less = terms.slt(x, y);
    assert_eq!(terms.not(less), terms.sge(x, y));
    let both = [less, terms.sge(x, y)];
    assert_eq!(terms.all(both), terms.boolean(false));
    assert_eq!(terms.any(both), terms.boolean(true));
}

/// C computes with 32 bits and stores 8; bytes come back as the word they are of.
#[test]
fn casts_disappear() {
    let mut terms = Terms::new();
    let byte = terms.symbol(SymbolId(0), 8);
    let word = terms.symbol(SymbolId(1), 32);
    let (promoted, one) = (terms.zext(byte, 32), terms.constant(1, 32));
    let sum = terms.add(promoted, one);
    let one = terms.constant(1, 8);
    assert_eq!(terms.trunc(sum, 8), terms.add(byte, one));
    let bytes = [0, 8, 16, 24].map(|low| terms.extract(word, low, 8));
    let up = bytes.into_iter().reduce(|low, high| terms.concat(high, low));
    let down = bytes.into_iter().rev().reduce(|high, low| terms.concat(high, low));
    assert_eq!((up, down), (Some(word), Some(word)));
    let (five, negative) = (terms.constant(5, 32), terms.constant(u128::MAX, 32));
    let five_in_byte = terms.constant(5, 8);
    assert_eq!(terms.slt(promoted, five), terms.ult(byte, five_in_byte));
    assert_eq!(terms.eq(promoted, negative), terms.boolean(false));
}

/// What an operation on `x`, `y` (32 bits), `a`, `b` (8 bits) and `p`, `q` (1 bit) becomes.
fn check(build: impl Fn(&mut Terms, [TermId; 6]) -> TermId, expected: &Expect) {
    let mut terms = Terms::new();
    let widths = [32, 32, 8, 8, 1, 1];
    let symbols = std::array::from_fn(|n| terms.symbol(SymbolId(n as u32), widths[n]));
    let term = build(&mut terms, symbols);
    let names = |symbol: SymbolId| ["x", "y", "a", "b", "p", "q"][symbol.0 as usize].to_owned();
    expected.assert_eq(&show(&terms, term, names).to_string());
}

/// A constant of 32 bits.
fn c(terms: &mut Terms, value: i64) -> TermId {
    terms.constant(value as u128, 32)
}

#[test]
fn sums_gather_constants() {
    check(
        |t, [x, y, ..]| {
            let (c3, c5) = (c(t, 3), c(t, 5));
            let (u, v) = (t.add(x, c3), t.add(y, c5));
            t.sub(u, v)
        },
        &expect!["x - y - 2"],
    );
    check(
        |t, [x, ..]| {
            let (c3, c5) = (c(t, 3), c(t, 5));
            let u = t.sub(c3, x);
            t.sub(c5, u)
        },
        &expect!["x + 2"],
    );
    check(
        |t, [x, ..]| {
            let one = c(t, 1);
            let u = t.not(x);
            t.add(u, one)
        },
        &expect!["-x"],
    );
    check(
        |t, [x, ..]| {
            let minus = c(t, -1);
            t.sub(minus, x)
        },
        &expect!["~x"],
    );
    check(
        |t, [x, y, ..]| {
            let u = t.neg(y);
            t.add(u, x)
        },
        &expect!["x - y"],
    );
    check(
        |t, [x, y, ..]| {
            let u = t.add(x, y);
            t.sub(u, x)
        },
        &expect!["y"],
    );
    check(
        |t, [x, ..]| {
            let c8 = c(t, 8);
            let u = t.udiv(x, c8);
            let v = t.urem(x, c8);
            t.xor(u, v)
        },
        &expect!["x >>u 3 ^ x & 7"],
    );
}

#[test]
fn bits_are_masked_once() {
    check(
        |t, [x, y, ..]| {
            let u = t.or(x, y);
            t.and(x, u)
        },
        &expect!["x"],
    );
    check(
        |t, [x, y, ..]| {
            let u = t.not(x);
            let v = t.or(x, y);
            t.and(u, v)
        },
        &expect!["y & ~x"],
    );
    check(
        |t, [x, y, ..]| {
            let u = t.not(y);
            let v = t.or(x, y);
            t.and(u, v)
        },
        &expect!["x & ~y"],
    );
    check(
        |t, [_, _, a, ..]| {
            let u = t.zext(a, 32);
            let mask = c(t, 0xff);
            t.and(u, mask)
        },
        &expect!["a"],
    );
    check(
        |t, [x, ..]| {
            let k = c(t, 8);
            let u = t.shl(x, k);
            t.lshr(u, k)
        },
        &expect!["x & 16777215"],
    );
    check(
        |t, [x, ..]| {
            let k = c(t, 24);
            let u = t.shl(x, k);
            t.ashr(u, k)
        },
        &expect!["i32(u8(x))"],
    );
    check(
        |t, [x, ..]| {
            let (j, k) = (c(t, 20), c(t, 30));
            let u = t.ashr(x, j);
            t.ashr(u, k)
        },
        &expect!["x >> 31"],
    );
}

#[test]
fn comparisons_undo_what_both_sides_do() {
    check(
        |t, [x, ..]| {
            let (c3, c5) = (c(t, 3), c(t, 5));
            let u = t.add(x, c3);
            t.eq(u, c5)
        },
        &expect!["x == 2"],
    );
    check(
        |t, [x, y, ..]| {
            let (c3, c5) = (c(t, 3), c(t, 5));
            let (u, v) = (t.add(x, c3), t.add(y, c5));
            t.eq(u, v)
        },
        &expect!["x - 2 == y"],
    );
    check(
        |t, [x, y, ..]| {
            let (u, v) = (t.not(x), t.not(y));
            t.slt(u, v)
        },
        &expect!["y < x"],
    );
    check(
        |t, [_, _, a, b, ..]| {
            let (u, v) = (t.zext(a, 32), t.zext(b, 32));
            t.slt(u, v)
        },
        &expect!["a <u b"],
    );
    check(
        |t, [_, _, a, b, ..]| {
            let (u, v) = (t.sext(a, 32), t.sext(b, 32));
            t.sle(u, v)
        },
        &expect!["a <= b"],
    );
    check(
        |t, [_, _, a, ..]| {
            let u = t.zext(a, 32);
            let k = c(t, 256);
            t.ult(u, k)
        },
        &expect!["true"],
    );
    check(
        |t, [_, _, a, ..]| {
            let u = t.sext(a, 32);
            let k = c(t, -128);
            t.sge(u, k)
        },
        &expect!["true"],
    );
    check(
        |t, [_, _, a, ..]| {
            let u = t.sext(a, 32);
            let k = c(t, -3);
            t.eq(u, k)
        },
        &expect!["a == -3"],
    );
    check(
        |t, [x, ..]| {
            let one = c(t, 1);
            t.ult(x, one)
        },
        &expect!["x == 0"],
    );
    check(
        |t, [x, y, ..]| {
            let u = t.sub(x, y);
            let zero = c(t, 0);
            t.ne(u, zero)
        },
        &expect!["x != y"],
    );
}

#[test]
fn computations_take_the_width_they_need() {
    check(
        |t, [_, _, a, b, ..]| {
            let (u, v) = (t.zext(a, 32), t.zext(b, 32));
            let w = t.sdiv(u, v);
            t.trunc(w, 8)
        },
        &expect!["a /u b"],
    );
    check(
        |t, [_, _, a, b, ..]| {
            let (u, v) = (t.sext(a, 32), t.sext(b, 32));
            let w = t.srem(u, v);
            t.trunc(w, 8)
        },
        &expect!["a % b"],
    );
    check(
        |t, [_, _, a, b, ..]| {
            let (u, v) = (t.sext(a, 32), t.zext(b, 32));
            let w = t.mul(u, v);
            t.trunc(w, 16)
        },
        &expect!["i16(a) * b"],
    );
    check(
        |t, [_, _, a, b, p, _]| {
            let (u, v) = (t.sext(a, 32), t.zext(b, 32));
            let w = t.ite(p, u, v);
            t.trunc(w, 8)
        },
        &expect!["p ? a : b"],
    );
    check(
        |t, [_, _, a, b, p, _]| {
            let (u, v) = (t.zext(a, 32), t.zext(b, 32));
            let w = t.ite(p, u, v);
            t.zext(w, 64)
        },
        &expect!["p ? a : b"],
    );
    check(
        |t, [x, ..]| {
            let k = c(t, 8);
            let u = t.lshr(x, k);
            t.trunc(u, 8)
        },
        &expect!["bits(x, 8..16)"],
    );
    check(
        |t, [_, _, a, b, ..]| {
            let u = t.concat(a, b);
            t.extract(u, 8, 8)
        },
        &expect!["a"],
    );
    check(
        |t, [_, _, a, b, ..]| {
            let u = t.zext(a, 16);
            t.concat(u, b)
        },
        &expect!["u24(concat(a, b))"],
    );
}

#[test]
fn choices_are_conditions() {
    check(
        |t, [.., p, _]| {
            let (u, v) = (c(t, 1), c(t, 0));
            t.ite(p, u, v)
        },
        &expect!["p"],
    );
    check(
        |t, [.., p, _]| {
            let (u, v, k) = (c(t, 5), c(t, 7), c(t, 6));
            let w = t.ite(p, u, v);
            t.slt(w, k)
        },
        &expect!["p"],
    );
    check(
        |t, [.., p, q]| {
            let no = t.boolean(false);
            t.ite(p, no, q)
        },
        &expect!["q && !p"],
    );
    check(
        |t, [x, y, .., p, _]| {
            let u = t.not(p);
            t.ite(u, x, y)
        },
        &expect!["p ? y : x"],
    );
    check(
        |t, [x, y, .., p, _]| {
            let u = t.not(p);
            let v = t.ite(u, x, y);
            t.ite(p, v, x)
        },
        &expect!["p ? y : x"],
    );
    check(
        |t, [x, y, ..]| {
            let u = t.eq(x, y);
            t.ite(u, x, y)
        },
        &expect!["y"],
    );
    check(
        |t, [.., p, q]| {
            let u = t.not(q);
            t.ite(p, q, u)
        },
        &expect!["p == q"],
    );
    check(|t, [.., p, q]| t.implies(p, q), &expect!["q || !p"]);
}

const DEPTH: usize = 1_000_000;

/// A chain that no rule shortens, by operations of all kinds.
fn deep_chain(terms: &mut Terms) -> TermId {
    let x = terms.symbol(SymbolId(0), 32);
    let y = terms.symbol(SymbolId(1), 32);
    let condition = terms.symbol(SymbolId(2), 1);
    let byte = terms.constant(0x0f0f, 32);
    let mut chain = x;
    for step in 0.. {
        if terms.len() >= DEPTH {
            break;
        }
        chain = match step % 9 {
            0 => terms.add(chain, y),
            1 => terms.xor(chain, byte),
            2 => terms.mul(chain, x),
            3 => terms.not(chain),
            4 => terms.sdiv(chain, y),
            5 => terms.ite(condition, chain, y),
            6 => {
                let (high, low) = (terms.extract(chain, 9, 23), terms.extract(chain, 0, 9));
                terms.concat(low, high)
            }
            7 => terms.or(chain, byte),
            _ => terms.sub(y, chain),
        };
    }
    chain
}

/// In a thread with little stack, so that recursion would be seen.
#[test]
fn deep_terms_need_no_stack() {
    let work = || {
        let mut terms = Terms::new();
        let chain = deep_chain(&mut terms);
        assert!(terms.size(chain) > DEPTH / 2);
        assert_eq!(terms.symbols_of(chain), [0, 1, 2].map(SymbolId));
        let condition = terms.eq(chain, chain);
        assert_eq!(condition, terms.boolean(true));
        let zero = terms.constant(0, 32);
        let condition = terms.slt(chain, zero);
        let assignment = |symbol: SymbolId| [7, 11, 1][symbol.0 as usize];
        let value = terms.evaluate(chain, &assignment);
        let mut evaluation = Evaluation::new(&terms, assignment);
        assert_eq!(evaluation.value(chain), value);
        assert_eq!(evaluation.value(condition), (value >> 31 == 1) as u128);

        let shown = show(&terms, chain, |symbol| format!("r{}", symbol.0)).to_string();
        assert!(shown.contains('…') && shown.len() < 2000, "{shown}");
    };
    let thread = std::thread::Builder::new().stack_size(128 << 10).spawn(work);
    thread.expect("threads can be started").join().expect("no stack overflow");
}

/// Rules that undo an operation on both sides go on downwards, but not for ever.
#[test]
fn deep_terms_are_compared_in_constant_time() {
    let mut terms = Terms::new();
    let x = terms.symbol(SymbolId(0), 64);
    let (c, d) = (terms.constant(3, 64), terms.constant(5, 64));
    let mut chain = x;
    for _ in 0..DEPTH / 4 {
        let sum = terms.add(chain, c);
        chain = terms.xor(sum, d);
        let before = terms.len();
        terms.eq(chain, c);
        let masked = terms.and(chain, c);
        terms.trunc(masked, 2);
        assert!(terms.len() < before + 100);
    }
}
