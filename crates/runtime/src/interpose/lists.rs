//! The parts of `std::list` that are compiled into the C++ library, as steps of the program: see
//! `containers.rs`.

// The names are the C++ library's own.
#![allow(non_snake_case)]

use super::containers::Steps;
use crate::real::{pass_on, real};
use crate::thread::enter;

/// A node of a list.
#[repr(C)]
struct Link {
    next: *mut Link,
    previous: *mut Link,
}

fn next(link: *mut Link) -> *mut *mut Link {
    link.cast()
}

fn previous(link: *mut Link) -> *mut *mut Link {
    link.cast::<*mut Link>().wrapping_add(1)
}

/// # Safety
///
/// As in `containers.rs`: the links are those of lists of the program's.
impl Steps<'_> {
    /// Puts a link before another one.
    unsafe fn hook(&mut self, link: *mut Link, position: *mut Link) {
        // SAFETY: as above.
        unsafe {
            let before = self.load(previous(position));
            self.store(next(link), position);
            self.store(previous(link), before);
            self.store(next(before), link);
            self.store(previous(position), link);
        }
    }

    unsafe fn unhook(&mut self, link: *mut Link) {
        // SAFETY: as above.
        unsafe {
            let (after, before) = (self.load(next(link)), self.load(previous(link)));
            self.store(next(before), after);
            self.store(previous(after), before);
        }
    }

    /// Puts the links from the first up to the last, without that one, before this one.
    unsafe fn transfer(&mut self, link: *mut Link, first: *mut Link, last: *mut Link) {
        if link == last {
            return;
        }
        // SAFETY: as above.
        unsafe {
            let tail = self.load(previous(last));
            let before_first = self.load(previous(first));
            let before_link = self.load(previous(link));
            self.store(next(tail), link);
            self.store(next(before_first), last);
            self.store(next(before_link), first);
            self.store(previous(link), tail);
            self.store(previous(last), before_first);
            self.store(previous(first), before_link);
        }
    }

    /// Gives what one list has, which is not empty, to another one, which is.
    unsafe fn give(&mut self, from: *mut Link, to: *mut Link) {
        // SAFETY: as above.
        unsafe {
            let (first, last) = (self.load(next(from)), self.load(previous(from)));
            self.store(next(to), first);
            self.store(previous(to), last);
            self.store(next(last), to);
            self.store(previous(first), to);
            self.store(previous(from), from);
            self.store(next(from), from);
        }
    }

    /// Lists give each other what they have.
    unsafe fn exchange(&mut self, one: *mut Link, other: *mut Link) {
        // SAFETY: as above.
        unsafe {
            let is_one_empty = self.load(next(one)) == one;
            let is_other_empty = self.load(next(other)) == other;
            match (is_one_empty, is_other_empty) {
                (true, true) => {}
                (false, true) => self.give(one, other),
                (true, false) => self.give(other, one),
                (false, false) => {
                    for word in [next, previous] {
                        let (mine, yours) = (self.load(word(one)), self.load(word(other)));
                        self.store(word(one), yours);
                        self.store(word(other), mine);
                    }
                    for list in [one, other] {
                        let (first, last) = (self.load(next(list)), self.load(previous(list)));
                        self.store(next(last), list);
                        self.store(previous(first), list);
                    }
                }
            }
        }
    }

    unsafe fn reverse(&mut self, list: *mut Link) {
        let mut link = list;
        loop {
            // SAFETY: as above.
            unsafe {
                let (after, before) = (self.load(next(link)), self.load(previous(link)));
                self.store(next(link), before);
                self.store(previous(link), after);
                link = after;
            }
            if link == list {
                return;
            }
        }
    }
}

mod library {
    use super::*;
    real!(fn _ZNSt8__detail15_List_node_base7_M_hookEPS0_(link: *mut Link, position: *mut Link));
    real!(fn _ZNSt8__detail15_List_node_base9_M_unhookEv(link: *mut Link));
    real!(fn _ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_(link: *mut Link, first: *mut Link,
        last: *mut Link));
    real!(fn _ZNSt8__detail15_List_node_base4swapERS0_S1_(one: *mut Link, other: *mut Link));
    real!(fn _ZNSt8__detail15_List_node_base10_M_reverseEv(list: *mut Link));
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _ZNSt8__detail15_List_node_base7_M_hookEPS0_(
    link: *mut Link,
    position: *mut Link,
) {
    let work = || pass_on!(library::_ZNSt8__detail15_List_node_base7_M_hookEPS0_(link, position));
    // SAFETY: the caller gives a link of a list, and a new one.
    enter(|thread| unsafe { Steps(thread).hook(link, position) }).unwrap_or_else(work);
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _ZNSt8__detail15_List_node_base9_M_unhookEv(link: *mut Link) {
    let work = || pass_on!(library::_ZNSt8__detail15_List_node_base9_M_unhookEv(link));
    // SAFETY: the caller gives a link of a list.
    enter(|thread| unsafe { Steps(thread).unhook(link) }).unwrap_or_else(work);
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_(
    link: *mut Link,
    first: *mut Link,
    last: *mut Link,
) {
    let work = || {
        pass_on!(library::_ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_(link, first, last))
    };
    // SAFETY: the caller gives links of lists.
    enter(|thread| unsafe { Steps(thread).transfer(link, first, last) }).unwrap_or_else(work);
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _ZNSt8__detail15_List_node_base4swapERS0_S1_(
    one: *mut Link,
    other: *mut Link,
) {
    let work = || pass_on!(library::_ZNSt8__detail15_List_node_base4swapERS0_S1_(one, other));
    // SAFETY: the caller gives two lists.
    enter(|thread| unsafe { Steps(thread).exchange(one, other) }).unwrap_or_else(work);
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _ZNSt8__detail15_List_node_base10_M_reverseEv(list: *mut Link) {
    let work = || pass_on!(library::_ZNSt8__detail15_List_node_base10_M_reverseEv(list));
    // SAFETY: the caller gives a list.
    enter(|thread| unsafe { Steps(thread).reverse(list) }).unwrap_or_else(work);
}
