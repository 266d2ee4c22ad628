//! The code of one function under construction: registers, and the instructions of the current
//! block.

use foretrace_recording::image::{binary, cast, opcode, operand, put, put_signed};

/// What an instruction works with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operand {
    Register(u32),
    Constant { width: u32, value: u64 },
    Symbol { number: u64, offset: i64 },
    Unknown { width: u32 },
}

/// Part of an instruction, as it is written.
pub(super) enum Part<'a> {
    Number(u64),
    One(Operand),
    List(&'a [Operand]),
}

/// A site of no interest.
pub(super) const NOWHERE: u64 = 0;

#[derive(Default)]
pub(super) struct Code {
    /// Of the registers.
    widths: Vec<u32>,
    /// The instructions of the block at hand.
    instructions: Vec<u8>,
    count: u64,
}

impl Operand {
    pub(super) fn number(width: u32, value: u64) -> Operand {
        Operand::Constant { width, value: value & mask(width) }
    }

    pub(super) fn put(self, bytes: &mut Vec<u8>) {
        let head = |bytes: &mut Vec<u8>, tag, number: u64| put(bytes, tag | number << 2);
        match self {
            Operand::Register(number) => head(bytes, operand::REGISTER, number.into()),
            Operand::Constant { width, value } => {
                head(bytes, operand::CONSTANT, width.into());
                put(bytes, value);
            }
            Operand::Symbol { number, offset } => {
                head(bytes, operand::SYMBOL, number);
                put_signed(bytes, offset);
            }
            Operand::Unknown { width } => head(bytes, operand::UNKNOWN, width.into()),
        }
    }
}

/// The bits that a value of this width has.
pub(super) fn mask(width: u32) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

impl Code {
    pub(super) fn register(&mut self, width: u32) -> u32 {
        self.widths.push(width);
        self.widths.len() as u32 - 1
    }

    pub(super) fn widths(&self) -> &[u32] {
        &self.widths
    }

    pub(super) fn width(&self, operand: Operand) -> u32 {
        match operand {
            Operand::Register(register) => self.widths[register as usize],
            Operand::Constant { width, .. } | Operand::Unknown { width } => width,
            Operand::Symbol { .. } => 64,
        }
    }

    /// Ends the block: how many instructions it has, and these.
    pub(super) fn take_block(&mut self) -> (u64, Vec<u8>) {
        (std::mem::take(&mut self.count), std::mem::take(&mut self.instructions))
    }

    /// Appends an instruction that has no result.
    pub(super) fn perform(&mut self, opcode: u64, site: u64, parts: &[Part]) {
        self.append(opcode, site, None, parts);
    }

    /// Appends an instruction and returns its result.
    pub(super) fn define(&mut self, opcode: u64, site: u64, width: u32, parts: &[Part]) -> Operand {
        let result = self.register(width);
        self.append(opcode, site, Some(result), parts);
        Operand::Register(result)
    }

    fn append(&mut self, opcode: u64, site: u64, result: Option<u32>, parts: &[Part]) {
        let bytes = &mut self.instructions;
        put(bytes, opcode);
        put(bytes, site);
        put(bytes, result.map_or(0, |register| u64::from(register) + 1));
        for part in parts {
            match part {
                Part::Number(number) => put(bytes, *number),
                Part::One(operand) => operand.put(bytes),
                Part::List(operands) => {
                    put(bytes, operands.len() as u64);
                    operands.iter().for_each(|operand| operand.put(bytes));
                }
            }
        }
        self.count += 1;
    }

    /// A result of one bit for comparisons, else of the operands' width.
    pub(super) fn binary(&mut self, operation: u64, left: Operand, right: Operand) -> Operand {
        self.binary_at(NOWHERE, operation, left, right)
    }

    pub(super) fn binary_at(
        &mut self,
        site: u64,
        operation: u64,
        left: Operand,
        right: Operand,
    ) -> Operand {
        let width = if operation >= binary::EQ { 1 } else { self.width(left) };
        let parts = [Part::Number(operation), Part::One(left), Part::One(right)];
        self.define(opcode::BINARY, site, width, &parts)
    }

    pub(super) fn select(&mut self, condition: Operand, then: Operand, other: Operand) -> Operand {
        let width = self.width(then);
        let parts = [Part::One(condition), Part::One(then), Part::One(other)];
        self.define(opcode::SELECT, NOWHERE, width, &parts)
    }

    /// The same value if it has that width already.
    pub(super) fn cast(&mut self, kind: u64, value: Operand, width: u32) -> Operand {
        if self.width(value) == width {
            return value;
        }
        self.define(opcode::CAST, NOWHERE, width, &[Part::Number(kind), Part::One(value)])
    }

    /// Widens with zeros, or cuts.
    pub(super) fn resize(&mut self, value: Operand, width: u32) -> Operand {
        let kind = if self.width(value) > width { cast::TRUNCATE } else { cast::ZERO_EXTEND };
        self.cast(kind, value, width)
    }

    /// An address further on; what is known of it stays known.
    pub(super) fn add_offset(&mut self, address: Operand, offset: Operand) -> Operand {
        match (address, offset) {
            (_, Operand::Constant { value: 0, .. }) => address,
            (Operand::Symbol { number, offset }, Operand::Constant { value, .. }) => {
                Operand::Symbol { number, offset: offset.wrapping_add(value as i64) }
            }
            (Operand::Constant { value: start, .. }, Operand::Constant { value, .. }) => {
                Operand::number(64, start.wrapping_add(value))
            }
            _ => self.binary(binary::ADD, address, offset),
        }
    }

    /// An index of 64 bits times the size of an element.
    pub(super) fn scale(&mut self, index: Operand, size: u64) -> Operand {
        match index {
            Operand::Constant { value, .. } => Operand::number(64, value.wrapping_mul(size)),
            _ if size == 1 => index,
            _ => self.binary(binary::MUL, index, Operand::number(64, size)),
        }
    }
}
