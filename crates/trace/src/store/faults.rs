//! Branches that stand for implicit checks: if one goes the other way than in the recorded run, the
//! program does not continue as recorded. And the assertions that are made of them.

use super::{Kind, Trace};
use crate::{EventId, ImplicitFault, ObjectId, Op};

/// What follows where a branch goes the other way than in the recorded run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Otherwise {
    /// What goes wrong.
    pub fault: ImplicitFault,
    /// In which visible operation of the thread, if that is known.
    pub operation: Option<u32>,
    /// First address and size of the object that the operation was to stay in, if that is known.
    pub object: Option<(u64, u64)>,
}

impl From<ImplicitFault> for Otherwise {
    fn from(fault: ImplicitFault) -> Otherwise {
        Otherwise { fault, operation: None, object: None }
    }
}

impl Trace {
    /// What goes wrong if a branch goes the other way.
    pub fn fault(&self, id: EventId) -> Option<ImplicitFault> {
        self.faults.get(id).map(|otherwise| otherwise.fault)
    }

    /// The same, with what a replay needs to see it.
    pub fn otherwise(&self, id: EventId) -> Option<Otherwise> {
        self.faults.get(id).copied()
    }

    /// The branch is an assertion from now on.
    pub fn assert_branch(&mut self, branch: EventId) {
        let kind = &mut self.columns.kind[branch.index()];
        debug_assert_eq!(*kind, Kind::Branch as u8, "only branches can fail so");
        *kind = Kind::Assert as u8;
    }

    /// The branches behind which the program goes on in one way only, with what follows otherwise.
    pub fn faults(&self) -> impl Iterator<Item = (EventId, &Otherwise)> {
        self.faults.iter()
    }

    /// Whether the event is part of an assertion that nobody wrote and reads or writes no memory of
    /// the program.
    pub fn is_made_up(&self, id: EventId) -> bool {
        let is_cell =
            |cell: ObjectId| self.access(id).is_some_and(|access| access.at.object >= cell);
        self.first_cell.is_some_and(is_cell) || self.fault(id) == Some(ImplicitFault::Freed)
    }

    /// Whether there are such events that read or write.
    pub fn has_cells(&self) -> bool {
        self.first_cell.is_some()
    }

    /// How many events are no events of the program.
    pub fn made_up(&self) -> usize {
        if !self.has_cells() {
            return 0;
        }
        (0..self.len()).filter(|&at| self.is_made_up(EventId::from(at))).count()
    }

    /// Of the assertion that memory is not freed yet: the access behind it, and the free.
    pub fn access_and_free(&self, assertion: EventId) -> Option<(EventId, EventId)> {
        if self.fault(assertion) != Some(ImplicitFault::Freed) {
            return None;
        }
        let access = self.next(assertion)?;
        let object = self.access(access)?.at.object;
        let free = self.other_ops().find(|(_, op)| *op == Op::Free { object })?;
        Some((access, free.0))
    }

    /// How many bytes the object has that the next access of the thread is to, if a branch says
    /// that this access is where it was in the recorded run.
    pub fn guards_address(&self, id: EventId) -> Option<u32> {
        let otherwise =
            self.otherwise(id).filter(|otherwise| otherwise.fault == ImplicitFault::Address)?;
        otherwise.object.and_then(|(_, bytes)| bytes.try_into().ok())
    }

    /// The branches that say where the access behind them is, with the bytes of its object, in no
    /// order.
    pub fn address_guards(&self) -> impl Iterator<Item = (EventId, u32)> + '_ {
        self.faults.keys().filter_map(|id| Some((id, self.guards_address(id)?)))
    }
}
