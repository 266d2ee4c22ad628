//! Reads an object file: tables of the plugin, symbols, contents of variables.

use foretrace_image::{Code, Function, decode};
use object::{
    Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionIndex, SectionKind, SymbolKind,
    SymbolSection,
};
use rustc_hash::FxHashMap;

use foretrace_recording::site::SYSTEM;

use crate::LiftError;
use crate::executable::Imported;

/// What a file has.
pub(crate) struct ObjectFile {
    pub(crate) functions: Vec<Function>,
    /// What each symbol of the image means.
    pub(crate) symbols: Vec<Meaning>,
    pub(crate) variables: Vec<Variable>,
    /// Source files and lines of sites.
    pub(crate) sites: Vec<String>,
    /// Names that nobody here defines.
    pub(crate) undefined: Vec<String>,
    /// What lies in shared libraries at addresses that are known.
    pub(crate) imported: Vec<Imported>,
    /// Whether what is no variable here is memory that nobody writes.
    pub(crate) others_are_constant: bool,
    /// Whether it has code that runs before or after `main` without being called.
    pub(crate) has_constructors: bool,
}

/// What an address means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Meaning {
    /// A variable of this file, and a byte in it.
    Variable(usize, u64),
    /// A name of this file's functions that others cannot see.
    OwnFunction(String),
    /// A name that others can see.
    Name(String),
    /// A name that nobody defines, which is allowed: it is at address 0.
    Null,
    /// Nothing that is known.
    Unknown,
}

/// A variable.
pub(crate) struct Variable {
    pub(crate) name: String,
    /// Whether other files mean the same by this name.
    pub(crate) is_global: bool,
    pub(crate) bytes: Vec<u8>,
    /// Whether each thread has its own.
    pub(crate) is_own: bool,
    /// Whether nobody can write to it.
    pub(crate) is_constant: bool,
    /// Offsets where addresses are.
    pub(crate) addresses: Vec<(u64, Meaning)>,
}

/// Symbols get addresses that are so far apart, so that an address tells its symbol.
pub(crate) const APART: u32 = 32;

/// The symbol and the byte behind it that an address of the image means.
pub(crate) fn symbol_of(address: u64) -> (usize, u64) {
    let number = (address.wrapping_add(1 << (APART - 1)) >> APART).wrapping_sub(1);
    (number as usize, address.wrapping_sub((number + 1) << APART))
}

/// Reads a file.
pub(crate) fn read(bytes: &[u8]) -> Result<ObjectFile, LiftError> {
    let file = object::File::parse(bytes).map_err(|error| LiftError::Object(error.to_string()))?;
    let mut reader = Reader { file: &file, variables: Vec::new(), places: FxHashMap::default() };
    reader.list_variables();
    let strings = reader.table("__ft_strings").ok_or(LiftError::NoImage)?;
    let image = reader.table("__ft_image").ok_or(LiftError::NoImage)?;
    let symbols = reader.symbols();
    let addresses: Vec<u64> = (0..symbols.len() as u64).map(|at| (at + 1) << APART).collect();
    let code = Code {
        sites_base: SITES,
        is_system: Vec::new(),
        strings: &strings,
        image: &image,
        symbols: &addresses,
        constants: Vec::new(),
        functions: &[],
    };
    let functions = decode(&code).ok_or(LiftError::BadImage)?;
    let sites = reader.table("__ft_sites").unwrap_or_default();
    let sites = sites.chunks_exact(16).map(|site| place(site, &strings)).collect();
    reader.fill_addresses();
    let undefined = file.symbols().filter(|symbol| symbol.is_undefined());
    let undefined = undefined.filter_map(|symbol| symbol.name().ok().map(str::to_string));
    let undefined = undefined.collect();
    let has_constructors = reader.has_constructors();
    Ok(ObjectFile {
        functions,
        symbols,
        variables: reader.variables,
        sites,
        undefined,
        imported: Vec::new(),
        others_are_constant: false,
        has_constructors,
    })
}

/// Lists of functions that run before or after `main`.
pub(crate) const UNASKED: [&str; 5] =
    [".preinit_array", ".init_array", ".fini_array", ".ctors", ".dtors"];

/// Where the plugin's own constructor is listed: in front of all that a program can have.
const PLUGIN: &str = ".init_array.1";

/// The address of the first site; 0 means that there is none.
pub(crate) const SITES: u64 = 16;

/// The number of the site at an address.
pub(crate) fn site_number(address: u64) -> Option<usize> {
    Some((address.checked_sub(SITES)? / 16) as usize)
}

fn place(site: &[u8], strings: &[u8]) -> String {
    let word = |at: usize| u32::from_le_bytes(site[4 * at..4 * at + 4].try_into().expect("four"));
    let text = strings.get(word(0) as usize..).unwrap_or_default();
    let end = text.iter().position(|&byte| byte == 0).unwrap_or(0);
    let file = String::from_utf8_lossy(&text[..end]);
    match (word(2), word(3)) {
        (0, _) => file.into_owned(),
        // The runtime may call it after the place of the user's call.
        (line, column) if column & SYSTEM != 0 => format!("{file}:{line}"),
        (line, column) => format!("{file}:{line}:{column}"),
    }
}

struct Reader<'f, 'd> {
    file: &'f object::File<'d>,
    variables: Vec<Variable>,
    /// By section: start, end and number of its variables.
    places: FxHashMap<SectionIndex, Vec<(u64, u64, usize)>>,
}

