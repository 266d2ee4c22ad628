//! Whether an assertion is false for some values of the reads that it uses.
//!
//! **Computes.** Under `control`, where what is read is free: values of these reads that make the
//! assertion fail. Few bits are tried out in full. Of more bits corner values are tried, and what
//! the literals and recorded values suggest.
//!
//! **Deviation**, refusing more than the text: of more than `FULL` bits, or where very many `let`s
//! are used, some failing values are not found. Then the schedule itself may still give some: see
//! `assertions`.
//!
//! **Cost.** At most 2^`FULL` or twice `TRIALS` evaluations, fewer if the assertion uses very many
//! reads and `let`s; once per assertion, for the answer is kept.

use foretrace_trace::expr::{Expr, UnaryOp};
use foretrace_trace::text::eval::{evaluate, truncate};
use foretrace_trace::{EventId, Op, Trace};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::recorded::{Assignment, Terms};

/// Up to this many bits all values are tried.
const FULL: u32 = 16;
/// How many combinations of suggested words are tried, and as many by chance.
const TRIALS: u64 = 1 << 14;
/// How many values may be worked out in all.
const EFFORT: u64 = 1 << 24;
/// How many words are taken from literals and recorded values before they are combined.
const SUGGESTIONS: usize = 24;

/// Values of the reads that the assertion uses which make it fail, and of the `let`s, if any were
/// found. Its expression counts.
pub(crate) fn failing_values(
    trace: &Trace,
    terms: &Terms,
    assertion: EventId,
) -> Option<Assignment> {
    let known = |failing: &FxHashMap<EventId, _>| failing.get(&assertion).cloned();
    if let Some(found) = known(&terms.failing.lock().expect("nobody panics with the lock")) {
        return found;
    }
    let found = Trials::new(trace, terms, assertion).search();
    let mut failing = terms.failing.lock().expect("nobody panics with the lock");
    failing.entry(assertion).or_insert(found).clone()
}

/// An assertion with all that it uses.
struct Trials<'a> {
    trace: &'a Trace,
    terms: &'a Terms,
    assertion: EventId,
    /// The reads with their sizes.
    reads: Vec<(EventId, u32)>,
    /// In program order.
    lets: Vec<EventId>,
}

impl<'a> Trials<'a> {
    fn new(trace: &'a Trace, terms: &'a Terms, assertion: EventId) -> Self {
        let mut met: FxHashSet<EventId> = FxHashSet::default();
        let mut left = vec![assertion];
        let (mut reads, mut lets) = (Vec::new(), Vec::new());
        while let Some(user) = left.pop() {
            for &(_, used) in terms.names(user).iter().filter(|&&(_, used)| met.insert(used)) {
                if trace.op(used) == Op::Let {
                    lets.push(used);
                    left.push(used);
                } else {
                    reads.push((used, trace.access(used).map_or(8, |access| access.at.size)));
                }
            }
        }
        reads.sort_unstable();
        lets.sort_unstable();
        Trials { trace, terms, assertion, reads, lets }
    }

    fn search(&self) -> Option<Assignment> {
        let bits: u32 = self.reads.iter().map(|&(_, size)| 8 * size).sum();
        let effort = 1 + (self.reads.len() + self.lets.len()) as u64;
        if bits <= FULL && effort << bits <= EFFORT {
            let mut all = 0..1u64 << bits;
            return all.find_map(|number| self.failing(&self.cut_up(number)));
        }
        let recorded: Vec<u64> =
            self.reads.iter().filter_map(|&(read, _)| self.trace.values(read).0).collect();
        let words = self.words(&recorded);
        let trials = TRIALS.min(EFFORT / effort).max(1);
        // Every choice of suggested words, or if these are too many, some.
        let choices = (words.len() as u64).checked_pow(self.reads.len() as u32);
        let mut suggested = 0..choices.unwrap_or(u64::MAX).min(trials);
        let found = suggested.find_map(|number| self.failing(&self.choice(&words, number)));
        let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
        let mut by_chance = 0..trials;
        found.or_else(|| {
            by_chance.find_map(|_| self.failing(&self.by_chance(&words, &recorded, &mut chance)))
        })
    }

