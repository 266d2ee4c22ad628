//! The functions that programs for verification call and nobody defines: values from outside,
//! assumptions, atomic sections, errors; those of `foretrace.h`, and those of verification tasks. A
//! program that defines them has its own.
//!
//! `foretrace verify` links the program that it has verified with them, and forces a schedule on
//! it. The plan has the values; a value that no plan gives is 0. Sections need no code: a plan
//! never lets another thread into one.

use std::ffi::{c_char, c_int, c_long, c_longlong, c_short, c_void};

use crate::annotations;
use crate::interpose::mutexes;
use crate::message;
use crate::thread::enter;
use crate::world::hold;

/// The next value that the plan has for the calling thread.
fn value() -> u64 {
    let value = enter(|thread| {
        let mut world = hold();
        world.replay.as_mut().and_then(|replay| replay.value_for(thread.planned))
    });
    value.flatten().unwrap_or(0)
}

macro_rules! values {
    ($($name:ident: $type:ty,)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> $type {
            value() as $type
        }
    )*};
}

values! {
    __VERIFIER_nondet_char: c_char,
    __VERIFIER_nondet_uchar: u8,
    __VERIFIER_nondet_short: c_short,
    __VERIFIER_nondet_ushort: u16,
    __VERIFIER_nondet_int: c_int,
    __VERIFIER_nondet_uint: u32,
    __VERIFIER_nondet_unsigned: u32,
    __VERIFIER_nondet_unsigned_int: u32,
    __VERIFIER_nondet_long: c_long,
    __VERIFIER_nondet_ulong: u64,
    __VERIFIER_nondet_longlong: c_longlong,
    __VERIFIER_nondet_ulonglong: u64,
    __VERIFIER_nondet_size_t: usize,
    __VERIFIER_nondet_loff_t: i64,
    __VERIFIER_nondet_u8: u8,
    __VERIFIER_nondet_u16: u16,
    __VERIFIER_nondet_u32: u32,
    __VERIFIER_nondet_S8: i8,
    __VERIFIER_nondet_pointer: *mut c_void,
    __VERIFIER_nondet_pchar: *mut c_char,
    foretrace_input_char: c_char,
    foretrace_input_uchar: u8,
    foretrace_input_short: c_short,
    foretrace_input_ushort: u16,
    foretrace_input_int: c_int,
    foretrace_input_uint: u32,
    foretrace_input_long: c_long,
    foretrace_input_ulong: u64,
}

#[unsafe(no_mangle)]
extern "C" fn foretrace_input_bool() -> bool {
    value() & 1 != 0
}

#[unsafe(no_mangle)]
extern "C" fn __VERIFIER_nondet_bool() -> bool {
    value() & 1 != 0
}

#[unsafe(no_mangle)]
extern "C" fn __VERIFIER_nondet__Bool() -> bool {
    value() & 1 != 0
}

#[unsafe(no_mangle)]
extern "C" fn __VERIFIER_nondet_float() -> f32 {
    f32::from_bits(value() as u32)
}

#[unsafe(no_mangle)]
extern "C" fn __VERIFIER_nondet_double() -> f64 {
    f64::from_bits(value())
}

/// An execution in which an assumption does not hold is none.
#[unsafe(no_mangle)]
extern "C" fn __VERIFIER_assume(holds: c_int) {
    if holds == 0 {
        enter(|_| {
            if let Some(replay) = &mut hold().replay {
                replay.finished();
            }
        });
        message::say("an assumption does not hold");
        message::leave(0);
    }
}

#[unsafe(no_mangle)]
extern "C" fn foretrace_assume(holds: c_int) {
    __VERIFIER_assume(holds);
}

/// Whether the schedule is that of a verified program.
fn is_planned() -> bool {
    let planned =
        enter(|_| hold().replay.as_ref().is_some_and(|replay| replay.is_of_verification()));
    planned.unwrap_or(false)
}

/// In a run, sections are one lock: what is predicted of the run keeps them apart.
#[unsafe(no_mangle)]
extern "C" fn foretrace_exclusive_begin() {
    if !is_planned() {
        mutexes::enter_section();
    }
}

#[unsafe(no_mangle)]
extern "C" fn foretrace_exclusive_end() {
    if !is_planned() {
        mutexes::leave_section();
    }
}

#[unsafe(no_mangle)]
extern "C" fn __VERIFIER_atomic_begin() {}

#[unsafe(no_mangle)]
extern "C" fn __VERIFIER_atomic_end() {}

#[unsafe(no_mangle)]
extern "C" fn __VERIFIER_error() {
    fail();
}

#[unsafe(no_mangle)]
extern "C" fn reach_error() {
    fail();
}

fn fail() {
    annotations::fails();
    message::say("the program calls its error function");
    // SAFETY: it may be called at any time.
    unsafe { libc::abort() };
}
