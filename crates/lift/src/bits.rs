//! Counting bits: of ones, and of zeros at either end.
//!
//! **Follows.** Warren, *Hacker's Delight*, chapter 5: ones are added in pairs, fours and so on;
//! zeros at the end are the ones of `!x & (x - 1)`; those at the begin are the zeros of `x` with
//! all bits set behind the first one.

use foretrace_image as image;
use foretrace_program::{Op, Operand, RegisterId};
use foretrace_words::BinaryOp;

use crate::function::Body;

impl Body<'_> {
    /// Counts bits, if that is what the name means; whether it does.
    pub(crate) fn counts_bits(
        &mut self,
        name: &str,
        arguments: &[image::Operand],
        to: Option<RegisterId>,
        width: u8,
    ) -> bool {
        let (Some(to), Some(&counted)) = (to, arguments.first()) else { return false };
        if ![8, 16, 32, 64].contains(&width) {
            return false;
        }
        let x = self.operand(counted, width);
        let ones = Operand::constant(u64::MAX, width);
        let sum = match name.split('.').nth(1) {
            Some("ctpop") => self.ones(x, width),
            Some("cttz") => {
                let one = Operand::constant(1, width);
                let less = self.word_of(BinaryOp::Sub, x, one, width);
                let zeros = self.word_of(BinaryOp::Xor, x, ones, width);
                let low = self.word_of(BinaryOp::And, less, zeros, width);
                self.ones(low, width)
            }
            Some("ctlz") => {
                let mut filled = x;
                for by in [1, 2, 4, 8, 16, 32].into_iter().filter(|by| *by < width) {
                    let by = Operand::constant(by.into(), width);
                    let shifted = self.word_of(BinaryOp::LShr, filled, by, width);
                    filled = self.word_of(BinaryOp::Or, filled, shifted, width);
                }
                let high = self.word_of(BinaryOp::Xor, filled, ones, width);
                self.ones(high, width)
            }
            _ => return false,
        };
        let right = Operand::constant(0, width);
        self.emit(Op::Binary { op: BinaryOp::Or, left: sum, right }, Some(to));
        true
    }

    fn word_of(&mut self, op: BinaryOp, left: Operand, right: Operand, width: u8) -> Operand {
        self.compute(Op::Binary { op, left, right }, width)
    }

    /// How many bits are set.
    fn ones(&mut self, x: Operand, width: u8) -> Operand {
        let mut sums = x;
        // Fields of twice the width, one after the other.
        for by in [1u8, 2, 4, 8, 16, 32].into_iter().filter(|by| *by < width) {
            let field = (1u64 << by) - 1;
            let mask = (0..64).step_by(2 * usize::from(by)).fold(0, |all, at| all | field << at);
            let mask = Operand::constant(mask, width);
            let low = self.word_of(BinaryOp::And, sums, mask, width);
            let by = Operand::constant(by.into(), width);
            let high = self.word_of(BinaryOp::LShr, sums, by, width);
            let high = self.word_of(BinaryOp::And, high, mask, width);
            sums = self.word_of(BinaryOp::Add, low, high, width);
        }
        sums
    }
}
