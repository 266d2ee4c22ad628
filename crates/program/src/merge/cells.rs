//! Accesses that range over an object, because their address is computed from what was read.
//!
//! **Computes.** For each access behind a guard of its address
//! (`branch e == 8 : true else address 64`): the places of the object that the expression can
//! reach, of the size that the access has. The guard then says that it is one of these, and the
//! access is to whichever it is.
//!
//! **Follows.** Paper 003, section 3: an access through a pointer is one to each location that the
//! pointer may mean, under the condition that it does. The locations are those of the object that
//! the recorded access was in.
//!
//! **Invariant.** A place that is left out is one that the expression never says, or one that is
//! not aligned as the recorded one is.
//!
//! **Cost.** Linear in the expressions of traces that have such guards.

#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

use std::collections::BTreeSet;

use foretrace_trace::expr::{BinaryOp, Expr, UnaryOp};
use foretrace_trace::{EventId, NameId, Op, Trace, ops};
use rustc_hash::FxHashMap;

use super::settled::Settled;

/// So many places an access may range over.
const MOST_CELLS: usize = 64;
/// Why an address does not range over its object.
const TOO_MANY: &str = "more than 64 places that it could mean";
const TOO_LARGE: &str = "an access to more than 8 bytes";
const LARGE_OBJECT: &str = "an object of more than 1 MiB";
const NOT_KNOWN: &str = "what it is computed from is not known";

/// The places that an access may be to.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Cells {
    /// Which of them it is.
    pub(super) offset: Expr,
    /// Where they begin, in order; at least two.
    pub(super) starts: Vec<u32>,
    /// How many bytes the object has.
    pub(super) bytes: u32,
}

impl Cells {
    /// That it is one of them.
    pub(super) fn condition(&self) -> Expr {
        let is = |&start: &u32| {
            let start = Expr::Literal(start.into());
            Expr::Binary(BinaryOp::Eq, Box::new(self.offset.clone()), Box::new(start))
        };
        let any = |a, b| Expr::Binary(BinaryOp::LogicOr, Box::new(a), Box::new(b));
        self.starts.iter().map(is).reduce(any).expect("there are places")
    }
}

/// The accesses of a run that range over their objects.
#[derive(Default)]
pub(super) struct Ranging {
    /// By access.
    pub(super) cells: FxHashMap<EventId, Cells>,
    /// By guard, the access that it is of.
    pub(super) guards: FxHashMap<EventId, EventId>,
    /// How many addresses are kept as recorded, by the reason.
    pub(super) kept: FxHashMap<&'static str, u64>,
}

impl Ranging {
    /// What ranges over objects of at most so many bytes. In a recorded run that `is_alone` some
    /// reads see the same value in every schedule.
    pub(super) fn of(trace: &Trace, most_bytes: u32, is_alone: bool) -> Ranging {
        let mut ranging = Ranging::default();
        if trace.address_guards().next().is_none() {
            return ranging;
        }
        let settled = is_alone.then(|| Settled::of(trace));
        for thread in trace.thread_ids() {
            let mut spans = Spans::default();
            for &event in trace.thread_events(thread) {
                spans.note(trace, event);
                let values = settled.as_ref().and_then(|settled| settled.values(event));
                if let (Some(name), Some(values)) = (trace.binding(event), values) {
                    let number = |&value: &u64| Span::number(i128::from(value as i64));
                    spans.0.insert(name, values.iter().map(number).collect());
                }
                let Some(bytes) = trace.guards_address(event) else { continue };
                let Some(access) = access_behind(trace, event) else { continue };
                match spans.cells(trace, event, access, bytes, most_bytes) {
                    Ok(Some(cells)) => {
                        ranging.cells.insert(access, cells);
                        ranging.guards.insert(event, access);
                    }
                    // There is no other place.
                    Ok(None) => {}
                    Err(why) => *ranging.kept.entry(why).or_default() += 1,
                }
            }
        }
        ranging
    }
}

