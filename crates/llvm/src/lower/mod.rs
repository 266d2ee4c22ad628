//! The image of a function (`docs/image.md`): its code in a language of our own, which says which
//! operations make records.
//!
//! **Computes.** For a function that has no hooks yet, the bytes of its image, which go to the
//! module's tables. Which hooks it will get, [`scope`](crate::scope), [`locals`](crate::locals),
//! [`calls`](crate::calls), [`ranges`](crate::ranges) and the like are asked, as they are when the
//! hooks are made.
//!
//! **Invariant.** Blocks have the numbers that they have in the function. They are lowered in an
//! order in which definitions come before their uses (reverse postorder), so that a value that is
//! only another one's name needs no instruction.
//!
//! **Cost.** Linear in the code, the edges and the arguments that these pass.
//!
//! - [`code`]: registers and bytes;
//! - [`values`]: operands, constants, addresses;
//! - [`scalars`], [`memory`], [`calls`], [`intrinsics`], [`terminators`]: instructions.

mod calls;
mod code;
mod intrinsics;
mod memory;
mod scalars;
mod terminators;
mod values;

use std::collections::{HashMap, HashSet};

use foretrace_recording::image::{flags, opcode, put, terminator};
use llvm_sys::LLVMOpcode::*;
use llvm_sys::core::{LLVMCountIncoming, LLVMGetIncomingBlock, LLVMGetIncomingValue};

use crate::build::Builder;
use crate::ir::{self, Block, Type, Value};
use crate::locals::Locals;
use crate::ranges;
use crate::scope::Scope;
use crate::tables::Tables;

use code::{Code, NOWHERE, Operand, Part};

/// The state while one function is lowered.
struct Lowerer<'a> {
    build: &'a Builder,
    tables: &'a mut Tables,
    scope: &'a Scope,
    locals: &'a Locals,
    function: Value,
    code: Code,
    /// The number of each block.
    numbers: HashMap<Block, u64>,
    values: HashMap<Value, Operand>,
    /// The fields of what is made of several scalars here.
    fields: HashMap<Value, Vec<Operand>>,
    /// What a block gets from another one for its phis.
    incoming: HashMap<(Block, Block), Vec<Value>>,
    /// Whether a block leads to nothing but a failure.
    fails: HashMap<Block, bool>,
}

/// Adds the image of a function to the tables.
pub(crate) fn function(
    build: &Builder,
    tables: &mut Tables,
    scope: &Scope,
    locals: &Locals,
    function: Value,
) {
    let blocks = function.blocks();
    let numbers =
        blocks.iter().enumerate().map(|(number, block)| (*block, number as u64)).collect();
    let mut lowerer = Lowerer {
        build,
        tables,
        scope,
        locals,
        function,
        code: Code::default(),
        numbers,
        values: HashMap::new(),
        fields: HashMap::new(),
        incoming: HashMap::new(),
        fails: HashMap::new(),
    };
    let code = lowerer.function(&blocks);
    tables.add_code(&code);
}

