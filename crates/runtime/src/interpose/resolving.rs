//! Names and addresses of hosts. The C library looks them up internally (files, name servers,
//! caches), so the result is recorded and supplied again as a whole.

use std::ffi::{CStr, c_char, c_int};
use std::ptr::null_mut;

use foretrace_recording::input::call;
use libc::{addrinfo, size_t, sockaddr, socklen_t};

use crate::kernel::Kernel;
use crate::kernel::exchange::{Fate, Source, exchange, finish, give, start};
use crate::kernel::uses::Uses;
use crate::real::{pass_on, real};
use crate::thread::enter;

mod next {
    use super::*;
    real!(fn getaddrinfo(host: *const c_char, service: *const c_char, hints: *const addrinfo,
        list: *mut *mut addrinfo) -> c_int);
    real!(fn getnameinfo(address: *const sockaddr, length: socklen_t, host: *mut c_char,
        host_size: socklen_t, service: *mut c_char, service_size: socklen_t,
        flags: c_int) -> c_int);
    real!(fn gethostname(name: *mut c_char, size: size_t) -> c_int);
}

fn always(_: &mut Kernel) -> bool {
    true
}

/// A list of addresses as bytes; see `foretrace_recording::input::call::RESOLVE`.
///
/// # Safety
///
/// The list is one that `getaddrinfo` made.
unsafe fn to_bytes(mut list: *const addrinfo) -> Vec<u8> {
    let mut bytes = Vec::new();
    // SAFETY: the caller says so: each leads to the next, or is null.
    while let Some(one) = unsafe { list.as_ref() } {
        let numbers = [one.ai_flags, one.ai_family, one.ai_socktype, one.ai_protocol];
        let name = match one.ai_canonname.is_null() {
            true => &[][..],
            // SAFETY: as above; a name is a C string.
            false => unsafe { CStr::from_ptr(one.ai_canonname) }.to_bytes_with_nul(),
        };
        let address = match one.ai_addr.is_null() {
            true => &[][..],
            // SAFETY: as above; an address has as many bytes as the element says.
            false => unsafe {
                std::slice::from_raw_parts(one.ai_addr.cast(), one.ai_addrlen as usize)
            },
        };
        for number in numbers {
            bytes.extend((number as u64).to_le_bytes());
        }
        for part in [address, name] {
            bytes.extend((part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part);
            bytes.resize(bytes.len().next_multiple_of(8), 0);
        }
        list = one.ai_next;
    }
    bytes
}

/// The next word of some bytes.
fn word(bytes: &mut &[u8]) -> Option<u64> {
    let (word, behind) = bytes.split_first_chunk::<8>()?;
    *bytes = behind;
    Some(u64::from_le_bytes(*word))
}

fn part<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let size = word(bytes)? as usize;
    let part = bytes.get(..size)?;
    *bytes = bytes.get(size.next_multiple_of(8)..).unwrap_or_default();
    Some(part)
}

