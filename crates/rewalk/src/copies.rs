//! Copies, and accesses of more bytes than a word has.
//!
//! Up to 64 bytes are recorded piece by piece, each of at most 8 bytes: the terms of what is loaded
//! go to where it is stored. Longer ones are recorded in blocks; their contents are kept as
//! recorded.

use foretrace_trace::provenance::{Kept, Lost};

use crate::memory::Contents;
use crate::records::Access;
use crate::terms::{TermId, Value};
use crate::thread::{Context, Phase, Thread};
use crate::told::{Sharing, Told, WalkStep};
use foretrace_image::{Instruction, Op};

/// Copies of private memory up to this size keep their terms.
const SMALL: u64 = 4096;

/// A copy in the middle of its records.
pub(crate) struct Transfer {
    /// What was loaded so far, by offset.
    content: Contents,
    /// Where to, if stores are recorded; where from, if loads are.
    loads: Option<u64>,
    stores: Option<u64>,
    loaded: u64,
    stored: u64,
    size: u64,
    /// What a fill or wide store stores.
    value: Option<Value>,
}

impl Thread {
    /// Begins a copy, whose size may be recorded; says whether it is done without records.
    pub(crate) fn begin_copy(
        &mut self,
        context: &mut Context,
        instruction: &Instruction,
        recorded_size: Option<u64>,
    ) -> bool {
        let site = instruction.site;
        let (to, from, size) = match &instruction.op {
            Op::Copy { to, from, size, .. } => {
                (Some(self.value(*to)), Some(self.value(*from)), self.value(*size))
            }
            Op::Fill { to, size, .. } => (Some(self.value(*to)), None, self.value(*size)),
            Op::LoadWide { size, address, .. } => {
                (None, Some(self.value(*address)), Value::number(*size))
            }
            Op::StoreWide { size, address, .. } => {
                (Some(self.value(*address)), None, Value::number(*size))
            }
            _ => unreachable!("only copies begin"),
        };
        for address in [to, from].into_iter().flatten() {
            self.guard_address(context, address, site, Kept::AddressOfCopy);
        }
        self.guard(context, size, site, Kept::CopySize);
        let Some(size) = recorded_size.or(size.known.then_some(size.bits)) else {
            // Only copies within private memory make no records.
            self.store_anywhere(context, Value::UNKNOWN, site);
            self.advance();
            return true;
        };
        let (to_private, from_private) = match instruction.op {
            Op::Copy { to_private, from_private, .. } => (to_private, from_private),
            Op::Fill { private, .. } => (private, true),
            Op::LoadWide { .. } => (true, false),
            _ => (false, true),
        };
        let value = match &instruction.op {
            Op::Fill { byte, .. } => Some(self.filling(context, self.value(*byte), site)),
            Op::StoreWide { value, .. } => {
                let value = self.value(*value);
                Some(self.terms.unmodelled([value]))
            }
            _ => None,
        };
        let mut transfer = Transfer {
            content: Contents::default(),
            loads: None,
            stores: None,
            loaded: 0,
            stored: 0,
            size,
            value,
        };
        if size > 0 {
            transfer.loads = from.filter(|_| !from_private).map(|_| 0);
            transfer.stores = to.filter(|_| !to_private).map(|_| 0);
            if let Some(from) = from.filter(|_| from_private) {
                self.read_private(context, &mut transfer, from, site);
            }
        }
        let waits = transfer.loads.is_some() || transfer.stores.is_some();
        if let Some(address) = from.filter(|from| from.known && transfer.loads.is_some()) {
            transfer.loads = Some(address.bits);
        }
        if let Some(address) = to.filter(|to| to.known && transfer.stores.is_some()) {
            transfer.stores = Some(address.bits);
        }
        if waits {
            self.frames.last_mut().expect("it copies").phase = Phase::Copy(Box::new(transfer));
            return false;
        }
        self.finish_copy(context, transfer);
        true
    }

    /// The word that a fill repeats.
    fn filling(&mut self, context: &mut Context, byte: Value, site: u64) -> Value {
        self.guard(context, byte, site, Kept::FillByte);
        match byte.known {
            true => Value::number((byte.bits & 0xff) * 0x0101_0101_0101_0101),
            false => Value::UNKNOWN,
        }
    }

