//! What threads of the simulated machine compute: names, expressions, and conditions over what they
//! have read.
//!
//! The machine knows every value, recorded or not, so what is stored and every outcome is right
//! also where the trace does not say it. Expressions are small and constants few, so that other
//! schedules often change outcomes.

use foretrace_trace::expr::{BinaryOp, CastWidth, Expr, UnaryOp};
use foretrace_trace::text::eval;
use foretrace_trace::*;

use super::{Block, Machine};
use crate::profile::Action;

/// The names of a thread. They are few, so that some are given twice.
const NAMES: [&str; 3] = ["a", "b", "c"];

const COMPARISONS: &[BinaryOp] =
    &[BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Lt, BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge];

const UNSIGNED_COMPARISONS: &[BinaryOp] =
    &[BinaryOp::Ult, BinaryOp::Ule, BinaryOp::Ugt, BinaryOp::Uge];

const OPERATORS: &[BinaryOp] = &[
    BinaryOp::Add,
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::Div,
    BinaryOp::Rem,
    BinaryOp::And,
    BinaryOp::Or,
    BinaryOp::Xor,
    BinaryOp::Xor,
    BinaryOp::Shl,
    BinaryOp::Shr,
    BinaryOp::LogicAnd,
    BinaryOp::LogicOr,
    BinaryOp::UDiv,
    BinaryOp::URem,
    BinaryOp::LShr,
];

/// Narrow ones, so that something is lost, and those of C's types.
const CAST_WIDTHS: &[u32] = &[1, 2, 3, 7, 8, 8, 9, 16, 16, 32, 32, 63];

const LITERALS: &[u64] = &[0, 0, 1, 1, 1, 2, 3, 7, 255];

/// How much a program computes, in percent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reckoning {
    /// How often a read gets a name.
    binds: usize,
    /// How often a write has an expression.
    computes: usize,
    /// How often a condition follows an access or another move.
    conditions: usize,
    /// How often an assertion fails in the recorded run.
    fails: usize,
    /// How often a condition has no expression.
    opaque: usize,
}

impl Machine {
    /// Makes this a program whose reads have names and whose conditions have expressions; perhaps
    /// one in which most of them count.
    pub(crate) fn reckon(&mut self, mostly: bool) {
        let mut often = |some: &[usize], most: &[usize]| {
            if mostly { self.random.pick(most) } else { self.random.pick(some) }
        };
        self.reckoning = Some(Reckoning {
            binds: often(&[60, 80, 95], &[90, 100]),
            computes: often(&[40, 70, 95], &[80, 95, 100]),
            conditions: often(&[15, 25, 35], &[25, 40, 55]),
            fails: often(&[5, 10, 30], &[0, 5, 10]),
            opaque: often(&[5, 10, 20], &[0, 0, 10]),
        });
        self.habits.unvalued = often(&[0, 0, 0, 10, 40], &[0, 0, 0, 10]);
        self.habits.mixed_sizes = self.random.chance(20);
        if self.blocks.len() == 1 && self.random.chance(80) {
            let id = self.trace.object("y");
            self.blocks.push(Block { id, size: 16, address: None, live: true, unit: 1 });
        }
        for block in &mut self.blocks {
            block.unit = self.random.pick(&[1, 1, 1, 1, 1, 2]);
        }
        if self.random.chance(20) {
            self.trace.set_dependences(Dependences::Unknown);
        }
    }

    /// Whether a read gets a name, and which.
    pub(super) fn perhaps_name(&mut self, thread: usize) -> Option<NameId> {
        let Reckoning { binds, .. } = self.reckoning?;
        self.random.chance(binds).then(|| self.fresh_name(thread))
    }

    fn fresh_name(&mut self, thread: usize) -> NameId {
        let known = self.threads[thread].names.len();
        let chosen = if known < NAMES.len() && self.random.chance(80) {
            known
        } else {
            self.random.below(NAMES.len())
        };
        self.trace.name(NAMES[chosen])
    }

