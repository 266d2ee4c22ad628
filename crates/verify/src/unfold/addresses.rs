//! Addresses: which objects and offsets a term may mean.
//!
//! **Computes.** For an access, one case for each object and offset that its address may have.

use foretrace_words::BinaryOp;

use super::Unfolder;
use super::access::ANYWHERE;
use crate::skeleton::*;
use crate::terms::{Op, Term};

/// How many offsets inside one object an access may have.
const MOST_OFFSETS: u32 = 256;
/// A meaning of an address: under the condition, this byte of this object.
pub(super) struct Case {
    pub(super) condition: Term,
    pub(super) object: u32,
    pub(super) offset: u32,
}

impl Unfolder<'_> {
    /// The bytes that an address may mean.
    pub(super) fn cases(&mut self, address: Term, size: u8) -> Result<Vec<Case>, String> {
        let truth = self.skeleton.terms.truth(true);
        let zero = self.skeleton.terms.constant(0, 64);
        let mut cases = Vec::new();
        // Condition, term, a number that is added to it, and data that is added as well.
        let mut open = vec![(truth, address, 0u64, zero)];
        while let Some((condition, term, added, index)) = open.pop() {
            if cases.len() > MOST_OFFSETS as usize {
                return Err("an address with too many possible targets".into());
            }
            let terms = &mut self.skeleton.terms;
            let targets = match terms.op(term) {
                Op::Constant(_) => continue,
                Op::Address { object, offset } => vec![(truth, object, offset)],
                Op::Ite(choice, then, otherwise) => {
                    let not = terms.not(choice);
                    open.push((terms.and(condition, choice), then, added, index));
                    open.push((terms.and(condition, not), otherwise, added, index));
                    continue;
                }
                Op::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), x, y) => {
                    let constant = terms.as_constant(y);
                    let (part, other) = match (self.has_address(x), self.has_address(y)) {
                        (true, false) => (x, y),
                        (false, true) if op == BinaryOp::Add => (y, x),
                        _ if constant.is_some() => (x, y),
                        _ => return Err("an address that is computed from data".into()),
                    };
                    let terms = &mut self.skeleton.terms;
                    match (constant, op) {
                        (Some(more), BinaryOp::Add) => {
                            open.push((condition, part, added.wrapping_add(more), index));
                        }
                        (Some(less), _) => {
                            open.push((condition, part, added.wrapping_sub(less), index));
                        }
                        (None, op) => {
                            let index = terms.binary(op, index, other);
                            open.push((condition, part, added, index));
                        }
                    }
                    continue;
                }
                Op::Symbol(_) => self.pointees(term)?,
                _ => return Err("an address that is computed from data".into()),
            };
            for (choice, object, offset) in targets {
                let condition = self.skeleton.terms.and(condition, choice);
                let start = offset.wrapping_add(added);
                match self.skeleton.terms.as_constant(index) {
                    Some(more) => {
                        if let Ok(offset) = u32::try_from(start.wrapping_add(more)) {
                            cases.push(Case { condition, object, offset });
                        }
                    }
                    None => self.offsets(&mut cases, condition, object, start, index, size)?,
                }
            }
        }
        Ok(cases)
    }

    /// One case for each offset that `start + index` can have inside an object.
    fn offsets(
        &mut self,
        cases: &mut Vec<Case>,
        condition: Term,
        object: u32,
        start: u64,
        index: Term,
        size: u8,
    ) -> Result<(), String> {
        let bytes = self.skeleton.objects.get(object as usize).map_or(0, |object| object.size);
        let step = 1u32 << self.trailing_zeros(index).min(8);
        let first = start as u32 % step;
        if bytes / step > MOST_OFFSETS {
            return Err("an index that depends on data, in a large array".into());
        }
        let mut offset = first;
        while offset + u32::from(size) <= bytes {
            let wanted = u64::from(offset).wrapping_sub(start);
            let equal = self.skeleton.terms.equals(index, wanted);
            let condition = self.skeleton.terms.and(condition, equal);
            cases.push(Case { condition, object, offset });
            offset += step;
        }
        Ok(())
    }

    /// How many of the lowest bits of a value are known to be 0.
    fn trailing_zeros(&self, term: Term) -> u32 {
        let terms = &self.skeleton.terms;
        match terms.op(term) {
            Op::Constant(0) => 63,
            Op::Constant(value) => value.trailing_zeros(),
            Op::Binary(BinaryOp::Mul, a, b) => {
                (self.trailing_zeros(a) + self.trailing_zeros(b)).min(63)
            }
            Op::Binary(BinaryOp::Shl, a, b) => match terms.as_constant(b) {
                Some(amount) => (self.trailing_zeros(a) + amount.min(63) as u32).min(63),
                None => self.trailing_zeros(a),
            },
            Op::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Or, a, b) => {
                self.trailing_zeros(a).min(self.trailing_zeros(b))
            }
            Op::Ite(_, a, b) => self.trailing_zeros(a).min(self.trailing_zeros(b)),
            Op::Cast(_, inner) => self.trailing_zeros(inner),
            _ => 0,
        }
    }

    /// Whether a value is made of an address.
    pub(super) fn has_address(&self, term: Term) -> bool {
        match self.skeleton.terms.op(term) {
            Op::Address { .. } => true,
            Op::Ite(_, a, b) => self.has_address(a) || self.has_address(b),
            Op::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) => {
                self.has_address(a) || self.has_address(b)
            }
            Op::Symbol(_) => {
                let place = self.reads_of.get(&term).filter(|place| place.size == 8);
                place.is_some_and(|place| self.known.stored.contains_key(&self.place_key(*place)))
            }
            _ => false,
        }
    }

    /// The key of an object; that of a function or thread, which has no bytes, is its number.
    pub(super) fn object_key(&self, object: u32) -> u64 {
        self.skeleton.objects.get(object as usize).map_or(object.into(), |object| object.key)
    }

    pub(super) fn place_key(&self, place: Place) -> (u64, u32) {
        (self.skeleton.objects[place.object as usize].key, place.offset)
    }
}

