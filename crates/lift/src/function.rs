//! Instructions of the image as instructions of the program.
//!
//! **Computes.** A function with the same blocks and registers; what an instruction becomes may be
//! several, with registers of their own. What has no counterpart is an unknown external; its result
//! is then never used.

use foretrace_image as image;
use foretrace_program::{
    Block, Callee, Constant, Function, Instruction, LocationId, MemoryOrder, Op, Operand, Register,
    RegisterId, Storage, Target, Terminator, TerminatorKind,
};
use foretrace_trace::Names as Locations;
use foretrace_words::BinaryOp;

use crate::link::Names;
use crate::models::MOST_BYTES;
use crate::object_file::{ObjectFile, site_number, symbol_of};
use crate::records;
use crate::{ANY, UNKNOWN};

/// What a function is lifted with.
pub(crate) struct Lifting<'a> {
    pub(crate) names: &'a Names,
    pub(crate) file: &'a ObjectFile,
    pub(crate) number: usize,
    /// Widths of parameters and result of each function.
    pub(crate) signatures: &'a [(Vec<u8>, Option<u8>)],
    pub(crate) is_task: bool,
    /// Whether mutexes may be of other kinds than the default one.
    pub(crate) has_kinds: bool,
    /// Functions that must not be called.
    pub(crate) errors: &'a [String],
    /// Whether a failed `assert` counts where no error function calls it; else it ends the process.
    pub(crate) asserts_count: bool,
}

/// A function that was lifted. Places are blocks and numbers of instructions.
pub(crate) struct Made {
    pub(crate) function: Function,
    /// Instructions that make no record.
    pub(crate) silent: Vec<(usize, usize)>,
    /// Assertions that stand for undefined behaviour.
    pub(crate) implicit: Vec<(usize, usize)>,
    /// Assertions that stand for signed overflow.
    pub(crate) overflows: Vec<(usize, usize)>,
}

/// Widths of the parameters and of the result.
pub(crate) fn signature(function: &image::Function) -> (Vec<u8>, Option<u8>) {
    let params = function.registers[..function.parameters as usize].iter();
    let params = params.map(|&width| if width == 0 { 64 } else { width }).collect();
    (params, (function.result > 0).then_some(function.result))
}

/// A function while it is made.
pub(crate) struct Body<'a> {
    pub(crate) lifting: &'a Lifting<'a>,
    /// Whether a failed `assert` counts in this function.
    pub(crate) asserts_count: bool,
    pub(crate) function: &'a image::Function,
    registers: Vec<Register>,
    instructions: Vec<Instruction>,
    location: Option<LocationId>,
    /// How the block ends, if before its end.
    pub(crate) ends: Option<TerminatorKind>,
    /// The number of the block.
    block: usize,
    implicit: Vec<(usize, usize)>,
    overflows: Vec<(usize, usize)>,
}