    /// Takes what a copy reads from private memory.
    fn read_private(
        &mut self,
        context: &mut Context,
        transfer: &mut Transfer,
        from: Value,
        site: u64,
    ) {
        if !from.known || transfer.size > SMALL {
            let end = if from.known { from.bits.saturating_add(transfer.size) } else { u64::MAX };
            for value in self.private.values(if from.known { from.bits } else { 0 }, end) {
                self.guard(context, value, site, Kept::LargeCopy);
            }
            return;
        }
        for offset in (0..transfer.size).step_by(8) {
            let piece = (transfer.size - offset).min(8) as u8;
            let value = self.load_private(context.program, Some(from.bits + offset), piece);
            transfer.content.store(&mut self.terms, offset, piece, value, true);
        }
    }

    /// Takes the transfer that the top frame is in.
    fn transfer(&mut self) -> Option<Box<Transfer>> {
        let frame = self.frames.last_mut()?;
        match std::mem::replace(&mut frame.phase, Phase::Ready) {
            Phase::Copy(transfer) => Some(transfer),
            phase => {
                frame.phase = phase;
                None
            }
        }
    }

    /// Puts the transfer back, or goes on if it is done.
    fn go_on(&mut self, context: &mut Context, transfer: Box<Transfer>) {
        let loads_left = transfer.loads.is_some() && transfer.loaded < transfer.size;
        let stores_left = transfer.stores.is_some() && transfer.stored < transfer.size;
        if loads_left || stores_left {
            self.frames.last_mut().expect("it copies").phase = Phase::Copy(transfer);
        } else {
            self.finish_copy(context, *transfer);
        }
    }

    /// All records are there: what is left is private.
    fn finish_copy(&mut self, context: &mut Context, mut transfer: Transfer) {
        let program = context.program;
        let Some((_, Some(instruction))) = self.instruction(program) else { return };
        let (site, result) = (instruction.site, instruction.result);
        match &instruction.op {
            Op::LoadWide { .. } => {
                let parts = transfer.content.clear();
                let value = self.terms.unmodelled(parts);
                self.set(program, result, value);
            }
            Op::Copy { to_private: true, to, .. } => {
                let to = self.value(*to);
                self.write_private(context, &transfer, to, site);
            }
            Op::Fill { private: true, to, .. } => {
                let to = self.value(*to);
                let address = to.known.then_some(to.bits);
                let value = transfer.value.unwrap_or(Value::UNKNOWN);
                if transfer.size <= SMALL && value.known {
                    for offset in (0..transfer.size).step_by(8) {
                        let piece = (transfer.size - offset).min(8) as u8;
                        let word = Value::number(foretrace_words::cut(value.bits, 8 * piece));
                        let at = address.map(|address| address + offset);
                        self.store_private(context, at, piece, word, site);
                    }
                } else {
                    self.store_private_range(context, address, transfer.size, Value::UNKNOWN, site);
                }
            }
            _ => {}
        }
        self.advance();
    }

    fn write_private(&mut self, context: &mut Context, transfer: &Transfer, to: Value, site: u64) {
        if !to.known || transfer.size > SMALL {
            for value in transfer.content.values(0, u64::MAX) {
                self.guard(context, value, site, Kept::LargeCopy);
            }
            let address = to.known.then_some(to.bits);
            if address.is_none() {
                // What is passed by value lies on the stack, where something else may have been,
                // and nothing is recorded of the copy.
                self.give_away_memory(context, site);
            }
            return self.store_private_range(context, address, transfer.size, Value::UNKNOWN, site);
        }
        for offset in (0..transfer.size).step_by(8) {
            let piece = (transfer.size - offset).min(8) as u8;
            let value = transfer.content.load(&mut self.terms, offset, piece, None);
            self.private.store(&mut self.terms, to.bits + offset, piece, value, true);
        }
    }

