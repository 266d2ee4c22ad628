//! The control flow of a function and the calls of a program.
//!
//! **Computes.** Successors, predecessors, reverse postorder, a cycle if there is one, dominators;
//! which function calls or forks which, an order with callees first, a recursion if there is one.
//!
//! **Follows.** Dominators: Cooper, Harvey, Kennedy, *A simple, fast dominance algorithm*, 2001.
//!
//! **Cost.** Linear, but for dominators, which are quadratic in bad cases and fast in usual ones.
//! Nothing recurses.

use rustc_hash::FxHashSet;

use super::*;

impl Function {
    /// The blocks to which a block may jump, in the order of its targets, each once.
    pub fn successors(&self, block: BlockId) -> Vec<BlockId> {
        let mut successors = Vec::new();
        for target in self.block(block).terminator.kind.targets() {
            if !successors.contains(&target.block) {
                successors.push(target.block);
            }
        }
        successors
    }

    /// For each block, the blocks that may jump to it, each once.
    pub fn predecessors(&self) -> Vec<Vec<BlockId>> {
        let mut predecessors = vec![Vec::new(); self.blocks.len()];
        for block in self.block_ids() {
            for successor in self.successors(block) {
                predecessors[successor.index()].push(block);
            }
        }
        predecessors
    }

    /// The blocks that can be reached from the entry, in reverse postorder: without loops a block
    /// comes after all its predecessors, and in any case after the blocks that dominate it.
    pub fn reverse_postorder(&self) -> Vec<BlockId> {
        let walk = walk([Self::ENTRY.index()], self.blocks.len(), |block| {
            let mut successors = self.successors(BlockId::from(block));
            // The walk finishes the first arm last, so that it comes first in the reverse.
            successors.reverse();
            successors.into_iter().map(BlockId::index).collect()
        });
        walk.postorder.into_iter().rev().map(BlockId::from).collect()
    }

    /// The blocks that can be reached, each after all its predecessors; `None` if there is a loop.
    pub fn topological_order(&self) -> Option<Vec<BlockId>> {
        self.find_loop().is_none().then(|| self.reverse_postorder())
    }

    /// The blocks of a loop that can be reached, if there is one.
    pub fn find_loop(&self) -> Option<Vec<BlockId>> {
        let successors = |block| self.successors(BlockId::from(block));
        let walk = walk([Self::ENTRY.index()], self.blocks.len(), |block| {
            successors(block).into_iter().map(BlockId::index).collect()
        });
        Some(walk.cycle?.into_iter().map(BlockId::from).collect())
    }

    /// Which block dominates which.
    pub fn dominators(&self) -> Dominators {
        let order = self.reverse_postorder();
        let mut place = vec![usize::MAX; self.blocks.len()];
        for (at, block) in order.iter().enumerate() {
            place[block.index()] = at;
        }
        let predecessors = self.predecessors();
        // All in places of the reverse postorder, where a dominator is before what it dominates.
        let mut immediate = vec![usize::MAX; order.len()];
        immediate[0] = 0;
        let mut changed = true;
        while changed {
            changed = false;
            for at in 1..order.len() {
                let known = predecessors[order[at].index()]
                    .iter()
                    .map(|block| place[block.index()])
                    .filter(|&before| before != usize::MAX && immediate[before] != usize::MAX);
                let meet = known.reduce(|mut a, mut b| {
                    while a != b {
                        while a > b {
                            a = immediate[a];
                        }
                        while b > a {
                            b = immediate[b];
                        }
                    }
                    a
                });
                if let Some(meet) = meet
                    && immediate[at] != meet
                {
                    immediate[at] = meet;
                    changed = true;
                }
            }
        }
        Dominators { place, immediate }
    }

    /// Registers that hold the address of a slot and are used for nothing but direct access: no
    /// other thread, and no other instruction, can reach their memory.
    pub fn private_slots(&self) -> FxHashSet<RegisterId> {
        let mut private: FxHashSet<RegisterId> = self
            .instructions()
            .filter(|(_, _, instruction)| matches!(instruction.op, Op::Slot { .. }))
            .filter_map(|(_, _, instruction)| instruction.result)
            .collect();
        for (_, _, Instruction { op, .. }) in self.instructions() {
            let is_access = matches!(op, Op::Load { .. } | Op::Store { .. });
            for operand in op.operands().into_iter().skip(is_access as usize) {
                operand.register().map(|register| private.remove(&register));
            }
        }
        for operand in self.blocks.iter().flat_map(|block| block.terminator.kind.operands()) {
            operand.register().map(|register| private.remove(&register));
        }
        private
    }
}

