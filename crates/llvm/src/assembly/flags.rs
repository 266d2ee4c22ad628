//! The processor's flags, as far as conditions are read from them. Nothing is built for flags that
//! nobody reads.

use super::execute::Reason;
use crate::build::Builder;
use crate::ir::Value;
use foretrace_recording::site::rmw;

/// What the last instruction that sets flags left.
#[derive(Clone, Copy)]
pub(super) enum Flags {
    Unknown,
    /// Of an addition.
    Sum {
        old: Value,
        new: Value,
    },
    /// Of a subtraction.
    Difference {
        left: Value,
        right: Value,
        new: Value,
    },
    /// Of a comparison, which is a subtraction without a result.
    Compared {
        left: Value,
        right: Value,
    },
    /// Of operations on bits, which never carry.
    Logic {
        new: Value,
    },
    /// Of `inc` and `dec`, which leave the carry as it was.
    Counted {
        new: Value,
    },
    /// The carry is this bit.
    Bit {
        word: Value,
        number: Value,
    },
}

impl Flags {
    /// Whether a condition holds, as one bit. Conditions that need the overflow are not known.
    pub(super) fn condition(self, build: &Builder, condition: &str) -> Result<Value, Reason> {
        let unknown = || format!("the condition `{condition}`");
        let value = match condition {
            "e" | "z" => self.zero(build),
            "ne" | "nz" => self.zero(build).map(|zero| build.negate(zero)),
            "c" | "b" | "nae" => self.carry(build),
            "nc" | "ae" | "nb" => self.carry(build).map(|carry| build.negate(carry)),
            "s" => self.sign(build),
            "ns" => self.sign(build).map(|sign| build.negate(sign)),
            "be" | "na" => self.below_or_equal(build),
            "a" | "nbe" => self.below_or_equal(build).map(|below| build.negate(below)),
            _ => None,
        };
        value.ok_or_else(unknown)
    }

    fn zero(self, build: &Builder) -> Option<Value> {
        match self {
            Flags::Unknown | Flags::Bit { .. } => None,
            Flags::Compared { left, right } => Some(build.equal(left, right)),
            Flags::Sum { new, .. }
            | Flags::Difference { new, .. }
            | Flags::Logic { new }
            | Flags::Counted { new } => Some(build.equal(new, new.type_of().zero())),
        }
    }

    fn carry(self, build: &Builder) -> Option<Value> {
        match self {
            Flags::Unknown | Flags::Counted { .. } => None,
            Flags::Sum { old, new } => Some(build.less(new, old)),
            Flags::Difference { left, right, .. } | Flags::Compared { left, right } => {
                Some(build.less(left, right))
            }
            Flags::Logic { .. } => Some(build.integer(1).zero()),
            Flags::Bit { word, number } => {
                let bit = build.shift_right(word, number);
                Some(build.resize(bit, build.integer(1)))
            }
        }
    }

    fn sign(self, build: &Builder) -> Option<Value> {
        let new = match self {
            Flags::Unknown | Flags::Bit { .. } => return None,
            Flags::Compared { left, right } => build.arithmetic(rmw::SUB, left, right),
            Flags::Sum { new, .. }
            | Flags::Difference { new, .. }
            | Flags::Logic { new }
            | Flags::Counted { new } => new,
        };
        Some(build.is_negative(new))
    }

    fn below_or_equal(self, build: &Builder) -> Option<Value> {
        let (carry, zero) = (self.carry(build)?, self.zero(build)?);
        Some(build.arithmetic(rmw::OR, carry, zero))
    }
}
