//! The loops of a function, and an order of block instances in which each comes after those that
//! lead to it.
//!
//! **Computes.** For each block the loops that it is in, by their headers, and its place: numbers
//! along the nest of loops. An instance of a block is the block and how often each of its loops has
//! come round; with the counts between the numbers, the places of instances sort topologically.
//!
//! **Follows.** Nested strongly connected components (Steensgaard, *Sequentializing program
//! dependence graphs*, 1993): a component's header is its first block in reverse postorder; without
//! the edges to it, what is left has smaller components. So loops with several entries work too.

use foretrace_program::{BlockId, Function};

/// Loops and places of all blocks of a function.
#[derive(Debug)]
pub(super) struct Shape {
    places: Vec<Vec<u32>>,
    loops: Vec<Vec<BlockId>>,
}

impl Shape {
    pub(super) fn new(function: &Function) -> Shape {
        let order = function.reverse_postorder();
        let count = function.blocks.len();
        let mut shape = Shape { places: vec![Vec::new(); count], loops: vec![Vec::new(); count] };
        let successors: Vec<Vec<usize>> = function
            .block_ids()
            .map(|block| function.successors(block).into_iter().map(BlockId::index).collect())
            .collect();
        let blocks: Vec<usize> = order.iter().map(|block| block.index()).collect();
        shape.nest(&successors, &blocks, &[], &[], None);
        shape
    }

    /// The headers of the loops that a block is in, the outermost first.
    pub(super) fn loops(&self, block: BlockId) -> &[BlockId] {
        &self.loops[block.index()]
    }

    /// The place of an instance; `turns` has a count for each loop of the block.
    pub(super) fn place(&self, block: BlockId, turns: &[u32]) -> Vec<u32> {
        let mut place = Vec::with_capacity(2 * turns.len() + 1);
        for (at, &number) in self.places[block.index()].iter().enumerate() {
            place.push(number);
            place.extend(turns.get(at));
        }
        place
    }

    /// Places the blocks, which are in reverse postorder, behind the place `prefix`; edges to
    /// `header` are not there.
    fn nest(
        &mut self,
        successors: &[Vec<usize>],
        blocks: &[usize],
        prefix: &[u32],
        loops: &[BlockId],
        header: Option<usize>,
    ) {
        for (number, component) in components(successors, blocks, header).into_iter().enumerate() {
            let mut place = prefix.to_vec();
            place.push(number as u32);
            let first = component[0];
            let is_loop =
                component.len() > 1 || Some(first) != header && successors[first].contains(&first);
            if !is_loop {
                self.places[first] = place;
                self.loops[first] = loops.to_vec();
                continue;
            }
            let mut inner = loops.to_vec();
            inner.push(BlockId::from(first));
            self.nest(successors, &component, &place, &inner, Some(first));
        }
    }
}

/// Strongly connected components in topological order, each with its blocks in the given order.
fn components(
    successors: &[Vec<usize>],
    blocks: &[usize],
    header: Option<usize>,
) -> Vec<Vec<usize>> {
    const NONE: usize = usize::MAX;
    let mut rank = vec![NONE; successors.len()];
    for (at, &block) in blocks.iter().enumerate() {
        rank[block] = at;
    }
    let next = |block: usize| -> Vec<usize> {
        let inside = |&&to: &&usize| rank[to] != NONE && Some(to) != header;
        successors[block].iter().filter(inside).copied().collect()
    };
    // Tarjan, without recursion.
    let mut index = vec![NONE; successors.len()];
    let mut low = vec![0; successors.len()];
    let mut on_stack = vec![false; successors.len()];
    let (mut stack, mut found, mut count) = (Vec::new(), Vec::new(), 0);
    for &root in blocks {
        if index[root] != NONE {
            continue;
        }
        let mut open: Vec<(usize, Vec<usize>)> = vec![(root, next(root))];
        (index[root], low[root], on_stack[root]) = (count, count, true);
        count += 1;
        stack.push(root);
        while let Some((block, left)) = open.last_mut() {
            let block = *block;
            match left.pop() {
                Some(to) if index[to] == NONE => {
                    (index[to], low[to], on_stack[to]) = (count, count, true);
                    count += 1;
                    stack.push(to);
                    open.push((to, next(to)));
                }
                Some(to) => {
                    if on_stack[to] {
                        low[block] = low[block].min(index[to]);
                    }
                }
                None => {
                    open.pop();
                    if let Some((above, _)) = open.last() {
                        low[*above] = low[*above].min(low[block]);
                    }
                    if low[block] == index[block] {
                        let mut component = Vec::new();
                        while let Some(member) = stack.pop() {
                            on_stack[member] = false;
                            component.push(member);
                            if member == block {
                                break;
                            }
                        }
                        component.sort_unstable_by_key(|&member| rank[member]);
                        found.push(component);
                    }
                }
            }
        }
    }
    found.reverse();
    found
}
