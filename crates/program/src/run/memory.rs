//! Objects, addresses, bytes.
//!
//! Addresses are made up: globals one after the other with gaps between them, then whatever is
//! allocated, in the order of the allocations. No address is used twice. Memory is zero at first.

use foretrace_trace::{ObjectId, Place};

use crate::ir::*;

use super::state::State;

/// No object and no function is below this.
pub(super) const NULL_PAGE: u64 = 0x1000;
/// Functions have addresses here, outside of all objects.
const FUNCTION_BASE: u64 = 0x1000;
const FUNCTION_STEP: u64 = 16;
const GLOBAL_BASE: u64 = 0x1000_0000;
/// The low half is not 0: no real allocator gives such addresses.
const ALLOCATED_BASE: u64 = 0x10_1000_0000;
const ALIGNMENT: u64 = 16;
/// The largest allocation that the interpreter makes.
const MOST_BYTES: u64 = 1 << 20;

/// A block of memory.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Object {
    pub(super) name: String,
    pub(super) base: u64,
    pub(super) size: u32,
    /// Empty when it is not live.
    pub(super) bytes: Vec<u8>,
    pub(super) kind: ObjectKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum ObjectKind {
    Global,
    Heap,
    Slot,
}

impl Object {
    pub(super) fn is_live(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// The first address that the next object may have: a gap follows each one.
    fn next_base(&self) -> u64 {
        (self.base + u64::from(self.size)).next_multiple_of(ALIGNMENT) + ALIGNMENT
    }
}

/// The globals at the start.
pub(super) fn globals(program: &Program) -> Vec<Object> {
    let mut base = GLOBAL_BASE;
    let objects = program.globals.iter().map(|global| {
        let bytes = global.bytes();
        let (name, size) = (global.name.clone(), global.size);
        let object = Object { name, base, size, bytes, kind: ObjectKind::Global };
        base = object.next_base();
        object
    });
    objects.collect()
}

/// The address of a function.
pub(super) fn function_address(function: FunctionId) -> u64 {
    FUNCTION_BASE + FUNCTION_STEP * u64::from(function.0)
}

/// The function at an address, if one is there.
pub(super) fn function_at(program: &Program, address: u64) -> Option<FunctionId> {
    let distance = address.checked_sub(FUNCTION_BASE)?;
    let index = usize::try_from(distance / FUNCTION_STEP).ok()?;
    let is_start = distance % FUNCTION_STEP == 0 && index < program.functions.len();
    is_start.then(|| FunctionId::from(index))
}

impl State {
    /// New memory; `None` if it is too large.
    pub(super) fn allocate(&mut self, size: u64, kind: ObjectKind, name: &str) -> Option<ObjectId> {
        if size > MOST_BYTES {
            return None;
        }
        let last = self.objects.last();
        let base = last.map_or(ALLOCATED_BASE, |last| last.next_base().max(ALLOCATED_BASE));
        let size = size.max(1) as u32;
        let id = ObjectId::from(self.objects.len());
        let (name, bytes) = (format!("{name}#{}", id.0), vec![0; size as usize]);
        self.objects.push(Object { name, base, size, bytes, kind });
        Some(id)
    }

    /// A thread's own copy of a variable. It cannot be freed.
    pub(super) fn copy_of(&mut self, global: &Global) -> ObjectId {
        let last = self.objects.last();
        let base = last.map_or(ALLOCATED_BASE, |last| last.next_base().max(ALLOCATED_BASE));
        let id = ObjectId::from(self.objects.len());
        let (name, bytes) = (format!("{}#{}", global.name, id.0), global.bytes());
        let (size, kind) = (global.size, ObjectKind::Global);
        self.objects.push(Object { name, base, size, bytes, kind });
        id
    }

    pub(super) fn object(&self, object: ObjectId) -> &Object {
        &self.objects[object.index()]
    }

    /// Ends the life of an object.
    pub(super) fn kill(&mut self, object: ObjectId) {
        self.objects[object.index()].bytes = Vec::new();
    }

    /// How many bytes the block has that begins at an address; 0 if there is none.
    pub(super) fn block_size(&self, address: u64) -> u64 {
        let at = self.objects.binary_search_by_key(&address, |object| object.base);
        let object = at.map(|at| &self.objects[at]).ok();
        let block = object.filter(|object| object.kind == ObjectKind::Heap);
        block.map_or(0, |object| object.size.into())
    }

    /// The object in which an address lies, live or not.
    pub(super) fn object_at(&self, address: u64) -> Option<usize> {
        // Bases increase with ids.
        let after = self.objects.partition_point(|object| object.base <= address);
        let index = after.checked_sub(1)?;
        let object = &self.objects[index];
        (address - object.base < u64::from(object.size)).then_some(index)
    }

    /// The bytes that an address means, if they are inside one live object.
    pub(super) fn resolve(&self, address: u64, size: u8) -> Option<Place> {
        let index = self.object_at(address)?;
        let object = &self.objects[index];
        let offset = address - object.base;
        let is_inside = offset + u64::from(size) <= u64::from(object.size);
        (object.is_live() && is_inside).then(|| Place {
            object: ObjectId::from(index),
            offset: offset as u32,
            size: u32::from(size),
        })
    }

    pub(super) fn read(&self, at: Place) -> u64 {
        let bytes = &self.objects[at.object.index()].bytes[at.offset as usize..at.end() as usize];
        bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
    }

    pub(super) fn write(&mut self, at: Place, value: u64) {
        let bytes =
            &mut self.objects[at.object.index()].bytes[at.offset as usize..at.end() as usize];
        bytes.copy_from_slice(&value.to_le_bytes()[..bytes.len()]);
    }
}
