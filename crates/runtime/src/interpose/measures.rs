//! Measurements by the system: the time and memory that the process has used, the load of the
//! machine. A replay gets the recorded values.

use std::ffi::{c_int, c_void};

use foretrace_recording::input::call;

use crate::kernel::Kernel;
use crate::kernel::exchange::{Source, exchange};
use crate::kernel::uses::Uses;
use crate::real::{pass_on, real};

mod next {
    use super::*;
    real!(fn getrusage(who: c_int, usage: *mut libc::rusage) -> c_int);
    real!(fn sysinfo(info: *mut libc::sysinfo) -> c_int);
    real!(fn getloadavg(list: *mut f64, count: c_int) -> c_int);
}

/// Asks for what goes to memory; `size` says how many bytes, by the result.
fn ask(to: *mut c_void, size: impl Fn(i64) -> usize, call: impl FnOnce() -> c_int) -> c_int {
    let always = |_: &mut Kernel| true;
    let areas = |result: i64, visit: &mut dyn FnMut(*mut u8, usize)| match size(result) {
        0 => {}
        size => visit(to.cast(), size),
    };
    let source = Source { optional: true, ..Source::new(call::MEASURE, &always) };
    exchange(&source, |_| Uses::default(), None, &areas, || i64::from(call())) as c_int
}

fn if_done<T>(result: i64) -> usize {
    if result == 0 { size_of::<T>() } else { 0 }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn getrusage(who: c_int, usage: *mut libc::rusage) -> c_int {
    ask(usage.cast(), if_done::<libc::rusage>, || pass_on!(next::getrusage(who, usage)))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sysinfo(info: *mut libc::sysinfo) -> c_int {
    ask(info.cast(), if_done::<libc::sysinfo>, || pass_on!(next::sysinfo(info)))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn getloadavg(list: *mut f64, count: c_int) -> c_int {
    let size = |result: i64| result.max(0) as usize * size_of::<f64>();
    ask(list.cast(), size, || pass_on!(next::getloadavg(list, count)))
}
