//! Random numbers. Drawing them is invisible to others, but a replay has to draw the same ones.

use std::ffi::{c_int, c_uint, c_void};

use foretrace_recording::input::call;
use libc::{size_t, ssize_t};

use crate::kernel::Kernel;
use crate::kernel::exchange::{Source, exchange};
use crate::kernel::uses::Uses;
use crate::real::{pass_on, real};

mod next {
    #![allow(non_snake_case)]
    use super::*;
    real!(fn getrandom(to: *mut c_void, size: size_t, flags: c_uint) -> ssize_t);
    real!(fn getentropy(to: *mut c_void, size: size_t) -> c_int);
    real!(fn arc4random_buf(to: *mut c_void, size: size_t));
    real!(fn arc4random_uniform(below: u32) -> u32);
    real!(fn _ZNSt13random_device9_M_getvalEv(device: *mut c_void) -> c_uint);
}

/// Draws numbers that go to memory; `size` says how many bytes, by the result.
fn draw(to: *mut c_void, size: impl Fn(i64) -> usize, call: impl FnOnce() -> i64) -> i64 {
    let always = |_: &mut Kernel| true;
    let areas = |result: i64, visit: &mut dyn FnMut(*mut u8, usize)| match size(result) {
        0 => {}
        size => visit(to.cast(), size),
    };
    let source = Source::new(call::RANDOM, &always);
    exchange(&source, |_| Uses::default(), None, &areas, call)
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn getrandom(
    to: *mut c_void,
    size: size_t,
    flags: c_uint,
) -> ssize_t {
    let size_of = |result: i64| result.max(0) as usize;
    draw(to, size_of, || pass_on!(next::getrandom(to, size, flags)) as i64) as ssize_t
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn getentropy(to: *mut c_void, size: size_t) -> c_int {
    let size_of = |result: i64| if result == 0 { size } else { 0 };
    draw(to, size_of, || i64::from(pass_on!(next::getentropy(to, size)))) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn arc4random_buf(to: *mut c_void, size: size_t) {
    let call = || {
        pass_on!(next::arc4random_buf(to, size));
        0
    };
    draw(to, |_| size, call);
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn arc4random() -> u32 {
    let mut number = 0u32;
    pass_on!(arc4random_buf((&raw mut number).cast(), size_of::<u32>()));
    number
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn arc4random_uniform(below: u32) -> u32 {
    let call = || i64::from(pass_on!(next::arc4random_uniform(below)));
    draw(std::ptr::null_mut(), |_| 0, call) as u32
}

/// `std::random_device`, whose numbers may come from the processor.
#[allow(non_snake_case)]
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _ZNSt13random_device9_M_getvalEv(device: *mut c_void) -> c_uint {
    let call = || i64::from(pass_on!(next::_ZNSt13random_device9_M_getvalEv(device)));
    draw(std::ptr::null_mut(), |_| 0, call) as c_uint
}