    /// From here on the name means this value.
    pub(super) fn mean(&mut self, thread: usize, name: NameId, value: u64) {
        let names = &mut self.threads[thread].names;
        names.retain(|(known, _)| *known != name);
        names.push((name, value));
    }

    pub(super) fn worth(&self, thread: usize, expr: &Expr) -> u64 {
        let names = &self.threads[thread].names;
        let value = |name: NameId| Some(names.iter().find(|(known, _)| *known == name)?.1);
        eval::evaluate(expr, &value).expect("expressions are made of names that the thread has")
    }

    /// What a write stores, if that has an expression.
    pub(super) fn perhaps_expression(&mut self, thread: usize) -> Option<Expr> {
        let Reckoning { computes, .. } = self.reckoning?;
        self.random.chance(computes).then(|| {
            let operators = self.random.below(3);
            self.expression(thread, operators)
        })
    }

    /// What a read-modify-write assumes, if anything: something that holds.
    pub(super) fn perhaps_assumption(&mut self, thread: usize) -> Option<Expr> {
        self.reckoning?;
        self.random.chance(45).then(|| {
            let condition = self.condition(thread);
            if self.worth(thread, &condition) != 0 { condition } else { negation(condition) }
        })
    }

    /// A random expression with so many operators.
    fn expression(&mut self, thread: usize, operators: usize) -> Expr {
        if operators == 0 {
            let names = &self.threads[thread].names;
            if !names.is_empty() && self.random.chance(70) {
                return Expr::Name(self.random.pick(names).0);
            }
            return Expr::Literal(self.random.pick(LITERALS));
        }
        let (rest, kind) = (operators - 1, self.random.below(20));
        let left = if rest == 0 { 0 } else { self.random.below(rest + 1) };
        let mut part = |operators: usize| Box::new(self.expression(thread, operators));
        match kind {
            0 | 1 => {
                let operand = part(rest);
                let op = self.random.pick(&[UnaryOp::Neg, UnaryOp::Not, UnaryOp::BitNot]);
                Expr::Unary(op, operand)
            }
            2 => {
                let operand = part(rest);
                Expr::Unary(self.cast(), operand)
            }
            3 => {
                let (then, otherwise) = (part(0), part(0));
                Expr::IfThenElse(part(rest), then, otherwise)
            }
            4..=7 => {
                let (a, b) = (part(left), part(rest - left));
                Expr::Binary(self.comparison(), a, b)
            }
            _ => {
                let (a, b) = (part(left), part(rest - left));
                Expr::Binary(self.random.pick(OPERATORS), a, b)
            }
        }
    }

    fn cast(&mut self) -> UnaryOp {
        let width = CastWidth::new(self.random.pick(CAST_WIDTHS)).expect("below 64");
        self.random.pick(&[UnaryOp::ZeroExtend(width), UnaryOp::SignExtend(width)])
    }

    fn comparison(&mut self) -> BinaryOp {
        let is_unsigned = self.random.chance(25);
        self.random.pick(if is_unsigned { UNSIGNED_COMPARISONS } else { COMPARISONS })
    }

    /// Something that is likely to be true of some values and false of others; seldom, something
    /// that is always true.
    fn condition(&mut self, thread: usize) -> Expr {
        let (operators, more) = (self.random.below(2), self.random.below(2));
        let mut a = self.expression(thread, operators);
        if let (Expr::Literal(_), Some((name, _))) = (&a, self.threads[thread].names.last()) {
            a = Expr::Name(*name);
        }
        if self.random.chance(12) {
            let bound = Box::new(Expr::Literal(self.random.pick(&[0, 1, u64::MAX])));
            let always = Expr::Binary(BinaryOp::Or, Box::new(a), Box::new(Expr::Literal(1)));
            return Expr::Binary(BinaryOp::Ne, Box::new(always), bound);
        }
        // As C compares what is smaller than a word.
        if self.random.chance(12) {
            let cast = self.cast();
            a = Expr::Unary(cast, Box::new(a));
        }
        let op = self.comparison();
        let b = match self.random.below(4) {
            // What it is in the recorded run.
            0 => Expr::Literal(self.worth(thread, &a)),
            _ => self.expression(thread, more),
        };
        Expr::Binary(op, Box::new(a), Box::new(b))
    }

