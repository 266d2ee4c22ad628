//! The parts of C++'s containers that are compiled into the C++ library: balancing of `map` and
//! `set`, linking of `list`, growing of `unordered_map`. The rest of them are templates, and
//! instrumented with the program.
//!
//! What such a function changes is found by comparing, put back, and then stored word by word as
//! instrumented code would have done it. What it only reads is not recorded: that misses races. But
//! the steps from one node of a tree to the next are the runtime's own: where they lead depends on
//! what they read.

// The names are the C++ library's own.
#![allow(non_snake_case)]

use std::ffi::c_void;

use foretrace_recording::record::kind;

use crate::real::{pass_on, real};
use crate::thread::{Thread, enter};

/// A node of a tree, or the header of one.
#[repr(C)]
struct Node {
    color: u32,
    parent: *mut Node,
    left: *mut Node,
    right: *mut Node,
}

/// A node of a list.
#[repr(C)]
struct Link {
    next: *mut Link,
    previous: *mut Link,
}

/// What `_M_need_rehash` returns.
#[repr(C)]
#[derive(Clone, Copy)]
struct Rehash {
    needed: bool,
    buckets: usize,
}

mod next {
    use super::*;
    real!(fn _ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(left: bool,
        node: *mut Node, parent: *mut Node, header: *mut Node));
    real!(fn _ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_(node: *mut Node,
        header: *mut Node) -> *mut Node);
    real!(fn _ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base(node: *mut Node) -> *mut Node);
    real!(fn _ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base(node: *mut Node) -> *mut Node);
    real!(fn _ZNSt8__detail15_List_node_base7_M_hookEPS0_(link: *mut Link, position: *mut Link));
    real!(fn _ZNSt8__detail15_List_node_base9_M_unhookEv(link: *mut Link));
    real!(fn _ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_(link: *mut Link, first: *mut Link,
        last: *mut Link));
    real!(fn _ZNKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm(policy: *const c_void,
        buckets: usize, elements: usize, new: usize) -> Rehash);
    real!(fn _ZNKSt8__detail20_Prime_rehash_policy11_M_next_bktEm(policy: *const c_void,
        buckets: usize) -> usize);
}

/// Words of memory: address and size. They are within nodes of a container that the program
/// changes: nobody else uses it meanwhile, or the program races with itself.
#[derive(Default)]
struct Words(Vec<(*mut u8, usize)>);

impl Words {
    fn node(&mut self, node: *mut Node) {
        if !node.is_null() && !self.0.iter().any(|&(known, _)| known == node.cast()) {
            self.0.push((node.cast(), 4));
            let node = node.cast::<u8>();
            self.0.extend([8, 16, 24].map(|offset| (node.wrapping_add(offset), 8)));
        }
    }

    /// A node and three generations below it: as far as two rotations reach.
    fn around(&mut self, node: *mut Node, generations: u32) {
        self.node(node);
        // SAFETY: the nodes of a tree of the program's lead to nodes, or are null.
        if let Some(node) = unsafe { node.as_ref() }
            && generations > 0
        {
            self.around(node.left, generations - 1);
            self.around(node.right, generations - 1);
        }
    }

    /// All nodes from this one up to the header, and what is around them.
    fn up(&mut self, mut node: *mut Node, header: *mut Node) {
        while !node.is_null() && node != header {
            self.around(node, 3);
            // SAFETY: it is not null, and the nodes of the tree lead up to the header.
            node = unsafe { (*node).parent };
        }
        self.node(header);
    }

    fn link(&mut self, link: *mut Link) {
        let link = link.cast::<u8>();
        self.0.extend([0, 8].map(|offset| (link.wrapping_add(offset), 8)));
    }