    /// A piece of what a copy loads.
    pub(crate) fn load_piece(
        &mut self,
        context: &mut Context,
        access: Access,
        bits: u64,
        told: &mut Told,
    ) {
        let Some(mut transfer) = self.transfer() else {
            return self.lose(context, Lost::UnexpectedLoad);
        };
        if !transfer.is_next_load(access.address, access.size.into()) {
            return self.lose(context, Lost::CopyLoadElsewhere);
        }
        let value = self.found(context, access, bits, told);
        transfer.content.store(&mut self.terms, transfer.loaded, access.size, value, true);
        transfer.loaded += u64::from(access.size);
        self.go_on(context, transfer);
    }

    /// A piece of what a copy stores.
    pub(crate) fn store_piece(
        &mut self,
        context: &mut Context,
        access: Access,
        bits: u64,
        told: &mut Told,
    ) {
        let Some(mut transfer) = self.transfer() else {
            return self.lose(context, Lost::UnexpectedStore);
        };
        if !transfer.is_next_store(access.address, access.size.into()) {
            return self.lose(context, Lost::CopyStoreElsewhere);
        }
        let value = match transfer.value {
            // What a fill stores is a number; of a wide value only what it depends on is known.
            Some(value) if value.term == TermId::NONE => Value::number(bits),
            Some(value) => Value { bits, known: true, ..value },
            None => {
                transfer.content.load(&mut self.terms, transfer.stored, access.size, Some(bits))
            }
        };
        self.put(context, access, value, bits, told);
        transfer.stored += u64::from(access.size);
        self.go_on(context, transfer);
    }

    /// A load of more than 64 bytes. What it finds is kept as recorded.
    pub(crate) fn load_range(
        &mut self,
        context: &mut Context,
        address: u64,
        bytes: &[u8],
        sharing: Sharing,
        told: &mut Told,
    ) {
        let size = bytes.len() as u64;
        for value in self.own.values(address, address.saturating_add(size)) {
            self.guard(context, value, 0, Kept::LargeCopy);
        }
        if sharing != Sharing::Own {
            context.counts.guard(Kept::LargeCopy);
            told.after.push(WalkStep::Opaque);
        }
        match self.transfer() {
            Some(mut transfer) if transfer.is_next_load(address, size) => {
                transfer.loaded += size;
                self.go_on(context, transfer);
            }
            None if self.is_inside(context.program) => {}
            _ => self.lose(context, Lost::CopyLoadElsewhere),
        }
    }

    /// A store of more than 64 bytes. As an event it depends on all that the thread has read.
    pub(crate) fn store_range(
        &mut self,
        context: &mut Context,
        address: u64,
        bytes: &[u8],
        sharing: Sharing,
    ) {
        let size = bytes.len() as u64;
        self.own.cut_out(&mut self.terms, address, address.saturating_add(size));
        if sharing != Sharing::Own {
            context.counts.writes += 1;
        }
        match self.transfer() {
            Some(mut transfer) if transfer.is_next_store(address, size) => {
                if let Some(value) = transfer.value {
                    self.guard(context, value, 0, Kept::LargeCopy);
                }
                for value in transfer.content.values(0, u64::MAX) {
                    self.guard(context, value, 0, Kept::LargeCopy);
                }
                transfer.stored += size;
                self.go_on(context, transfer);
            }
            None if self.is_inside(context.program) => {}
            _ => self.lose(context, Lost::CopyStoreElsewhere),
        }
    }
}

impl Transfer {
    /// Shows all values, which may be changed.
    pub(crate) fn for_each_value(&mut self, mut each: impl FnMut(&mut Value)) {
        self.content.for_each_value(&mut each);
        self.value.iter_mut().for_each(each);
    }

    /// Whether the bytes are the next ones that the copy loads.
    fn is_next_load(&self, address: u64, size: u64) -> bool {
        let at = |start: u64| start == 0 || start.wrapping_add(self.loaded) == address;
        self.loads.is_some_and(at) && self.loaded + size <= self.size
    }

    /// Whether the bytes are the next ones that the copy stores, and all loads are done.
    fn is_next_store(&self, address: u64, size: u64) -> bool {
        let at = |start: u64| start == 0 || start.wrapping_add(self.stored) == address;
        let has_loaded = self.loads.is_none() || self.loaded == self.size;
        self.stores.is_some_and(at) && has_loaded && self.stored + size <= self.size
    }
}
