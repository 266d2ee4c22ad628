//! LLVM's intrinsics: exactly where comparisons and shifts can express them, otherwise as opaque
//! functions of their operands.

use foretrace_recording::image::{binary, cast, flags, opcode};

use llvm_sys::LLVMTypeKind::LLVMVectorTypeKind;
use llvm_sys::core::{LLVMGetEnumAttributeAtIndex, LLVMGetEnumAttributeValue};

use super::Lowerer;
use super::calls::{private_sides, size_flag};
use super::code::{NOWHERE, Operand, mask};
use crate::ir::{self, Value};
use crate::ranges::Range;

/// Those that say something to the compiler only.
const NOTHING: [&str; 13] = [
    "llvm.assume",
    "llvm.dbg.",
    "llvm.debugtrap",
    "llvm.donothing",
    "llvm.experimental.noalias.scope.decl",
    "llvm.invariant.",
    "llvm.lifetime.",
    "llvm.prefetch",
    "llvm.pseudoprobe",
    "llvm.sideeffect",
    "llvm.stackrestore",
    "llvm.var.annotation",
    "llvm.fake.use",
];

/// Those whose value is that of their first argument.
const SAME: [&str; 7] = [
    "llvm.annotation.",
    "llvm.expect.",
    "llvm.launder.invariant.group.",
    "llvm.ptr.annotation.",
    "llvm.ssa.copy.",
    "llvm.strip.invariant.group.",
    "llvm.arithmetic.fence.",
];

/// A value and whether computing it went wrong.
struct Checked {
    value: Operand,
    overflows: Operand,
}