/// The list that these bytes are, in memory as the C library takes it: `freeaddrinfo` frees each
/// address, and its name.
fn from_bytes(mut bytes: &[u8]) -> *mut addrinfo {
    let mut first: *mut addrinfo = null_mut();
    let mut place = &raw mut first;
    while !bytes.is_empty() {
        let numbers: [Option<u64>; 4] = std::array::from_fn(|_| word(&mut bytes));
        let [Some(flags), Some(family), Some(kind), Some(protocol)] = numbers else { break };
        let (Some(address), Some(name)) = (part(&mut bytes), part(&mut bytes)) else { break };
        let name = CStr::from_bytes_until_nul(name).ok();
        // SAFETY: the new block has room for the element and the address behind it; `place` is
        // `first`, or within the element before.
        unsafe {
            let one: *mut addrinfo = libc::malloc(size_of::<addrinfo>() + address.len()).cast();
            if one.is_null() {
                break;
            }
            let behind = one.add(1).cast::<u8>();
            std::ptr::copy_nonoverlapping(address.as_ptr(), behind, address.len());
            let text = name.map_or(null_mut(), |name| libc::strdup(name.as_ptr()));
            one.write(addrinfo {
                ai_flags: flags as c_int,
                ai_family: family as c_int,
                ai_socktype: kind as c_int,
                ai_protocol: protocol as c_int,
                ai_addrlen: address.len() as socklen_t,
                ai_addr: if address.is_empty() { null_mut() } else { behind.cast() },
                ai_canonname: text,
                ai_next: null_mut(),
            });
            *place = one;
            place = &raw mut (*one).ai_next;
        }
    }
    first
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn getaddrinfo(
    host: *const c_char,
    service: *const c_char,
    hints: *const addrinfo,
    list: *mut *mut addrinfo,
) -> c_int {
    let source = Source { optional: true, ..Source::new(call::RESOLVE, &always) };
    let Some(begun) = start(&source, |_| Uses::default(), None) else {
        return pass_on!(next::getaddrinfo(host, service, hints, list));
    };
    let (status, found) = match &begun.fate {
        Fate::Answered(answer) => {
            give(answer, &|_, _| ());
            if answer.result == 0 {
                // SAFETY: the caller gives a place for the list.
                unsafe { *list = from_bytes(answer.data) };
            }
            (answer.result as c_int, Vec::new())
        }
        _ => {
            // What it does on the way, through libraries that know of names, is none of the
            // program's: a replay does nothing of it.
            // SAFETY: the caller gives what the C library's own function asks for, and the list is
            // our own until it is freed.
            let ask = || unsafe {
                let mut own = null_mut();
                let status = next::getaddrinfo(host, service, hints, &mut own);
                let found = if status == 0 { to_bytes(own) } else { Vec::new() };
                if status == 0 {
                    libc::freeaddrinfo(own);
                }
                (status, found)
            };
            let (status, found) = enter(|_| ask()).unwrap_or_else(ask);
            if status == 0 {
                // SAFETY: the caller gives a place for the list.
                unsafe { *list = from_bytes(&found) };
            }
            (status, found)
        }
    };
    let areas = |_: i64, visit: &mut dyn FnMut(*mut u8, usize)| {
        if !found.is_empty() {
            visit(found.as_ptr().cast_mut(), found.len());
        }
    };
    finish(&begun, &source, i64::from(status), &areas, |_| ());
    enter(|_| drop(found));
    status
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn getnameinfo(
    address: *const sockaddr,
    length: socklen_t,
    host: *mut c_char,
    host_size: socklen_t,
    service: *mut c_char,
    service_size: socklen_t,
    flags: c_int,
) -> c_int {
    let areas = |result: i64, visit: &mut dyn FnMut(*mut u8, usize)| {
        for (to, size) in [(host, host_size), (service, service_size)] {
            if result == 0 && !to.is_null() && size > 0 {
                visit(to.cast(), size as usize);
            }
        }
    };
    let source = Source { optional: true, ..Source::new(call::HOST, &always) };
    exchange(
        &source,
        |_| Uses::default(),
        None,
        &areas,
        || {
            i64::from(pass_on!(next::getnameinfo(
                address,
                length,
                host,
                host_size,
                service,
                service_size,
                flags
            )))
        },
    ) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn gethostname(name: *mut c_char, size: size_t) -> c_int {
    let areas = |result: i64, visit: &mut dyn FnMut(*mut u8, usize)| {
        if result == 0 && size > 0 {
            visit(name.cast(), size);
        }
    };
    let source = Source { optional: true, ..Source::new(call::HOST, &always) };
    let call = || i64::from(pass_on!(next::gethostname(name, size)));
    exchange(&source, |_| Uses::default(), None, &areas, call) as c_int
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(bytes: &mut Vec<u8>, part: &[u8]) {
        bytes.extend((part.len() as u64).to_le_bytes());
        bytes.extend_from_slice(part);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
    }

    fn one(address: &[u8], name: &[u8]) -> Vec<u8> {
        let mut bytes: Vec<u8> = [1u64, 2, 3, 4].iter().flat_map(|one| one.to_le_bytes()).collect();
        put(&mut bytes, address);
        put(&mut bytes, name);
        bytes
    }

    #[test]
    fn a_list_that_was_kept_is_the_same_again() {
        let kept = [one(&[2, 0, 0, 80, 127, 0, 0, 1], b"name\0"), one(&[9; 28], b"")].concat();
        let list = from_bytes(&kept);
        // SAFETY: the list was made in the form of the C library, which frees it.
        unsafe {
            assert_eq!(to_bytes(list), kept);
            libc::freeaddrinfo(list);
        }
    }

    #[test]
    fn a_name_without_an_end_is_none() {
        let list = from_bytes(&one(&[], b"12345678"));
        // SAFETY: the list has one element, in the form of the C library, which frees it.
        unsafe {
            assert!((*list).ai_canonname.is_null() && (*list).ai_addr.is_null());
            libc::freeaddrinfo(list);
        }
    }
}
