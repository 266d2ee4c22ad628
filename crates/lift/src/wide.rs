//! Values of more than 64 bits: structs that functions give in two registers, and the like.
//!
//! **Computes.** A register that holds such a value holds the address of a copy of it, in memory of
//! the call. A function that gives one leaves it in a variable of its thread
//! (`models::RESULT`), from where the caller takes it at once.
//!
//! **Invariant.** Nobody writes a copy once it is made. A part begins at a multiple of eight bytes:
//! calling conventions make structs into at most two registers so. What is computed with such
//! values otherwise is not known.

use foretrace_image as image;
use foretrace_program::{MemoryOrder, Op, Operand, RegisterId};

use crate::function::Body;
use crate::models::RESULT_BYTES;

const PLAIN: MemoryOrder = MemoryOrder::Plain;

impl Body<'_> {
    /// Whether an operand is such a value.
    pub(crate) fn is_wide(&self, operand: image::Operand) -> bool {
        match operand {
            image::Operand::Register(register) => self.image_width(register) == 0,
            _ => false,
        }
    }

    /// The address of such a value; of one that is not known, that of new memory.
    pub(crate) fn wide(&mut self, operand: image::Operand) -> Operand {
        match operand {
            image::Operand::Register(register) => Operand::Register(RegisterId(register)),
            _ => self.compute(Op::Slot { size: RESULT_BYTES as u32 }, 64),
        }
    }

    fn copy_words(&mut self, to: Operand, from: Operand, size: u64) {
        for (offset, size) in Self::words(size) {
            let address = self.at(from, offset);
            let value = self.compute(Op::Load { address, size, order: PLAIN }, 8 * size);
            let address = self.at(to, offset);
            self.emit(Op::Store { address, size, value, order: PLAIN }, None);
        }
    }

    pub(crate) fn load_wide(&mut self, from: image::Operand, size: u64, result: Option<u32>) {
        if size > RESULT_BYTES {
            return self.unknown("a value of more than 128 bits", result);
        }
        let from = self.address(from);
        let to = result.map_or_else(|| self.register(64), RegisterId);
        self.emit(Op::Slot { size: RESULT_BYTES as u32 }, Some(to));
        self.copy_words(Operand::Register(to), from, size);
    }

    pub(crate) fn store_wide(&mut self, to: image::Operand, size: u64, value: image::Operand) {
        if size > RESULT_BYTES {
            return self.unknown("a value of more than 128 bits", None);
        }
        let (to, from) = (self.address(to), self.wide(value));
        self.copy_words(to, from, size);
    }

    /// Leaves a value for the caller.
    pub(crate) fn give_wide(&mut self, value: image::Operand) {
        let Some(global) = self.lifting.names.wide_result() else {
            return self.unknown("a value of more than 64 bits is given", None);
        };
        let from = self.wide(value);
        let to = self.compute(Op::Own { global }, 64);
        self.copy_words(to, from, RESULT_BYTES);
    }

    /// Takes what a function has left.
    pub(crate) fn take_wide(&mut self, result: u32) {
        let Some(global) = self.lifting.names.wide_result() else {
            return self.unknown("a call that gives a value of more than 64 bits", Some(result));
        };
        let to = RegisterId(result);
        self.emit(Op::Slot { size: RESULT_BYTES as u32 }, Some(to));
        let from = self.compute(Op::Own { global }, 64);
        self.copy_words(Operand::Register(to), from, RESULT_BYTES);
    }

    /// A part of a value, or a value with another part; whether that is what the name means.
    pub(crate) fn part(
        &mut self,
        name: &str,
        arguments: &[image::Operand],
        to: Option<RegisterId>,
        width: u8,
    ) -> bool {
        let offset = |index: &str| match index {
            "0" => Some(0),
            "1" => Some(8),
            _ => None,
        };
        let Some(to) = to else { return false };
        match (name.split_once(' '), arguments) {
            (Some(("extractvalue", index)), &[whole])
                if self.is_wide(whole) && width > 0 && width.is_multiple_of(8) =>
            {
                let Some(offset) = offset(index) else { return false };
                let whole = self.wide(whole);
                let address = self.at(whole, offset);
                let size = width / 8;
                if !size.is_power_of_two() {
                    return false;
                }
                self.emit(Op::Load { address, size, order: PLAIN }, Some(to));
                true
            }
            (Some(("insertvalue", index)), &[whole, part]) if width == 0 => {
                let Some(offset) = offset(index) else { return false };
                let width = self.width(part).unwrap_or(64);
                let is_unknown = matches!(part, image::Operand::Unknown);
                if self.is_wide(part) || !(width / 8).is_power_of_two() || !width.is_multiple_of(8)
                {
                    return false;
                }
                self.emit(Op::Slot { size: RESULT_BYTES as u32 }, Some(to));
                if let image::Operand::Register(_) = whole {
                    let from = self.wide(whole);
                    self.copy_words(Operand::Register(to), from, RESULT_BYTES);
                }
                if !is_unknown {
                    let value = self.operand(part, width);
                    let address = self.at(Operand::Register(to), offset);
                    let size = width / 8;
                    self.emit(Op::Store { address, size, value, order: PLAIN }, None);
                }
                true
            }
            _ => false,
        }
    }
}
