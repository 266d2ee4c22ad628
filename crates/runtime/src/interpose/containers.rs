//! The parts of C++'s containers that are compiled into the C++ library: balancing of `map` and
//! `set`, growing of `unordered_map`, and (in `lists.rs`) linking of `list`. The rest of them are
//! templates, and instrumented with the program.
//!
//! Trees and lists are the runtime's own work, step by step as instrumented code would do it: which
//! nodes are changed depends on what others hold, so all that is read is recorded too. Otherwise a
//! neighbour would seem to be changed in schedules in which it is no longer one. A policy of growth
//! is left to the library, and what it reads and writes there is recorded around that.

// The names are the C++ library's own.
#![allow(non_snake_case)]

use std::ffi::c_void;
use std::ptr;

use foretrace_recording::record::kind;

use crate::real::{pass_on, real};
use crate::thread::{Thread, enter};

/// A node of a tree, or the header of one: its parent is the root, left and right of it are the
/// first node and the last.
#[repr(C)]
struct Node {
    color: u32,
    parent: *mut Node,
    left: *mut Node,
    right: *mut Node,
}

const RED: u32 = 0;
const BLACK: u32 = 1;

/// A word of a node.
type Word = fn(*mut Node) -> *mut *mut Node;

fn color(node: *mut Node) -> *mut u32 {
    node.cast()
}

fn parent(node: *mut Node) -> *mut *mut Node {
    node.cast::<*mut Node>().wrapping_add(1)
}

fn left(node: *mut Node) -> *mut *mut Node {
    node.cast::<*mut Node>().wrapping_add(2)
}

fn right(node: *mut Node) -> *mut *mut Node {
    node.cast::<*mut Node>().wrapping_add(3)
}

/// A word of a container: a link or a color.
pub(super) trait Value: Copy {
    fn bits(self) -> u64;
}

impl<T> Value for *mut T {
    fn bits(self) -> u64 {
        self as u64
    }
}

impl Value for u32 {
    fn bits(self) -> u64 {
        self.into()
    }
}

/// What the thread reads and writes in a container, as instrumented code would do it.
pub(super) struct Steps<'thread>(pub(super) &'thread mut Thread);

