//! Terms against plain computation: what a term says must hold for every value of its reads, not
//! only the recorded ones.

use std::collections::BTreeMap;

use foretrace_recording::image;
use foretrace_testing::Random;
use foretrace_trace::expr::Expr;
use foretrace_trace::text::eval::evaluate;
use foretrace_words::{BinaryOp, Cast, RmwOp, cut};
use rustc_hash::FxHashMap;

use crate::memory::{Contents, bytes_of};
use crate::terms::{Terms, Value};
use crate::told::WalkStep;
use foretrace_image::{Code, decode};

fn any_word(random: &mut Random, width: u8) -> u64 {
    let word = match random.below_u64(4) {
        0 => random.below_u64(4),
        1 => u64::MAX - random.below_u64(4),
        2 => 1 << random.below_u64(64),
        _ => random.number(),
    };
    cut(word, width)
}

/// A value, its width, and what it is worth in another run in which the reads saw something else.
#[derive(Clone, Copy)]
struct Both {
    value: Value,
    width: u8,
    other: u64,
}

struct Run {
    terms: Terms,
    /// What names are worth in the other run.
    others: FxHashMap<u32, u64>,
    values: Vec<Both>,
}

const WIDTHS: [u8; 6] = [1, 8, 13, 16, 32, 64];

impl Run {
    fn new(random: &mut Random) -> Run {
        let mut run = Run { terms: Terms::new(), others: FxHashMap::default(), values: Vec::new() };
        for _ in 0..4 {
            let width = [8, 16, 32, 64][random.below_u64(4) as usize];
            let (value, name) = run.terms.read(any_word(random, width), width);
            let other = if random.below_u64(3) == 0 { value.bits } else { any_word(random, width) };
            run.others.insert(name, other);
            run.values.push(Both { value, width, other });
        }
        for _ in 0..3 {
            let width = WIDTHS[random.below_u64(6) as usize];
            let bits = any_word(random, width);
            run.values.push(Both { value: Value::number(bits), width, other: bits });
        }
        run
    }

    fn pick(&self, random: &mut Random, width: Option<u8>) -> Option<Both> {
        let fitting: Vec<Both> = self
            .values
            .iter()
            .copied()
            .filter(|one| width.is_none_or(|width| width == one.width))
            .collect();
        (!fitting.is_empty()).then(|| fitting[random.below_u64(fitting.len() as u64) as usize])
    }

    fn step(&mut self, random: &mut Random) {
        let Some(left) = self.pick(random, None) else { return };
        let made = match random.below_u64(8) {
            0..=4 => {
                let op = random.pick(&BinaryOp::ALL);
                let right = self.pick(random, Some(left.width)).unwrap_or(left);
                let value = self.terms.binary(op, left.width, left.value, right.value);
                let width = if op.is_comparison() { 1 } else { left.width };
                Both { value, width, other: op.apply(left.other, right.other, left.width) }
            }
            5 | 6 => {
                let to = WIDTHS[random.below_u64(6) as usize];
                let cast = match to.cmp(&left.width) {
                    std::cmp::Ordering::Less => Cast::Truncate,
                    _ => random.pick(&[Cast::ZeroExtend, Cast::SignExtend]),
                };
                let value = self.terms.cast(cast, left.value, left.width, to);
                Both { value, width: to, other: cast.apply(left.other, left.width, to) }
            }
            _ => {
                let Some(condition) = self.pick(random, Some(1)) else { return };
                let right = self.pick(random, Some(left.width)).unwrap_or(left);
                let value = self.terms.choice(condition.value, left.value, right.value);
                let taken = if condition.other == 1 { left } else { right };
                Both { value, width: left.width, other: taken.other }
            }
        };
        assert!(made.value.known);
        self.values.push(made);
    }

    /// The expression of a value must be worth what was computed, in both runs.
    fn check(&mut self, both: Both, seed: u64) {
        let mut lets = Vec::new();
        let expr = self.terms.express(both.value, &mut lets);
        for step in lets {
            let WalkStep::Let { name, value } = step else { panic!("only names are given") };
            let worth = self.worth(&value);
            self.others.insert(name, worth);
        }
        assert_eq!(self.worth(&expr), both.other, "seed {seed}: {expr:?}");
    }

    fn worth(&self, expr: &Expr) -> u64 {
        evaluate(expr, &|name| self.others.get(&name.0).copied()).expect("all names are known")
    }
}

#[test]
fn terms_are_worth_what_is_computed() {
    for seed in 0..20_000 {
        let mut random = Random::new(seed);
        let mut run = Run::new(&mut random);
        for _ in 0..random.below_u64(40) {
            run.step(&mut random);
        }
        for both in run.values.clone() {
            if random.below_u64(3) == 0 {
                run.check(both, seed);
            }
        }
        let last = *run.values.last().expect("there are reads");
        run.check(last, seed);
    }
}

