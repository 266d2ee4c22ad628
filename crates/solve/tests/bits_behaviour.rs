//! What callers of the bit-blaster rely on: identities, guards, sharing, the order theory.

use foretrace_solve::{Bit, CircuitSize, Circuits, Gates, Limits, Lit, Outcome, Solver, Word};

fn solve(solver: &mut Solver, assumptions: &[Lit]) -> Outcome {
    solver.solve(assumptions, &Limits::default())
}

/// Asserts that a claim about three words has no counterexample.
fn prove(name: &str, width: usize, claim: impl Fn(&mut Circuits<'_>, [&Word; 3]) -> Bit) {
    let (mut solver, mut gates) = (Solver::new(), Gates::default());
    let mut circuits = gates.on(&mut solver);
    let words = [(); 3].map(|()| circuits.fresh(width));
    let holds = claim(&mut circuits, words.each_ref());
    assert_eq!(solve(&mut solver, &[]), Outcome::Satisfiable, "{name}: definitions only");
    let outcome = solve(&mut solver, &[(!holds).lit()]);
    assert_eq!(outcome, Outcome::Unsatisfiable, "{name} at {width} bits");
}

fn constant(like: &Word, value: u128) -> Word {
    Word::constant(like.width(), value)
}

#[test]
fn sums() {
    prove("x + y = y + x", 32, |c, [x, y, _]| {
        let (left, right) = (c.add(x, y), c.add(y, x));
        c.eq(&left, &right)
    });
    prove("x + (y + z) = (x + y) + z", 9, |c, [x, y, z]| {
        let (yz, xy) = (c.add(y, z), c.add(x, y));
        let (left, right) = (c.add(x, &yz), c.add(&xy, z));
        c.eq(&left, &right)
    });
    prove("x - y + y = x", 32, |c, [x, y, _]| {
        let difference = c.sub(x, y);
        let sum = c.add(&difference, y);
        c.eq(&sum, x)
    });
    prove("-x = !x + 1", 32, |c, [x, ..]| {
        let (left, right) = (c.neg(x), c.add(&!x, &constant(x, 1)));
        c.eq(&left, &right)
    });
    prove("x - y = x + -y", 32, |c, [x, y, _]| {
        let minus = c.neg(y);
        let (left, right) = (c.sub(x, y), c.add(x, &minus));
        c.eq(&left, &right)
    });
}

#[test]
fn products() {
    prove("x * 10 = (x << 3) + (x << 1)", 32, |c, [x, ..]| {
        let (eight, two) = (c.shl(x, &constant(x, 3)), c.shl(x, &constant(x, 1)));
        let (left, right) = (c.mul(x, &constant(x, 10)), c.add(&eight, &two));
        c.eq(&left, &right)
    });
    prove("x * 7 = x + x + x + x + x + x + x", 10, |c, [x, ..]| {
        let left = c.mul(x, &constant(x, 7));
        let right = (0..7).fold(constant(x, 0), |sum, _| c.add(&sum, x));
        c.eq(&left, &right)
    });
    prove("y = 13 -> x * y = x * 13", 12, |c, [x, y, _]| {
        let (left, right) = (c.mul(x, y), c.mul(x, &constant(x, 13)));
        let (given, same) = (c.eq_constant(y, 13), c.eq(&left, &right));
        c.bit_or(!given, same)
    });
    prove("x * (y + z) = x * y + x * z", 4, |c, [x, y, z]| {
        let sum = c.add(y, z);
        let (left, xy, xz) = (c.mul(x, &sum), c.mul(x, y), c.mul(x, z));
        let right = c.add(&xy, &xz);
        c.eq(&left, &right)
    });
    prove("x << y = x * (1 << y)", 8, |c, [x, y, _]| {
        let power = c.shl(&constant(x, 1), y);
        let (left, right) = (c.shl(x, y), c.mul(x, &power));
        c.eq(&left, &right)
    });
}

#[test]
fn quotients() {
    prove("x / y * y + x % y = x", 8, |c, [x, y, _]| {
        let (quotient, rest) = (c.udiv(x, y), c.urem(x, y));
        let product = c.mul(&quotient, y);
        let sum = c.add(&product, &rest);
        c.eq(&sum, x)
    });
    prove("x / y * y + x % y = x, signed", 6, |c, [x, y, _]| {
        let (quotient, rest) = (c.sdiv(x, y), c.srem(x, y));
        let product = c.mul(&quotient, y);
        let sum = c.add(&product, &rest);
        c.eq(&sum, x)
    });
    prove("x % y < y or y = 0", 16, |c, [x, y, _]| {
        let rest = c.urem(x, y);
        let (less, zero) = (c.ult(&rest, y), c.eq_constant(y, 0));
        c.bit_or(less, zero)
    });
    prove("y = 24 -> x / y = x / 24", 10, |c, [x, y, _]| {
        let (left, right) = (c.udiv(x, y), c.udiv(x, &constant(x, 24)));
        let (given, same) = (c.eq_constant(y, 24), c.eq(&left, &right));
        c.bit_or(!given, same)
    });
    for value in [8, 0xf8, 0x80, 0xff, 1, 24, 0xe8] {
        prove("y = c -> x / y = x / c, signed", 8, |c, [x, y, _]| {
            let (left, right) = (c.sdiv(x, y), c.sdiv(x, &constant(x, value)));
            let (given, same) = (c.eq_constant(y, value), c.eq(&left, &right));
            c.bit_or(!given, same)
        });
    }
}

#[test]
fn logic_and_order() {
    prove("!(x & y) = !x | !y", 64, |c, [x, y, _]| {
        let (both, either) = (c.and(x, y), c.or(&!x, &!y));
        c.eq(&!&both, &either)
    });
    prove("x ^ y = (x | y) - (x & y)", 16, |c, [x, y, _]| {
        let (either, both) = (c.or(x, y), c.and(x, y));
        let (left, right) = (c.xor(x, y), c.sub(&either, &both));
        c.eq(&left, &right)
    });
    prove("x <= y and y <= z imply x <= z", 32, |c, [x, y, z]| {
        let (first, second, both) = (c.sle(x, y), c.sle(y, z), c.sle(x, z));
        c.any(&[!first, !second, both])
    });
    prove("x < y, x = y or y < x", 32, |c, [x, y, _]| {
        let cases = [c.ult(x, y), c.eq(x, y), c.ult(y, x)];
        c.any(&cases)
    });
    prove("x > 5 or x < 7", 32, |c, [x, ..]| {
        let (more, less) = (c.slt(&constant(x, 5), x), c.slt(x, &constant(x, 7)));
        c.bit_or(more, less)
    });
}

#[test]
fn the_same_circuit_twice_adds_nothing() {
    let (mut solver, mut gates) = (Solver::new(), Gates::default());
    let words = [(); 3].map(|()| gates.on(&mut solver).fresh(16));
    let mut build = |swap: bool| {
        let mut c = gates.on(&mut solver);
        let [a, b, amount] = words.each_ref();
        let (a, b) = if swap { (b, a) } else { (a, b) };
        let mut results = vec![c.add(a, b), c.mul(a, b), c.and(a, b), c.or(a, b), c.xor(a, b)];
        results.push(Word::new([c.eq(a, b)]));
        let (a, b) = if swap { (b, a) } else { (a, b) };
        results.extend([c.sub(a, b), c.udiv(a, b), c.urem(a, b), c.sdiv(a, b), c.srem(a, b)]);
        results.extend([c.shl(a, amount), c.lshr(a, amount), c.ashr(a, amount)]);
        results.push(Word::new([c.ult(a, b), c.ule(a, b), c.slt(a, b), c.sle(a, b)]));
        results.push(c.select(amount, &[a.clone(), b.clone()], amount));
        (results, gates.size())
    };
    let first = build(false);
    assert!(first.1.variables > 1000);
    assert_eq!(build(false), first);
    assert_eq!(build(true), first, "operands that commute are brought into one order");
}

#[test]
fn comparisons_share_the_carries_of_differences() {
    let (mut solver, mut gates) = (Solver::new(), Gates::default());
    let mut c = gates.on(&mut solver);
    let (a, b) = (c.fresh(16), c.fresh(16));
    c.sub(&a, &b);
    let before = gates.size().variables;
    gates.on(&mut solver).ult(&a, &b);
    assert_eq!(gates.size().variables, before + 1, "only the last carry is new");
}

#[test]
fn identities_of_bits_need_no_gate() {
    let (mut solver, mut gates) = (Solver::new(), Gates::default());
    let mut c = gates.on(&mut solver);
    let [x, y] = [c.fresh(1).sign(), c.fresh(1).sign()];
    let sum = c.bit_xor(x, y);
    let before = gates.size();
    let mut c = gates.on(&mut solver);
    assert_eq!(c.bit_and(x, !x), Bit::FALSE);
    assert_eq!(c.bit_or(x, !x), Bit::TRUE);
    assert_eq!(c.bit_xor(x, x), Bit::FALSE);
    assert_eq!(c.bit_xor(!x, y), !sum);
    assert_eq!(c.bit_ite(x, !y, y), sum);
    assert_eq!(c.bit_ite(y, x, x), x);
    assert_eq!(c.bit_ite(x, Bit::TRUE, Bit::FALSE), x);
    assert_eq!(c.all(&[x, Bit::TRUE, x]), x);
    assert_eq!(c.all(&[x, y, !x]), Bit::FALSE);
    assert_eq!(c.any(&[]), Bit::FALSE);
    assert_eq!(gates.size(), before);
}

#[test]
fn equality_with_a_constant_is_one_gate() {
    let (mut solver, mut gates) = (Solver::new(), Gates::default());
    let mut c = gates.on(&mut solver);
    let word = c.fresh(32);
    c.eq_constant(&word, 0xcafe);
    let size = CircuitSize { variables: 33, clauses: 33, literals: 2 * 32 + 33 };
    assert_eq!(gates.size(), size);
}

#[test]
fn a_guard_makes_words_equal_without_gates() {
    let (mut solver, mut gates) = (Solver::new(), Gates::default());
    let (guard, other) = (solver.literal(), solver.literal());
    let mut c = gates.on(&mut solver);
    let (a, b) = (c.fresh(8), c.fresh(8));
    c.imply_equal(&[guard, other], &a, &b);
    c.imply_equal(&[guard], &b, &Word::constant(8, 77));
    c.imply_equal(&[guard], &a, &a);
    assert_eq!(gates.size(), CircuitSize { variables: 16, clauses: 24, literals: 80 });

    assert_eq!(solve(&mut solver, &[guard, other]), Outcome::Satisfiable);
    assert_eq!([a.value(&solver), b.value(&solver)], [77, 77]);
    let differs = [a.equals(3), b.equals(77)].concat();
    for (assumed, outcome) in [
        (vec![guard], Outcome::Satisfiable),
        (vec![other], Outcome::Satisfiable),
        (vec![guard, other], Outcome::Unsatisfiable),
    ] {
        let question = [assumed.clone(), differs.clone()].concat();
        assert_eq!(solve(&mut solver, &question), outcome);
        if outcome == Outcome::Unsatisfiable {
            assert!(assumed.iter().all(|&guard| solver.failed(guard)));
        }
    }
}

#[test]
fn a_guard_of_what_cannot_be_is_false() {
    let (mut solver, mut gates) = (Solver::new(), Gates::default());
    let guards = [(); 3].map(|()| solver.literal());
    let mut c = gates.on(&mut solver);
    let a = c.fresh(4);
    c.imply_equal(&guards[..1], &Word::constant(4, 3), &Word::constant(4, 7));
    c.imply_equal(&guards[1..2], &a, &!&a);
    c.imply(&guards[2..], Bit::FALSE);
    assert_eq!(solve(&mut solver, &[]), Outcome::Satisfiable);
    for guard in guards {
        assert_eq!(solve(&mut solver, &[guard]), Outcome::Unsatisfiable);
    }
}

#[test]
fn assertions_bind() {
    let (mut solver, mut gates) = (Solver::new(), Gates::default());
    let mut c = gates.on(&mut solver);
    let x = c.fresh(64);
    let product = c.mul(&x, &Word::constant(64, 3));
    c.assert_equal(&product, &Word::constant(64, 1));
    assert_eq!(solve(&mut solver, &[]), Outcome::Satisfiable);
    assert_eq!(x.value(&solver), 0xaaaa_aaaa_aaaa_aaab, "the inverse of 3");
    let small = gates.on(&mut solver).ult(&x, &Word::constant(64, 1000));
    assert_eq!(x.value(&solver), 0xaaaa_aaaa_aaaa_aaab, "the model outlives additions");
    gates.on(&mut solver).assert(small);
    assert_eq!(solve(&mut solver, &[]), Outcome::Unsatisfiable);
}

#[test]
fn the_solver_first_tries_the_preferred_value() {
    let (mut solver, mut gates) = (Solver::new(), Gates::default());
    let mut c = gates.on(&mut solver);
    let (zero, recorded) = (c.fresh(32), c.fresh_near(32, 0x1234_5678));
    assert_eq!(solve(&mut solver, &[]), Outcome::Satisfiable);
    assert_eq!([zero.value(&solver), recorded.value(&solver)], [0, 0x1234_5678]);
}

/// Each bit of a number orders two of three events; the orders must not form a cycle.
#[test]
fn bits_imply_order_atoms() {
    let (mut solver, mut gates) = (Solver::new(), Gates::default());
    let nodes = [0, 1, 2].map(|chain| solver.node(chain, 0, u64::from(chain)));
    let atoms = [(0, 1), (1, 2), (2, 0)].map(|(a, b)| solver.before(nodes[a], nodes[b]));
    let mut c = gates.on(&mut solver);
    let (x, y) = (c.fresh(3), c.fresh(3));
    let sum = c.add(&x, &y);
    for (&bit, atom) in sum.bits().iter().zip(atoms) {
        c.imply(&[bit.lit()], atom.into());
        c.imply(&[(!bit).lit()], Bit::from(!atom));
    }
    for value in 0..8 {
        let expected =
            if [0, 7].contains(&value) { Outcome::Unsatisfiable } else { Outcome::Satisfiable };
        let question = [x.equals(5), sum.equals(value)].concat();
        assert_eq!(solve(&mut solver, &question), expected, "{value}");
        if expected == Outcome::Satisfiable {
            assert_eq!((5 + y.value(&solver)) % 8, value);
            assert_eq!(Word::from_fn(3, |at| atoms[at].into()).value(&solver), value);
        }
    }
}

#[test]
fn an_order_that_is_certain_is_a_constant_bit() {
    let (mut solver, mut gates) = (Solver::new(), Gates::default());
    let (first, second) = (solver.node(0, 0, 0), solver.node(0, 1, 1));
    let bit = Bit::from(solver.before(second, first));
    assert_eq!(bit.as_constant(), Some(false));
    let mut c = gates.on(&mut solver);
    let x = c.fresh(8);
    assert_eq!(c.ite(bit, &Word::constant(8, 1), &x), x);
    assert_eq!(c.solver().before(first, second), Bit::TRUE.lit());
}

#[test]
#[should_panic(expected = "words of one width")]
fn widths_must_agree() {
    let (mut solver, mut gates) = (Solver::new(), Gates::default());
    gates.on(&mut solver).add(&Word::constant(8, 1), &Word::constant(9, 1));
}

#[test]
#[should_panic(expected = "a word of 129 bits")]
fn a_word_has_at_most_128_bits() {
    Word::constant(64, 0).concat(&Word::constant(65, 0));
}
