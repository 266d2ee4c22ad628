//! What the file of a recorded program says that the recording does not: names that all can see,
//! names of what lies in shared libraries, and what runs before and after `main`.

use std::ops::Range;

use foretrace_image::loaded::Module;
use object::read::elf::{ElfFile64, ElfSymbol64};
use object::{
    Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationTarget, SymbolKind,
};
use rustc_hash::FxHashMap;

/// The table of symbols of each module.
const SYMBOLS: &str = "__ft_symbols";

/// Functions of the compiler's start files and of the plugin, which the program does not notice.
const HARMLESS: [&str; 3] = ["frame_dummy", "__do_global_dtors_aux", "__ft_constructor"];

/// Lists of functions that run before `main`, in their order.
const BEFORE: [&str; 3] = [".preinit_array", ".init_array", ".ctors"];
/// Lists of functions that run after `main`, the last one first.
const AFTER: [&str; 2] = [".fini_array", ".dtors"];

/// What the file of the program says.
pub(crate) struct Executable {
    /// Functions that all can see, with their addresses in the process.
    pub(crate) functions: FxHashMap<String, u64>,
    /// Addresses of functions that run before `main`, and the same behind it, in their order.
    pub(crate) before: Vec<u64>,
    pub(crate) after: Vec<u64>,
    /// The addresses that it takes.
    pub(crate) extent: Range<u64>,
    /// What modules name and shared libraries define, by address.
    pub(crate) imported: FxHashMap<u64, Imported>,
    /// Variables of which each thread has its own.
    pub(crate) own: Vec<Own>,
}

/// A variable of which each thread has its own.
pub(crate) struct Own {
    pub(crate) name: String,
    /// What it holds in a new thread.
    pub(crate) bytes: Vec<u8>,
}

/// Something in a shared library.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Imported {
    pub(crate) name: String,
    pub(crate) is_function: bool,
}

impl Executable {
    /// `None` if it does not tell; `main` is where that is in the process.
    pub(crate) fn read(bytes: &[u8], main: u64, modules: &[Module]) -> Option<Executable> {
        let file: ElfFile64 = ElfFile64::parse(bytes).ok()?;
        let is_function = |symbol: &ElfSymbol64<'_, '_>| {
            symbol.kind() == SymbolKind::Text && symbol.is_global() && !symbol.is_undefined()
        };
        let functions = || file.symbols().filter(is_function);
        let is_main = |symbol: &ElfSymbol64<'_, '_>| symbol.name() == Ok("main");
        let base = main.wrapping_sub(functions().find(is_main)?.address());
        let named = functions().filter_map(|symbol| {
            Some((symbol.name().ok()?.to_string(), base.wrapping_add(symbol.address())))
        });
        let functions = named.collect();
        let is_harmless = |address: u64| {
            let here =
                file.symbols().filter(|symbol| base.wrapping_add(symbol.address()) == address);
            here.filter_map(|symbol| symbol.name().ok()).any(|name| HARMLESS.contains(&name))
        };
        let list = |names: &[&str]| {
            let mut found: Vec<u64> = Vec::new();
            for section in names.iter().filter_map(|name| file.section_by_name(name)) {
                let words = section.data().ok()?.chunks_exact(8).zip(0..);
                for (word, number) in words {
                    let at = section.address() + 8 * number;
                    let mut relocations = file.dynamic_relocations().into_iter().flatten();
                    let relocated = relocations.find(|(place, _)| *place == at);
                    let address = match relocated {
                        Some((_, relocation)) => relocation.addend() as u64,
                        None => u64::from_le_bytes(word.try_into().expect("eight bytes")),
                    };
                    // Lists may be bounded by 0 or -1.
                    if !matches!(address, 0 | u64::MAX) {
                        found.push(base.wrapping_add(address));
                    }
                }
            }
            found.retain(|&address| !is_harmless(address));
            Some(found)
        };
        let (before, mut after) = (list(&BEFORE)?, list(&AFTER)?);
        after.reverse();
        let ends = file.sections().map(|section| section.address() + section.size());
        let extent = base..base.wrapping_add(ends.max()?);
        let imported = imported(&file, base, modules);
        let own = own(&file);
        Some(Executable { functions, before, after, extent, imported, own })
    }
}

