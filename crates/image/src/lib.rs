//! The code of a program, as its images have it: the one decoder, for the walk along a recorded
//! path and for the verification of programs. It does not know traces, nor what the code is for.
//!
//! **Follows.** `docs/image.md`. Symbols are resolved while it is read; what an image says of
//! itself is checked only as far as its users need it to be safe: registers and blocks that are
//! named exist.

// The fields are named after what they are; `docs/image.md` says what they mean.
#![allow(missing_docs)]

pub mod loaded;

use foretrace_recording::image::{self, flags, opcode, operand, take, take_signed, terminator};
use foretrace_words::{BinaryOp, Cast, RmwOp};

/// What the code of a module is.
#[derive(Clone, Debug)]
pub struct Code<'a> {
    /// The address of its first site; each has 16 bytes.
    pub sites_base: u64,
    /// Of each site whether it is in a header of the system: its records may have the site of the
    /// user's call instead.
    pub is_system: Vec<bool>,
    /// Its strings, each ended by a NUL.
    pub strings: &'a [u8],
    /// Its functions, encoded.
    pub image: &'a [u8],
    /// The addresses that the image names.
    pub symbols: &'a [u64],
    /// Addresses and contents of constants. Those that were too long are not there.
    pub constants: Vec<(u64, &'a [u8])>,
    /// Addresses and names of the functions that are instrumented.
    pub functions: &'a [(u64, String)],
}

/// A function.
#[derive(Debug)]
pub struct Function {
    pub address: u64,
    /// What records call it. The linker keeps one of several functions that have the same name, and
    /// so one address.
    pub identity: u64,
    pub name: String,
    pub enters: bool,
    /// It is defined in a header of the system.
    pub is_system: bool,
    pub is_variadic: bool,
    /// Bits of what it returns, 0 if that is nothing or no scalar.
    pub result: u8,
    /// Widths of all registers; the first ones hold the arguments.
    pub registers: Vec<u8>,
    pub parameters: u32,
    pub blocks: Vec<Block>,
}

impl Function {
    /// The site of its first instruction that has one, else 0.
    pub fn first_site(&self) -> u64 {
        let instructions = self.blocks.iter().flat_map(|block| &block.instructions);
        instructions.map(|instruction| instruction.site).find(|&site| site != 0).unwrap_or(0)
    }
}

/// Instructions in a row.
#[derive(Debug)]
pub struct Block {
    pub parameters: Vec<u32>,
    pub instructions: Vec<Instruction>,
    pub terminator: Terminator,
}

/// One instruction.
#[derive(Debug)]
pub struct Instruction {
    /// Its address, 0 if it has none.
    pub site: u64,
    pub result: Option<u32>,
    /// Bits of the result, 0 if there is none or it is no scalar.
    pub width: u8,
    pub op: Op,
}

/// A value that an instruction uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    Register(u32),
    Constant(u64),
    /// The address of a symbol and what is added to it.
    Address(u64),
    Unknown,
}

/// What a computation that is not modelled does to memory, without a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    None,
    /// It may read and change any.
    Memory,
    /// The same, and its arguments point to lists of variadic arguments.
    List,
}

/// What an instruction does.
#[derive(Debug)]
pub enum Op {
    Binary {
        op: BinaryOp,
        width: u8,
        left: Operand,
        right: Operand,
    },
    Cast {
        cast: Cast,
        from: u8,
        value: Operand,
    },
    Select {
        condition: Operand,
        then: Operand,
        otherwise: Operand,
    },
    Load {
        private: bool,
        size: u8,
        order: u8,
        address: Operand,
    },
    Store {
        private: bool,
        size: u8,
        order: u8,
        address: Operand,
        value: Operand,
    },
    Rmw {
        private: bool,
        op: RmwOp,
        size: u8,
        order: u8,
        address: Operand,
        value: Operand,
    },
    CompareExchange {
        private: bool,
        size: u8,
        order: u8,
        address: Operand,
        expected: Operand,
        new: Operand,
    },
    Fence {
        recorded: bool,
    },
    Slot {
        private: bool,
        size: Operand,
    },
    Call {
        callee: Operand,
        arguments: Vec<Operand>,
        variadic_from: Option<u32>,
    },
    Leave {
        returns: bool,
        name: String,
        callee: Operand,
        arguments: Vec<Operand>,
    },
    Assert {
        condition: Operand,
    },
    Copy {
        to_private: bool,
        from_private: bool,
        size_recorded: bool,
        to: Operand,
        from: Operand,
        size: Operand,
    },
    Fill {
        private: bool,
        size_recorded: bool,
        to: Operand,
        byte: Operand,
        size: Operand,
    },
    Opaque {
        name: String,
        effect: Effect,
        arguments: Vec<Operand>,
    },
    LoadWide {
        private: bool,
        size: u64,
        address: Operand,
    },
    StoreWide {
        private: bool,
        size: u64,
        address: Operand,
        value: Operand,
    },
    Hooked {
        name: String,
        arguments: Vec<Operand>,
    },
    Mark {
        region: bool,
        name: String,
        arguments: Vec<Operand>,
    },
}

