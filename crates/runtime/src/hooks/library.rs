//! Memory of the program that functions of the C library read and write.
//!
//! The plugin announces what a function reads before the program calls it, and what it has written
//! behind the call: `foretrace_recording::library::memory` says what that is.

use std::ffi::c_char;

use foretrace_recording::file::flags;
use foretrace_recording::library::memory::{Amount, Success, code};
use foretrace_recording::record::{handed, kind, unseen};
use foretrace_recording::site::Site;

use super::formats::{Format, Values};
use super::ranges::{look, store};
use crate::thread::{Thread, enter};
use crate::world::hold;

unsafe extern "C" {
    fn wcsnlen(text: *const libc::wchar_t, limit: usize) -> usize;
}

/// Longer ones are not looked at.
const LONGEST: usize = 1 << 24;

/// How many bytes are meant.
///
/// # Safety
///
/// The program has given the address to a function that accesses so many bytes there.
unsafe fn length(start: *const u8, amount: u32, [first, second]: [u64; 2], result: i64) -> usize {
    let amount = code::amount(amount);
    // SAFETY: the caller says so: where a text is meant, there is one.
    let text = |limit: u64| unsafe {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        (libc::strnlen(start.cast(), limit).saturating_add(1)).min(limit)
    };
    let length = match amount {
        Amount::Text | Amount::TextBehind => text(u64::MAX),
        Amount::TextUpTo(_) => text(first),
        Amount::Bytes(_) | Amount::Fixed(_) => first as usize,
        // Its length is in the string itself.
        Amount::String => 0,
        Amount::Product(..) => first.saturating_mul(second) as usize,
        Amount::UpTo(_) => first.saturating_sub(start as u64) as usize,
        Amount::Returned(_) => first.saturating_mul(result.max(0) as u64) as usize,
        Amount::ReturnedBytes => result.max(0) as usize,
    };
    if length > LONGEST { 0 } else { length }
}

/// Whether the function at `site` writes where nobody of this process reads: what is on a terminal
/// no thread depends on. It then is no call on a channel.
fn is_unread(thread: &Thread, site: *const Site, flags: u32) -> bool {
    flags & code::PRINTS != 0 && !crate::kernel::calls::is_open(thread, site as u64)
}

/// A function is about to read memory of the program.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ft_looks(
    site: *const Site,
    start: *const u8,
    amount: u32,
    first: u64,
    second: u64,
) {
    enter(|thread| {
        if start.is_null() || is_unread(thread, site, amount) {
            return;
        }
        let address = thread.site(site);
        // SAFETY: the program gives the address to a function that reads so much there; where the
        // address of a text is meant, it is there, and a string has its length behind that.
        unsafe {
            let (start, size) = match code::amount(amount) {
                Amount::TextBehind => {
                    let text = start.cast::<*const u8>().read_unaligned();
                    let is_there = !text.is_null();
                    (text, if is_there { length(text, amount, [first, second], 0) } else { 0 })
                }
                Amount::String => {
                    look(thread, address, start, 2 * size_of::<usize>());
                    let words = start.cast::<usize>();
                    (words.read() as *const u8, words.add(1).read().min(LONGEST))
                }
                _ => (start, length(start, amount, [first, second], 0)),
            };
            look(thread, address, start, size);
        }
    });
}

/// Whether a function that returned this has done what the code says.
fn applies(code: u32, result: i64) -> bool {
    match code::success(code) {
        Success::Always => true,
        Success::Zero => result as i32 == 0,
        Success::NotZero => result != 0,
        Success::NotNegative => result as i32 >= 0,
        Success::Negative => (result as i32) < 0,
    }
}

/// A function may have looked at memory in ways of its own.
#[unsafe(no_mangle)]
extern "C-unwind" fn __ft_looked_elsewhere(site: *const Site, when: u32, result: i64) {
    enter(|thread| {
        if applies(when, result) {
            let site = thread.site(site);
            hold().stamped(thread, kind::UNSEEN, unseen::LOOKED, site, []);
        }
    });
}

