//! What circuits cost: sizes, and the time of typical and of hard questions.

use std::time::{Duration, Instant};

use foretrace_solve::{Bit, CircuitSize, Circuits, Gates, Limits, Outcome, Solver, Word};

type Operation = fn(&mut Circuits<'_>, &Word, &Word) -> Word;

/// Builds a question in a new solver and prints its size and how long its answer took.
fn question(name: &str, expected: Outcome, build: impl Fn(&mut Circuits<'_>)) {
    let (mut solver, mut gates) = (Solver::new(), Gates::default());
    build(&mut gates.on(&mut solver));
    let start = Instant::now();
    let limits = Limits { deadline: Some(start + Duration::from_secs(20)), ..Limits::default() };
    let outcome = solver.solve(&[], &limits);
    let size = gates.size();
    println!(
        "{name:<34} {:>6} variables {:>6} clauses {:>7} conflicts {:>7.3} s{}",
        size.variables,
        size.clauses,
        solver.statistics().conflicts,
        start.elapsed().as_secs_f64(),
        if outcome == Outcome::Interrupted { "  gave up" } else { "" },
    );
    assert!(outcome == expected || outcome == Outcome::Interrupted, "{name}: {outcome:?}");
}

fn sizes() {
    let operations: [(&str, Operation); 7] = [
        ("add", |c, a, b| c.add(a, b)),
        ("sub", |c, a, b| c.sub(a, b)),
        ("shl", |c, a, b| c.shl(a, b)),
        ("mul", |c, a, b| c.mul(a, b)),
        ("mul 1000003", |c, a, _| c.mul(a, &Word::constant(a.width(), 1_000_003))),
        ("udiv", |c, a, b| c.udiv(a, b)),
        ("sdiv", |c, a, b| c.sdiv(a, b)),
    ];
    for width in [32, 64] {
        for (name, operation) in operations {
            let (mut solver, mut gates) = (Solver::new(), Gates::default());
            let mut circuits = gates.on(&mut solver);
            let (a, b) = (circuits.fresh(width), circuits.fresh(width));
            let start = Instant::now();
            operation(&mut circuits, &a, &b);
            let seconds = start.elapsed().as_secs_f64();
            let CircuitSize { variables, clauses, .. } = gates.size();
            let variables = variables - 2 * width as u64;
            println!(
                "{name:<12} {width} {variables:>6} variables {clauses:>6} clauses {seconds:.4} s"
            );
        }
    }
}

fn questions() {
    use Outcome::{Satisfiable, Unsatisfiable};
    for width in [32, 64] {
        let constant = |value| Word::constant(width, value);
        question(&format!("mul {width}: x * y = c, both odd"), Satisfiable, |c| {
            let (x, y) = (c.fresh(width), c.fresh(width));
            let product = c.mul(&x, &y);
            c.assert_equal(&product, &constant(0x9e37_79b9_7f4a_7c15));
            let one = constant(1);
            for side in [&x, &y] {
                let more = c.ult(&one, side);
                c.assert(more);
            }
        });
        question(&format!("mul {width}: x * x = 0x...11"), Satisfiable, |c| {
            let x = c.fresh(width);
            let product = c.mul(&x, &x);
            c.assert_equal(&product, &constant(0x1234_5671));
        });
        question(&format!("mul {width}: x * 7 + 3 = y * 5, x < y"), Satisfiable, |c| {
            let (x, y) = (c.fresh(width), c.fresh(width));
            let left = c.mul(&x, &constant(7));
            let left = c.add(&left, &constant(3));
            let right = c.mul(&y, &constant(5));
            c.assert_equal(&left, &right);
            let less = c.ult(&x, &y);
            c.assert(less);
        });
        question(&format!("mul {width}: x * y * z = c"), Satisfiable, |c| {
            let (x, y, z) = (c.fresh(width), c.fresh(width), c.fresh(width));
            let product = c.mul(&x, &y);
            let product = c.mul(&product, &z);
            c.assert_equal(&product, &constant(0xdead_beef));
            for side in [&x, &y, &z] {
                let more = c.ult(&constant(2), side);
                c.assert(more);
            }
        });
        for (name, n, d) in [("small", 1_000_000, 7_919), ("large", 0x7fff_ffff, 3)] {
            question(&format!("div {width}: inputs given, {name}"), Satisfiable, |c| {
                let (x, y) = (c.fresh(width), c.fresh(width));
                c.udiv(&x, &y);
                c.assert_equal(&x, &constant(n));
                c.assert_equal(&y, &constant(d));
            });
        }
        question(&format!("div {width}: quotient, rest given"), Satisfiable, |c| {
            let (x, y) = (c.fresh(width), c.fresh(width));
            let (quotient, rest) = (c.udiv(&x, &y), c.urem(&x, &y));
            c.assert_equal(&quotient, &constant(1234));
            c.assert_equal(&rest, &constant(567));
        });
        question(&format!("div {width}: x / y = z, x % y = z + 1"), Satisfiable, |c| {
            let (x, y) = (c.fresh(width), c.fresh(width));
            let (quotient, rest) = (c.sdiv(&x, &y), c.srem(&x, &y));
            let next = c.add(&quotient, &constant(1));
            c.assert_equal(&next, &rest);
            let more = c.slt(&constant(100), &quotient);
            c.assert(more);
        });
        question(&format!("div {width}: x % 10 = 7, x / 10 = y"), Satisfiable, |c| {
            let x = c.fresh(width);
            let (quotient, rest) = (c.udiv(&x, &constant(10)), c.urem(&x, &constant(10)));
            c.assert_equal(&rest, &constant(7));
            let more = c.ult(&constant(12345), &quotient);
            c.assert(more);
        });
    }
    for width in [32, 64] {
        question(&format!("div {width}: ten with inputs given"), Satisfiable, |c| {
            let mut state = 1_u128;
            for at in 0..10 {
                let (x, y) = (c.fresh(width), c.fresh(width));
                c.udiv(&x, &y);
                state =
                    state.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645).wrapping_add(1);
                c.assert_equal(&x, &Word::constant(width, state >> 64));
                c.assert_equal(&y, &Word::constant(width, (state >> 64 & 0xffff_ffff) >> (3 * at)));
            }
        });
        question(&format!("div {width}: x / y / 3 = 5 * (x % y)"), Satisfiable, |c| {
            let (x, y) = (c.fresh(width), c.fresh(width));
            let (quotient, rest) = (c.udiv(&x, &y), c.urem(&x, &y));
            let third = c.udiv(&quotient, &Word::constant(width, 3));
            let five = c.mul(&rest, &Word::constant(width, 5));
            c.assert_equal(&third, &five);
            let more = c.ult(&Word::constant(width, 1000), &third);
            c.assert(more);
        });
    }
    question("mul 32: 16-bit primes' product", Satisfiable, |c| {
        let (x, y) = (c.fresh(16).zext(32), c.fresh(16).zext(32));
        let product = c.mul(&x, &y);
        c.assert_equal(&product, &Word::constant(32, 65_521 * 40_009));
    });
    question("mul 40: a 26-bit prime", Unsatisfiable, |c| {
        let (x, y) = (c.fresh(13).zext(40), c.fresh(26).zext(40));
        let product = c.mul(&x, &y);
        c.assert_equal(&product, &Word::constant(40, 67_108_859));
        let more = c.ult(&Word::constant(40, 1), &x);
        c.assert(more);
    });
    let refute = |name: &str, width: usize, claim: fn(&mut Circuits<'_>, [&Word; 3]) -> Bit| {
        question(&format!("{name} {width}"), Unsatisfiable, |c| {
            let (x, y, z) = (c.fresh(width), c.fresh(width), c.fresh(width));
            let holds = claim(c, [&x, &y, &z]);
            c.assert(!holds);
        });
    };
    refute("x + (y + z) = (x + y) + z", 10, |c, [x, y, z]| {
        let (xy, yz) = (c.add(x, y), c.add(y, z));
        let (left, right) = (c.add(x, &yz), c.add(&xy, z));
        c.eq(&left, &right)
    });
    question("sum 32: sixteen digits above 144", Unsatisfiable, |c| {
        let mut sum = Word::constant(32, 0);
        for _ in 0..16 {
            let digit = c.fresh(32);
            let is_digit = c.ult(&digit, &Word::constant(32, 10));
            c.assert(is_digit);
            sum = c.add(&sum, &digit);
        }
        let above = c.slt(&Word::constant(32, 144), &sum);
        c.assert(above);
    });
    refute("x - y + y = x", 32, |c, [x, y, _]| {
        let difference = c.sub(x, y);
        let sum = c.add(&difference, y);
        c.eq(&sum, x)
    });
    refute("x <= y, y <= z -> x <= z", 64, |c, [x, y, z]| {
        let (a, b, result) = (c.sle(x, y), c.sle(y, z), c.sle(x, z));
        c.any(&[!a, !b, result])
    });
    refute("x * (y + z) = x * y + x * z", 6, |c, [x, y, z]| {
        let sum = c.add(y, z);
        let left = c.mul(x, &sum);
        let (xy, xz) = (c.mul(x, y), c.mul(x, z));
        let right = c.add(&xy, &xz);
        c.eq(&left, &right)
    });
    for width in [8, 10] {
        refute("x / y * y + x % y = x", width, |c, [x, y, _]| {
            let (quotient, rest) = (c.udiv(x, y), c.urem(x, y));
            let product = c.mul(&quotient, y);
            let sum = c.add(&product, &rest);
            c.eq(&sum, x)
        });
    }
    refute("x / y <= x or y = 0", 32, |c, [x, y, _]| {
        let quotient = c.udiv(x, y);
        let smaller = c.ule(&quotient, x);
        let zero = c.eq_constant(y, 0);
        c.bit_or(smaller, zero)
    });
    refute("x <= y -> x / z <= y / z or z = 0", 8, |c, [x, y, z]| {
        let (left, right) = (c.udiv(x, z), c.udiv(y, z));
        let (greater, result) = (c.ult(y, x), c.ule(&left, &right));
        let zero = c.eq_constant(z, 0);
        c.any(&[greater, result, zero])
    });
}

pub(crate) fn circuits() {
    sizes();
    questions();
}