impl Lifting<'_> {
    pub(crate) fn function(
        &self,
        function: &image::Function,
        name: String,
        locations: &mut Locations,
    ) -> Made {
        let (_, result) = signature(function);
        let registers = function.registers.iter();
        let registers = registers
            .map(|&width| Register { width: if width == 0 { 64 } else { width }, name: None })
            .collect();
        let mut body = Body {
            lifting: self,
            asserts_count: self.asserts_count || self.errors.contains(&name),
            function,
            registers,
            instructions: Vec::new(),
            location: None,
            ends: None,
            block: 0,
            implicit: Vec::new(),
            overflows: Vec::new(),
        };
        let is_error = self.errors.contains(&name) && !fails(function);
        let is_section = name.starts_with("__VERIFIER_atomic_");
        let (mut blocks, mut silent) = (Vec::new(), Vec::new());
        for (number, block) in function.blocks.iter().enumerate() {
            body.block = number;
            if number == 0 && is_error {
                body.emit(Op::Assert { condition: Operand::constant(0, 1) }, None);
            }
            if number == 0 && is_section {
                body.emit(Op::SectionBegin, None);
            }
            for instruction in &block.instructions {
                body.location = self.location(instruction.site, locations).or(body.location);
                let from = body.instructions.len();
                body.instruction(instruction);
                let found = records::silent(instruction, &body.instructions[from..]);
                silent.extend(found.into_iter().map(|at| (number, from + at)));
                if body.ends.is_some() {
                    break;
                }
            }
            let from = body.instructions.len();
            let kind = match body.ends.take() {
                Some(kind) => kind,
                None => body.terminator(&block.terminator, result, is_section),
            };
            silent.extend((from..body.instructions.len()).map(|at| (number, at)));
            let terminator = Terminator { kind, location: body.location };
            let params = block.parameters.iter().map(|&register| RegisterId(register)).collect();
            let instructions = std::mem::take(&mut body.instructions);
            blocks.push(Block { label: None, params, instructions, terminator });
        }
        let params = (0..function.parameters).map(RegisterId).collect();
        let Body { registers, implicit, overflows, .. } = body;
        let function = Function { name, params, result, registers, blocks };
        Made { function, silent, implicit, overflows }
    }

    fn location(&self, site: u64, locations: &mut Locations) -> Option<LocationId> {
        let place = self.file.sites.get(site_number(site)?)?;
        Some(LocationId::from(locations.intern(place)))
    }
}