/// # Safety
///
/// For all of these: the nodes are those of a container of the program's, which calls the function
/// of the library that does this. So they lead to nodes, or are null where such a container has
/// null. Nobody else changes the container meanwhile, or the program races with itself.
impl Steps<'_> {
    pub(super) unsafe fn load<T: Value>(&mut self, word: *mut T) -> T {
        let (site, size) = (self.0.call_site, size_of::<T>());
        self.0.point(kind::LOAD, site, word as u64, size as u64);
        // SAFETY: as above.
        let value = unsafe { word.read() };
        self.0.access(kind::LOAD, size as u8, site, word as u64, value.bits());
        value
    }

    pub(super) unsafe fn store<T: Value>(&mut self, word: *mut T, value: T) {
        let (site, size) = (self.0.call_site, size_of::<T>());
        self.0.point(kind::STORE, site, word as u64, size as u64);
        self.0.access(kind::STORE, size as u8, site, word as u64, value.bits());
        // SAFETY: as above.
        unsafe { word.write(value) };
    }

    unsafe fn is_black(&mut self, node: *mut Node) -> bool {
        // SAFETY: as above.
        node.is_null() || unsafe { self.load(color(node)) } == BLACK
    }

    /// The last node on this way.
    unsafe fn outermost(&mut self, mut node: *mut Node, way: Word) -> *mut Node {
        loop {
            // SAFETY: as above.
            match unsafe { self.load(way(node)) } {
                below if below.is_null() => return node,
                below => node = below,
            }
        }
    }

    /// Puts a node, or nothing, where another one is.
    unsafe fn replace(&mut self, node: *mut Node, by: *mut Node, header: *mut Node) {
        // SAFETY: as above.
        unsafe {
            if self.load(parent(header)) == node {
                return self.store(parent(header), by);
            }
            let above = self.load(parent(node));
            let way = if self.load(left(above)) == node { left } else { right };
            self.store(way(above), by);
        }
    }

    /// Turns a node down this way: what is below it on the other way takes its place.
    unsafe fn rotate(&mut self, node: *mut Node, way: Word, other: Word, header: *mut Node) {
        // SAFETY: as above.
        unsafe {
            let up = self.load(other(node));
            let inner = self.load(way(up));
            self.store(other(node), inner);
            if !inner.is_null() {
                self.store(parent(inner), node);
            }
            let above = self.load(parent(node));
            self.store(parent(up), above);
            self.replace(node, up, header);
            self.store(way(up), node);
            self.store(parent(node), up);
        }
    }

    /// Puts a new node below another one.
    unsafe fn insert(&mut self, is_left: bool, new: *mut Node, at: *mut Node, header: *mut Node) {
        // SAFETY: as above.
        unsafe {
            self.store(parent(new), at);
            self.store(left(new), ptr::null_mut());
            self.store(right(new), ptr::null_mut());
            self.store(color(new), RED);
            let way: Word = if is_left { left } else { right };
            if at == header {
                [parent, left, right].into_iter().for_each(|word| self.store(word(header), new));
            } else {
                self.store(way(at), new);
                if self.load(way(header)) == at {
                    self.store(way(header), new);
                }
            }
            let mut node = new;
            while node != self.load(parent(header)) {
                let above = self.load(parent(node));
                if self.is_black(above) {
                    break;
                }
                let top = self.load(parent(above));
                let is_left = self.load(left(top)) == above;
                let (way, other): (Word, Word) =
                    if is_left { (left, right) } else { (right, left) };
                let uncle = self.load(other(top));
                if !self.is_black(uncle) {
                    self.store(color(above), BLACK);
                    self.store(color(uncle), BLACK);
                    self.store(color(top), RED);
                    node = top;
                    continue;
                }
                if self.load(other(above)) == node {
                    self.rotate(above, way, other, header);
                    node = above;
                }
                let above = self.load(parent(node));
                self.store(color(above), BLACK);
                self.store(color(top), RED);
                self.rotate(top, other, way, header);
            }
            let root = self.load(parent(header));
            self.store(color(root), BLACK);
        }
    }

    /// Takes a node out of its tree.
    unsafe fn erase(&mut self, gone: *mut Node, header: *mut Node) {
        // SAFETY: as above.
        unsafe {
            let (on_left, on_right) = (self.load(left(gone)), self.load(right(gone)));
            let lost: u32;
            // What moves up, and what it is below then.
            let (node, above);
            if on_left.is_null() || on_right.is_null() {
                node = if on_left.is_null() { on_right } else { on_left };
                above = self.load(parent(gone));
                if !node.is_null() {
                    self.store(parent(node), above);
                }
                self.replace(gone, node, header);
                for (way, other) in [(left as Word, right as Word), (right, left)] {
                    if self.load(way(header)) == gone {
                        let end = match self.load(other(gone)) {
                            below if below.is_null() => above,
                            below => self.outermost(below, way),
                        };
                        self.store(way(header), end);
                    }
                }
                lost = self.load(color(gone));
            } else {
                // The next node takes its place and color.
                let heir = self.outermost(on_right, left);
                node = self.load(right(heir));
                self.store(parent(on_left), heir);
                self.store(left(heir), on_left);
                if heir == on_right {
                    above = heir;
                } else {
                    above = self.load(parent(heir));
                    if !node.is_null() {
                        self.store(parent(node), above);
                    }
                    self.store(left(above), node);
                    self.store(right(heir), on_right);
                    self.store(parent(on_right), heir);
                }
                self.replace(gone, heir, header);
                let top = self.load(parent(gone));
                self.store(parent(heir), top);
                lost = self.load(color(heir));
                let kept = self.load(color(gone));
                self.store(color(heir), kept);
                self.store(color(gone), lost);
            }
            if lost == BLACK {
                self.lift(node, above, header);
            }
        }
    }

    /// Paths through this node lack a black one.
    unsafe fn lift(&mut self, mut node: *mut Node, mut above: *mut Node, header: *mut Node) {
        // SAFETY: as above.
        unsafe {
            while node != self.load(parent(header)) && self.is_black(node) {
                let is_left = self.load(left(above)) == node;
                let (way, other): (Word, Word) =
                    if is_left { (left, right) } else { (right, left) };
                let mut sibling = self.load(other(above));
                if !self.is_black(sibling) {
                    self.store(color(sibling), BLACK);
                    self.store(color(above), RED);
                    self.rotate(above, way, other, header);
                    sibling = self.load(other(above));
                }
                let (near, far) = (self.load(way(sibling)), self.load(other(sibling)));
                let (is_near_black, is_far_black) = (self.is_black(near), self.is_black(far));
                if is_near_black && is_far_black {
                    self.store(color(sibling), RED);
                    node = above;
                    above = self.load(parent(above));
                    continue;
                }
                if is_far_black {
                    self.store(color(near), BLACK);
                    self.store(color(sibling), RED);
                    self.rotate(sibling, other, way, header);
                    sibling = self.load(other(above));
                }
                let same = self.load(color(above));
                self.store(color(sibling), same);
                self.store(color(above), BLACK);
                let far = self.load(other(sibling));
                if !far.is_null() {
                    self.store(color(far), BLACK);
                }
                self.rotate(above, way, other, header);
                break;
            }
            if !node.is_null() {
                self.store(color(node), BLACK);
            }
        }
    }

    /// A step to the next node in the order of a tree: down this way as far as the other way leads,
    /// or else up.
    unsafe fn step(&mut self, mut node: *mut Node, way: Word, other: Word) -> *mut Node {
        // SAFETY: as above.
        unsafe {
            let below = self.load(way(node));
            if !below.is_null() {
                return self.outermost(below, other);
            }
            let mut above = self.load(parent(node));
            while node == self.load(way(above)) {
                node = above;
                above = self.load(parent(above));
            }
            // From the root, whose parent is the header, and the header's is the root.
            if self.load(way(node)) == above { node } else { above }
        }
    }

    /// The node before this one, or the last one before the header.
    unsafe fn step_back(&mut self, node: *mut Node) -> *mut Node {
        // SAFETY: as above. The header is red as only inner nodes are, and its parent's parent.
        unsafe {
            if self.load(color(node)) == RED {
                let above = self.load(parent(node));
                if self.load(parent(above)) == node {
                    return self.load(right(node));
                }
            }
            self.step(node, left, right)
        }
    }
}

