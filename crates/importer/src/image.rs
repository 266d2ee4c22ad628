//! The contents of memory, byte by byte, as far as the recording shows them.
//!
//! **Invariant.** A byte is known if it was written or read. It is *valued* if the trace says so
//! too: if its last writer, or the first read before any write, is an access with a value.

use rustc_hash::FxHashMap;

const PAGE: u64 = 512;

#[derive(Default)]
pub(super) struct Image {
    pages: FxHashMap<u64, Box<Page>>,
}

struct Page {
    bytes: [u8; PAGE as usize],
    known: [u64; PAGE as usize / 64],
    valued: [u64; PAGE as usize / 64],
}

impl Image {
    /// The byte at an address, and whether it is valued.
    #[inline]
    pub(super) fn get(&self, address: u64) -> Option<(u8, bool)> {
        let page = self.pages.get(&(address / PAGE))?;
        let at = (address % PAGE) as usize;
        let bit = |set: &[u64]| set[at / 64] >> (at % 64) & 1 == 1;
        bit(&page.known).then(|| (page.bytes[at], bit(&page.valued)))
    }

    #[inline]
    pub(super) fn set(&mut self, address: u64, byte: u8, is_valued: bool) {
        let page = self.pages.entry(address / PAGE).or_insert_with(|| {
            Box::new(Page { bytes: [0; PAGE as usize], known: [0; 8], valued: [0; 8] })
        });
        let at = (address % PAGE) as usize;
        page.bytes[at] = byte;
        page.known[at / 64] |= 1 << (at % 64);
        if is_valued {
            page.valued[at / 64] |= 1 << (at % 64);
        } else {
            page.valued[at / 64] &= !(1 << (at % 64));
        }
    }

    /// Forgets one byte.
    pub(super) fn forget(&mut self, address: u64) {
        if let Some(page) = self.pages.get_mut(&(address / PAGE)) {
            let at = (address % PAGE) as usize;
            page.known[at / 64] &= !(1 << (at % 64));
        }
    }

    /// Whether anything is known of a range, or of what is near it.
    pub(super) fn knows(&self, start: u64, end: u64) -> bool {
        let (first, last) = (start / PAGE, end.saturating_sub(1) / PAGE);
        if last.saturating_sub(first) > self.pages.len() as u64 {
            return self.pages.keys().any(|page| (first..=last).contains(page));
        }
        (first..=last).any(|page| self.pages.contains_key(&page))
    }

    /// Forgets a range.
    pub(super) fn clear(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        let (first, last) = (start / PAGE, (end - 1) / PAGE);
        let inside = |page: u64| page * PAGE >= start && page < end / PAGE;
        if last - first > self.pages.len() as u64 {
            self.pages.retain(|&page, _| !(first..=last).contains(&page) || !inside(page));
        } else {
            (first..=last)
                .filter(|&page| inside(page))
                .for_each(|page| drop(self.pages.remove(&page)));
        }
        for page in [first, last] {
            if !inside(page) && self.pages.contains_key(&page) {
                let bytes = (page * PAGE).max(start)..=(page * PAGE + (PAGE - 1)).min(end - 1);
                bytes.for_each(|address| self.forget(address));
            }
        }
    }
}
