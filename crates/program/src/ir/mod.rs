//! What a program is made of.
//!
//! A function is a graph of blocks. Registers are bit-vectors of 1 to 64 bits, each defined in one
//! place of the text: as a parameter of the function, a parameter of a block, or the result of an
//! instruction. Values that differ with the way into a block are its parameters, for which every
//! jump to it has arguments. Memory is reached by addresses of 64 bits only; the address of a
//! global variable is an operand of its own, so that who analyses a program sees at once which
//! accesses are direct.
//!
//! | file | what is in it |
//! | --- | --- |
//! | `ids` | indices of functions, blocks, registers and globals |
//! | `instruction` | instructions, terminators, operands |
//! | `graph` | successors, orders, dominators; the call graph |
//! | `canonical` | blocks and registers in the order in which a reader meets them |

mod canonical;
mod graph;
mod ids;
mod instruction;

pub use foretrace_trace::{
    BarrierId, CondId, LocationId, LockId, MemoryOrder, Mode, Names, Patience, SemId,
};
pub use foretrace_words::{BinaryOp, Cast, RmwOp, cut, fits, signed};
pub use graph::Dominators;
pub use ids::*;
pub use instruction::*;

/// How many bits an address has.
pub const ADDRESS_WIDTH: u8 = 64;
/// The widest register.
pub const MAX_WIDTH: u8 = 64;

/// Functions, the objects that they share, and the threads that run from the start.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Program {
    /// Variables that live as long as the program.
    pub globals: Vec<Global>,
    /// Locks.
    pub locks: Vec<Lock>,
    /// Names of the condition variables.
    pub conds: Vec<String>,
    /// Counting semaphores.
    pub semaphores: Vec<Semaphore>,
    /// Barriers.
    pub barriers: Vec<Barrier>,
    /// Functions.
    pub functions: Vec<Function>,
    /// What runs from the start.
    pub threads: Vec<Thread>,
    /// Source locations, as strings.
    pub locations: Names,
}

/// A variable with a fixed address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Global {
    /// Unique among globals and functions.
    pub name: String,
    /// In bytes, at least 1.
    pub size: u32,
    /// The first bytes at the start; the rest is zero. The last of them is not zero.
    pub initial: Vec<u8>,
}

/// A mutex or reader-writer lock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lock {
    /// Unique among locks.
    pub name: String,
    /// Whether its holder may take it again; otherwise that blocks for ever.
    pub recursive: bool,
}

/// A counting semaphore.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Semaphore {
    /// Unique among semaphores.
    pub name: String,
    /// How many waits pass before the first post.
    pub count: u32,
}

/// A barrier.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Barrier {
    /// Unique among barriers.
    pub name: String,
    /// How many threads it waits for; at least 1.
    pub parties: u32,
}

/// A thread that runs from the start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Thread {
    /// Unique among these threads.
    pub name: String,
    /// What it runs.
    pub function: FunctionId,
    /// With which arguments.
    pub args: Vec<u64>,
}

/// A function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// Unique among globals and functions.
    pub name: String,
    /// The first registers hold the arguments.
    pub params: Vec<RegisterId>,
    /// How wide its result is, if it has one.
    pub result: Option<u8>,
    /// All registers.
    pub registers: Vec<Register>,
    /// The blocks; the first one is the entry, which has no parameters and to which nothing jumps.
    pub blocks: Vec<Block>,
}

/// A value that is computed at most once each time its definition is passed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Register {
    /// In bits, 1 to 64.
    pub width: u8,
    /// How it is called in texts; only a hint.
    pub name: Option<String>,
}

/// Instructions that run one after the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// How it is called in texts; only a hint.
    pub label: Option<String>,
    /// Registers to which a jump here gives its arguments.
    pub params: Vec<RegisterId>,
    /// In order.
    pub instructions: Vec<Instruction>,
    /// Where it goes on.
    pub terminator: Terminator,
}

/// Where an instruction is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Site {
    /// Its function.
    pub function: FunctionId,
    /// Its block.
    pub block: BlockId,
    /// Its place in the block; that of the terminator is the number of instructions.
    pub index: u32,
}

impl Global {
    /// All its bytes at the start.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.initial.clone();
        bytes.resize(self.size as usize, 0);
        bytes
    }
}

impl Function {
    /// The block that runs first.
    pub const ENTRY: BlockId = BlockId(0);

    /// A block.
    pub fn block(&self, block: BlockId) -> &Block {
        &self.blocks[block.index()]
    }

    /// How wide a register is.
    pub fn width(&self, register: RegisterId) -> u8 {
        self.registers[register.index()].width
    }

    /// How wide an operand is.
    pub fn operand_width(&self, operand: Operand) -> u8 {
        match operand {
            Operand::Register(register) => self.width(register),
            Operand::Constant(constant) => constant.width,
            Operand::Global { .. } | Operand::Function(_) => ADDRESS_WIDTH,
        }
    }

    /// The ids of the blocks.
    pub fn block_ids(&self) -> impl ExactSizeIterator<Item = BlockId> + use<> {
        (0..self.blocks.len()).map(BlockId::from)
    }

    /// All instructions, block by block.
    pub fn instructions(&self) -> impl Iterator<Item = (BlockId, usize, &Instruction)> {
        self.block_ids().flat_map(|block| {
            let list = self.block(block).instructions.iter().enumerate();
            list.map(move |(index, instruction)| (block, index, instruction))
        })
    }
}

impl Program {
    /// A function.
    pub fn function(&self, function: FunctionId) -> &Function {
        &self.functions[function.index()]
    }

    /// A global variable.
    pub fn global(&self, global: GlobalId) -> &Global {
        &self.globals[global.index()]
    }

    /// The ids of the functions.
    pub fn function_ids(&self) -> impl ExactSizeIterator<Item = FunctionId> + use<> {
        (0..self.functions.len()).map(FunctionId::from)
    }

    /// The function of that name.
    pub fn find_function(&self, name: &str) -> Option<FunctionId> {
        self.functions.iter().position(|function| function.name == name).map(FunctionId::from)
    }

    /// The global variable of that name.
    pub fn find_global(&self, name: &str) -> Option<GlobalId> {
        self.globals.iter().position(|global| global.name == name).map(GlobalId::from)
    }

    /// The instruction at a site; `None` where the terminator is.
    pub fn instruction(&self, site: Site) -> Option<&Instruction> {
        self.function(site.function).block(site.block).instructions.get(site.index as usize)
    }

    /// The source location of a site.
    pub fn location(&self, site: Site) -> Option<&str> {
        let block = self.function(site.function).block(site.block);
        let location = match block.instructions.get(site.index as usize) {
            Some(instruction) => instruction.location,
            None => block.terminator.location,
        };
        location.map(|location| self.locations.get(location.index()))
    }
}
