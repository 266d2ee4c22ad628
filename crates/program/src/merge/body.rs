//! A tree as a function.
//!
//! **Computes.** A block for each stretch of the tree without a parting; there are no parameters of
//! blocks, because ways never meet. Where a statement had only some of its outcomes, an assumption
//! says that it has one of them; where no run shows what comes next, the assumption is false.
//!
//! **Invariant.** A thread of the function is at its end or at an exit only where a run of it was.

use foretrace_trace::{NameId, ThreadId};
use rustc_hash::FxHashMap;

use crate::ir::*;

use super::MergeError;
use super::cells::Cells;
use super::declared::Declared;
use super::steps::{Bytes, Condition, Outcome, Statement, Value};
use super::tree::{Next, Node, NodeId, Tree};
use super::update::Update;

/// The function that does what the tree says, and of which node each of its instructions is: by
/// block, the end of the block last.
pub(super) fn function(
    name: String,
    tree: &Tree,
    declared: &Declared,
    left_out: &mut Vec<MergeError>,
) -> Result<(Function, Vec<Vec<NodeId>>), MergeError> {
    let function = Function {
        name,
        params: Vec::new(),
        result: None,
        registers: Vec::new(),
        blocks: Vec::new(),
    };
    let mut body = Body {
        declared,
        function,
        block: Function::ENTRY,
        location: None,
        known: Known::default(),
        open: Vec::new(),
    };
    let entry = body.new_block();
    body.open.push((Tree::ROOT, entry, Known::default()));
    while let Some((mut at, block, known)) = body.open.pop() {
        (body.block, body.known) = (block, known);
        loop {
            // Until all is in its place, instructions have the node for a location.
            body.location = Some(LocationId::from(at.0));
            match body.statement(tree.node(at)) {
                Ok(Some(next)) => at = next,
                Ok(None) => break,
                Err(error) if declared.is_recorded => {
                    left_out.push(error);
                    body.stop();
                    break;
                }
                Err(error) => return Err(error),
            }
        }
    }
    body.function.canonicalise();
    Ok(body.locate(tree))
}

/// A function that is being written.
pub(super) struct Body<'d> {
    declared: &'d Declared,
    function: Function,
    /// Where the next instruction goes.
    block: BlockId,
    location: Option<LocationId>,
    known: Known,
    /// Blocks that are still empty, with what they begin with.
    open: Vec<(NodeId, BlockId, Known)>,
}

/// What the thread knows on its way.
#[derive(Clone, Default)]
struct Known {
    /// Words that names mean.
    names: FxHashMap<NameId, Operand>,
    /// Words that were read since the last point on which something depends.
    unused: Vec<Operand>,
    /// Handles of threads that this one has forked.
    handles: FxHashMap<ThreadId, Operand>,
}