/// Where a block goes on.
#[derive(Debug)]
pub struct Target {
    pub block: u32,
    pub arguments: Vec<Operand>,
}

/// How a block ends.
#[derive(Debug)]
pub enum Terminator {
    Jump(Target),
    Branch {
        flags: u8,
        site: u64,
        condition: Operand,
        then: Target,
        otherwise: Target,
    },
    Switch {
        constant: bool,
        site: u64,
        value: Operand,
        width: u8,
        /// None of a jump to a computed label.
        default: Option<Target>,
        cases: Vec<(u64, Target)>,
    },
    Return(Option<Operand>),
    Unreachable,
    Invoked {
        normal: Target,
        unwind: Target,
    },
    Unsupported(String),
    Resume,
}

/// The functions of a module; `None` if the image cannot be read.
pub fn decode(code: &Code<'_>) -> Option<Vec<Function>> {
    let mut reader = Reader { rest: code.image, code, registers: Vec::new() };
    if reader.number()? != image::VERSION {
        return None;
    }
    let count = reader.count()?;
    let functions: Option<Vec<Function>> = (0..count).map(|_| reader.function()).collect();
    functions.filter(|_| reader.rest.is_empty())
}

struct Reader<'c> {
    rest: &'c [u8],
    code: &'c Code<'c>,
    registers: Vec<u8>,
}