impl Unfolder<'_> {
    /// Notes which addresses a store may leave in shared memory. Those that are far outside of
    /// their objects are not noted, or else counting would never end: the result says when they are
    /// stored.
    #[must_use]
    pub(super) fn note_address(&mut self, place: Place, value: Term) -> Vec<Term> {
        let mut outside = Vec::new();
        if place.size != 8 || !self.has_address(value) {
            return outside;
        }
        let at = self.place_key(place);
        // Each of the values that it may be by itself: what is not made of an address is none.
        let truth = self.skeleton.terms.truth(true);
        let mut open = vec![(truth, value)];
        while let Some((chosen, value)) = open.pop() {
            if let Op::Ite(choice, then, otherwise) = self.skeleton.terms.op(value) {
                let terms = &mut self.skeleton.terms;
                let not = terms.not(choice);
                open.push((terms.and(chosen, choice), then));
                open.push((terms.and(chosen, not), otherwise));
            } else if self.has_address(value) {
                let mut noted = Vec::new();
                match self.pointees(value) {
                    Ok(targets) => {
                        for (is_it, object, offset) in targets {
                            let found = self.skeleton.objects.get(object as usize);
                            match found.is_some_and(|found| is_far(offset, found.size)) {
                                true => outside.push(self.skeleton.terms.and(chosen, is_it)),
                                false => noted.push((self.object_key(object), offset)),
                            }
                        }
                    }
                    // It may be computed from an index.
                    Err(_) => match self.cases(value, 1) {
                        Ok(cases) => {
                            let mut others = chosen;
                            for Case { condition, object, offset } in cases {
                                noted.push((self.object_key(object), offset.into()));
                                let not = self.skeleton.terms.not(condition);
                                others = self.skeleton.terms.and(others, not);
                            }
                            outside.push(others);
                        }
                        Err(_) => noted.push(ANYWHERE),
                    },
                }
                self.seen.stored.entry(at).or_default().extend(noted);
            }
        }
        outside
    }
}

/// Whether an offset is that of nothing that a mistake could mean.
fn is_far(offset: u64, size: u32) -> bool {
    offset.wrapping_add(NEAR) > u64::from(size) + 2 * NEAR
}

/// So many bytes beside an object are near it.
const NEAR: u64 = 64;
