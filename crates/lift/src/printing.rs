//! What functions that print read, and what those that print into memory leave there.

use foretrace_image as image;
use foretrace_program::{MemoryOrder, Op, Operand};
use foretrace_words::BinaryOp;

use crate::function::Body;
use crate::known::texts_of;
use crate::object_file::{Meaning, symbol_of};

impl Body<'_> {
    /// The texts in memory that somebody can write which a function without effect reads; `None` if
    /// it may read something else.
    pub(crate) fn printed(
        &self,
        name: &str,
        arguments: &[image::Operand],
    ) -> Option<Vec<image::Operand>> {
        let text = match name {
            "fputs" | "fwrite" | "perror" | "printf" | "puts" => 0,
            "fprintf" | "syslog" | "write" => 1,
            "vprintf" | "vfprintf" => return None,
            // What is printed later lies in that buffer.
            "setbuf" | "setvbuf" => {
                let has_none = arguments.get(1) == Some(&image::Operand::Constant(0));
                return has_none.then(Vec::new);
            }
            _ => return Some(Vec::new()),
        };
        let (&text, others) = arguments.get(text..).and_then(<[_]>::split_first)?;
        let Some(constant) = self.constant(text) else {
            return matches!(name, "fputs" | "perror" | "puts").then(|| vec![text]);
        };
        if !matches!(name, "printf" | "fprintf" | "syslog") {
            return Some(Vec::new());
        }
        let may_be_written = |other: &image::Operand| match *other {
            image::Operand::Constant(_) => false,
            image::Operand::Register(_) => self.width(*other) == Some(64),
            image::Operand::Address(_) => self.constant(*other).is_none(),
            image::Operand::Unknown => true,
        };
        let read = match constant {
            Some(format) => texts_of(format)?,
            // It may ask for any of them.
            None if others.iter().any(may_be_written) => return None,
            None => Vec::new(),
        };
        let read: Option<Vec<image::Operand>> =
            read.into_iter().map(|number| others.get(number).copied()).collect();
        Some(read?.into_iter().filter(may_be_written).collect())
    }

    /// Memory that nobody can write, if an operand is the address of such: its contents as far as
    /// they are known.
    pub(crate) fn constant(&self, operand: image::Operand) -> Option<Option<&[u8]>> {
        let image::Operand::Address(address) = operand else { return None };
        let (symbol, behind) = symbol_of(address);
        let file = self.lifting.file;
        match file.symbols.get(symbol)? {
            Meaning::Variable(variable, at) => {
                let variable = &file.variables[*variable];
                let at = at.wrapping_add(behind) as usize;
                variable.is_constant.then(|| variable.bytes.get(at..))
            }
            Meaning::Unknown if file.others_are_constant => Some(None),
            _ => None,
        }
    }

    /// A text of any length in a buffer. What lies behind it stays, so the last byte is 0 or as it
    /// was; somewhere there is a 0.
    pub(crate) fn print_into(&mut self, place: Operand, size: u64) {
        let any =
            || Op::External { name: "any text that is printed".to_string(), args: Vec::new() };
        let order = MemoryOrder::Plain;
        let last = self.at(place, size - 1);
        let before = self.compute(Op::Load { address: last, size: 1, order }, 8);
        let is_full = self.compute(any(), 1);
        let (then, condition) = (Operand::constant(0, 8), is_full);
        let value = self.compute(Op::Select { condition, then, otherwise: before }, 8);
        self.emit(Op::Store { address: last, size: 1, value, order }, None);
        let mut ends = self.compute(
            Op::Binary { op: BinaryOp::Eq, left: value, right: Operand::constant(0, 8) },
            1,
        );
        for (offset, size) in Self::words(size - 1) {
            let width = 8 * size;
            let value = self.compute(any(), width);
            let address = self.at(place, offset);
            self.emit(Op::Store { address, size, value, order }, None);
            // The well known test for a byte that is 0.
            let of_each = |byte: u64| Operand::constant(byte * 0x0101_0101_0101_0101, width);
            let mut binary = |op, left, right| self.compute(Op::Binary { op, left, right }, width);
            let less = binary(BinaryOp::Sub, value, of_each(1));
            let not = binary(BinaryOp::Xor, value, of_each(0xff));
            let both = binary(BinaryOp::And, less, not);
            let found = binary(BinaryOp::And, both, of_each(0x80));
            let right = Operand::constant(0, width);
            let has = self.compute(Op::Binary { op: BinaryOp::Ne, left: found, right }, 1);
            ends = self.compute(Op::Binary { op: BinaryOp::Or, left: ends, right: has }, 1);
        }
        self.emit(Op::Assume { condition: ends }, None);
    }
}