impl Body<'_> {
    /// Writes the statement at a node. Returns where to go on in the same block; `None` if the
    /// block is closed.
    fn statement(&mut self, node: &Node) -> Result<Option<NodeId>, MergeError> {
        let Some(Next { statement, spot, .. }) = &node.next else {
            self.stop();
            return Ok(None);
        };
        match statement {
            Statement::End => {
                self.close(TerminatorKind::Return(None));
                return Ok(None);
            }
            Statement::Exit => {
                self.close(TerminatorKind::Exit);
                return Ok(None);
            }
            Statement::Branch(Condition::Of(condition)) => {
                let taken = self.truth(condition);
                return Ok(self.part(taken, node));
            }
            Statement::Attempt(op) => {
                let got = self.compute(op.clone(), 1);
                return Ok(self.part(got, node));
            }
            Statement::Depends => return Ok(self.part_by_reads(node)),
            Statement::Read { at, order, name } => {
                let (size, order) = (at.size, *order);
                let load = |address| Op::Load { address, size, order };
                let read = self.access(at, Some(size * 8), load).expect("a load gives a value");
                self.have_read(read, size, *name);
            }
            Statement::Write { at, order, value } => {
                let value = match value {
                    Value::Computed(expr) => self.word(expr),
                    Value::Recorded(value) => Operand::constant(*value, 64),
                };
                let (size, order) = (at.size, *order);
                let value = self.cut(value, size);
                self.access(at, None, |address| Op::Store { address, size, value, order });
            }
            Statement::Rmw { at, order, name, update } => {
                if let Some(found) = self.rmw(at, *order, *name, update) {
                    return Ok(self.part(found, node));
                }
            }
            Statement::Let { name, value } => {
                if let Some(value) = value {
                    let value = self.word(value);
                    self.name(*name, value);
                }
            }
            Statement::Assert(condition) => {
                let condition = self.condition(condition);
                self.push(Op::Assert { condition });
            }
            Statement::Assume(condition) => {
                let condition = self.condition(condition);
                self.assume(condition);
            }
            Statement::Plain(op) => self.push(op.clone()),
            Statement::Fork { child } => {
                let callee = Callee::Direct(FunctionId::from(child.index()));
                let handle = self.compute(Op::Fork { callee, args: Vec::new() }, 64);
                self.known.handles.insert(*child, handle);
            }
            Statement::Join { child } => match self.known.handles.get(child) {
                Some(&thread) => self.push(Op::Join { thread }),
                None => {
                    return spot.clone().unsupported("a join of a thread that another one forked");
                }
            },
            Statement::Branch(Condition::Recorded(_)) | Statement::External => {}
        }
        Ok(Some(node.way(&Outcome::Only).expect("a run went on")))
    }

    /// Nothing is known of what comes next.
    fn stop(&mut self) {
        self.assume(Operand::constant(0, 1));
        self.close(TerminatorKind::Return(None));
    }

    /// Gives instructions their locations.
    fn locate(mut self, tree: &Tree) -> (Function, Vec<Vec<NodeId>>) {
        let mut nodes = Vec::new();
        for block in &mut self.function.blocks {
            let locations = block.instructions.iter_mut().map(|one| &mut one.location);
            let mut of_block = Vec::new();
            for location in locations.chain([&mut block.terminator.location]) {
                let node = NodeId(location.map_or(0, LocationId::index));
                let next = tree.node(node).next.as_ref();
                *location = next.and_then(|next| next.location).filter(|_| location.is_some());
                of_block.push(node);
            }
            nodes.push(of_block);
        }
        (self.function, nodes)
    }

    /// Returns whether it found what it expected, if runs part by that.
    fn rmw(
        &mut self,
        at: &Bytes,
        order: MemoryOrder,
        name: Option<NameId>,
        update: &Update,
    ) -> Option<Operand> {
        let (size, width) = (at.size, Some(at.size * 8));
        match update {
            Update::By(op, operand) => {
                let operand = self.word(operand);
                let value = self.cut(operand, size);
                let rmw = |address| Op::Rmw { op: *op, address, size, value, order };
                let old = self.access(at, width, rmw).expect("it gives what was there");
                self.have_read(old, size, name);
                None
            }
            Update::CompareExchange { expected, new, is_assumed } => {
                let (expected, new) = (self.word(expected), self.word(new));
                let (expected, new) = (self.cut(expected, size), self.cut(new, size));
                let op = |address| Op::CompareExchange { address, size, expected, new, order };
                let old = self.access(at, width, op).expect("it gives what was there");
                self.have_read(old, size, name);
                is_assumed.then(|| self.binary(BinaryOp::Eq, old, expected))
            }
        }
    }

    /// An access, and the value that it gives, if it has a width. One that ranges over an object is
    /// a switch between its places; a branch before it has said that it is one of them.
    fn access(
        &mut self,
        at: &Bytes,
        width: Option<u8>,
        op: impl Fn(Operand) -> Op,
    ) -> Option<Operand> {
        let global = at.global;
        let place = |offset: u32| Operand::Global { global, offset: offset.into() };
        let Some(Cells { offset, starts, .. }) = &at.cells else {
            return self.perform(op(place(at.offset)), width);
        };
        let offset = self.word(offset);
        let blocks: Vec<BlockId> = starts.iter().map(|_| self.new_block()).collect();
        let behind = self.new_block();
        let result = width.map(|width| self.new_register(width));
        self.function.blocks[behind.index()].params.extend(result);
        let target = |block: BlockId| Target { block, args: Vec::new() };
        let (&last, others) = blocks.split_last().expect("there are places");
        let cases = starts.iter().map(|&start| u64::from(start));
        let cases = cases.zip(others.iter().map(|&block| target(block))).collect();
        let default = target(last);
        self.close(TerminatorKind::Switch { value: offset, cases, default });
        for (&start, &block) in starts.iter().zip(&blocks) {
            self.block = block;
            let args = self.perform(op(place(start)), width).into_iter().collect();
            self.close(TerminatorKind::Jump(Target { block: behind, args }));
        }
        self.block = behind;
        result.map(Operand::Register)
    }

    fn perform(&mut self, op: Op, width: Option<u8>) -> Option<Operand> {
        match width {
            Some(width) => Some(self.compute(op, width)),
            None => {
                self.push(op);
                None
            }
        }
    }

    /// Goes on by one bit, as far as runs show it.
    fn part(&mut self, bit: Operand, node: &Node) -> Option<NodeId> {
        match (node.way(&Outcome::Yes(true)), node.way(&Outcome::Yes(false))) {
            (Some(yes), Some(no)) => {
                let (then, otherwise) = (self.later(yes), self.later(no));
                self.close(TerminatorKind::Branch { condition: bit, then, otherwise });
                None
            }
            (Some(yes), None) => {
                self.assume(bit);
                Some(yes)
            }
            (None, no) => {
                let opposite = self.not(bit);
                self.assume(opposite);
                Some(no.expect("a run went on"))
            }
        }
    }

    /// Goes on by what was read, as far as runs show it.
    fn part_by_reads(&mut self, node: &Node) -> Option<NodeId> {
        let reads = std::mem::take(&mut self.known.unused);
        let (last, others) = node.ways().split_last().expect("a run went on");
        for (outcome, way) in others {
            let condition = self.saw(&reads, outcome);
            let then = self.later(*way);
            let rest = self.new_block();
            let otherwise = Target { block: rest, args: Vec::new() };
            self.close(TerminatorKind::Branch { condition, then, otherwise });
            self.block = rest;
        }
        let condition = self.saw(&reads, &last.0);
        self.assume(condition);
        Some(last.1)
    }

    /// Whether the reads saw just this.
    fn saw(&mut self, reads: &[Operand], outcome: &Outcome) -> Operand {
        let Outcome::Saw(values) = outcome else { unreachable!("this point parts by reads") };
        assert_eq!(reads.len(), values.len(), "equal statements read equally often");
        let mut all = None;
        for (&read, &value) in reads.iter().zip(values) {
            let same = self.binary(BinaryOp::Eq, read, Operand::constant(value, 64));
            all = Some(match all {
                Some(all) => self.binary(BinaryOp::And, all, same),
                None => same,
            });
        }
        all.expect("something was read")
    }

    fn have_read(&mut self, value: Operand, size: u8, name: Option<NameId>) {
        let word = self.extended(value, size);
        self.known.unused.push(word);
        if let Some(name) = name {
            self.name(name, word);
        }
    }

    fn name(&mut self, name: NameId, word: Operand) {
        self.known.names.insert(name, word);
        if let Operand::Register(register) = word {
            let hint = &mut self.function.registers[register.index()].name;
            hint.get_or_insert_with(|| self.declared.names.get(name.index()).to_string());
        }
    }

    pub(super) fn value_of(&self, name: NameId) -> Operand {
        self.known.names[&name]
    }

    fn condition(&mut self, condition: &Condition) -> Operand {
        match condition {
            Condition::Of(expr) => self.truth(expr),
            Condition::Recorded(holds) => Operand::constant((*holds).into(), 1),
        }
    }

    fn assume(&mut self, condition: Operand) {
        self.push(Op::Assume { condition });
    }

    pub(super) fn width(&self, operand: Operand) -> u8 {
        self.function.operand_width(operand)
    }

    /// An instruction that gives a value.
    pub(super) fn compute(&mut self, op: Op, width: u8) -> Operand {
        let result = self.new_register(width);
        let instruction = Instruction { op, result: Some(result), location: self.location };
        self.function.blocks[self.block.index()].instructions.push(instruction);
        Operand::Register(result)
    }

    fn new_register(&mut self, width: u8) -> RegisterId {
        self.function.registers.push(Register { width, name: None });
        RegisterId::from(self.function.registers.len() - 1)
    }

    fn push(&mut self, op: Op) {
        let instruction = Instruction { op, result: None, location: self.location };
        self.function.blocks[self.block.index()].instructions.push(instruction);
    }

    fn close(&mut self, kind: TerminatorKind) {
        let terminator = Terminator { kind, location: self.location };
        self.function.blocks[self.block.index()].terminator = terminator;
    }

    /// A block that is to be written later, with what is known now.
    fn later(&mut self, node: NodeId) -> Target {
        let block = self.new_block();
        self.open.push((node, block, self.known.clone()));
        Target { block, args: Vec::new() }
    }

    fn new_block(&mut self) -> BlockId {
        let terminator = Terminator { kind: TerminatorKind::Unreachable, location: None };
        let (params, instructions) = (Vec::new(), Vec::new());
        self.function.blocks.push(Block { label: None, params, instructions, terminator });
        BlockId::from(self.function.blocks.len() - 1)
    }
}