    /// The thread computes or tests something, if it is that kind of program and has read
    /// something.
    pub(crate) fn perhaps_ponder(&mut self, thread: usize) {
        let Some(Reckoning { conditions, .. }) = self.reckoning else { return };
        let knows = !self.threads[thread].names.is_empty() || self.random.chance(15);
        if self.is_idle(thread) && knows && self.random.chance(conditions) {
            self.ponder(thread);
        }
    }

    fn ponder(&mut self, thread: usize) {
        let Reckoning { fails, opaque, .. } = self.reckoning.unwrap_or_default();
        if self.random.chance(opaque) {
            if self.random.chance(60) {
                self.annotate(thread);
            } else {
                let holds = !self.random.chance(fails);
                self.record(thread, Op::Assert { holds });
            }
            return;
        }
        match self.random.below(18) {
            0..=3 => {
                let operators = 1 + self.random.below(2);
                let expr = self.expression(thread, operators);
                let value = self.worth(thread, &expr);
                let name = self.fresh_name(thread);
                let event = self.record(thread, Op::Let);
                self.trace.bind(event, name);
                self.trace.express(event, expr);
                self.mean(thread, name, value);
            }
            4..=8 => {
                let expr = self.condition(thread);
                let taken = self.worth(thread, &expr) != 0;
                let event = self.record(thread, Op::Branch { taken });
                self.trace.express(event, expr);
            }
            9..=15 => self.assert_something(thread),
            _ => {
                let expr = self.condition(thread);
                let holds = self.worth(thread, &expr) != 0;
                let event = self.record(thread, Op::Assume { holds });
                self.trace.express(event, expr);
            }
        }
    }

    /// Asserts something over the names of the thread, mostly something that holds.
    pub(super) fn assert_something(&mut self, thread: usize) {
        let Some(Reckoning { fails, .. }) = self.reckoning else { return };
        if !self.is_idle(thread) {
            return;
        }
        // Half of them fail with every other value of what was read last.
        let expr = match self.threads[thread].names.last() {
            Some(&(name, value)) if self.random.chance(50) => {
                let value = Box::new(Expr::Literal(value));
                Expr::Binary(BinaryOp::Eq, Box::new(Expr::Name(name)), value)
            }
            _ => self.condition(thread),
        };
        let (holds, shall_hold) = (self.worth(thread, &expr) != 0, !self.random.chance(fails));
        let expr = if holds == shall_hold { expr } else { negation(expr) };
        let event = self.record(thread, Op::Assert { holds: shall_hold });
        self.trace.express(event, expr);
    }

    /// Perhaps reads something and computes something with it.
    pub(super) fn read_and_ponder(&mut self, thread: usize) {
        if self.reckoning.is_some() && self.is_idle(thread) && self.random.chance(70) {
            let action =
                self.random.pick(&[Action::Read, Action::Read, Action::Rmw, Action::Write]);
            self.access(thread, action);
            self.perhaps_ponder(thread);
        }
    }
}

/// What is true where the condition is false.
fn negation(condition: Expr) -> Expr {
    let opposite = |op: BinaryOp| match op {
        BinaryOp::Eq => Some(BinaryOp::Ne),
        BinaryOp::Ne => Some(BinaryOp::Eq),
        BinaryOp::Lt => Some(BinaryOp::Ge),
        BinaryOp::Ge => Some(BinaryOp::Lt),
        BinaryOp::Le => Some(BinaryOp::Gt),
        BinaryOp::Gt => Some(BinaryOp::Le),
        _ => None,
    };
    match condition {
        Expr::Binary(op, a, b) if opposite(op).is_some() => {
            Expr::Binary(opposite(op).unwrap_or(op), a, b)
        }
        other => Expr::Unary(UnaryOp::Not, Box::new(other)),
    }
}
