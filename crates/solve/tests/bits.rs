//! Every operation of the bit-blaster against arithmetic on `u128`.

mod support;

use std::collections::BTreeSet;

use foretrace_solve::{Bit, Circuits, Gates, Limits, Lit, Outcome, Solver, Word};
use support::Random;

/// An operation on two words of one width, as a circuit and as arithmetic.
struct Operation {
    name: &'static str,
    circuit: fn(&mut Circuits<'_>, &Word, &Word) -> Word,
    /// Operands, width; the result may have bits beyond its word.
    expected: fn(u128, u128, u32) -> u128,
}

fn mask(width: u32) -> u128 {
    u128::MAX >> (128 - width)
}

fn signed(value: u128, width: u32) -> i128 {
    (value << (128 - width)) as i128 >> (128 - width)
}

fn one(bit: Bit) -> Word {
    Word::new([bit])
}

macro_rules! operations {
    ($($name:literal: $circuit:expr, $expected:expr;)*) => {
        [$(Operation { name: $name, circuit: $circuit, expected: $expected }),*]
    };
}

fn operations() -> impl IntoIterator<Item = Operation> {
    operations! {
        "not": |_, a, _| !a, |a, _, _| !a;
        "and": |c, a, b| c.and(a, b), |a, b, _| a & b;
        "or": |c, a, b| c.or(a, b), |a, b, _| a | b;
        "xor": |c, a, b| c.xor(a, b), |a, b, _| a ^ b;
        "ite": |c, a, b| c.ite(b.bits()[0], a, b), |a, b, _| if b & 1 == 1 { a } else { b };
        "add": |c, a, b| c.add(a, b), |a, b, _| a.wrapping_add(b);
        "sub": |c, a, b| c.sub(a, b), |a, b, _| a.wrapping_sub(b);
        "neg": |c, a, _| c.neg(a), |a, _, _| a.wrapping_neg();
        "mul": |c, a, b| c.mul(a, b), |a, b, _| a.wrapping_mul(b);
        "square": |c, a, _| c.mul(a, a), |a, _, _| a.wrapping_mul(a);
        "udiv": |c, a, b| c.udiv(a, b), |a, b, _| a.checked_div(b).unwrap_or(u128::MAX);
        "urem": |c, a, b| c.urem(a, b), |a, b, _| a.checked_rem(b).unwrap_or(a);
        "sdiv": |c, a, b| c.sdiv(a, b), |a, b, width| match signed(b, width) {
            0 => u128::MAX,
            divisor => signed(a, width).wrapping_div(divisor) as u128,
        };
        "srem": |c, a, b| c.srem(a, b), |a, b, width| match signed(b, width) {
            0 => a,
            divisor => signed(a, width).wrapping_rem(divisor) as u128,
        };
        "shl": |c, a, b| c.shl(a, b),
            |a, b, width| if b < u128::from(width) { a << b } else { 0 };
        "lshr": |c, a, b| c.lshr(a, b),
            |a, b, width| if b < u128::from(width) { a >> b } else { 0 };
        "ashr": |c, a, b| c.ashr(a, b),
            |a, b, width| (signed(a, width) >> b.min(u128::from(width) - 1)) as u128;
        "eq": |c, a, b| one(c.eq(a, b)), |a, b, _| (a == b).into();
        "eq constant": |c, a, _| one(c.eq_constant(a, 5)),
            |a, _, width| (a == 5 & mask(width)).into();
        "nonzero": |c, a, _| one(c.is_nonzero(a)), |a, _, _| (a != 0).into();
        "ult": |c, a, b| one(c.ult(a, b)), |a, b, _| (a < b).into();
        "ule": |c, a, b| one(c.ule(a, b)), |a, b, _| (a <= b).into();
        "slt": |c, a, b| one(c.slt(a, b)), |a, b, w| (signed(a, w) < signed(b, w)).into();
        "sle": |c, a, b| one(c.sle(a, b)), |a, b, w| (signed(a, w) <= signed(b, w)).into();
        "zext": |_, a, _| a.zext((a.width() + 3).min(128)), |a, _, _| a;
        "sext": |_, a, _| a.sext((a.width() + 3).min(128)), |a, _, width| signed(a, width) as u128;
        "trunc": |_, a, _| a.trunc(a.width().div_ceil(2)), |a, _, _| a;
        "extract": |_, a, _| a.extract(a.width() / 2, 1), |a, _, width| a >> (width / 2) & 1;
        "concat": |_, a, b| a.trunc(1).concat(&b.trunc(1)), |a, b, _| (a & 1) << 1 | b & 1;
        "select": |c, a, b| c.select(a, &[!b, a.clone(), b.clone()], &Word::constant(a.width(), 9)),
            |a, b, _| [!b, a, b].get(usize::try_from(a).unwrap_or(9)).copied().unwrap_or(9);
        "shift by few bits": |c, a, b| c.shl(a, &b.trunc(1)), |a, b, _| a << (b & 1);
    }
}

impl Operation {
    fn expect(&self, result: &Word, a: u128, b: u128, width: usize) -> u128 {
        (self.expected)(a, b, width as u32) & mask(result.width() as u32)
    }