/// Once a term is known to be as recorded, terms may use that: then they must be right in every run
/// in which it is.
#[test]
fn fixed_terms_are_numbers() {
    let mut checked = 0;
    for seed in 0..40_000 {
        let mut random = Random::new(seed ^ 0xf1f1);
        let mut run = Run::new(&mut random);
        for _ in 0..random.below_u64(12) {
            run.step(&mut random);
        }
        let fixed = run.pick(&mut random, Some(1)).or(run.pick(&mut random, None)).expect("one");
        if fixed.other != fixed.value.bits {
            continue;
        }
        run.terms.fix(fixed.value);
        for _ in 0..random.below_u64(12) {
            run.step(&mut random);
        }
        for both in run.values.clone() {
            let value = run.terms.refresh(both.value);
            run.check(Both { value, ..both }, seed);
        }
        checked += 1;
    }
    assert!(checked > 10_000, "{checked}");
}

/// Numbers in memory, against one entry for each byte.
#[test]
fn memory_forgets_what_is_cut_out() {
    let (mut memory, mut terms) = (Contents::default(), Terms::new());
    let mut bytes: BTreeMap<u64, u8> = BTreeMap::new();
    let mut random = Random::new(5);
    let word = |bytes: &BTreeMap<u64, u8>, address: u64, size: u8| {
        let all: Option<Vec<u8>> = (0..8)
            .map(|at| if at < size.into() { bytes.get(&(address + at)).copied() } else { Some(0) })
            .collect();
        all.map(|all| u64::from_le_bytes(std::array::from_fn(|at| all[at])))
    };
    for _ in 0..40_000 {
        let (address, size) = (random.below_u64(1000), 1 + random.below_u64(8) as u8);
        match random.below_u64(12) {
            0 => {
                let end = address + [3, 40, 130, 700][random.below_u64(4) as usize];
                memory.cut_out(&mut terms, address, end);
                bytes.retain(|at, _| !(address..end).contains(at));
            }
            1 if random.below_u64(500) == 0 => {
                memory.clear();
                bytes.clear();
            }
            1..8 => {
                let value = any_word(&mut random, 8 * size);
                memory.store(&mut terms, address, size, Value::number(value), true);
                bytes.extend((address..).zip(value.to_le_bytes()).take(size.into()));
            }
            8 => {
                let end = address + random.below_u64(300);
                let found = memory.values(address, end);
                assert_eq!(
                    found.is_empty(),
                    bytes.range(address..end.max(address + 1)).next().is_none()
                );
            }
            _ => {
                let found = memory.load(&mut terms, address, size, None);
                let expected = word(&bytes, address, size);
                assert_eq!(
                    found.known.then_some(found.bits),
                    expected,
                    "{size} bytes at {address}"
                );
            }
        }
    }
}

#[test]
fn memory_gives_back_what_was_stored() {
    for seed in 0..5_000 {
        let mut random = Random::new(seed ^ 0x3e3e);
        let mut run = Run::new(&mut random);
        let mut memory = Contents::default();
        // Within a line, and across two.
        let base = random.below_u64(8) * 16;
        let (mut here, mut there) = ([0u8; 24], [0u8; 24]);
        for _ in 0..20 {
            let size = [1, 2, 4, 8, 3][random.below_u64(5) as usize];
            let address = random.below_u64(24 - u64::from(size) + 1);
            let range = address as usize..address as usize + usize::from(size);
            let word = |bytes: &[u8; 24]| {
                let mut word = [0; 8];
                word[..usize::from(size)].copy_from_slice(&bytes[range.clone()]);
                u64::from_le_bytes(word)
            };
            if random.below_u64(2) == 0 {
                let both = run.pick(&mut random, None).expect("one");
                let value =
                    bytes_of(&mut run.terms, both.value, 0, size.min(both.width.div_ceil(8)));
                let width = 8 * size.min(both.width.div_ceil(8));
                let other = cut(both.other, width);
                memory.store(&mut run.terms, base + address, size, value, random.below_u64(2) == 0);
                here[range.clone()].copy_from_slice(&value.bits.to_le_bytes()[..usize::from(size)]);
                there[range].copy_from_slice(&other.to_le_bytes()[..usize::from(size)]);
            } else {
                let value = memory.load(&mut run.terms, base + address, size, Some(word(&here)));
                assert_eq!((value.known, value.bits), (true, word(&here)), "seed {seed}");
                run.check(Both { value, width: 8 * size, other: word(&there) }, seed);
            }
        }
    }
}

