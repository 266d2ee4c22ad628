//! Which object an address is in.
//!
//! **Computes.** For an address, at this point of the recording: the stack of a thread, a global
//! variable, a living block of the heap, or else one of the regions of 2^31 bytes that the rest of
//! memory is cut into.
//!
//! **Invariant.** Stacks, globals and blocks do not overlap: a block that would is no object (its
//! bytes belong to what was there), and a new stack replaces older ones in its place. So a byte
//! keeps its object but where memory is given back or given out. Both passes make the same calls
//! and so give the objects the same numbers.

use std::collections::BTreeMap;

use foretrace_recording::record::{alloc, kind};
use foretrace_trace::import::ImportError;
use rustc_hash::FxHashMap;

use super::records::Record;
use super::tables::Global;

const REGION: u64 = 1 << 31;

pub(super) struct Objects<'t> {
    globals: &'t [Global],
    blocks: BTreeMap<u64, Block>,
    stacks: BTreeMap<u64, Stack>,
    regions: FxHashMap<u64, u32>,
    /// What was freed and not given out again.
    freed: BTreeMap<u64, u64>,
    next: u32,
    allocations: u32,
    /// How many blocks a thread has asked for at a site.
    asked: FxHashMap<(u32, u64), u32>,
    /// What was found last, by address: how often objects had changed, from which address on it
    /// holds, and what it is.
    recent: Vec<(u64, u64, Found)>,
    changes: u64,
}

/// How many answers are remembered.
const RECENT: usize = 1 << 10;

/// A living block of the heap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Block {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) object: u32,
    /// Which allocation of the recording made it, from 1.
    pub(super) number: u32,
    /// Where.
    pub(super) site: u64,
    /// Who asked for it.
    pub(super) thread: u32,
    /// Which of those that the thread asked for there, from 1.
    pub(super) nth: u32,
    /// All its bytes are 0 at first.
    pub(super) is_zero: bool,
    /// The detail of its record.
    pub(super) detail: u8,
}

#[derive(Clone, Copy)]
struct Stack {
    end: u64,
    object: u32,
    thread: u32,
}

/// What an object is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    Global(usize),
    Heap(Block),
    Stack(u32),
    Region,
}

/// The object of an address, and the bytes around the address that are in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) object: u32,
    /// Address of its first byte.
    pub(super) start: u64,
    /// Up to here the bytes from the address on are in it, too.
    pub(super) end: u64,
    pub(super) what: What,
}

/// What a record does to the objects.
pub(super) enum Change {
    None,
    /// A block comes to life; `None` if it can be no object. The bytes of the ones that are gone
    /// belong to it now.
    Alloc {
        block: Option<Block>,
        gone: Vec<(u32, u64)>,
    },
    /// A block's life ends, if it is known.
    Free(Option<Block>),
    /// A stack, if it can be an object; objects that are gone, with their sizes.
    Begin {
        known: bool,
        gone: Vec<(u32, u64)>,
    },
}

impl<'t> Objects<'t> {
    pub(super) fn new(globals: &'t [Global]) -> Self {
        Objects {
            globals,
            blocks: BTreeMap::new(),
            stacks: BTreeMap::new(),
            regions: FxHashMap::default(),
            freed: BTreeMap::new(),
            next: globals.len() as u32,
            allocations: 0,
            asked: FxHashMap::default(),
            recent: vec![(0, 0, Found { object: 0, start: 0, end: 0, what: What::Region }); RECENT],
            changes: 1,
        }
    }

    /// Takes note of a record that gives memory out or back.
    pub(super) fn follow(&mut self, thread: u32, record: &Record) -> Result<Change, ImportError> {
        self.changes += u64::from(matches!(record.kind, kind::ALLOC | kind::FREE | kind::BEGIN));
        Ok(match record.kind {
            kind::ALLOC => self.alloc(thread, record),
            kind::FREE => self.free(record.word(0)),
            kind::BEGIN => self.begin(thread, record.word(0), record.word(1)),
            _ => Change::None,
        })
    }