impl Body<'_> {
    pub(crate) fn emit(&mut self, op: Op, result: Option<RegisterId>) {
        self.instructions.push(Instruction { op, result, location: self.location });
    }

    pub(crate) fn register(&mut self, width: u8) -> RegisterId {
        self.registers.push(Register { width, name: None });
        RegisterId::from(self.registers.len() - 1)
    }

    /// How wide a register of the image is; 0 if it has more than 64 bits.
    pub(crate) fn image_width(&self, register: u32) -> u8 {
        self.function.registers[register as usize]
    }

    /// A value in a new register.
    pub(crate) fn compute(&mut self, op: Op, width: u8) -> Operand {
        let register = self.register(width);
        self.emit(op, Some(register));
        Operand::Register(register)
    }

    /// Something that is not known happens.
    pub(crate) fn unknown(&mut self, what: &str, result: Option<u32>) {
        let name = format!("{UNKNOWN}{what}");
        self.emit(Op::External { name, args: Vec::new() }, result.map(RegisterId));
    }

    pub(crate) fn operand(&mut self, operand: image::Operand, width: u8) -> Operand {
        match operand {
            image::Operand::Register(register) => Operand::Register(RegisterId(register)),
            image::Operand::Constant(value) => Operand::constant(value, width),
            image::Operand::Address(address) => {
                let (symbol, offset) = symbol_of(address);
                let meaning = self.lifting.file.symbols.get(symbol);
                let names = self.lifting.names;
                let found =
                    meaning.and_then(|meaning| names.operand(self.lifting.number, meaning, offset));
                found.unwrap_or_else(|| {
                    let name = format!("{UNKNOWN}the address of something that no file defines");
                    self.compute(Op::External { name, args: Vec::new() }, width)
                })
            }
            image::Operand::Unknown => {
                let name = "indeterminate".to_string();
                self.compute(Op::External { name, args: Vec::new() }, width)
            }
        }
    }

    /// The width of an operand, if it shows one.
    pub(crate) fn width(&self, operand: image::Operand) -> Option<u8> {
        match operand {
            image::Operand::Register(register) => Some(self.registers[register as usize].width),
            image::Operand::Address(_) => Some(64),
            _ => None,
        }
    }

    pub(crate) fn address(&mut self, operand: image::Operand) -> Operand {
        self.operand(operand, 64)
    }

    pub(crate) fn as_constant(operand: Operand) -> Option<u64> {
        match operand {
            Operand::Constant(Constant { value, .. }) => Some(value),
            _ => None,
        }
    }

    /// The program is wrong unless the condition holds.
    pub(crate) fn check(&mut self, op: BinaryOp, left: Operand, right: Operand) {
        let condition = self.compute(Op::Binary { op, left, right }, 1);
        self.implicit.push((self.block, self.instructions.len()));
        self.emit(Op::Assert { condition }, None);
    }

    /// The same; besides, it is signed overflow that is wrong.
    fn check_overflow(&mut self, op: BinaryOp, left: Operand, right: Operand) {
        self.check(op, left, right);
        self.overflows.push((self.block, self.instructions.len() - 1));
    }

    /// Signed arithmetic has overflowed.
    pub(crate) fn overflows(&mut self) {
        self.overflows.push((self.block, self.instructions.len()));
        self.fail();
    }

    fn instruction(&mut self, instruction: &image::Instruction) {
        let result = instruction.result;
        let is_scalar = result.is_none() || instruction.width > 0;
        let to = result.map(RegisterId);
        match &instruction.op {
            image::Op::Binary { op, width, left, right } => {
                let (left, right) = (self.operand(*left, *width), self.operand(*right, *width));
                self.check_binary(*op, left, right, *width);
                self.emit(Op::Binary { op: *op, left, right }, to);
            }
            image::Op::Cast { cast, from, value } => {
                let value = self.operand(*value, *from);
                if *from == instruction.width {
                    // The same bits.
                    let right = Operand::constant(0, *from);
                    let op = BinaryOp::Or;
                    self.emit(Op::Binary { op, left: value, right }, to);
                } else {
                    self.emit(Op::Cast { cast: *cast, value }, to);
                }
            }
            image::Op::Select { condition, then, otherwise } if is_scalar => {
                let condition = self.operand(*condition, 1);
                let then = self.operand(*then, instruction.width);
                let otherwise = self.operand(*otherwise, instruction.width);
                self.emit(Op::Select { condition, then, otherwise }, to);
            }
            image::Op::Load { size, order, address, .. } => {
                let (address, size, order) = (self.address(*address), *size, memory(*order));
                let to = to.unwrap_or_else(|| self.register(8 * size));
                self.emit(Op::Load { address, size, order }, Some(to));
            }
            image::Op::Store { size, order, address, value, .. } => {
                let address = self.address(*address);
                let value = self.operand(*value, 8 * size);
                self.emit(Op::Store { address, size: *size, value, order: memory(*order) }, None);
            }
            image::Op::Rmw { op, size, order, address, value, .. } => {
                let address = self.address(*address);
                let value = self.operand(*value, 8 * size);
                let (op, size, order) = (*op, *size, memory(*order));
                self.emit(Op::Rmw { op, address, size, value, order }, to);
            }
            image::Op::CompareExchange { size, order, address, expected, new, .. } => {
                let address = self.address(*address);
                let expected = self.operand(*expected, 8 * size);
                let new = self.operand(*new, 8 * size);
                let (size, order) = (*size, memory(*order));
                self.emit(Op::CompareExchange { address, size, expected, new, order }, to);
            }
            image::Op::Fence { .. } => self.emit(Op::Fence { order: MemoryOrder::SeqCst }, None),
            image::Op::Slot { size, .. } => match size {
                image::Operand::Constant(size) if (1..=1 << 20).contains(size) => {
                    self.emit(Op::Slot { size: *size as u32 }, to);
                }
                _ => {
                    let (size, storage) = (self.operand(*size, 64), Storage::Call);
                    self.emit(Op::Alloc { size, storage }, to);
                }
            },
            // A variadic function cannot look at its other arguments: `va_start` is not known.
            image::Op::Call { callee, arguments, .. } => match self.address(*callee) {
                Operand::Function(function) => {
                    let given = to.filter(|_| is_scalar);
                    self.call(function, arguments, given, instruction.width);
                    result.filter(|_| !is_scalar).into_iter().for_each(|at| self.take_wide(at));
                }
                _ => self.unknown("a call of what is no function", result),
            },
            image::Op::Leave { name, callee, arguments, .. } => {
                let given = result.filter(|_| is_scalar);
                self.leave(name, *callee, arguments, given, instruction.width);
                if let Some(result) = result.filter(|_| !is_scalar && self.ends.is_none()) {
                    self.take_wide(result);
                }
            }
            image::Op::Assert { condition } => {
                let condition = self.operand(*condition, 1);
                self.emit(Op::Assert { condition }, None);
            }
            image::Op::Copy { to, from, size, .. } => self.copy(*to, *from, *size),
            image::Op::Fill { to, byte, size, .. } => self.fill(*to, *byte, *size),
            image::Op::Opaque { name, .. } if name.starts_with(THREAD_LOCAL) => {
                let variable = name.split_once(' ').map_or("", |(_, variable)| variable);
                match (self.lifting.names.own(self.lifting.number, variable), to) {
                    (Some(global), Some(_)) => self.emit(Op::Own { global }, to),
                    _ => self.unknown("a thread-local variable that no file defines", result),
                }
            }
            image::Op::Opaque { name, .. } if is_harmless(name) => {
                if let Some(result) = to {
                    let name = "indeterminate".to_string();
                    self.emit(Op::External { name, args: Vec::new() }, Some(result));
                }
            }
            image::Op::Opaque { name, arguments, .. }
                if is_scalar && self.counts_bits(name, arguments, to, instruction.width) => {}
            image::Op::Opaque { name, .. } if is_number(name) && is_scalar => {
                if let Some(result) = to {
                    let name = format!("{ANY}result of {name}");
                    self.emit(Op::External { name, args: Vec::new() }, Some(result));
                }
            }
            image::Op::Opaque { name, arguments, .. }
                if self.part(name, arguments, to, instruction.width) => {}
            image::Op::Opaque { name, .. } => {
                self.unknown(&format!("an operation that is not modelled: {name}"), result);
            }
            image::Op::Hooked { name, arguments } => {
                self.library(name, arguments, result, instruction.width);
            }
            image::Op::Mark { region: true, name, .. } => {
                let begins = name.contains("begin");
                self.emit(if begins { Op::RegionBegin } else { Op::RegionEnd }, None);
            }
            image::Op::Mark { .. } if result.is_none() => (),
            image::Op::LoadWide { size, address, .. } => self.load_wide(*address, *size, result),
            image::Op::StoreWide { size, address, value, .. } => {
                self.store_wide(*address, *size, *value);
            }
            image::Op::Select { .. } | image::Op::Mark { .. } => {
                self.unknown("a value of more than 64 bits", result);
            }
        }
    }

    /// Divisions and shifts that C does not define.
    fn check_binary(&mut self, op: BinaryOp, left: Operand, right: Operand, width: u8) {
        let (least, ones) = (1 << (width - 1), u64::MAX >> (64 - width));
        let may_be = |operand: Operand, value: u64| {
            Self::as_constant(operand).is_none_or(|constant| constant == value)
        };
        // The quotient has no place: the processor fails, and so it does for the remainder.
        if matches!(op, BinaryOp::SDiv | BinaryOp::SRem)
            && may_be(left, least)
            && may_be(right, ones)
        {
            let mut differs = |operand: Operand, value: u64| {
                let right = Operand::constant(value, width);
                self.compute(Op::Binary { op: BinaryOp::Xor, left: operand, right }, width)
            };
            let (left, right) = (differs(left, least), differs(right, ones));
            let either = self.compute(Op::Binary { op: BinaryOp::Or, left, right }, width);
            self.check_overflow(BinaryOp::Ne, either, Operand::constant(0, width));
        }
        match op {
            BinaryOp::UDiv | BinaryOp::SDiv | BinaryOp::URem | BinaryOp::SRem
                if Self::as_constant(right).is_none_or(|divisor| divisor == 0) =>
            {
                self.check(BinaryOp::Ne, right, Operand::constant(0, width));
            }
            BinaryOp::Shl | BinaryOp::LShr | BinaryOp::AShr
                if Self::as_constant(right).is_none_or(|amount| amount >= width.into()) =>
            {
                self.check(BinaryOp::Ult, right, Operand::constant(width.into(), width));
            }
            _ => (),
        }
    }

    /// Offsets and sizes of the words that so many bytes are made of.
    pub(crate) fn words(size: u64) -> Vec<(u64, u8)> {
        let (mut words, mut at) = (Vec::new(), 0);
        while at < size {
            let word = [8, 4, 2, 1].into_iter().find(|&word| at + u64::from(word) <= size);
            let word = word.expect("one byte is left");
            words.push((at, word));
            at += u64::from(word);
        }
        words
    }

    pub(crate) fn at(&mut self, address: Operand, offset: u64) -> Operand {
        if offset == 0 {
            return address;
        }
        let right = Operand::constant(offset, 64);
        self.compute(Op::Binary { op: BinaryOp::Add, left: address, right }, 64)
    }

    fn copy(&mut self, to: image::Operand, from: image::Operand, size: image::Operand) {
        let image::Operand::Constant(size @ 0..=MOST_BYTES) = size else {
            return self.by_model("memmove", [to, from, size], [64, 64, 64]);
        };
        let (to, from) = (self.address(to), self.address(from));
        let order = MemoryOrder::Plain;
        let mut values = Vec::new();
        for (offset, size) in Self::words(size) {
            let address = self.at(from, offset);
            values.push(self.compute(Op::Load { address, size, order }, 8 * size));
        }
        for ((offset, size), value) in Self::words(size).into_iter().zip(values) {
            let address = self.at(to, offset);
            self.emit(Op::Store { address, size, value, order }, None);
        }
    }

    fn fill(&mut self, to: image::Operand, byte: image::Operand, size: image::Operand) {
        let (image::Operand::Constant(size @ 0..=MOST_BYTES), image::Operand::Constant(byte)) =
            (size, byte)
        else {
            let byte_width = self.width(byte).unwrap_or(8);
            return self.by_model("memset", [to, byte, size], [64, byte_width, 64]);
        };
        let to = self.address(to);
        self.fill_with(to, byte, size);
    }

    /// A copy or fill whose size or value depends on data is a loop.
    fn by_model(&mut self, name: &str, operands: [image::Operand; 3], widths: [u8; 3]) {
        let Some(&model) = self.lifting.names.models.get(name) else {
            return self.unknown("a copy or fill whose size or value depends on data", None);
        };
        let (params, _) = &self.lifting.signatures[model.index()];
        let params = params.clone();
        let mut args = Vec::new();
        for ((operand, width), param) in operands.into_iter().zip(widths).zip(params) {
            let value = self.operand(operand, width);
            args.push(self.resized(value, width, param));
        }
        self.emit(Op::Call { callee: Callee::Direct(model), args }, None);
    }

    pub(crate) fn fill_with(&mut self, to: Operand, byte: u64, size: u64) {
        for (offset, size) in Self::words(size) {
            let address = self.at(to, offset);
            let value = Operand::constant((byte & 0xff) * 0x0101_0101_0101_0101, 8 * size);
            self.emit(Op::Store { address, size, value, order: MemoryOrder::Plain }, None);
        }
    }

    fn target(&mut self, target: &image::Target) -> Target {
        let params = &self.function.blocks[target.block as usize].parameters;
        let args = target.arguments.iter().zip(params).map(|(&arg, &param)| {
            match self.image_width(param) {
                0 => self.wide(arg),
                width => self.operand(arg, width),
            }
        });
        let args = args.collect();
        Target { block: foretrace_program::BlockId(target.block), args }
    }

    fn terminator(
        &mut self,
        terminator: &image::Terminator,
        result: Option<u8>,
        is_section: bool,
    ) -> TerminatorKind {
        match terminator {
            image::Terminator::Jump(target) | image::Terminator::Invoked { normal: target, .. } => {
                TerminatorKind::Jump(self.target(target))
            }
            image::Terminator::Branch { condition, then, otherwise, .. } => {
                let condition = self.operand(*condition, 1);
                let (then, otherwise) = (self.target(then), self.target(otherwise));
                TerminatorKind::Branch { condition, then, otherwise }
            }
            image::Terminator::Switch { value, width, default: Some(default), cases, .. } => {
                let value = self.operand(*value, *width);
                let cases = cases.iter().map(|(case, target)| (*case, self.target(target)));
                let cases = cases.collect();
                TerminatorKind::Switch { value, cases, default: self.target(default) }
            }
            image::Terminator::Return(value) => {
                let value = match (value, result) {
                    (Some(value), Some(width)) => Some(self.operand(*value, width)),
                    (None, Some(width)) => Some(self.operand(image::Operand::Unknown, width)),
                    // It may also be one that nobody knows.
                    (Some(value), None) => {
                        self.give_wide(*value);
                        None
                    }
                    (None, None) => None,
                };
                if is_section {
                    self.emit(Op::SectionEnd, None);
                }
                TerminatorKind::Return(value)
            }
            image::Terminator::Unreachable => TerminatorKind::Unreachable,
            image::Terminator::Unsupported(reason) => {
                self.unknown(reason, None);
                TerminatorKind::Exit
            }
            image::Terminator::Switch { .. } | image::Terminator::Resume => {
                self.unknown("a jump to a computed place", None);
                TerminatorKind::Exit
            }
        }
    }
}

