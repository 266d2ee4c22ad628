//! Branches that say where the access behind them is.

use super::Trace;
use crate::{EventId, Fault};

impl Trace {
    /// How many bytes the object has that the next access of the thread is to, if a branch says
    /// that this access is where it was in the recorded run.
    pub fn guards_address(&self, id: EventId) -> Option<u32> {
        let otherwise = self.otherwise(id).filter(|otherwise| otherwise.fault == Fault::Address)?;
        otherwise.object.and_then(|(_, bytes)| bytes.try_into().ok())
    }

    /// The branches that say where the access behind them is, with the bytes of its object, in no
    /// order.
    pub fn address_guards(&self) -> impl Iterator<Item = (EventId, u32)> + '_ {
        self.faults.keys().filter_map(|id| Some((id, self.guards_address(id)?)))
    }
}