impl Lowerer<'_> {
    pub(super) fn intrinsic(&mut self, call: Value) {
        if let Some(range) = Range::of(self.locals, call) {
            return self.range(call, range);
        }
        let name = call.callee().name();
        let is_one_of = |names: &[&str]| names.iter().any(|prefix| name.starts_with(prefix));
        if is_one_of(&NOTHING) && call.type_of().is_void() {
            return;
        }
        let arguments = self.operands(&call.arguments());
        if is_one_of(&SAME) {
            self.values.insert(call, arguments[0]);
            return;
        }
        if name.starts_with("llvm.threadlocal.address.") {
            // Who analyses the program alone needs to know whose address it is.
            let variable = call.operand(0).name();
            return self.opaque_instruction(call, &format!("{name} {variable}"), &arguments);
        }
        // The part of the name that tells the types is not needed: operands have widths.
        let base = base_of(&name);
        let are_scalars = arguments.iter().all(|one| self.code.width(*one) != 0);
        if are_scalars && base.ends_with(".with.overflow") {
            let checked = self.checked(base, &arguments);
            self.fields.insert(call, vec![checked.value, checked.overflows]);
            return;
        }
        let width = self.width_of(call.type_of());
        let exact = match width {
            0 => None,
            _ if are_scalars => self.exact_intrinsic(base, &arguments, width),
            _ => None,
        };
        match exact {
            Some(result) => {
                self.values.insert(call, result);
            }
            None => self.opaque_with(opaque_by(call, &name), call, &name, &arguments),
        }
    }

    fn range(&mut self, call: Value, range: Range) {
        let size = self.operand(call.operand(2));
        let size = match size {
            Operand::Constant { value, .. } => Operand::number(64, value),
            _ => self.code.resize(size, 64),
        };
        let (to, other) = (self.operand(call.operand(0)), self.operand(call.operand(1)));
        match range {
            Range::Copy { hides_target, hides_source, .. } => {
                if hides_source {
                    self.keep_constants(call.operand(1));
                }
                let is_recorded = !(hides_target && hides_source);
                let site = if is_recorded { self.site(call) } else { NOWHERE };
                let size_flag = if is_recorded { size_flag(call.operand(2)) } else { 0 };
                let flags = private_sides(hides_target, hides_source) | size_flag;
                self.copy(site, flags, [to, other, size]);
            }
            Range::Fill { hides_target } => {
                let (site, flags) = match hides_target {
                    true => (NOWHERE, flags::PRIVATE),
                    false => (self.site(call), size_flag(call.operand(2))),
                };
                self.fill(site, flags, [to, other, size]);
            }
        }
    }

    fn exact_intrinsic(
        &mut self,
        base: &str,
        arguments: &[Operand],
        width: u32,
    ) -> Option<Operand> {
        match (base, arguments) {
            ("llvm.smax", [a, b]) => Some(self.pick(binary::SLT, [*b, *a], [*a, *b])),
            ("llvm.smin", [a, b]) => Some(self.pick(binary::SLT, [*a, *b], [*a, *b])),
            ("llvm.umax", [a, b]) => Some(self.pick(binary::ULT, [*b, *a], [*a, *b])),
            ("llvm.umin", [a, b]) => Some(self.pick(binary::ULT, [*a, *b], [*a, *b])),
            ("llvm.abs", [a, _]) => {
                let zero = self.same_width(*a, 0);
                let negated = self.code.binary(binary::SUB, zero, *a);
                Some(self.pick(binary::SLT, [*a, zero], [negated, *a]))
            }
            ("llvm.ucmp", [a, b]) => Some(self.three_way(binary::ULT, *a, *b, width)),
            ("llvm.scmp", [a, b]) => Some(self.three_way(binary::SLT, *a, *b, width)),
            ("llvm.uadd.sat" | "llvm.usub.sat" | "llvm.sadd.sat" | "llvm.ssub.sat", [a, _]) => {
                let checked = self.checked(&base.replace(".sat", ".with.overflow"), arguments);
                let limit = self.limit(base, *a);
                Some(self.code.select(checked.overflows, limit, checked.value))
            }
            ("llvm.ptrmask", [a, b]) => Some(self.code.binary(binary::AND, *a, *b)),
            ("llvm.bswap", [a]) => self.swap_bytes(*a),
            ("llvm.fshl", [a, b, Operand::Constant { value, width }]) => {
                Some(self.funnel(*a, *b, value % u64::from(*width), *width))
            }
            ("llvm.fshr", [a, b, Operand::Constant { value, width }]) => {
                let width64 = u64::from(*width);
                match value % width64 {
                    0 => Some(*b),
                    by => Some(self.funnel(*a, *b, width64 - by, *width)),
                }
            }
            _ => None,
        }
    }

    fn same_width(&self, like: Operand, value: u64) -> Operand {
        Operand::number(self.code.width(like), value)
    }

    /// The first of `values` if the comparison holds, else the second.
    fn pick(&mut self, comparison: u64, compared: [Operand; 2], values: [Operand; 2]) -> Operand {
        let first = self.code.binary(comparison, compared[0], compared[1]);
        self.code.select(first, values[0], values[1])
    }

    /// -1, 0 or 1.
    fn three_way(&mut self, less: u64, left: Operand, right: Operand, width: u32) -> Operand {
        let is_less = self.code.binary(less, left, right);
        let is_greater = self.code.binary(less, right, left);
        let greater = self.code.cast(cast::ZERO_EXTEND, is_greater, width);
        self.code.select(is_less, Operand::number(width, u64::MAX), greater)
    }

    /// Where a saturating operation ends up.
    fn limit(&mut self, base: &str, left: Operand) -> Operand {
        let width = self.code.width(left);
        match base {
            "llvm.uadd.sat" => Operand::number(width, u64::MAX),
            "llvm.usub.sat" => Operand::number(width, 0),
            _ => {
                let lowest = Operand::number(width, 1 << (width - 1));
                let highest = Operand::number(width, mask(width - 1));
                let zero = Operand::number(width, 0);
                self.pick(binary::SLT, [left, zero], [lowest, highest])
            }
        }
    }

    fn checked(&mut self, base: &str, arguments: &[Operand]) -> Checked {
        let (a, b) = (arguments[0], arguments[1]);
        match base {
            "llvm.uadd.with.overflow" => {
                let value = self.code.binary(binary::ADD, a, b);
                Checked { value, overflows: self.code.binary(binary::ULT, value, a) }
            }
            "llvm.usub.with.overflow" => {
                let value = self.code.binary(binary::SUB, a, b);
                Checked { value, overflows: self.code.binary(binary::ULT, a, b) }
            }
            "llvm.sadd.with.overflow" => {
                let value = self.code.binary(binary::ADD, a, b);
                // The sign of the sum differs from both signs.
                Checked { value, overflows: self.differ_in_sign([a, value], [b, value]) }
            }
            "llvm.ssub.with.overflow" => {
                let value = self.code.binary(binary::SUB, a, b);
                Checked { value, overflows: self.differ_in_sign([a, b], [a, value]) }
            }
            _ => self.product(base, a, b),
        }
    }

    /// Whether both pairs differ in their signs.
    fn differ_in_sign(&mut self, one: [Operand; 2], other: [Operand; 2]) -> Operand {
        let [one, other] = [one, other].map(|[a, b]| self.code.binary(binary::XOR, a, b));
        let both = self.code.binary(binary::AND, one, other);
        let zero = self.same_width(both, 0);
        self.code.binary(binary::SLT, both, zero)
    }

    fn product(&mut self, base: &str, a: Operand, b: Operand) -> Checked {
        let width = self.code.width(a);
        let value = self.code.binary(binary::MUL, a, b);
        if width == 64 {
            return Checked { value, overflows: self.wide_product(base, [a, b]) };
        }
        if width > 32 {
            return Checked { value, overflows: self.opaque(base, &[a, b], 1) };
        }
        let extend = if base.starts_with("llvm.s") { cast::SIGN_EXTEND } else { cast::ZERO_EXTEND };
        let [wide_a, wide_b, expected] = [a, b, value].map(|one| self.code.cast(extend, one, 64));
        let wide = self.code.binary(binary::MUL, wide_a, wide_b);
        Checked { value, overflows: self.code.binary(binary::NE, wide, expected) }
    }

    /// Whether a product of words of 64 bits needs more: that of their absolute values does, put
    /// together from the products of their halves.
    fn wide_product(&mut self, base: &str, [a, b]: [Operand; 2]) -> Operand {
        let number = |value| Operand::number(64, value);
        let is_signed = base.starts_with("llvm.s");
        let mut is_negative = Operand::number(1, 0);
        let mut parts = Vec::new();
        for factor in [a, b] {
            let mut absolute = factor;
            if is_signed {
                let negated = self.code.binary(binary::SUB, number(0), factor);
                let below = self.code.binary(binary::SLT, factor, number(0));
                absolute = self.code.select(below, negated, factor);
                is_negative = self.code.binary(binary::XOR, is_negative, below);
            }
            parts.push(self.code.binary(binary::LSHR, absolute, number(32)));
            parts.push(self.code.binary(binary::AND, absolute, number(mask(32))));
        }
        let [high_a, low_a, high_b, low_b] = parts[..] else { unreachable!("two of each") };
        // One of the two upper halves must be 0, so that one of these products is.
        let [has_a, has_b] =
            [high_a, high_b].map(|high| self.code.binary(binary::NE, high, number(0)));
        let both = self.code.binary(binary::AND, has_a, has_b);
        let one = self.code.binary(binary::MUL, high_a, low_b);
        let other = self.code.binary(binary::MUL, low_a, high_b);
        let upper = self.code.binary(binary::ADD, one, other);
        let low = self.code.binary(binary::MUL, low_a, low_b);
        let carried = self.code.binary(binary::LSHR, low, number(32));
        let upper = self.code.binary(binary::ADD, upper, carried);
        let most = if is_signed { mask(31) } else { mask(32) };
        let mut is_large = self.code.binary(binary::ULT, number(most), upper);
        if is_signed {
            // The lowest number has no positive counterpart.
            let is_at_limit = self.code.binary(binary::EQ, upper, number(1 << 31));
            let rest = self.code.binary(binary::AND, low, number(mask(32)));
            let is_exact = self.code.binary(binary::EQ, rest, number(0));
            let is_lowest = self.code.binary(binary::AND, is_at_limit, is_exact);
            let is_lowest = self.code.binary(binary::AND, is_lowest, is_negative);
            is_large = self.code.select(is_lowest, Operand::number(1, 0), is_large);
        }
        self.code.binary(binary::OR, both, is_large)
    }

    /// The upper bits of `high` and `low` in a row, shifted to the left by less than their width.
    fn funnel(&mut self, high: Operand, low: Operand, by: u64, width: u32) -> Operand {
        if by == 0 {
            return high;
        }
        let upper = self.code.binary(binary::SHL, high, Operand::number(width, by));
        let rest = Operand::number(width, u64::from(width) - by);
        let lower = self.code.binary(binary::LSHR, low, rest);
        self.code.binary(binary::OR, upper, lower)
    }

    fn swap_bytes(&mut self, value: Operand) -> Option<Operand> {
        let width = self.code.width(value);
        if width > 32 {
            return None;
        }
        let bytes = width / 8;
        let mut swapped = None;
        for byte in 0..bytes {
            let by = Operand::number(width, u64::from(8 * byte));
            let down = self.code.binary(binary::LSHR, value, by);
            let alone = self.code.binary(binary::AND, down, Operand::number(width, 0xff));
            let to = Operand::number(width, u64::from(8 * (bytes - 1 - byte)));
            let moved = self.code.binary(binary::SHL, alone, to);
            swapped = Some(match swapped {
                None => moved,
                Some(before) => self.code.binary(binary::OR, before, moved),
            });
        }
        swapped
    }
}