    /// Asks for the result at each pair of operands, given as assumptions.
    fn check_forward(&self, width: usize, pairs: impl Iterator<Item = (u128, u128)>) {
        let (mut solver, mut gates) = (Solver::new(), Gates::default());
        let mut circuits = gates.on(&mut solver);
        let (a, b) = (circuits.fresh(width), circuits.fresh(width));
        let result = (self.circuit)(&mut circuits, &a, &b);
        for (x, y) in pairs {
            let question = [a.equals(x), b.equals(y)].concat();
            assert!(is_possible(&mut solver, &question), "{} {x} {y}: {width} bits", self.name);
            let expected = self.expect(&result, x, y, width);
            let found = result.value(&solver);
            assert_eq!(found, expected, "{} {x} {y}: {width} bits", self.name);
        }
    }

    /// Asks for operands at each result: with both free, and with the first one given.
    fn check_backward(&self, width: usize) {
        let (mut solver, mut gates) = (Solver::new(), Gates::default());
        let mut circuits = gates.on(&mut solver);
        let (a, b) = (circuits.fresh(width), circuits.fresh(width));
        let result = (self.circuit)(&mut circuits, &a, &b);
        let results_with = |x| {
            (0..1 << width).map(|y| self.expect(&result, x, y, width)).collect::<BTreeSet<u128>>()
        };
        let reachable: BTreeSet<u128> = (0..1 << width).flat_map(results_with).collect();
        for wanted in 0..1 << result.width() {
            let question = result.equals(wanted);
            let found = is_possible(&mut solver, &question);
            assert_eq!(found, reachable.contains(&wanted), "{} = {wanted}: {width}", self.name);
            if found {
                let (x, y) = (a.value(&solver), b.value(&solver));
                assert_eq!(self.expect(&result, x, y, width), wanted, "{} {x} {y}", self.name);
            }
        }
        for x in 0..1 << width {
            let results = results_with(x);
            for wanted in 0..1 << result.width() {
                let question = [a.equals(x), result.equals(wanted)].concat();
                let found = is_possible(&mut solver, &question);
                assert_eq!(found, results.contains(&wanted), "{} {x} ? = {wanted}", self.name);
            }
        }
    }
}

fn is_possible(solver: &mut Solver, assumptions: &[Lit]) -> bool {
    match solver.solve(assumptions, &Limits::default()) {
        Outcome::Satisfiable => true,
        Outcome::Unsatisfiable => false,
        Outcome::Interrupted => panic!("there is no limit"),
    }
}

fn all_pairs(width: usize) -> impl Iterator<Item = (u128, u128)> {
    (0..1 << width).flat_map(move |x| (0..1 << width).map(move |y| (x, y)))
}

#[test]
fn all_operands_of_few_bits() {
    for operation in operations() {
        for width in 1..=4 {
            operation.check_forward(width, all_pairs(width));
        }
    }
}

#[test]
fn all_results_of_few_bits() {
    for operation in operations() {
        for width in 1..=4 {
            operation.check_backward(width);
        }
    }
}

#[test]
fn constant_operands_need_no_clause() {
    for operation in operations() {
        let (mut solver, mut gates) = (Solver::new(), Gates::default());
        for width in 1..=5 {
            for (x, y) in all_pairs(width) {
                let (a, b) = (Word::constant(width, x), Word::constant(width, y));
                let result = (operation.circuit)(&mut gates.on(&mut solver), &a, &b);
                let expected = operation.expect(&result, x, y, width);
                assert_eq!(result.as_constant(), Some(expected), "{} {x} {y}", operation.name);
            }
        }
        assert_eq!(gates.size(), Default::default(), "{}", operation.name);
    }
}

/// One operand constant, or both words made of a few variables, their complements and constants
/// in any mixture: all the ways in which gates fold.
#[test]
fn operands_that_fold() {
    const VARIABLES: usize = 3;
    let mut random = Random::new(7);
    for operation in operations() {
        for case in 0..60 {
            let (mut solver, mut gates) = (Solver::new(), Gates::default());
            let width = 1 + case % 6;
            let inputs = gates.on(&mut solver).fresh(VARIABLES);
            let mut constants = [50, 0, 90][case % 3];
            let mut word = || {
                let word = Word::from_fn(width, |_| match random.chance(constants) {
                    true => Bit::from(random.chance(50)),
                    false => {
                        let bit = random.pick(inputs.bits());
                        if random.chance(50) { bit } else { !bit }
                    }
                });
                constants = [50, 20, 100][case / 3 % 3];
                word
            };
            let (a, b) = (word(), word());
            let result = (operation.circuit)(&mut gates.on(&mut solver), &a, &b);
            for value in 0..1 << VARIABLES {
                assert!(is_possible(&mut solver, &inputs.equals(value)));
                let (x, y) = (a.value(&solver), b.value(&solver));
                let expected = operation.expect(&result, x, y, width);
                let found = result.value(&solver);
                assert_eq!(found, expected, "{} {x} {y}: {a:?} {b:?}", operation.name);
            }
        }
    }
}

/// A number with many or few bits, at the edges more often than by chance.
fn random_operand(random: &mut Random, width: usize) -> u128 {
    let number = u128::from(random.number()) << 64 | u128::from(random.number());
    let length = 1 + random.below(width) as u32;
    let number = match random.below(8) {
        0 => random.pick(&[0, 1, 2, u128::MAX, u128::MAX - 1]),
        1 => 1 << (width - 1),
        2 => 1 << random.below(width),
        3 => number & mask(length),
        4 => !(number & mask(length)),
        _ => number,
    };
    number & mask(width as u32)
}

#[test]
fn random_operands_of_many_bits() {
    let mut random = Random::new(1);
    for operation in operations() {
        for width in [8, 11, 16, 24, 32, 33, 48, 64] {
            let mut operand = || random_operand(&mut random, width);
            let pairs: Vec<_> = (0..24).map(|_| (operand(), operand())).collect();
            operation.check_forward(width, pairs.into_iter());
        }
    }
}

#[test]
fn random_operands_of_the_largest_width() {
    let mut random = Random::new(2);
    for operation in operations() {
        let mut operand = || random_operand(&mut random, 128);
        let pairs: Vec<_> = (0..6).map(|_| (operand(), operand())).collect();
        operation.check_forward(128, pairs.into_iter());
    }
}

/// Constants take other ways through products and quotients: digits, shifts, short rows.
#[test]
fn random_constants_on_one_side() {
    let mut random = Random::new(3);
    for operation in operations() {
        for case in 0..40 {
            let (mut solver, mut gates) = (Solver::new(), Gates::default());
            let mut circuits = gates.on(&mut solver);
            let width = random.pick(&[8, 16, 32, 37, 64]);
            let free = circuits.fresh(width);
            let known = random_operand(&mut random, width);
            let constant = Word::constant(width, known);
            let (a, b) = if case % 4 == 0 { (&constant, &free) } else { (&free, &constant) };
            let result = (operation.circuit)(&mut circuits, a, b);
            for _ in 0..4 {
                let value = random_operand(&mut random, width);
                assert!(is_possible(&mut solver, &free.equals(value)));
                let (x, y) = if case % 4 == 0 { (known, value) } else { (value, known) };
                let expected = operation.expect(&result, x, y, width);
                let found = result.value(&solver);
                assert_eq!(found, expected, "{} {x} {y}: {width} bits", operation.name);
            }
        }
    }
}