/// The program gives addresses, which may be the same, to a function that may access memory there
/// in ways that are not described. `what`: see [`foretrace_recording::record::handed`]. If it was
/// not known before which function it is, the call is asked.
#[unsafe(no_mangle)]
extern "C-unwind" fn __ft_handed(
    site: *const Site,
    what: u32,
    first: *const u8,
    second: *const u8,
) {
    enter(|thread| {
        let is_unknown = || crate::kernel::calls::is_unknown(thread, site as u64);
        let what = match what as u8 {
            what_known if what & code::ASKED == 0 || is_unknown() => what_known,
            _ if thread.touches_memory => handed::UNDESCRIBED,
            _ => return,
        };
        crate::log::flag(flags::HANDED);
        let site = thread.site(site);
        let second = if first == second { std::ptr::null() } else { second };
        for address in [first, second] {
            if !address.is_null() {
                hold().stamped(thread, kind::HANDED, what, site, [address as u64]);
            }
        }
    });
}

/// A function has written memory of the program.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ft_wrote(
    site: *const Site,
    start: *mut u8,
    amount: u32,
    first: u64,
    second: u64,
    result: i64,
) {
    enter(|thread| {
        if start.is_null() || !applies(amount, result) {
            return;
        }
        let site = thread.site(site);
        // SAFETY: the program has given the address to a function that has written so much there;
        // where the address of a text is meant, it is there.
        unsafe {
            let start = match code::amount(amount) {
                Amount::TextBehind => {
                    has_stored(thread, site, start, size_of::<usize>());
                    start.cast::<*mut u8>().read_unaligned()
                }
                _ => start,
            };
            if !start.is_null() {
                let size = length(start, amount, [first, second], result);
                has_stored(thread, site, start, size);
            }
        }
    });
}

/// Records what is in memory now as a store.
///
/// # Safety
///
/// The program may write to these bytes.
unsafe fn has_stored(thread: &mut Thread, site: u64, start: *mut u8, size: usize) {
    // SAFETY: the caller says so, and there are as many bytes in the copy.
    unsafe {
        let bytes = std::slice::from_raw_parts(start, size).to_vec();
        store(thread, site, start, size, bytes.as_ptr());
    }
}

/// A function is about to read what a format says: those of its values that are texts.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ft_format(
    site: *const Site,
    format: *const c_char,
    values: *const u64,
    count: u64,
    flags: u32,
) {
    enter(|thread| {
        if format.is_null() || is_unread(thread, site, flags) {
            return;
        }
        // SAFETY: the program gives format and values to a function that reads them so; the plugin
        // has put the values into an array, unless they are a list.
        let texts = unsafe {
            let mut values = match flags & code::LIST != 0 {
                true => Values::of_list(values),
                false => Values::of_array(values, count as usize),
            };
            Format::new(format).texts(&mut values)
        };
        let site = thread.site(site);
        for (text, limit, width) in texts {
            // SAFETY: the format says that a text is there, of which so many characters are read.
            unsafe {
                let size = match width {
                    1 => libc::strnlen(text.cast(), limit),
                    _ => wcsnlen(text.cast(), limit),
                };
                let size = size.saturating_add(1).min(limit).saturating_mul(width);
                look(thread, site, text, size.min(LONGEST));
            }
        }
    });
}

/// A function has stored what a format says, as far as it came: the first `result` of its values.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ft_scanned(
    site: *const Site,
    format: *const c_char,
    values: *const u64,
    count: u64,
    result: i64,
) {
    enter(|thread| {
        if format.is_null() || result as i32 <= 0 {
            return;
        }
        // SAFETY: the program has given format and values to a function that has stored to them;
        // the plugin has put the values into an array.
        let places = unsafe {
            let mut values = Values::of_array(values, count as usize);
            Format::new(format).places(&mut values)
        };
        let site = thread.site(site);
        for (start, size) in places.into_iter().take(result as usize) {
            // SAFETY: the format says that so much was stored there; where it is a text, it has an
            // end.
            unsafe {
                let size = size.unwrap_or_else(|| libc::strlen(start.cast()) + 1);
                has_stored(thread, site, start, size);
            }
        }
    });
}