#[test]
fn deep_terms_get_names() {
    let mut terms = Terms::new();
    let (mut sum, _) = terms.read(1, 32);
    for number in 0..4_000 {
        let (next, _) = terms.read(number, 32);
        sum = terms.binary(BinaryOp::Add, 32, sum, next);
    }
    let mut lets = Vec::new();
    let expr = terms.express(sum, &mut lets);
    assert!(matches!(expr, Expr::Unary(..)));
    assert!(lets.len() > 40 && lets.len() < 400, "{}", lets.len());
    let again = &mut Vec::new();
    terms.express(sum, again);
    assert!(again.is_empty());
}

#[test]
fn too_deep_terms_are_not_expressed() {
    let mut terms = Terms::new();
    let (mut sum, _) = terms.read(1, 32);
    for number in 0..100_000 {
        let (next, _) = terms.read(number, 32);
        sum = terms.binary(BinaryOp::Add, 32, sum, next);
    }
    assert!(sum.known && !terms.is_exact(sum));
    assert_eq!(terms.fix_reads(sum).len(), 100_001);
}

#[test]
fn terms_that_are_kept_stay_what_they_are() {
    let mut terms = Terms::new();
    let (first, name) = terms.read(5, 32);
    let (second, other) = terms.read(7, 32);
    let (third, _) = terms.read(9, 32);
    terms.binary(BinaryOp::Mul, 32, second, third);
    let mut sum = terms.binary(BinaryOp::Add, 32, first, second);
    terms.fix(first);
    let before = terms.express(sum, &mut Vec::new());
    let mut keep = terms.keep();
    keep.value(&mut sum);
    keep.finish();
    assert_eq!(terms.express(sum, &mut Vec::new()), before);
    assert_eq!(sum.bits, 12);
    // The fixed one is a number, and what nothing referred to is gone: the only read that is left
    // is the second.
    assert!(name != other && format!("{before:?}").contains(&format!("NameId({other})")));
    assert_eq!(terms.fix_reads(sum).len(), 1);
}

#[test]
fn operations_have_the_numbers_of_the_image() {
    use foretrace_recording::image::{binary::*, cast};
    use foretrace_recording::site::rmw;
    let codes = [
        ADD, SUB, MUL, UDIV, SDIV, UREM, SREM, AND, OR, XOR, SHL, LSHR, ASHR, EQ, NE, ULT, ULE,
        SLT, SLE,
    ];
    let names = codes.map(|code| format!("{:?}", BinaryOp::ALL[code as usize]));
    let expected = "Add Sub Mul UDiv SDiv URem SRem And Or Xor Shl LShr AShr Eq Ne Ult Ule Slt Sle";
    assert_eq!(names.join(" "), expected);
    let codes = [cast::ZERO_EXTEND, cast::SIGN_EXTEND, cast::TRUNCATE];
    let casts = codes.map(|code| Cast::ALL[code as usize]);
    assert_eq!(casts, [Cast::ZeroExtend, Cast::SignExtend, Cast::Truncate]);
    let codes = [
        rmw::EXCHANGE,
        rmw::ADD,
        rmw::SUB,
        rmw::AND,
        rmw::NAND,
        rmw::OR,
        rmw::XOR,
        rmw::MAX,
        rmw::MIN,
        rmw::UMAX,
        rmw::UMIN,
    ];
    let names = codes.map(|code| format!("{:?}", RmwOp::ALL[code as usize]));
    assert_eq!(names.join(" "), "Exchange Add Sub And Nand Or Xor Max Min UMax UMin");
}

/// One function of one instruction on its only register, of 32 bits.
fn can_be_read(instruction: &[u64]) -> bool {
    let function = [&[image::VERSION, 1, 0, 0, 0, 0, 1, 32, 1, 1, 0, 1][..], instruction].concat();
    let mut bytes = Vec::new();
    for number in [&function[..], &[image::terminator::UNREACHABLE]].concat() {
        image::put(&mut bytes, number);
    }
    let code = Code {
        sites_base: 0,
        is_system: Vec::new(),
        strings: b"f\0",
        image: &bytes,
        symbols: &[0x1000],
        constants: Vec::new(),
        functions: &[],
    };
    decode(&code).is_some()
}

#[test]
fn an_image_with_an_unknown_operation_is_refused() {
    use image::opcode::{BINARY, CAST, RMW};
    // Opcode, no site, the register as the result and as every operand.
    let binary = |op: u64| can_be_read(&[BINARY, 0, 1, op, 0, 0]);
    let cast = |kind: u64| can_be_read(&[CAST, 0, 1, kind, 0]);
    let rmw = |op: u64| can_be_read(&[RMW, 0, 1, 0, op, 4, 0, 0, 0]);
    let known = |is_read: &dyn Fn(u64) -> bool| (0..100).take_while(|&op| is_read(op)).count();
    assert_eq!([known(&binary), known(&cast), known(&rmw)], [19, 3, 11]);
    assert!(!binary(100) && !cast(100) && !rmw(100));
}