/// Variables of which each thread has its own, if their names are unique and they hold no addresses
/// at first.
fn own(file: &ElfFile64) -> Vec<Own> {
    let kept = file.section_by_name(".tdata");
    let start = kept.as_ref().or(file.section_by_name(".tbss").as_ref()).map(|one| one.address());
    let Some(start) = start else { return Vec::new() };
    let data = kept.as_ref().and_then(|kept| kept.data().ok()).unwrap_or_default();
    let is_own = |symbol: &ElfSymbol64<'_, '_>| {
        symbol.kind() == SymbolKind::Tls && !symbol.is_undefined() && symbol.size() > 0
    };
    let mut count: FxHashMap<&str, u32> = FxHashMap::default();
    for name in file.symbols().filter(is_own).filter_map(|symbol| symbol.name().ok()) {
        *count.entry(name).or_default() += 1;
    }
    let found = file.symbols().filter(is_own).filter_map(|symbol| {
        let name = symbol.name().ok().filter(|name| count[name] == 1)?.to_string();
        let at = symbol.address()..symbol.address() + symbol.size();
        // What is zero at first has no place in the file; something else stands there.
        let place = |offset: u64| start + offset.min(data.len() as u64);
        let in_file = place(at.start)..place(at.end);
        let mut relocations = file.dynamic_relocations().into_iter().flatten();
        if relocations.any(|(place, _)| in_file.contains(&place)) {
            return None;
        }
        let bytes = at.map(|at| data.get(at as usize).copied().unwrap_or(0)).collect();
        Some(Own { name, bytes })
    });
    found.collect()
}

/// What the tables of symbols name in other files.
fn imported(file: &ElfFile64, base: u64, modules: &[Module]) -> FxHashMap<u64, Imported> {
    let mut names = FxHashMap::default();
    let plain = |name: &str, is_function: bool| {
        let name = name.split('@').next().unwrap_or(name).to_string();
        Imported { name, is_function }
    };
    // Copies of a library's variables.
    for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Data) {
        if let Ok(name) = symbol.name()
            && name.contains('@')
        {
            names.insert(base.wrapping_add(symbol.address()), plain(name, false));
        }
    }
    let symbols = file.dynamic_symbol_table();
    for table in file.symbols().filter(|symbol| symbol.name() == Ok(SYMBOLS)) {
        let extent = table.address()..table.address() + table.size();
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for (place, relocation) in file.dynamic_relocations().into_iter().flatten() {
            if !extent.contains(&place) {
                continue;
            }
            let number = ((place - extent.start) / 8) as usize;
            match relocation.target() {
                RelocationTarget::Symbol(index) => {
                    let symbol = symbols.and_then(|symbols| symbols.symbol_by_index(index).ok());
                    let found = symbol.and_then(|symbol| {
                        let is_function = symbol.kind() == SymbolKind::Text;
                        Some(plain(symbol.name().ok()?, is_function))
                    });
                    let found = found.filter(|_| relocation.addend() == 0);
                    others.extend(found.map(|found| (number, found)));
                }
                _ => own.push((number, base.wrapping_add_signed(relocation.addend()))),
            }
        }
        let is_this = |module: &&Module| {
            let fits =
                |&(number, address): &(usize, u64)| module.symbols.get(number) == Some(&address);
            8 * module.symbols.len() as u64 == table.size() && own.iter().all(fits)
        };
        for module in modules.iter().filter(is_this) {
            let found = others.iter().map(|(number, name)| (module.symbols[*number], name.clone()));
            names.extend(found.filter(|(address, _)| *address != 0));
        }
    }
    names
}