impl Lowerer<'_> {
    fn function(&mut self, blocks: &[Block]) -> Vec<u8> {
        for parameter in self.function.parameters() {
            self.define(parameter);
        }
        let coroutine = ir::attribute_kind("presplitcoroutine");
        let bodies = if self.function.has_attribute(u32::MAX, coroutine) {
            let body = self.unsupported("a coroutine");
            vec![body; blocks.len()]
        } else {
            self.bodies(blocks)
        };

        let mut bytes = Vec::new();
        put(&mut bytes, self.tables.symbol(self.function));
        put(&mut bytes, self.tables.function_name(self.function).into());
        let signature = self.function.value_type();
        let enters = if self.scope.is_entered(self.function) { flags::ENTERS } else { 0 };
        let variadic = if signature.is_variadic() { flags::VARIADIC } else { 0 };
        let own_symbol = self.tables.own_symbol(self.function);
        put(&mut bytes, enters | variadic | own_symbol.map_or(0, |_| flags::OWN_SYMBOL));
        own_symbol.iter().for_each(|symbol| put(&mut bytes, *symbol));
        put(&mut bytes, self.width_of(signature.signature().1).into());
        put(&mut bytes, self.code.widths().len() as u64);
        self.code.widths().iter().for_each(|width| put(&mut bytes, (*width).into()));
        put(&mut bytes, self.function.parameters().len() as u64);
        put(&mut bytes, bodies.len() as u64);
        bodies.iter().for_each(|body| bytes.extend(body));
        bytes
    }

    /// What was passed by value lies elsewhere than the caller's copy, if anybody gets to see
    /// where.
    fn copy_parameters(&mut self) {
        for (parameter, size) in ranges::parameters_by_value(self.build, self.function) {
            if self.locals.is_private(parameter) {
                continue;
            }
            let size = Operand::number(64, size);
            let own = self.slot(0, size);
            let passed = self.operand(parameter);
            self.copy(NOWHERE, calls::private_sides(true, true), [own, passed, size]);
            self.values.insert(parameter, own);
        }
    }

    /// The blocks' bytes, in the order of the function.
    fn bodies(&mut self, blocks: &[Block]) -> Vec<Vec<u8>> {
        self.copy_parameters();
        let order = reverse_postorder(blocks[0]);
        let phis: HashMap<Block, Vec<u32>> =
            order.iter().map(|block| (*block, self.prepare_phis(*block))).collect();
        let mut bodies = vec![Vec::new(); blocks.len()];
        if order.len() < blocks.len() {
            let nowhere = self.unsupported("nothing leads here");
            bodies.fill(nowhere);
        }
        for block in order {
            bodies[self.numbers[&block] as usize] = self.block(block, &phis[&block]);
        }
        bodies
    }

    /// Gives the phis of a block their registers and notes what they get from where.
    fn prepare_phis(&mut self, block: Block) -> Vec<u32> {
        let instructions = block.instructions().into_iter();
        let phis = instructions.take_while(|one| one.is_instruction(LLVMPHI));
        let mut registers = Vec::new();
        for (index, phi) in phis.enumerate() {
            registers.push(self.define(phi));
            // SAFETY: it is a phi, and these are its edges.
            unsafe {
                for edge in 0..LLVMCountIncoming(phi.0) {
                    let from = Block(LLVMGetIncomingBlock(phi.0, edge));
                    let values = self.incoming.entry((from, block)).or_default();
                    // A switch may lead here twice.
                    if values.len() == index {
                        values.push(Value(LLVMGetIncomingValue(phi.0, edge)));
                    }
                }
            }
        }
        registers
    }

    fn block(&mut self, block: Block, parameters: &[u32]) -> Vec<u8> {
        let instructions = block.instructions();
        let trap = instructions.iter().position(|one| terminators::is_trap(*one));
        let end = trap.unwrap_or(instructions.len() - 1);
        instructions[..end].iter().for_each(|one| self.instruction(*one));
        let end = match trap {
            Some(_) => vec![terminator::UNREACHABLE as u8],
            None => self.terminator(block, instructions[end]),
        };
        let (count, code) = self.code.take_block();

        let mut bytes = Vec::with_capacity(code.len() + end.len() + 8);
        put(&mut bytes, parameters.len() as u64);
        parameters.iter().for_each(|register| put(&mut bytes, (*register).into()));
        put(&mut bytes, count);
        bytes.extend(code);
        bytes.extend(end);
        bytes
    }

    /// A block that ends the walk.
    fn unsupported(&mut self, reason: &str) -> Vec<u8> {
        let mut bytes = vec![0, 0];
        self.put_unsupported(&mut bytes, reason);
        bytes
    }

    fn put_unsupported(&mut self, bytes: &mut Vec<u8>, reason: &str) {
        put(bytes, terminator::UNSUPPORTED);
        put(bytes, self.tables.string(reason).into());
    }

    fn instruction(&mut self, instruction: Value) {
        match instruction.opcode() {
            LLVMPHI => {}
            LLVMLoad => self.load(instruction),
            LLVMStore => self.store(instruction),
            LLVMAtomicRMW => self.read_modify_write(instruction),
            LLVMAtomicCmpXchg => self.compare_exchange(instruction),
            LLVMFence => self.fence(instruction),
            LLVMAlloca => self.variable(instruction),
            LLVMGetElementPtr => {
                let address = self.element_address(instruction);
                self.values.insert(instruction, address);
            }
            LLVMCall => self.call(instruction),
            LLVMExtractValue => self.extract(instruction),
            LLVMLandingPad => self.opaque_instruction(instruction, "exception", &[]),
            _ => self.scalar(instruction),
        }
    }

    /// The bits of a register for values of this type; 0 if it is none that has bits here.
    fn width_of(&self, of: Type) -> u32 {
        of.register_width(self.build.layout)
    }

    /// A register for a value that is defined elsewhere.
    fn define(&mut self, value: Value) -> u32 {
        let width = self.width_of(value.type_of());
        let register = self.code.register(width);
        self.values.insert(value, Operand::Register(register));
        register
    }

    /// The number of an instruction's site as the image has it.
    fn site(&mut self, instruction: Value) -> u64 {
        self.tables.site_number(self.function, instruction) + 1
    }

    /// A value about which only its arguments are known, of this width.
    fn opaque(&mut self, name: &str, arguments: &[Operand], width: u32) -> Operand {
        let name = self.tables.string(name).into();
        let parts = [Part::Number(name), Part::List(arguments)];
        self.code.define(opcode::OPAQUE, NOWHERE, width, &parts)
    }

    /// The same for an instruction, whose result, if it has one, is then known by this.
    fn opaque_instruction(&mut self, instruction: Value, name: &str, arguments: &[Operand]) {
        self.opaque_with(opcode::OPAQUE, instruction, name, arguments);
    }

    /// The same with the opcode, which says what the instruction does to memory.
    fn opaque_with(&mut self, opcode: u64, instruction: Value, name: &str, arguments: &[Operand]) {
        let of = instruction.type_of();
        let name = self.tables.string(name).into();
        let parts = [Part::Number(name), Part::List(arguments)];
        if of.is_void() {
            return self.code.perform(opcode, NOWHERE, &parts);
        }
        let width = self.width_of(of);
        let result = self.code.define(opcode, NOWHERE, width, &parts);
        self.values.insert(instruction, result);
    }
}

/// The blocks that the entry leads to, each after those that dominate it.
fn reverse_postorder(entry: Block) -> Vec<Block> {
    let mut order = Vec::new();
    let mut seen = HashSet::from([entry]);
    let mut open = vec![(entry, terminators::targets(entry))];
    while let Some((block, successors)) = open.last_mut() {
        match successors.pop() {
            Some(next) if seen.insert(next) => open.push((next, terminators::targets(next))),
            Some(_) => {}
            None => {
                order.push(*block);
                open.pop();
            }
        }
    }
    order.reverse();
    order
}
