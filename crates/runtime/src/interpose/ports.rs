//! Ports that the kernel chooses, because the program asks for any.
//!
//! In a replay of a process that talks to itself, the kernel may choose another port than in the
//! recorded run. The program then sees the recorded one, since other answers that it gets again may
//! contain it (`getaddrinfo`, text that it has formatted), and the kernel gets the real one.

use std::ffi::c_int;

use libc::{sockaddr, socklen_t};

use crate::kernel::objects::Port;
use crate::thread::enter;
use crate::world::hold;

/// Where the port is in addresses of the internet.
const PORT: std::ops::Range<usize> = 2..4;
/// The longest address in which there is one.
const LONGEST: usize = size_of::<libc::sockaddr_in6>();

/// An address as the kernel knows it.
pub(super) struct Address {
    given: *const sockaddr,
    /// A copy with another port.
    other: Option<[u32; LONGEST / 4]>,
}

impl Address {
    pub(super) fn really(given: *const sockaddr, length: socklen_t) -> Address {
        let mut other = [0; LONGEST / 4];
        let length = length as usize;
        let is_known = !given.is_null() && (PORT.end..=LONGEST).contains(&length);
        // SAFETY: the program gives an address of so many bytes, and there is room for them.
        let is_other = is_known
            && unsafe {
                std::ptr::copy_nonoverlapping(
                    given.cast::<u8>(),
                    other.as_mut_ptr().cast(),
                    length,
                );
                exchange(other.as_mut_ptr().cast(), |&(recorded, real)| (recorded, real))
            };
        Address { given, other: is_other.then_some(other) }
    }

    pub(super) fn get(&self) -> *const sockaddr {
        self.other.as_ref().map_or(self.given, |other| other.as_ptr().cast())
    }
}

/// The kernel has set an address that has room for so many bytes.
pub(super) fn show(address: *mut sockaddr, room: usize) {
    if room >= PORT.end {
        // SAFETY: the program gives an address that has room for a port.
        unsafe { exchange(address.cast(), |&(recorded, real)| (real, recorded)) };
    }
}

/// Sets another port, if the address has one that is known.
///
/// # Safety
///
/// The address has at least so many bytes that there may be a port.
unsafe fn exchange(address: *mut u8, by: impl Fn(&(Port, Port)) -> (Port, Port)) -> bool {
    // SAFETY: the caller says so.
    let address = unsafe { std::slice::from_raw_parts_mut(address, PORT.end) };
    let family = c_int::from(u16::from_ne_bytes([address[0], address[1]]));
    if ![libc::AF_INET, libc::AF_INET6].contains(&family) {
        return false;
    }
    let known = |_: &mut _| {
        let mut known = hold().kernel.objects.ports.iter().map(&by).collect::<Vec<_>>().into_iter();
        known.find(|(from, _)| from[..] == address[PORT])
    };
    let Some((_, to)) = enter(known).flatten() else { return false };
    address[PORT].copy_from_slice(&to);
    true
}