    fn new_object(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    fn global(&self, address: u64) -> Result<usize, usize> {
        let after = self.globals.partition_point(|global| global.start <= address);
        match after.checked_sub(1) {
            Some(at) if address < self.globals[at].end => Ok(at),
            _ => Err(after),
        }
    }

    fn touches_global(&self, start: u64, end: u64) -> bool {
        match self.global(start) {
            Ok(_) => true,
            Err(after) => self.globals.get(after).is_some_and(|global| global.start < end),
        }
    }

    fn alloc(&mut self, thread: u32, record: &Record) -> Change {
        let (start, size, site) = (record.word(0), record.word(1), record.site);
        self.allocations += 1;
        let asked = self.asked.entry((thread, site)).or_default();
        *asked += 1;
        let nth = *asked;
        let end = start.saturating_add(size.max(1));
        let overlaps_stack =
            self.stacks.range(..end).next_back().is_some_and(|(_, stack)| stack.end > start);
        let fits = size < u64::from(u32::MAX) && start.checked_add(size).is_some();
        if !fits || overlaps_stack || self.touches_global(start, end) {
            return Change::Alloc { block: None, gone: Vec::new() };
        }
        let mut gone = Vec::new();
        while let Some((&at, &old)) = self.blocks.range(..end).next_back() {
            if old.end <= start {
                break;
            }
            self.blocks.remove(&at);
            gone.push((old.object, old.end - old.start));
        }
        while let Some((&at, _)) =
            self.freed.range(..end).next_back().filter(|(_, old)| **old > start)
        {
            self.freed.remove(&at);
        }
        let (object, number) = (self.new_object(), self.allocations);
        let is_zero = record.detail == alloc::ZERO;
        let detail = record.detail;
        let block = Block { start, end, object, number, site, thread, nth, is_zero, detail };
        self.blocks.insert(start, block);
        Change::Alloc { block: Some(block), gone }
    }

    fn free(&mut self, start: u64) -> Change {
        let block = self.blocks.remove(&start);
        if let Some(block) = block {
            self.freed.insert(start, block.end);
        }
        Change::Free(block)
    }

    fn begin(&mut self, thread: u32, start: u64, end: u64) -> Change {
        let mut gone = Vec::new();
        let overlaps_block =
            self.blocks.range(..end).next_back().is_some_and(|(_, block)| block.end > start);
        let fits = start < end && end - start < u64::from(u32::MAX);
        if !fits || overlaps_block || self.touches_global(start, end) {
            return Change::Begin { known: false, gone };
        }
        while let Some((&at, &old)) = self.stacks.range(..end).next_back() {
            if old.end <= start {
                break;
            }
            self.stacks.remove(&at);
            gone.push((old.object, old.end - at));
        }
        let object = self.new_object();
        self.stacks.insert(start, Stack { end, object, thread });
        Change::Begin { known: true, gone }
    }

    /// The object of an address.
    #[inline]
    pub(super) fn find(&mut self, address: u64) -> Found {
        let (row, changes) = ((address >> 6) as usize % RECENT, self.changes);
        let (since, from, found) = self.recent[row];
        if since == changes && from <= address && address < found.end {
            return found;
        }
        let found = self.look_up(address);
        let from = if found.what == What::Region { address } else { found.start };
        self.recent[row] = (changes, from, found);
        found
    }

    /// The object of an address, unless that is in the rest of memory.
    pub(super) fn known(&self, address: u64) -> Option<Found> {
        let stack = self.stacks.range(..=address).next_back();
        if let Some((&start, stack)) = stack.filter(|(_, stack)| address < stack.end) {
            let what = What::Stack(stack.thread);
            return Some(Found { object: stack.object, start, end: stack.end, what });
        }
        if let Ok(at) = self.global(address) {
            let global = &self.globals[at];
            let (start, end) = (global.start, global.end);
            return Some(Found { object: at as u32, start, end, what: What::Global(at) });
        }
        let block = self.blocks.range(..=address).next_back();
        let (&start, &block) = block.filter(|(_, block)| address < block.end)?;
        Some(Found { object: block.object, start, end: block.end, what: What::Heap(block) })
    }

    fn look_up(&mut self, address: u64) -> Found {
        if let Some(found) = self.known(address) {
            return found;
        }
        let after = self.global(address).unwrap_or_else(|after| after);
        // A region ends where something else begins.
        let start = address / REGION * REGION;
        let next_block = self.blocks.range(address..).next().map(|(&start, _)| start);
        let next_stack = self.stacks.range(address..).next().map(|(&start, _)| start);
        let next_global = self.globals.get(after).map(|global| global.start);
        let limits = [Some(start.saturating_add(REGION)), next_block, next_stack, next_global];
        let end = limits.into_iter().flatten().min().unwrap_or(u64::MAX);
        let object = match self.regions.get(&start) {
            Some(&object) => object,
            None => {
                let object = self.new_object();
                self.regions.insert(start, object);
                object
            }
        };
        Found { object, start, end, what: What::Region }
    }

    /// Whether the address is in a block that was given back.
    pub(super) fn is_freed(&self, address: u64) -> bool {
        self.freed.range(..=address).next_back().is_some_and(|(_, &end)| address < end)
    }

    /// Calls `each` with the objects of an access and the part of its bytes that is in each.
    pub(super) fn split(
        &mut self,
        address: u64,
        size: u64,
        mut each: impl FnMut(Found, std::ops::Range<u64>),
    ) {
        let (mut at, end) = (address, address + size);
        while at < end {
            let found = self.find(at);
            let upto = found.end.min(end);
            each(found, at..upto);
            at = upto;
        }
    }
}