/// The access that an address belongs to.
pub(super) fn access_behind(trace: &Trace, guard: EventId) -> Option<EventId> {
    let mut at = trace.next(guard)?;
    loop {
        if !matches!(trace.op(at), ops!(Let Branch Assert External)) {
            return trace.access(at).map(|_| at);
        }
        at = trace.next(at)?;
    }
}

/// What is known of a word, as a signed number: its limits, and its remainder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Span {
    low: i128,
    high: i128,
    /// It is `rest` plus a multiple of this; 0 if it is just that.
    step: i128,
    rest: i128,
}

impl Span {
    const LOW: i128 = i64::MIN as i128;
    const HIGH: i128 = i64::MAX as i128;
    const ANY: Span = Span { low: Span::LOW, high: Span::HIGH, step: 1, rest: 0 };

    fn number(number: i128) -> Span {
        Span { low: number, high: number, step: 0, rest: number }
    }

    fn within(low: i128, high: i128) -> Span {
        Span { low, high, step: 1, rest: 0 }
    }

    fn as_number(self) -> Option<i128> {
        (self.step == 0).then_some(self.rest)
    }

    /// The same as a word: what does not fit is cut, which leaves the remainder by powers of two.
    fn cut(self, bits: u32, is_signed: bool) -> Span {
        let one = 1i128;
        let (low, high) = match is_signed {
            true => (-(one << (bits - 1)), (one << (bits - 1)) - 1),
            false => (0, (one << bits) - 1),
        };
        if low <= self.low && self.high <= high {
            return self;
        }
        let step = gcd(self.step, one << bits);
        Span { low, high, step, rest: self.rest }
    }

    fn word(self) -> Span {
        self.cut(64, true)
    }

    fn add(self, other: Span) -> Span {
        let step = gcd(self.step, other.step);
        let rest = self.rest + other.rest;
        Span { low: self.low + other.low, high: self.high + other.high, step, rest }.word()
    }

    fn negated(self) -> Span {
        Span { low: -self.high, high: -self.low, step: self.step, rest: -self.rest }.word()
    }

    fn times(self, by: i128) -> Span {
        let Some(rest) = self.rest.checked_mul(by) else { return Span::ANY };
        let ends = (self.low.checked_mul(by), self.high.checked_mul(by));
        let ((Some(a), Some(b)), Some(step)) = (ends, self.step.checked_mul(by)) else {
            return Span::ANY;
        };
        Span { low: a.min(b), high: a.max(b), step: step.abs(), rest }.word()
    }

    fn or_else(self, other: Span) -> Span {
        let step = gcd(gcd(self.step, other.step), self.rest - other.rest);
        let (low, high) = (self.low.min(other.low), self.high.max(other.high));
        Span { low, high, step, rest: self.rest }
    }
}

fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.abs(), b.abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// So many spans are kept apart.
const MOST_SPANS: usize = 16;

/// What is known of the names of a thread, each of which is in one of its spans; those that are not
/// there have no value that counts.
#[derive(Default)]
struct Spans(FxHashMap<NameId, Vec<Span>>);

impl Spans {
    /// Takes note of the name that an event binds.
    fn note(&mut self, trace: &Trace, event: EventId) {
        let Some(name) = trace.binding(event) else { return };
        let span = match trace.op(event) {
            Op::Read { at, value: Some(_), .. } | Op::Rmw { at, read: Some(_), .. } => {
                Some(vec![match at.size {
                    8.. => Span::ANY,
                    size => Span::within(0, (1 << (8 * size)) - 1),
                }])
            }
            Op::Let => trace.expression(event).and_then(|expr| self.of(&expr.tree())),
            ops!(Read Write Rmw Branch Assert Assume object sync call mark) => None,
        };
        match span {
            Some(span) => _ = self.0.insert(name, span),
            None => _ = self.0.remove(&name),
        }
    }