/// What an intrinsic does to what an argument points to: there are loads and stores with a mask,
/// and those of the machine.
fn opaque_by(call: Value, name: &str) -> u64 {
    let is_address = |one: &Value| {
        let of = one.type_of();
        of.is_pointer() || of.kind() == LLVMVectorTypeKind && of.element().is_pointer()
    };
    let memory = ir::attribute_kind("memory");
    // SAFETY: the attribute is null if it is not there, else it has a number, which is 0 for none.
    let is_pure = unsafe {
        let attribute = LLVMGetEnumAttributeAtIndex(call.callee().0, u32::MAX, memory);
        !attribute.is_null() && LLVMGetEnumAttributeValue(attribute) == 0
    };
    if name.starts_with("llvm.va_") {
        opcode::OPAQUE_LIST
    } else if !is_pure && call.arguments().iter().any(is_address) {
        opcode::OPAQUE_MEMORY
    } else {
        opcode::OPAQUE
    }
}

/// The name without the types at its end: `llvm.smax.i32` is `llvm.smax`.
fn base_of(name: &str) -> &str {
    let is_type = |part: &str| {
        part.starts_with(['i', 'p', 'f', 'v']) && part.ends_with(|last: char| last.is_ascii_digit())
    };
    let mut base = name;
    while let Some((front, last)) = base.rsplit_once('.') {
        if !is_type(last) {
            break;
        }
        base = front;
    }
    base
}