impl Reader<'_, '_> {
    fn list_variables(&mut self) {
        for symbol in self.file.symbols() {
            let name = symbol.name().unwrap_or_default().to_string();
            let is_own = symbol.kind() == SymbolKind::Tls;
            let is_variable = is_own || symbol.kind() == SymbolKind::Data;
            if !is_variable || symbol.size() == 0 || name.starts_with("__ft_") {
                continue;
            }
            let is_global = symbol.is_global();
            let mut is_constant = false;
            let bytes = match symbol.section() {
                SymbolSection::Common => vec![0; symbol.size() as usize],
                SymbolSection::Section(index) => {
                    let Ok(section) = self.file.section_by_index(index) else { continue };
                    let (start, size) = (symbol.address(), symbol.size());
                    let places = self.places.entry(index).or_default();
                    places.push((start, start + size, self.variables.len()));
                    let kind = section.kind();
                    is_constant =
                        matches!(kind, SectionKind::ReadOnlyData | SectionKind::ReadOnlyString);
                    if matches!(
                        kind,
                        SectionKind::UninitializedData | SectionKind::UninitializedTls
                    ) {
                        vec![0; size as usize]
                    } else {
                        let data = section.data().unwrap_or_default();
                        data.get(start as usize..(start + size) as usize).unwrap_or(&[]).to_vec()
                    }
                }
                _ => continue,
            };
            let addresses = Vec::new();
            self.variables.push(Variable {
                name,
                is_global,
                is_own,
                is_constant,
                bytes,
                addresses,
            });
        }
    }

    fn has_constructors(&self) -> bool {
        let names =
            self.file.sections().filter_map(|section| Some(section.name().ok()?.to_string()));
        let mut lists = names.filter(|name| UNASKED.iter().any(|list| name.starts_with(list)));
        lists.any(|name| name != PLUGIN)
    }

    fn table(&self, name: &str) -> Option<Vec<u8>> {
        let symbol = self.file.symbols().find(|symbol| symbol.name() == Ok(name))?;
        let section = self.file.section_by_index(symbol.section_index()?).ok()?;
        let start = symbol.address() as usize;
        Some(section.data().ok()?.get(start..start + symbol.size() as usize)?.to_vec())
    }

    fn symbols(&self) -> Vec<Meaning> {
        let table = self.file.symbols().find(|symbol| symbol.name() == Ok("__ft_symbols"));
        let Some(table) = table else { return Vec::new() };
        let mut symbols = vec![Meaning::Unknown; (table.size() / 8) as usize];
        let section = table.section_index().and_then(|at| self.file.section_by_index(at).ok());
        for (offset, relocation) in section.iter().flat_map(|section| section.relocations()) {
            if let Some(at) = offset.checked_sub(table.address())
                && at < table.size()
            {
                let target = (relocation.target(), relocation.addend());
                symbols[(at / 8) as usize] = self.meaning(target);
            }
        }
        symbols
    }

    fn meaning(&self, (target, addend): (RelocationTarget, i64)) -> Meaning {
        let RelocationTarget::Symbol(index) = target else { return Meaning::Unknown };
        let Ok(symbol) = self.file.symbol_by_index(index) else { return Meaning::Unknown };
        let name = symbol.name().unwrap_or_default();
        let by_name = |is_global: bool| match is_global {
            true => Meaning::Name(name.to_string()),
            false => Meaning::OwnFunction(name.to_string()),
        };
        match symbol.section() {
            SymbolSection::Undefined if addend == 0 => by_name(true),
            SymbolSection::Common => {
                let at = self.variables.iter().position(|one| one.name == name && one.is_global);
                at.map_or(Meaning::Unknown, |at| Meaning::Variable(at, addend as u64))
            }
            SymbolSection::Section(section) => {
                let address = symbol.address().wrapping_add_signed(addend);
                let places = self.places.get(&section).into_iter().flatten();
                let found = places
                    .clone()
                    .find(|(start, end, _)| (*start..*end).contains(&address))
                    .or_else(|| places.clone().find(|(_, end, _)| *end == address));
                if let Some((start, _, at)) = found {
                    return Meaning::Variable(*at, address - start);
                }
                // A function: by its own symbol, or by that of its section.
                let is_code = |one: &object::Symbol| one.kind() == SymbolKind::Text;
                if is_code(&symbol) && addend == 0 {
                    return by_name(symbol.is_global());
                }
                let function = self.file.symbols().find(|one| {
                    one.section_index() == Some(section) && is_code(one) && one.address() == address
                });
                match function {
                    Some(one) if one.is_global() => {
                        Meaning::Name(one.name().unwrap_or_default().to_string())
                    }
                    Some(one) => Meaning::OwnFunction(one.name().unwrap_or_default().to_string()),
                    None => Meaning::Unknown,
                }
            }
            _ => Meaning::Unknown,
        }
    }

    /// Notes which bytes of variables are addresses.
    fn fill_addresses(&mut self) {
        let mut found = Vec::new();
        for (&index, places) in &self.places {
            let Ok(section) = self.file.section_by_index(index) else { continue };
            for (offset, relocation) in section.relocations() {
                let place = places.iter().find(|(start, end, _)| (*start..*end).contains(&offset));
                if let Some(&(start, _, variable)) = place {
                    let target = (relocation.target(), relocation.addend());
                    found.push((variable, offset - start, self.meaning(target)));
                }
            }
        }
        found.sort_by_key(|&(variable, offset, _)| (variable, offset));
        for (variable, offset, meaning) in found {
            self.variables[variable].addresses.push((offset, meaning));
        }
    }
}
