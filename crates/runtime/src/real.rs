//! The C library's own functions behind those that the runtime interposes.

use std::ffi::CStr;

/// The next definition of a function: `real!(fn name(argument: Type, ...) -> Result)` is a function
/// that calls it. It asks of its caller what the C library's own asks for.
macro_rules! real {
    (fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)?) => {
        #[inline]
        pub(crate) unsafe fn $name($($argument: $type),*) $(-> $result)? {
            use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
            static NEXT: AtomicUsize = AtomicUsize::new(0);
            let mut next = NEXT.load(Relaxed);
            if next == 0 {
                next = $crate::real::find(concat!(stringify!($name), "\0"));
                NEXT.store(next, Relaxed);
            }
            // SAFETY: `find` never returns 0, the declaration is that of the C library's function
            // of this name, and the caller promises what that function asks for.
            unsafe {
                let next: unsafe extern "C-unwind" fn($($type),*) $(-> $result)? =
                    std::mem::transmute(next);
                next($($argument),*)
            }
        }
    };
}
pub(crate) use real;

/// Calls a function of the C library on behalf of the program: `pass_on!(next::read(fd, to,
/// size))`.
///
/// Only for functions that stand in the place of one of the C library's, and for callbacks that the
/// C library calls. Whoever calls such a function has promised what its manual asks for. The
/// function that is called here asks for no more than that, since
///
/// * it is the C library's own function of the same name, our own function for another spelling or
///   a special case of it (`openat64`, `creat`), or a part of ours that accesses just the memory
///   that the function accesses;
/// * each pointer is one that the program gave for this very purpose, or leads to a variable of the
///   caller that outlives the call;
/// * numbers (descriptors, processes, flags) may be others than the program's: the kernel checks
///   them.
///
/// The arguments are evaluated before: nothing in them can hide behind this macro's `unsafe`.
macro_rules! pass_on {
    ($($function:ident)::+($($argument:expr),* $(,)?)) => {
        $crate::real::pass_on!(@ ($($function)::+) [] $($argument,)*)
    };
    (@ $function:tt [$($value:ident)*] $next:expr, $($rest:expr,)*) => {{
        let value = $next;
        $crate::real::pass_on!(@ $function [$($value)* value] $($rest,)*)
    }};
    (@ ($($function:ident)::+) [$($value:ident)*]) => {
        // SAFETY: the program keeps the contract of the function that we stand in for, and this one
        // asks for no more: see the macro's own description.
        unsafe { $($function)::+($($value),*) }
    };
}
pub(crate) use pass_on;

/// Functions that stand in the place of one of the C library's, and are another one of ours under a
/// second name or with some arguments fixed: `fn pipe(ends: *mut c_int) -> c_int = pipe2(ends, 0);`
macro_rules! variants {
    ($(
        $(#[$attribute:meta])*
        $visibility:vis fn $name:ident($($argument:tt: $type:ty),*) $(-> $result:ty)?
            = $function:ident($($value:expr),*);
    )*) => { $(
        $(#[$attribute])*
        #[unsafe(no_mangle)]
        $visibility unsafe extern "C-unwind" fn $name($($argument: $type),*) $(-> $result)? {
            $crate::real::pass_on!($function($($value),*))
        }
    )* };
}
pub(crate) use variants;

/// Where the next definition of a function is; the name ends with a 0.
#[cold]
pub(crate) fn find(name: &'static str) -> usize {
    let name = CStr::from_bytes_with_nul(name.as_bytes()).unwrap_or(c"");
    // SAFETY: the name is a C string, and `dlsym` takes any.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } as usize;
    if found == 0 {
        let name = name.to_string_lossy();
        crate::message::say(&format!("no library of the program has the function {name}"));
        crate::message::leave(125);
    }
    found
}