fn memory(order: u8) -> MemoryOrder {
    match u32::from(order) {
        foretrace_recording::site::order::PLAIN => MemoryOrder::Plain,
        foretrace_recording::site::order::RELAXED => MemoryOrder::Relaxed,
        foretrace_recording::site::order::ACQUIRE => MemoryOrder::Acquire,
        foretrace_recording::site::order::RELEASE => MemoryOrder::Release,
        foretrace_recording::site::order::ACQ_REL => MemoryOrder::AcqRel,
        _ => MemoryOrder::SeqCst,
    }
}

/// Whether a function fails by itself.
fn fails(function: &image::Function) -> bool {
    let instructions = function.blocks.iter().flat_map(|block| &block.instructions);
    instructions.into_iter().any(|instruction| match &instruction.op {
        image::Op::Leave { name, .. } => matches!(name.as_str(), "__assert_fail" | "__assert"),
        _ => false,
    })
}

/// The address of a variable that each thread has for itself; its name follows.
const THREAD_LOCAL: &str = "llvm.threadlocal.address";

/// Operations of the compiler that change nothing, and values that are not known.
fn is_harmless(name: &str) -> bool {
    [
        "indeterminate",
        "llvm.stacksave",
        "llvm.stackrestore",
        "llvm.lifetime",
        "llvm.dbg",
        "llvm.assume",
    ]
    .iter()
    .any(|start| name.starts_with(start))
}

/// Operations on numbers that have no effect, and are not modelled: those of floating point.
fn is_number(name: &str) -> bool {
    let first = name.split(' ').next().unwrap_or(name);
    let plain = ["fadd", "fsub", "fmul", "fdiv", "frem", "fneg", "fcmp"];
    let casts = ["sitofp", "uitofp", "fptosi", "fptoui", "fpext", "fptrunc"];
    let intrinsics = [
        "llvm.fabs.",
        "llvm.sqrt.",
        "llvm.fmuladd.",
        "llvm.fma.",
        "llvm.floor.",
        "llvm.ceil.",
        "llvm.trunc.",
        "llvm.round.",
        "llvm.rint.",
        "llvm.ctpop.",
        "llvm.ctlz.",
        "llvm.cttz.",
    ];
    plain.contains(&first)
        || casts.contains(&first)
        || intrinsics.iter().any(|intrinsic| name.starts_with(intrinsic))
}