impl Program {
    /// The functions that a function may call or fork, each once. An indirect call may reach every
    /// function whose address is taken somewhere.
    pub fn callees(&self, function: FunctionId) -> Vec<FunctionId> {
        let mut callees = Vec::new();
        for (_, _, Instruction { op, .. }) in self.function(function).instructions() {
            let reached = match op {
                Op::Call { callee, .. } | Op::Fork { callee, .. } => match *callee {
                    Callee::Direct(callee) => vec![callee],
                    Callee::Indirect(_) => self.address_taken(),
                },
                _ => Vec::new(),
            };
            for callee in reached {
                if !callees.contains(&callee) {
                    callees.push(callee);
                }
            }
        }
        callees
    }

    /// Functions that call or fork each other in a ring, if there are such.
    pub fn find_recursion(&self) -> Option<Vec<FunctionId>> {
        Some(self.walk_calls().cycle?.into_iter().map(FunctionId::from).collect())
    }

    fn walk_calls(&self) -> Walk {
        walk(0..self.functions.len(), self.functions.len(), |function| {
            self.callees(FunctionId::from(function)).into_iter().map(FunctionId::index).collect()
        })
    }

    /// Functions that an operand is the address of.
    fn address_taken(&self) -> Vec<FunctionId> {
        let mut taken = Vec::new();
        for function in &self.functions {
            let in_instructions = function.instructions().flat_map(|(_, _, i)| i.op.operands());
            let in_terminators =
                function.blocks.iter().flat_map(|block| block.terminator.kind.operands());
            for operand in in_instructions.chain(in_terminators) {
                if let Operand::Function(function) = *operand
                    && !taken.contains(&function)
                {
                    taken.push(function);
                }
            }
        }
        taken
    }
}

/// Which block dominates which.
#[derive(Clone, Debug)]
pub struct Dominators {
    /// The place of each block in the reverse postorder; `usize::MAX` if it cannot be reached.
    place: Vec<usize>,
    /// The place of the immediate dominator of the block at each place.
    immediate: Vec<usize>,
}

impl Dominators {
    /// Whether every way from the entry to `block` passes `dominator`. A block that cannot be
    /// reached is dominated by all.
    pub fn dominates(&self, dominator: BlockId, block: BlockId) -> bool {
        let (above, mut at) = (self.place[dominator.index()], self.place[block.index()]);
        if at == usize::MAX {
            return true;
        }
        while at > above {
            at = self.immediate[at];
        }
        at == above
    }
}

struct Walk {
    postorder: Vec<usize>,
    cycle: Option<Vec<usize>>,
}

/// Depth-first, from the roots in order.
fn walk(
    roots: impl IntoIterator<Item = usize>,
    count: usize,
    successors: impl Fn(usize) -> Vec<usize>,
) -> Walk {
    let mut seen = vec![false; count];
    let mut is_open = vec![false; count];
    let mut done = Walk { postorder: Vec::new(), cycle: None };
    // A node with those of its successors that are still to be visited, the next one last.
    let mut open: Vec<(usize, Vec<usize>)> = Vec::new();
    let visit = |node: usize| {
        let mut left = successors(node);
        left.reverse();
        (node, left)
    };
    for root in roots {
        if std::mem::replace(&mut seen[root], true) {
            continue;
        }
        is_open[root] = true;
        open.push(visit(root));
        while let Some((node, left)) = open.last_mut() {
            let node = *node;
            match left.pop() {
                Some(next) if !seen[next] => {
                    seen[next] = true;
                    is_open[next] = true;
                    open.push(visit(next));
                }
                Some(next) => {
                    if is_open[next] && done.cycle.is_none() {
                        let way = open.iter().map(|(node, _)| *node);
                        done.cycle = Some(way.skip_while(|&node| node != next).collect());
                    }
                }
                None => {
                    is_open[node] = false;
                    done.postorder.push(node);
                    open.pop();
                }
            }
        }
    }
    done
}
