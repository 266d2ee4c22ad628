//! What branches say that nobody wrote.

use super::{Kind, Trace};
use crate::{EventId, Fault};

impl Trace {
    /// What goes wrong if a branch goes the other way.
    pub fn fault(&self, id: EventId) -> Option<Fault> {
        self.faults.get(&id).map(|(fault, _)| *fault)
    }

    /// Which visible operation of its thread goes wrong if a branch goes the other way.
    pub fn faulty_operation(&self, id: EventId) -> Option<u32> {
        self.faults
            .get(&id)
            .and_then(|(fault, ordinal)| ordinal.filter(|_| *fault != Fault::Address))
    }

    /// How many bytes the object has that the next access of the thread is to, if a branch says that this access is where it was in the recorded run.
    pub fn guards_address(&self, id: EventId) -> Option<u32> {
        self.faults.get(&id).and_then(|(fault, bytes)| bytes.filter(|_| *fault == Fault::Address))
    }

    /// The branches that say where the access behind them is, with the bytes of its object, in no order.
    pub fn address_guards(&self) -> impl Iterator<Item = (EventId, u32)> + '_ {
        self.faults.keys().filter_map(|&id| Some((id, self.guards_address(id)?)))
    }

    /// Makes assertions of the branches whose other way is one of these faults.
    pub fn assert_no(&mut self, faults: &[Fault]) {
        for (event, _) in self.faults.iter().filter(|(_, (fault, _))| faults.contains(fault)) {
            let kind = &mut self.columns.kind[event.index()];
            debug_assert_eq!(*kind, Kind::Branch as u8, "only branches can fail so");
            *kind = Kind::Assert as u8;
        }
    }
}
