//! Conditions and values of a program as the source has them: `load x + 1 < n`.
//!
//! **Computes.** The expression that an operand stands for. Registers without a name are replaced
//! by what they are computed from, up to a depth; those that are named, read or given from outside
//! are leaves.

use foretrace_program::{BinaryOp, Cast, Function, Op, Operand, Program, RegisterId, signed};

/// How many operations inside each other are shown.
const DEPTH: u8 = 8;

/// An expression in words, with the registers that are its leaves, each once.
pub(crate) struct Shown {
    pub(crate) text: String,
    pub(crate) leaves: Vec<(RegisterId, String)>,
}

/// The expression that an operand of a function stands for.
pub(crate) fn show(program: &Program, function: &Function, operand: Operand) -> Shown {
    let mut writer = Writer { program, function, leaves: Vec::new() };
    let text = writer.operand(operand, Level(0), DEPTH);
    Shown { text, leaves: writer.leaves }
}

/// A number of so many bits: with a minus if it is close to 0 from below.
pub(super) fn number(value: u64, width: u8) -> String {
    let number = signed(value, width);
    let is_small = number < 0 && number.unsigned_abs() < 1 << (width / 2);
    if width > 1 && is_small { number.to_string() } else { value.to_string() }
}

/// The bytes of a variable: all of them, or from where on how many.
pub(super) fn place(program: &Program, object: usize, offset: u32, size: u32) -> String {
    match program.globals.get(object) {
        Some(global) if (offset, size) == (0, global.size) => global.name.clone(),
        Some(global) => format!("{}[{offset}:{size}]", global.name),
        None => "?".to_string(),
    }
}

/// How tightly an operator binds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Level(u8);

struct Writer<'p> {
    program: &'p Program,
    function: &'p Function,
    leaves: Vec<(RegisterId, String)>,
}

impl Writer<'_> {
    fn operand(&mut self, operand: Operand, around: Level, depth: u8) -> String {
        match operand {
            Operand::Constant(constant) => number(constant.value, constant.width),
            Operand::Register(register) => self.register(register, around, depth),
            Operand::Global { global, offset } => {
                let name = &self.program.global(global).name;
                if offset == 0 { format!("&{name}") } else { format!("&{name} + {offset}") }
            }
            Operand::Function(function) => format!("&{}", self.program.function(function).name),
        }
    }

    fn register(&mut self, register: RegisterId, around: Level, depth: u8) -> String {
        if let Some(name) = &self.function.registers[register.index()].name {
            return self.leaf(register, name.clone());
        }
        let mut instructions = self.function.instructions();
        let definition = instructions.find(|(_, _, made)| made.result == Some(register));
        let Some((_, _, definition)) = definition else {
            return self.leaf(register, format!("%{}", register.index()));
        };
        match &definition.op {
            Op::Binary { .. } | Op::Cast { .. } | Op::Select { .. } if depth == 0 => {
                "…".to_string()
            }
            Op::Binary { op, left, right } => self.binary(*op, *left, *right, around, depth - 1),
            Op::Cast { cast, value } => {
                let sign = if *cast == Cast::SignExtend { 'i' } else { 'u' };
                let value = self.operand(*value, Level(0), depth - 1);
                format!("{sign}{}({value})", self.function.width(register))
            }
            Op::Select { condition, then, otherwise } => {
                let [condition, then, otherwise] = [*condition, *then, *otherwise]
                    .map(|part| self.operand(part, Level(1), depth - 1));
                enclosed(format!("{condition} ? {then} : {otherwise}"), around > Level(0))
            }
            Op::Load { address: Operand::Global { global, offset }, size, .. } => {
                let (offset, size) = (*offset as u32, u32::from(*size));
                let text = format!("load {}", place(self.program, global.index(), offset, size));
                self.leaf(register, text)
            }
            Op::External { name, .. } => self.leaf(register, name.clone()),
            _ => self.leaf(register, format!("%{}", register.index())),
        }
    }

    fn leaf(&mut self, register: RegisterId, text: String) -> String {
        if !self.leaves.iter().any(|(known, _)| *known == register) {
            self.leaves.push((register, text.clone()));
        }
        text
    }

    fn binary(
        &mut self,
        op: BinaryOp,
        left: Operand,
        right: Operand,
        around: Level,
        depth: u8,
    ) -> String {
        let is_bit = self.function.operand_width(left) == 1;
        let (mut sign, level) = spelling(op, is_bit);
        let (mut left, mut right) = (left, right);
        // Greater-than is less-than with its operands swapped, and a number rather stands on the
        // right.
        let swapped = [("<", ">"), ("<=", ">="), ("<u", ">u"), ("<=u", ">=u")];
        if let (Operand::Constant(_), Some((_, other))) =
            (left, swapped.iter().find(|(plain, _)| *plain == sign))
        {
            sign = other;
            std::mem::swap(&mut left, &mut right);
        }
        let left = self.operand(left, level, depth);
        let right = self.operand(right, Level(level.0 + 1), depth);
        enclosed(format!("{left} {sign} {right}"), around > level)
    }
}

fn enclosed(text: String, is_needed: bool) -> String {
    if is_needed { format!("({text})") } else { text }
}

/// How an operator is written, and how tightly it binds.
fn spelling(op: BinaryOp, is_bit: bool) -> (&'static str, Level) {
    let (sign, level) = match op {
        BinaryOp::Or if is_bit => ("||", 2),
        BinaryOp::And if is_bit => ("&&", 3),
        BinaryOp::Or => ("|", 4),
        BinaryOp::Xor => ("^", 5),
        BinaryOp::And => ("&", 6),
        BinaryOp::Eq => ("==", 7),
        BinaryOp::Ne => ("!=", 7),
        BinaryOp::Slt => ("<", 8),
        BinaryOp::Sle => ("<=", 8),
        BinaryOp::Ult => ("<u", 8),
        BinaryOp::Ule => ("<=u", 8),
        BinaryOp::Shl => ("<<", 9),
        BinaryOp::AShr => (">>", 9),
        BinaryOp::LShr => (">>u", 9),
        BinaryOp::Add => ("+", 10),
        BinaryOp::Sub => ("-", 10),
        BinaryOp::Mul => ("*", 11),
        BinaryOp::SDiv => ("/", 11),
        BinaryOp::UDiv => ("/u", 11),
        BinaryOp::SRem => ("%", 11),
        BinaryOp::URem => ("%u", 11),
    };
    (sign, Level(level))
}