/// What `_M_need_rehash` returns.
#[repr(C)]
#[derive(Clone, Copy)]
struct Rehash {
    needed: bool,
    buckets: usize,
}

mod library {
    use super::*;
    real!(fn _ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(left: bool,
        node: *mut Node, parent: *mut Node, header: *mut Node));
    real!(fn _ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_(node: *mut Node,
        header: *mut Node) -> *mut Node);
    real!(fn _ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base(node: *mut Node) -> *mut Node);
    real!(fn _ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base(node: *mut Node) -> *mut Node);
    real!(fn _ZNKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm(policy: *const c_void,
        buckets: usize, elements: usize, new: usize) -> Rehash);
    real!(fn _ZNKSt8__detail20_Prime_rehash_policy11_M_next_bktEm(policy: *const c_void,
        buckets: usize) -> usize);
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(
    left: bool,
    node: *mut Node,
    parent: *mut Node,
    header: *mut Node,
) {
    let work = || {
        pass_on!(library::_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(
            left, node, parent, header,
        ));
    };
    // SAFETY: the caller gives a tree and a new node.
    enter(|thread| unsafe { Steps(thread).insert(left, node, parent, header) })
        .unwrap_or_else(work);
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_(
    node: *mut Node,
    header: *mut Node,
) -> *mut Node {
    let work = || {
        pass_on!(library::_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_(
            node, header
        ))
    };
    let own = |thread: &mut Thread| {
        // SAFETY: the caller gives a tree and a node of it.
        unsafe { Steps(thread).erase(node, header) };
        node
    };
    enter(own).unwrap_or_else(work)
}

/// Lets the library work on a policy, and records that it reads it, and what it changes. The policy
/// is a load factor and the number of elements at which to grow; only the latter changes.
fn policy<R>(thread: &mut Thread, policy: *const c_void, work: impl FnOnce() -> R) -> R {
    let factor = policy.cast_mut().cast::<u32>();
    let limit = factor.wrapping_add(2).cast::<*mut c_void>();
    let mut steps = Steps(thread);
    // SAFETY: the program gives the policy of one of its containers, which is these two words.
    unsafe {
        steps.load(factor);
        let before = steps.load(limit);
        let result = work();
        let after = limit.read();
        if after != before {
            limit.write(before);
            steps.store(limit, after);
        }
        result
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _ZNKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm(
    at: *const c_void,
    buckets: usize,
    elements: usize,
    new: usize,
) -> Rehash {
    let work = || {
        pass_on!(library::_ZNKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm(
            at, buckets, elements, new
        ))
    };
    enter(|thread| policy(thread, at, work)).unwrap_or_else(work)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _ZNKSt8__detail20_Prime_rehash_policy11_M_next_bktEm(
    at: *const c_void,
    buckets: usize,
) -> usize {
    let work =
        || pass_on!(library::_ZNKSt8__detail20_Prime_rehash_policy11_M_next_bktEm(at, buckets));
    enter(|thread| policy(thread, at, work)).unwrap_or_else(work)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base(
    node: *mut Node,
) -> *mut Node {
    let work = || pass_on!(library::_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base(node));
    // SAFETY: the caller gives a node of a tree.
    enter(|thread| unsafe { Steps(thread).step(node, right, left) }).unwrap_or_else(work)
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
    let work = || pass_on!(library::_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base(node));
    // SAFETY: the caller gives a node of a tree, or its header.
    enter(|thread| unsafe { Steps(thread).step_back(node) }).unwrap_or_else(work)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base(
    node: *mut Node,
) -> *mut Node {
    pass_on!(_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base(node))
}
