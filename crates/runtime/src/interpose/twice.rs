//! Pages that the process maps at two addresses. A lock in them is one lock, but the runtime knows
//! locks by their addresses: that would be two, which do not exclude. So it is refused.

use super::process::refuse;
use crate::futex::Guarded;
use crate::kernel::looks::Identity;
use crate::thread::enter;
use crate::world::hold;

/// Shared pages, and the objects that processes can share.
#[derive(Default)]
struct Pages {
    maps: Vec<Map>,
    objects: Vec<u64>,
}

/// Pages with a part of a file, or of something like that.
#[derive(Clone, Copy)]
struct Map {
    file: Identity,
    offset: u64,
    start: u64,
    size: u64,
}

impl Map {
    /// Where the byte at an address is in the file.
    fn place(&self, address: u64) -> Option<(Identity, u64)> {
        let at = address.checked_sub(self.start).filter(|at| *at < self.size)?;
        Some((self.file, self.offset + at))
    }

    fn has(&self, (file, at): (Identity, u64)) -> bool {
        self.file == file && (self.offset..self.offset + self.size).contains(&at)
    }
}

impl Pages {
    /// Whether this address is one of several at which the same memory is.
    fn is_twice(&self, address: u64) -> bool {
        self.maps
            .iter()
            .filter_map(|map| map.place(address))
            .any(|place| self.maps.iter().filter(|map| map.has(place)).nth(1).is_some())
    }

    fn map(&mut self, map: Map) -> bool {
        self.maps.push(map);
        self.objects.iter().any(|object| self.is_twice(*object))
    }

    fn make(&mut self, object: u64) -> bool {
        self.objects.push(object);
        self.is_twice(object)
    }

    fn unmap(&mut self, start: u64) {
        self.maps.retain(|map| map.start != start);
    }
}

static PAGES: Guarded<Pages> = Guarded::new(Pages { maps: Vec::new(), objects: Vec::new() });

/// From inside of the runtime.
fn check(change: impl FnOnce(&mut Pages) -> bool) {
    if PAGES.with(change) {
        refuse("a lock or the like is in pages that the process has mapped twice");
    }
}

/// Shared pages of a file were mapped.
pub(super) fn mapped(descriptor: i32, offset: u64, start: u64, size: u64) {
    enter(|_| {
        let file = hold().kernel.identity(descriptor);
        if let Some(file) = file {
            check(|pages| pages.map(Map { file, offset, start, size }));
        }
    });
}

/// A segment of System V was attached.
pub(super) fn attached(id: i32, start: u64, size: u64) {
    const SEGMENT: u64 = u64::MAX - 1;
    enter(|_| {
        check(|pages| pages.map(Map { file: (SEGMENT, id as u64), offset: 0, start, size }));
    });
}

/// An object was made that processes can share. From inside of the runtime.
pub(super) fn made(address: usize) {
    check(|pages| pages.make(address as u64));
}

/// The pages there are gone, or something else. From inside of the runtime.
pub(super) fn unmapped(start: u64) {
    PAGES.with(|pages| pages.unmap(start));
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: Identity = (1, 2);

    fn map(offset: u64, start: u64) -> Map {
        Map { file: FILE, offset, start, size: 0x1000 }
    }

    #[test]
    fn the_same_bytes_at_two_addresses() {
        let mut pages = Pages::default();
        assert!(!pages.map(map(0, 0x10_0000)) && !pages.make(0x10_0010));
        assert!(!pages.map(map(0x1000, 0x20_0000)), "another page of the file");
        assert!(!pages.map(Map { file: (1, 3), ..map(0, 0x30_0000) }), "another file");
        assert!(pages.map(map(0, 0x40_0000)), "the page with the lock");
        pages.unmap(0x40_0000);
        assert!(!pages.make(0x10_0020));
        assert!(!pages.make(0x50_0000), "no page of a file");
    }

    #[test]
    fn a_lock_that_is_made_where_pages_are_mapped_twice() {
        let mut pages = Pages::default();
        assert!(!pages.map(map(0, 0x10_0000)) && !pages.map(map(0, 0x20_0000)));
        assert!(pages.make(0x20_0fff));
    }
}