    /// Does the work, and records what it changes here.
    fn watch<R>(&self, thread: &mut Thread, work: impl FnOnce() -> R) -> R {
        // SAFETY: these are aligned words of nodes, see above.
        let value = |at: *mut u8, size: usize| unsafe {
            if size == 4 { u64::from(at.cast::<u32>().read()) } else { at.cast::<u64>().read() }
        };
        // SAFETY: as above; the C++ library has just written there itself.
        let write = |at: *mut u8, size: usize, value: u64| unsafe {
            if size == 4 {
                at.cast::<u32>().write(value as u32)
            } else {
                at.cast::<u64>().write(value)
            }
        };
        let before: Vec<u64> = self.0.iter().map(|&(at, size)| value(at, size)).collect();
        let result = work();
        let mut changed: Vec<(*mut u8, usize, u64, u64)> = Vec::new();
        for (&(at, size), &before) in self.0.iter().zip(&before) {
            let after = value(at, size);
            if after != before && !changed.iter().any(|&(known, ..)| known == at) {
                changed.push((at, size, before, after));
            }
        }
        for &(at, size, before, _) in &changed {
            write(at, size, before);
        }
        let site = thread.call_site;
        for (at, size, _, after) in changed {
            thread.point(kind::STORE, site, at as u64, size as u64);
            thread.access(kind::STORE, size as u8, site, at as u64, after);
            write(at, size, after);
        }
        result
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(
    left: bool,
    node: *mut Node,
    parent: *mut Node,
    header: *mut Node,
) {
    let work = || {
        pass_on!(next::_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(
            left, node, parent, header,
        ));
    };
    enter(|thread| {
        let mut words = Words::default();
        words.node(node);
        words.up(parent, header);
        words.watch(thread, work);
    })
    .unwrap_or_else(work);
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_(
    node: *mut Node,
    header: *mut Node,
) -> *mut Node {
    let work = || {
        pass_on!(next::_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_(node, header))
    };
    let done = enter(|thread| {
        let mut words = Words::default();
        // The node's place is taken by the next one, which may be far below.
        // SAFETY: the caller gives a node of a tree.
        let mut successor = unsafe { (*node).right };
        while let Some(left) =
            // SAFETY: the nodes of the tree lead to nodes, or are null.
            unsafe { successor.as_ref() }
                .map(|one| one.left)
                .filter(|left| !left.is_null())
        {
            successor = left;
        }
        words.up(if successor.is_null() { node } else { successor }, header);
        words.watch(thread, work)
    });
    done.unwrap_or_else(work)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _ZNSt8__detail15_List_node_base7_M_hookEPS0_(
    link: *mut Link,
    position: *mut Link,
) {
    let work = || pass_on!(next::_ZNSt8__detail15_List_node_base7_M_hookEPS0_(link, position));
    enter(|thread| {
        let mut words = Words::default();
        // SAFETY: the caller gives a link of a list.
        [link, position, unsafe { (*position).previous }]
            .into_iter()
            .for_each(|link| words.link(link));
        words.watch(thread, work);
    })
    .unwrap_or_else(work);
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _ZNSt8__detail15_List_node_base9_M_unhookEv(link: *mut Link) {
    let work = || pass_on!(next::_ZNSt8__detail15_List_node_base9_M_unhookEv(link));
    enter(|thread| {
        let mut words = Words::default();
        // SAFETY: the caller gives a link of a list.
        unsafe { [(*link).next, (*link).previous] }.into_iter().for_each(|link| words.link(link));
        words.watch(thread, work);
    })
    .unwrap_or_else(work);
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_(
    link: *mut Link,
    first: *mut Link,
    last: *mut Link,
) {
    let work =
        || pass_on!(next::_ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_(link, first, last));
    enter(|thread| {
        let mut words = Words::default();
        for one in [link, first, last] {
            words.link(one);
            // SAFETY: the caller gives links of lists.
            words.link(unsafe { (*one).previous });
        }
        words.watch(thread, work);
    })
    .unwrap_or_else(work);
}

/// The policy is a load factor and the number of elements at which to grow; only the latter
/// changes.
fn policy(policy: *const c_void) -> Words {
    Words(vec![(policy.cast_mut().cast::<u8>().wrapping_add(8), 8)])
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _ZNKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm(
    at: *const c_void,
    buckets: usize,
    elements: usize,
    new: usize,
) -> Rehash {
    let work = || {
        pass_on!(next::_ZNKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm(
            at, buckets, elements, new
        ))
    };
    enter(|thread| policy(at).watch(thread, work)).unwrap_or_else(work)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _ZNKSt8__detail20_Prime_rehash_policy11_M_next_bktEm(
    at: *const c_void,
    buckets: usize,
) -> usize {
    let work = || pass_on!(next::_ZNKSt8__detail20_Prime_rehash_policy11_M_next_bktEm(at, buckets));
    enter(|thread| policy(at).watch(thread, work)).unwrap_or_else(work)
}

/// A word of a node that instrumented code would load.
///
/// # Safety
///
/// It is one of a node of the program's.
unsafe fn load(thread: &mut Thread, word: *const *mut Node) -> *mut Node {
    let site = thread.call_site;
    thread.point(kind::LOAD, site, word as u64, 8);
    // SAFETY: the caller says so.
    let value = unsafe { word.read() };
    thread.access(kind::LOAD, 8, site, word as u64, value as u64);
    value
}

/// A step to the next node in the order of a tree: down this way as far as the other way leads, or
/// else up.
///
/// # Safety
///
/// It is a node of a tree, or its header.
unsafe fn step(
    thread: &mut Thread,
    mut node: *mut Node,
    way: fn(*mut Node) -> *const *mut Node,
    other: fn(*mut Node) -> *const *mut Node,
) -> *mut Node {
    // SAFETY: the caller says so, and nodes lead to nodes, or are null.
    unsafe {
        let below = load(thread, way(node));
        if !below.is_null() {
            node = below;
            loop {
                match load(thread, other(node)) {
                    next if next.is_null() => return node,
                    next => node = next,
                }
            }
        }
        let mut above = load(thread, parent(node));
        while node == load(thread, way(above)) {
            node = above;
            above = load(thread, parent(above));
        }
        // From the root, whose parent is the header, and the header's is the root.
        if load(thread, way(node)) == above { node } else { above }
    }
}

fn parent(node: *mut Node) -> *const *mut Node {
    node.cast::<*mut Node>().wrapping_add(1)
}

fn left(node: *mut Node) -> *const *mut Node {
    node.cast::<*mut Node>().wrapping_add(2)
}

fn right(node: *mut Node) -> *const *mut Node {
    node.cast::<*mut Node>().wrapping_add(3)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base(
    node: *mut Node,
) -> *mut Node {
    let work = || pass_on!(next::_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base(node));
    // SAFETY: the program gives a node of a tree.
    enter(|thread| unsafe { step(thread, node, right, left) }).unwrap_or_else(work)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base(
    node: *mut Node,
) -> *mut Node {
    pass_on!(_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base(node))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base(
    node: *mut Node,
) -> *mut Node {
    const RED: u32 = 0;
    let work = || pass_on!(next::_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base(node));
    enter(|thread| {
        let (site, color) = (thread.call_site, node.cast::<u32>());
        thread.point(kind::LOAD, site, color as u64, 4);
        // SAFETY: the program gives a node of a tree, or its header, which is red as only inner
        // nodes are, and its parent's parent.
        unsafe {
            let value = color.read();
            thread.access(kind::LOAD, 4, site, color as u64, value.into());
            if value == RED {
                let above = load(thread, parent(node));
                if load(thread, parent(above)) == node {
                    return load(thread, right(node));
                }
            }
            step(thread, node, left, right)
        }
    })
    .unwrap_or_else(work)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base(
    node: *mut Node,
) -> *mut Node {
    pass_on!(_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base(node))
}
