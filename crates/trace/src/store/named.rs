//! The names behind ids.

use super::{Names, Trace};
use crate::ids::{
    BarrierId, ChannelId, CondId, FunctionId, LocationId, LockId, NameId, ObjectId, SemId, ThreadId,
};

/// An id that has a name in a trace.
pub trait Named {
    /// Its name.
    fn name_in(self, trace: &Trace) -> &str;
}

macro_rules! named {
    ($($id:ident in $table:ident),* $(,)?) => {$(
        impl Named for $id {
            fn name_in(self, trace: &Trace) -> &str {
                let names: &Names = trace.$table();
                names.get(self.index())
            }
        }
    )*};
}

named! {
    ThreadId in threads,
    ObjectId in objects,
    LockId in locks,
    CondId in conds,
    SemId in semaphores,
    BarrierId in barriers,
    ChannelId in channels,
    FunctionId in functions,
    LocationId in locations,
    NameId in names,
}

impl<I: Named + Copy> Named for &I {
    fn name_in(self, trace: &Trace) -> &str {
        (*self).name_in(trace)
    }
}

impl Trace {
    /// The name of what an id stands for.
    pub fn name(&self, id: impl Named) -> &str {
        id.name_in(self)
    }
}
