//! Memory of the simulated machine: accesses, alloc, free.
//!
//! Bytes are 0 or 1, so that different writes often leave the same value and the two models differ.
//! An unknown writer is a store that the machine does and does not record.

use foretrace_trace::expr::Expr;
use foretrace_trace::*;

use super::{Block, Machine};
use crate::profile::Action;

impl Machine {
    pub(super) fn access(&mut self, thread: usize, action: Action) {
        let live: Vec<Block> = self.blocks.iter().filter(|block| block.live).copied().collect();
        if live.is_empty() {
            return;
        }
        let block = self.random.pick(&live);
        let at = self.place(block);
        if action != Action::Write && self.random.chance(self.habits.unknown_writers) {
            self.write_memory(at);
        }
        let seen = self.read_memory(at);
        let order = if self.random.chance(self.habits.atomic) {
            self.random.pick(&[MemoryOrder::Relaxed, MemoryOrder::Acquire, MemoryOrder::SeqCst])
        } else {
            MemoryOrder::Plain
        };
        match action {
            Action::Read => {
                let value = self.perhaps(seen);
                let name = self.perhaps_name(thread);
                let event = self.record(thread, Op::Read { at, value, order });
                self.bind(thread, event, name, seen);
            }
            Action::Write => {
                let expression = self.perhaps_expression(thread);
                let stored = self.store(thread, at, &expression);
                let value = self.perhaps(stored);
                let event = self.record(thread, Op::Write { at, value, order });
                self.express(event, expression);
            }
            _ => {
                let name = self.perhaps_name(thread);
                if let Some(name) = name {
                    self.mean(thread, name, seen);
                }
                let assumption = self.perhaps_assumption(thread);
                let expression = self.perhaps_expression(thread);
                let stored = self.store(thread, at, &expression);
                let order = if self.random.chance(90) { MemoryOrder::SeqCst } else { order };
                let (read, written) = (self.perhaps(seen), self.perhaps(stored));
                let event = self.record(thread, Op::Rmw { at, read, written, order });
                self.bind(thread, event, name, seen);
                self.express(event, expression);
                if let Some(assumption) = assumption {
                    self.trace.assume(event, assumption);
                }
            }
        }
        self.perhaps_ponder(thread);
    }

    fn bind(&mut self, thread: usize, event: EventId, name: Option<NameId>, seen: u64) {
        if let Some(name) = name {
            self.trace.bind(event, name);
            self.mean(thread, name, seen);
        }
    }

    fn express(&mut self, event: EventId, expression: Option<Expr>) {
        if let Some(expression) = expression {
            self.trace.express(event, expression);
        }
    }

    /// Fills the place with what the expression is worth, or with random bits. Returns its first
    /// eight bytes.
    fn store(&mut self, thread: usize, at: Place, expression: &Option<Expr>) -> u64 {
        let Some(expression) = expression else { return self.write_memory(at) };
        let word = self.worth(thread, expression).to_le_bytes();
        for index in 0..at.size {
            let byte = word.get(index as usize).copied().unwrap_or(0);
            self.memory.insert((at.object, at.offset + index), byte);
        }
        self.read_memory(at)
    }

    fn place(&mut self, block: Block) -> Place {
        let (offset, size) = if self.habits.mixed_sizes && self.random.chance(70) {
            let size = self.random.pick(&[1, 1, 2, 2, 3, 4, 8, 9]).min(block.size);
            (self.random.below(3) as u32, size)
        } else {
            (0, block.unit)
        };
        Place { object: block.id, offset: offset.min(block.size - size), size }
    }

    fn perhaps(&mut self, value: u64) -> Option<u64> {
        (!self.random.chance(self.habits.unvalued)).then_some(value)
    }

    /// The first eight bytes of the place; bytes that nobody has looked at yet are made up.
    pub(super) fn read_memory(&mut self, at: Place) -> u64 {
        let mut value = 0;
        for index in 0..at.size {
            let fresh = self.random.below(2) as u8;
            let byte = *self.memory.entry((at.object, at.offset + index)).or_insert(fresh);
            if index < 8 {
                value |= u64::from(byte) << (8 * index);
            }
        }
        value
    }

    /// Fills the place with random bits.
    fn write_memory(&mut self, at: Place) -> u64 {
        for index in 0..at.size {
            let byte = self.random.below(2) as u8;
            self.memory.insert((at.object, at.offset + index), byte);
        }
        self.read_memory(at)
    }

    pub(super) fn alloc(&mut self, thread: usize) {
        let size = 1 + self.random.below(4) as u32;
        let address = self.random.pick(&[None, Some(0x1000), Some(0x1000), Some(0x1002)]);
        let occupied = self.blocks.iter().any(|block| match (block.address, address) {
            (Some(a), Some(b)) => {
                block.live && a < b + u64::from(size) && b < a + u64::from(block.size)
            }
            _ => false,
        });
        if occupied {
            return;
        }
        let object = self.trace.object(&format!("h{}", self.blocks.len()));
        self.blocks.push(Block { id: object, size, address, live: true, unit: 1 });
        if self.random.chance(20) {
            self.declare_contents(object, 1);
        }
        self.record(thread, Op::Alloc { object, size, address });
    }

    pub(super) fn free(&mut self, thread: usize) {
        let chosen = self.random.below(self.blocks.len());
        // Blocks without an alloc may be freed too, but a program without memory is no use.
        if self.blocks[chosen].live && (chosen >= 2 || self.random.chance(20)) {
            self.blocks[chosen].live = false;
            self.record(thread, Op::Free { object: self.blocks[chosen].id });
        }
    }
}
