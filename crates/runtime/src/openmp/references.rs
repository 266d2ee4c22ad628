//! Whether the program calls a function: one of its modules has a relocation for an undefined
//! symbol of that name.

use std::ffi::{CStr, c_char, c_int, c_void};

/// An entry of a module's dynamic section.
#[repr(C)]
struct Entry {
    tag: i64,
    value: u64,
}

/// A place in a module that the dynamic linker fills in.
#[repr(C)]
struct Relocation {
    place: u64,
    /// The symbol is in the upper half.
    what: u64,
    addend: i64,
}

/// Tags of entries: tables, and their sizes in bytes.
mod tag {
    pub(super) const STRINGS: i64 = 5;
    pub(super) const SYMBOLS: i64 = 6;
    pub(super) const RELOCATIONS: i64 = 7;
    pub(super) const RELOCATIONS_SIZE: i64 = 8;
    pub(super) const CALLS: i64 = 23;
    pub(super) const CALLS_SIZE: i64 = 2;
}

struct Search<'a> {
    name: &'a CStr,
    found: bool,
}

/// Whether a module that is loaded now refers to a function of that name that it does not define.
pub(super) fn refer_to(name: &CStr) -> bool {
    let mut search = Search { name, found: false };
    // SAFETY: `look` takes what it is called with, and the search outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    search.found
}

unsafe extern "C" fn look(module: *mut libc::dl_phdr_info, _: usize, to: *mut c_void) -> c_int {
    // SAFETY: the dynamic linker gives a module that is loaded, and what `refer_to` gave it.
    let (module, search) = unsafe { (&*module, &mut *to.cast::<Search>()) };
    let count = usize::from(module.dlpi_phnum);
    // SAFETY: the module has so many headers.
    let headers = unsafe { std::slice::from_raw_parts(module.dlpi_phdr, count) };
    let dynamic = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC);
    if let Some(dynamic) = dynamic {
        let entries = (module.dlpi_addr + dynamic.p_vaddr) as *const Entry;
        // SAFETY: the header says where the dynamic section is, once the module is loaded.
        search.found |= unsafe { refers(module.dlpi_addr, entries, search.name) };
    }
    c_int::from(search.found)
}

/// Whether the module with this dynamic section does.
///
/// # Safety
///
/// It is loaded at `base`, and the section ends with an entry of tag 0.
unsafe fn refers(base: u64, mut entry: *const Entry, name: &CStr) -> bool {
    let (mut strings, mut symbols) = (0, 0);
    let mut tables = [(0, 0); 2];
    // SAFETY: the caller says so: no entry behind the last one is read.
    while let Entry { tag: tag @ 1.., value } = unsafe { entry.read() } {
        // The dynamic linker has made addresses of them, but for the kernel's own module.
        let address = if value < base { value + base } else { value };
        match tag {
            tag::STRINGS => strings = address,
            tag::SYMBOLS => symbols = address,
            tag::RELOCATIONS => tables[0].0 = address,
            tag::RELOCATIONS_SIZE => tables[0].1 = value,
            tag::CALLS => tables[1].0 = address,
            tag::CALLS_SIZE => tables[1].1 = value,
            _ => {}
        }
        entry = entry.wrapping_add(1);
    }
    if strings == 0 || symbols == 0 {
        return false;
    }
    // SAFETY: relocations name symbols of the module's table, and symbols names of its strings,
    // both of which are loaded.
    let is_it = |relocation: &Relocation| unsafe {
        let symbol = (symbols as *const libc::Elf64_Sym).add((relocation.what >> 32) as usize);
        let text = (strings + u64::from((*symbol).st_name)) as *const c_char;
        (*symbol).st_shndx == 0 && CStr::from_ptr(text) == name
    };
    tables.iter().filter(|(start, _)| *start != 0).any(|&(start, size)| {
        let count = size as usize / size_of::<Relocation>();
        // SAFETY: the table is loaded, and has as many bytes as its entry says.
        let all = unsafe { std::slice::from_raw_parts(start as *const Relocation, count) };
        all.iter().any(is_it)
    })
}