    /// The places that an access may be to, if there are others than the recorded one.
    fn cells(
        &self,
        trace: &Trace,
        guard: EventId,
        access: EventId,
        bytes: u32,
        most_bytes: u32,
    ) -> Result<Option<Cells>, &'static str> {
        if bytes > most_bytes {
            return Err(LARGE_OBJECT);
        }
        let condition = trace.expression(guard).map(|expr| expr.tree());
        let Some(Expr::Binary(BinaryOp::Eq, of, with)) = &condition else {
            return Err(NOT_KNOWN);
        };
        let (Expr::Literal(recorded), Some(spans)) = (&**with, self.of(of)) else {
            return Err(NOT_KNOWN);
        };
        let at = trace.access(access).ok_or(NOT_KNOWN)?.at;
        if at.size > 8 {
            return Err(TOO_LARGE);
        }
        if at.end() > bytes {
            return Ok(None);
        }
        let (here, value) = (i128::from(at.offset), i128::from(*recorded as i64));
        let last = i128::from(bytes) - i128::from(at.size);
        let mut starts = BTreeSet::from([at.offset]);
        for span in spans {
            // As an offset in the object.
            let rest = span.rest - value + here;
            let (low, high) = (span.low - value + here, span.high - value + here);
            let (low, high) = (low.max(0), high.min(last));
            let step = match side_by_side(span.step, at.size) {
                0 if (low..=high).contains(&rest) => {
                    starts.insert(rest as u32);
                    continue;
                }
                0 => continue,
                step => step,
            };
            // What is known of the remainder may be less than that places lie side by side; then
            // they are aligned as the recorded one is.
            let rest = if step == span.step { rest } else { here };
            let mut start = low + (rest - low).rem_euclid(step);
            while start <= high && starts.len() <= MOST_CELLS {
                starts.insert(start as u32);
                start += step;
            }
        }
        if starts.len() > MOST_CELLS {
            return Err(TOO_MANY);
        }
        let starts: Vec<u32> = starts.into_iter().collect();
        if starts.len() < 2 {
            return Ok(None);
        }
        let from_start = u64::from(at.offset).wrapping_sub(*recorded);
        let offset = match from_start {
            0 => (**of).clone(),
            by => Expr::Binary(BinaryOp::Add, of.clone(), Box::new(Expr::Literal(by))),
        };
        Ok(Some(Cells { offset, starts, bytes }))
    }

    /// What is known of an expression; `None` if it uses a name that does not count.
    fn of(&self, expr: &Expr) -> Option<Vec<Span>> {
        Some(match expr {
            Expr::Literal(word) => vec![Span::number(i128::from(*word as i64))],
            Expr::Name(name) => self.0.get(name)?.clone(),
            Expr::Unary(op, a) => self.of(a)?.into_iter().map(|a| unary(*op, a)).collect(),
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.of(a)?, self.of(b)?);
                few(a.iter().flat_map(|a| b.iter().map(|b| binary(*op, *a, *b))))
            }
            Expr::IfThenElse(condition, a, b) => {
                self.of(condition)?;
                few(self.of(a)?.into_iter().chain(self.of(b)?))
            }
        })
    }
}

/// The same spans, or one around them if they are many.
fn few(spans: impl Iterator<Item = Span>) -> Vec<Span> {
    let spans: Vec<Span> = spans.collect();
    match spans.len() > MOST_SPANS {
        true => spans.into_iter().reduce(Span::or_else).into_iter().collect(),
        false => spans,
    }
}

/// How far apart the places of an access are, given that of their beginnings.
fn side_by_side(step: i128, size: u32) -> i128 {
    let size = i128::from(size);
    match step == 0 || step >= size {
        true => step,
        false => step / gcd(step, size) * size,
    }
}

fn unary(op: UnaryOp, a: Span) -> Span {
    match op {
        UnaryOp::Neg => a.negated(),
        UnaryOp::Not => Span::within(0, 1),
        UnaryOp::BitNot => a.negated().add(Span::number(-1)),
        UnaryOp::ZeroExtend(to) => a.cut(to.bits(), false),
        UnaryOp::SignExtend(to) => a.cut(to.bits(), true),
    }
}