impl Reader<'_> {
    fn number(&mut self) -> Option<u64> {
        take(&mut self.rest)
    }

    /// How many of something follow, each of at least a byte.
    fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.number()?).ok()?;
        (count <= self.rest.len()).then_some(count)
    }

    fn small(&mut self) -> Option<u8> {
        u8::try_from(self.number()?).ok()
    }

    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.count()?;
        (0..count).map(|_| item(self)).collect()
    }

    fn string(&mut self) -> Option<String> {
        let start = usize::try_from(self.number()?).ok()?;
        let bytes = self.code.strings.get(start..)?;
        let end = bytes.iter().position(|&byte| byte == 0)?;
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }

    fn site(&mut self) -> Option<u64> {
        Some(match self.number()? {
            0 => 0,
            number => self.code.sites_base.wrapping_add((number - 1).wrapping_mul(16)),
        })
    }

    fn register(&mut self) -> Option<u32> {
        let register = self.number()?;
        (register < self.registers.len() as u64).then_some(register as u32)
    }

    fn operand(&mut self) -> Option<Operand> {
        let number = self.number()?;
        Some(match number & 3 {
            operand::REGISTER => {
                let register = number >> 2;
                if register >= self.registers.len() as u64 {
                    return None;
                }
                Operand::Register(register as u32)
            }
            operand::CONSTANT => Operand::Constant(self.number()?),
            operand::SYMBOL => {
                let offset = take_signed(&mut self.rest)?;
                let address = *self.code.symbols.get((number >> 2) as usize)?;
                // A weak symbol that is nowhere.
                if address == 0 {
                    Operand::Unknown
                } else {
                    Operand::Address(address.wrapping_add_signed(offset))
                }
            }
            _ => Operand::Unknown,
        })
    }

    fn width(&self, operand: Operand) -> Option<u8> {
        match operand {
            Operand::Register(register) => self.registers.get(register as usize).copied(),
            _ => None,
        }
    }

    fn function(&mut self) -> Option<Function> {
        let symbol = usize::try_from(self.number()?).ok()?;
        let address = *self.code.symbols.get(symbol)?;
        let name = self.string()?;
        let flags = self.number()?;
        let identity = match flags & flags::OWN_SYMBOL {
            0 => address,
            _ => *self.code.symbols.get(usize::try_from(self.number()?).ok()?)?,
        };
        let result = self.small()?;
        self.registers = self.list(Self::small)?;
        if self.registers.iter().any(|&width| width > 64) {
            return None;
        }
        let parameters = self.number()?;
        if parameters > self.registers.len() as u64 {
            return None;
        }
        let blocks = self.list(Self::block)?;
        let block_count = blocks.len() as u32;
        let exists = |target: &Target| {
            let block = blocks.get(target.block as usize);
            block.is_some_and(|block| block.parameters.len() == target.arguments.len())
        };
        if block_count == 0
            || !blocks.iter().flat_map(|block| block.terminator.targets()).all(exists)
        {
            return None;
        }
        Some(Function {
            address,
            identity,
            name,
            enters: flags & flags::ENTERS != 0,
            is_system: false,
            is_variadic: flags & flags::VARIADIC != 0,
            result,
            registers: std::mem::take(&mut self.registers),
            parameters: parameters as u32,
            blocks,
        })
    }

    fn block(&mut self) -> Option<Block> {
        let parameters = self.list(Self::register)?;
        let instructions = self.list(Self::instruction)?;
        Some(Block { parameters, instructions, terminator: self.terminator()? })
    }

    fn target(&mut self) -> Option<Target> {
        let block = u32::try_from(self.number()?).ok()?;
        Some(Target { block, arguments: self.list(Self::operand)? })
    }

    fn instruction(&mut self) -> Option<Instruction> {
        let opcode = self.number()?;
        let site = self.site()?;
        let result = match self.number()? {
            0 => None,
            number if number <= self.registers.len() as u64 => Some((number - 1) as u32),
            _ => return None,
        };
        let width = result.map_or(0, |register| self.registers[register as usize]);
        Some(Instruction { site, result, width, op: self.op(opcode)? })
    }

    fn op(&mut self, opcode: u64) -> Option<Op> {
        Some(match opcode {
            opcode::BINARY => {
                let op = *BinaryOp::ALL.get(usize::from(self.small()?))?;
                let before = self.rest;
                let (left, right) = (self.operand()?, self.operand()?);
                let width =
                    self.width(left).or(self.width(right)).or_else(|| constant_width(before));
                let width = width.filter(|width| (1..=64).contains(width))?;
                Op::Binary { op, width, left, right }
            }
            opcode::CAST => {
                let cast = *Cast::ALL.get(usize::from(self.small()?))?;
                let before = self.rest;
                let value = self.operand()?;
                let from = self.width(value).or_else(|| constant_width(before));
                let from = from.filter(|width| (1..=64).contains(width))?;
                Op::Cast { cast, from, value }
            }
            opcode::SELECT => Op::Select {
                condition: self.operand()?,
                then: self.operand()?,
                otherwise: self.operand()?,
            },
            opcode::LOAD..=opcode::COMPARE_EXCHANGE | opcode::LOAD_WIDE | opcode::STORE_WIDE => {
                self.access(opcode)?
            }
            opcode::FENCE => Op::Fence { recorded: self.number()? != 0 },
            opcode::SLOT => {
                Op::Slot { private: self.number()? & flags::PRIVATE != 0, size: self.operand()? }
            }
            opcode::CALL => {
                let flags = self.number()?;
                let callee = self.operand()?;
                let arguments = self.list(Self::operand)?;
                let variadic_from = self.named_arguments(flags)?;
                Op::Call { callee, arguments, variadic_from }
            }
            opcode::LEAVE => {
                let flags = self.number()?;
                let name = self.string()?;
                let callee = self.operand()?;
                let arguments = self.list(Self::operand)?;
                self.named_arguments(flags)?;
                Op::Leave { returns: flags & flags::NO_RETURN == 0, name, callee, arguments }
            }
            opcode::ASSERT => Op::Assert { condition: self.operand()? },
            opcode::COPY => {
                let flags = self.number()?;
                Op::Copy {
                    to_private: flags & flags::PRIVATE != 0,
                    from_private: flags & flags::PRIVATE_SOURCE != 0,
                    size_recorded: flags & flags::SIZE_RECORDED != 0,
                    to: self.operand()?,
                    from: self.operand()?,
                    size: self.operand()?,
                }
            }
            opcode::FILL => {
                let flags = self.number()?;
                Op::Fill {
                    private: flags & flags::PRIVATE != 0,
                    size_recorded: flags & flags::SIZE_RECORDED != 0,
                    to: self.operand()?,
                    byte: self.operand()?,
                    size: self.operand()?,
                }
            }
            opcode::OPAQUE | opcode::OPAQUE_MEMORY | opcode::OPAQUE_LIST => {
                let name = self.string()?;
                let effect = match opcode {
                    opcode::OPAQUE => Effect::None,
                    opcode::OPAQUE_MEMORY => Effect::Memory,
                    _ => Effect::List,
                };
                Op::Opaque { name, effect, arguments: self.list(Self::operand)? }
            }
            opcode::HOOKED => {
                let name = self.string()?;
                Op::Hooked { name, arguments: self.list(Self::operand)? }
            }
            opcode::MARK => {
                let name = self.string()?;
                let region = name.starts_with("foretrace_atomic_");
                Op::Mark { region, name, arguments: self.list(Self::operand)? }
            }
            _ => return None,
        })
    }

    fn named_arguments(&mut self, flags: u64) -> Option<Option<u32>> {
        if flags & flags::VARIADIC_CALL == 0 {
            return Some(None);
        }
        Some(Some(u32::try_from(self.number()?).ok()?))
    }

    fn access(&mut self, opcode: u64) -> Option<Op> {
        let private = self.number()? & flags::PRIVATE != 0;
        if opcode == opcode::LOAD_WIDE || opcode == opcode::STORE_WIDE {
            let (size, address) = (self.number()?, self.operand()?);
            return Some(match opcode {
                opcode::LOAD_WIDE => Op::LoadWide { private, size, address },
                _ => Op::StoreWide { private, size, address, value: self.operand()? },
            });
        }
        let op = if opcode == opcode::RMW { self.small()?.into() } else { 0 };
        let size = self.small().filter(|size| (1..=8).contains(size))?;
        let order = self.small()?;
        let address = self.operand()?;
        Some(match opcode {
            opcode::LOAD => Op::Load { private, size, order, address },
            opcode::STORE => Op::Store { private, size, order, address, value: self.operand()? },
            opcode::RMW => {
                let op = *RmwOp::ALL.get(op)?;
                Op::Rmw { private, op, size, order, address, value: self.operand()? }
            }
            _ => Op::CompareExchange {
                private,
                size,
                order,
                address,
                expected: self.operand()?,
                new: self.operand()?,
            },
        })
    }

    fn terminator(&mut self) -> Option<Terminator> {
        Some(match self.number()? {
            terminator::JUMP => Terminator::Jump(self.target()?),
            terminator::BRANCH => Terminator::Branch {
                flags: self.small()?,
                site: self.site()?,
                condition: self.operand()?,
                then: self.target()?,
                otherwise: self.target()?,
            },
            terminator::SWITCH => {
                let constant = self.number()? & flags::CONSTANT != 0;
                let site = self.site()?;
                let value = self.operand()?;
                let width = self.width(value).unwrap_or(64);
                let default = Some(self.target()?);
                let cases = self.list(|reader| Some((reader.number()?, reader.target()?)))?;
                Terminator::Switch { constant, site, value, width, default, cases }
            }
            terminator::LABEL => {
                let site = self.site()?;
                let value = self.operand()?;
                let cases = self.list(|reader| {
                    let label = usize::try_from(reader.number()?).ok()?;
                    Some((*reader.code.symbols.get(label)?, reader.target()?))
                })?;
                Terminator::Switch { constant: false, site, value, width: 64, default: None, cases }
            }
            terminator::RETURN => Terminator::Return(self.list(Self::operand)?.pop()),
            terminator::UNREACHABLE => Terminator::Unreachable,
            terminator::INVOKED => {
                Terminator::Invoked { normal: self.target()?, unwind: self.target()? }
            }
            terminator::UNSUPPORTED => Terminator::Unsupported(self.string()?),
            terminator::RESUME => Terminator::Resume,
            _ => return None,
        })
    }
}

/// The width of the constant (or unknown value) that an encoding begins with.
fn constant_width(mut bytes: &[u8]) -> Option<u8> {
    let number = take(&mut bytes)?;
    match number & 3 {
        operand::SYMBOL => Some(64),
        _ => u8::try_from(number >> 2).ok(),
    }
}

impl Terminator {
    fn targets(&self) -> Vec<&Target> {
        match self {
            Terminator::Jump(target) => vec![target],
            Terminator::Branch { then, otherwise, .. } => vec![then, otherwise],
            Terminator::Switch { default, cases, .. } => {
                cases.iter().map(|(_, target)| target).chain(default).collect()
            }
            Terminator::Invoked { normal, unwind } => vec![normal, unwind],
            _ => Vec::new(),
        }
    }
}