    /// The bits of a number, dealt out to the reads.
    fn cut_up(&self, mut number: u64) -> Vec<u64> {
        let parts = self.reads.iter().map(|&(_, size)| {
            let part = truncate(number, size);
            number = number.checked_shr(8 * size).unwrap_or(0);
            part
        });
        parts.collect()
    }

    /// The digits of a number, each a word for a read.
    fn choice(&self, words: &[u64], mut number: u64) -> Vec<u64> {
        let digits = self.reads.iter().map(|_| {
            let digit = number % words.len() as u64;
            number /= words.len() as u64;
            words[digit as usize]
        });
        digits.collect()
    }

    /// Words and other values by chance; often for one read only, the others seeing what they saw.
    fn by_chance(&self, words: &[u64], recorded: &[u64], chance: &mut Chance) -> Vec<u64> {
        let one = self.reads.iter().map(|_| match chance.next() % 4 {
            0 => chance.next(),
            _ => words[(chance.next() % words.len() as u64) as usize],
        });
        let mut values: Vec<u64> = one.collect();
        if chance.next().is_multiple_of(2) && recorded.len() == values.len() && !values.is_empty() {
            let changed = (chance.next() % values.len() as u64) as usize;
            let word = values[changed];
            values.copy_from_slice(recorded);
            values[changed] = word;
        }
        values
    }

    /// The values, cut to the sizes of the reads, if they make the assertion fail.
    fn failing(&self, values: &[u64]) -> Option<Assignment> {
        let reads = self.reads.iter().zip(values);
        let mut given: FxHashMap<EventId, u64> =
            reads.map(|(&(read, size), &value)| (read, truncate(value, size))).collect();
        for &local in &self.lets {
            let value = self.terms.evaluate(self.trace, local, |of| given.get(&of).copied())?;
            given.insert(local, value);
        }
        let value = self.terms.evaluate(self.trace, self.assertion, |of| given.get(&of).copied());
        (value == Some(0)).then(|| given.into_iter().collect())
    }

    /// Words that an expression may treat in a way of their own.
    fn words(&self, recorded: &[u64]) -> Vec<u64> {
        let mut literals = recorded.to_vec();
        for &user in self.lets.iter().chain([&self.assertion]) {
            let expression = self.trace.expression(user).map(|expr| expr.tree());
            expression.iter().for_each(|expr| collect(expr, &mut literals));
        }
        literals.sort_unstable();
        literals.dedup();
        literals.truncate(SUGGESTIONS);
        let mut words = vec![0, 1, u64::MAX, 1 << 63, (1 << 63) - 1, 0x7f, 0x80, 0xff];
        for &literal in &literals {
            let neighbours = [literal.wrapping_sub(1), literal.wrapping_add(1)];
            words.extend([literal, literal.wrapping_neg(), !literal].into_iter().chain(neighbours));
        }
        for &a in &literals {
            for &b in &literals {
                let quotient = a.checked_div(b).unwrap_or_default();
                words.extend([a.wrapping_add(b), a.wrapping_sub(b), a ^ b, quotient]);
                words.push(a.wrapping_mul(b));
            }
        }
        // In this order, not sorted: the likeliest come first.
        let mut met = FxHashSet::default();
        words.retain(|&word| met.insert(word));
        words
    }
}

/// The values of all parts of an expression that have no names, and signs of what is cast.
fn collect(expr: &Expr, literals: &mut Vec<u64>) {
    literals.extend(evaluate(expr, &|_| None));
    match expr {
        Expr::Literal(_) | Expr::Name(_) => {}
        Expr::Unary(op, operand) => {
            // Where what is cut changes its sign.
            if let UnaryOp::ZeroExtend(width) | UnaryOp::SignExtend(width) = op {
                literals.push(1 << (width.bits() - 1));
            }
            collect(operand, literals);
        }
        Expr::Binary(_, left, right) => {
            collect(left, literals);
            collect(right, literals);
        }
        Expr::IfThenElse(condition, then, other) => {
            collect(condition, literals);
            collect(then, literals);
            collect(other, literals);
        }
    }
}

/// xorshift64*: the same words every time.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}
