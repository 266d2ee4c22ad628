//! The stream `stdin`, if others feed it: a stream of our own replaces the C library's.

use libc::FILE;

use super::own_streams;
use crate::kernel::objects::Kind;
use crate::world::hold;

unsafe extern "C" {
    static mut stdin: *mut FILE;
}

/// Puts our stream in its place, if standard input comes from outside; before `main`.
pub(crate) fn begin() {
    let kind = hold().kernel.slot(0).map(|slot| slot.kind);
    if matches!(kind, Some(Kind::Outside | Kind::Log | Kind::Socket))
        && let Some(ours) = own_streams::make(0, c"r".as_ptr(), 0).filter(|ours| !ours.is_null())
    {
        // SAFETY: it is the C library's own variable, which programs may set, and there is one
        // thread yet.
        unsafe { stdin = ours };
    }
}
