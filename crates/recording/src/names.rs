//! What the programmer calls memory, from debug information: the table that the plugin makes, as
//! numbers (LEB128) and texts (length, bytes).
//!
//! ```text
//! names    = VERSION, directory, types, globals, bases
//! directory= the text of the directory in which the compiler ran
//! types    = count, type...                     what a type consists of comes before it
//! type     = SCALAR, size
//!          | STRUCTURE, name, 1 if of C++, size, count, (member, offset, number of its type)...
//!          | ARRAY, size, number of the type of its elements
//! globals  = count, (place among the module's globals, number of its type)...
//! bases    = count, base...                     by site
//! base     = number of the site, IN_STRUCTURE, number of the type, offset
//!          | number of the site, IN_VARIABLE, name, number of the type, offset
//!          | number of the site, ALLOCATED, name, number of the type, 0
//! ```
//!
//! A base says what the address at a site is an offset into; or what the memory that is allocated
//! there consists of, and the name of the pointer that gets its address. Sizes and offsets are in
//! bytes.

/// Version of the encoding.
pub const VERSION: u64 = 2;

/// A number or pointer.
pub const SCALAR: u64 = 0;
/// A structure, class or union.
pub const STRUCTURE: u64 = 1;
/// An array.
pub const ARRAY: u64 = 2;

/// Into a structure that something points to.
pub const IN_STRUCTURE: u64 = 0;
/// Into a local variable.
pub const IN_VARIABLE: u64 = 1;
/// Memory that is allocated for a pointer.
pub const ALLOCATED: u64 = 2;
