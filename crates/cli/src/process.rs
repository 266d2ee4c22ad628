//! The user's program: starting it under the runtime, and what it leaves behind.

pub(crate) mod launch;
pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod supervise;
pub(crate) mod test;