fn binary(op: BinaryOp, a: Span, b: Span) -> Span {
    let is_natural = a.low >= 0;
    match (op, a.as_number(), b.as_number()) {
        (BinaryOp::Add, ..) => a.add(b),
        (BinaryOp::Sub, ..) => a.add(b.negated()),
        (BinaryOp::Mul, _, Some(by)) => a.times(by),
        (BinaryOp::Mul, Some(by), _) => b.times(by),
        (BinaryOp::Shl, _, Some(by @ 0..=62)) => a.times(1 << by),
        (BinaryOp::And, _, Some(mask @ 1..)) | (BinaryOp::And, Some(mask @ 1..), _) => {
            Span { step: 1 << mask.trailing_zeros(), ..Span::within(0, mask) }
        }
        (BinaryOp::URem | BinaryOp::Rem, _, Some(by @ 1..)) if is_natural => {
            Span { step: gcd(a.step, by), rest: a.rest, ..Span::within(0, by - 1) }
        }
        (BinaryOp::URem, _, Some(by @ 1..)) => Span::within(0, by - 1),
        (BinaryOp::Rem, _, Some(by @ 1..)) => {
            Span { step: gcd(a.step, by), rest: a.rest, ..Span::within(1 - by, by - 1) }
        }
        (BinaryOp::UDiv | BinaryOp::Div, _, Some(by @ 1..)) if is_natural => {
            Span::within(a.low / by, a.high / by)
        }
        (BinaryOp::LShr | BinaryOp::Shr, _, Some(by @ 0..=63)) if is_natural => {
            Span::within(a.low >> by, a.high >> by)
        }
        (
            BinaryOp::Eq
            | BinaryOp::Ne
            | BinaryOp::Lt
            | BinaryOp::Le
            | BinaryOp::Gt
            | BinaryOp::Ge
            | BinaryOp::LogicAnd
            | BinaryOp::LogicOr
            | BinaryOp::Ult
            | BinaryOp::Ule
            | BinaryOp::Ugt
            | BinaryOp::Uge,
            ..,
        ) => Span::within(0, 1),
        _ => Span::ANY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the access of the last guard may be.
    fn starts(text: &str) -> Option<Vec<u32>> {
        let trace = foretrace_trace::text::parse(text).unwrap();
        let ranging = Ranging::of(&trace, 1 << 20, false);
        let last = ranging.cells.iter().max_by_key(|(event, _)| **event);
        last.map(|(_, cells)| cells.starts.clone())
    }

    #[test]
    fn an_index_reaches_the_elements_of_its_array() {
        let text = "init n[0:4] = 1\nt: i = read n[0:4] : 1\nt: branch s32(i) * 4 == 4 : true else address 16\nt: write a[4:4] : 1";
        assert_eq!(starts(text), Some(vec![0, 4, 8, 12]));
    }

    #[test]
    fn a_field_of_a_structure_is_reached_in_each_of_them() {
        let text = "init n[0:4] = 1\nt: i = read n[0:4] : 1\nt: branch s32(i) * 12 == 12 : true else address 48\nt: write a[16:4] : 1";
        assert_eq!(starts(text), Some(vec![4, 16, 28, 40]));
    }

    #[test]
    fn a_product_that_may_not_fit_reaches_more() {
        let text = "init n = 1\nt: i = read n : 1\nt: branch i * 12 == 12 : true else address 24\nt: write a[12:4] : 1";
        assert_eq!(starts(text), Some(vec![0, 4, 8, 12, 16, 20]));
    }

    #[test]
    fn a_remainder_bounds_the_places() {
        let text = "init n = 9\nt: i = read n : 9\nt: branch (i %u 4) * 8 == 8 : true else address 4096\nt: write a[16:8] : 1";
        assert_eq!(starts(text), Some(vec![8, 16, 24, 32]));
    }

    #[test]
    fn too_many_places_are_none() {
        let text = "init n = 1\nt: i = read n : 1\nt: branch i * 8 == 8 : true else address 4096\nt: write a[8:8] : 1";
        assert_eq!(starts(text), None);
    }
}
