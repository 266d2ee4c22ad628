//! The C library's own functions behind the ones that we stand before.

/// The next definition of a function: `real!(fn name(argument: Type, ...) -> Result)` is a function
/// that calls it.
macro_rules! real {
    (fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)?) => {
        #[inline]
        pub(crate) unsafe fn $name($($argument: $type),*) $(-> $result)? {
            use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
            static NEXT: AtomicUsize = AtomicUsize::new(0);
            let mut next = NEXT.load(Relaxed);
            if next == 0 {
                let name = concat!(stringify!($name), "\0");
                next = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr().cast()) } as usize;
                NEXT.store(next, Relaxed);
            }
            unsafe {
                let next: unsafe extern "C-unwind" fn($($type),*) $(-> $result)? =
                    std::mem::transmute(next);
                next($($argument),*)
            }
        }
    };
}
pub(crate) use real;
