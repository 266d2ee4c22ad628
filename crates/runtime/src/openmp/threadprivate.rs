//! Variables of which each thread has a copy of its own that outlives parallel regions.
//!
//! `foretrace cc` asks clang not to use thread-local storage for them, since the threads of a
//! region end with it. A copy belongs to a number in the outermost teams; the first thread uses the
//! variable itself, as in LLVM's runtime.

use std::collections::HashMap;
use std::ffi::c_void;

use super::team::current;
use super::{Number, Place};
use crate::futex::Guarded;

type Constructor = extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// A variable.
#[derive(Default)]
struct Variable {
    constructor: Option<Constructor>,
    /// What it held before anybody used it.
    image: Vec<u8>,
    /// By the numbers of the thread: of the initial one, then those in the teams around it.
    copies: Vec<(Vec<u32>, usize)>,
}

static VARIABLES: Guarded<Option<HashMap<usize, Variable>>> = Guarded::new(None);

fn with<R>(variable: *mut c_void, work: impl FnOnce(&mut Variable) -> R) -> R {
    VARIABLES.with(|all| work(all.get_or_insert_default().entry(variable as usize).or_default()))
}

/// How the copies of a variable are made. They live as long as the process, so nothing ends them.
#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_threadprivate_register(
    _: *const Place,
    variable: *mut c_void,
    constructor: Option<Constructor>,
    _: *const c_void,
    _: *const c_void,
) {
    with(variable, |variable| variable.constructor = constructor);
}

/// The caller's copy of a variable.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __kmpc_threadprivate_cached(
    _: *const Place,
    _: Number,
    variable: *mut c_void,
    size: usize,
    _: *mut c_void,
) -> *mut c_void {
    let member = current();
    let ancestors = member.team.ancestors.iter().map(|(number, _)| *number);
    let mut numbers: Vec<u32> =
        [member.team.initial].into_iter().chain(ancestors).chain([member.number]).collect();
    // The first thread of a team is the one that began it.
    while numbers.last() == Some(&0) {
        numbers.pop();
    }
    let (known, constructor) = with(variable, |known| {
        if known.image.is_empty() {
            // SAFETY: compiled code gives a variable of this size.
            known.image = unsafe { std::slice::from_raw_parts(variable.cast(), size) }.to_vec();
        }
        if numbers.is_empty() {
            return (Some(variable as usize), None);
        }
        let copy = known.copies.iter().find(|(of, _)| *of == numbers).map(|(_, copy)| *copy);
        (copy, known.constructor)
    });
    if let Some(known) = known {
        return known as *mut c_void;
    }
    let copy = with(variable, |known| {
        let words = vec![0u128; known.image.len().div_ceil(16)].leak().as_mut_ptr();
        // SAFETY: there are at least as many bytes in the words.
        unsafe { words.cast::<u8>().copy_from(known.image.as_ptr(), known.image.len()) };
        known.copies.push((numbers, words as usize));
        words.cast()
    });
    // Outside of the lock: it is the program's own code.
    if let Some(constructor) = constructor {
        constructor(copy);
    }
    copy
}
