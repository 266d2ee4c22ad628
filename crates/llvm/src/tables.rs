//! The tables of a module (`foretrace_recording::site`): collected during instrumentation, then
//! emitted as constants with a constructor that registers them with the runtime.

use std::collections::{HashMap, HashSet};
use std::ffi::CStr;

use foretrace_recording::image::{VERSION, put};
use foretrace_recording::site::{ABI, SYSTEM, ZERO};
use llvm_sys::LLVMLinkage::*;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::build::Builder;
use crate::ir::llvm;
use crate::ir::{self, Block, Type, Value};
use crate::names::Names;
use crate::shim::{self, Place};

/// Before every constructor that a program can have, which start at 101.
const PRIORITY: i32 = 1;

/// Bytes of a `Site`.
const SITE_SIZE: u64 = 16;

/// Bytes of an address.
const SYMBOL_SIZE: u64 = 8;

/// What a symbol of the image is worth.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Symbol {
    /// The address of a function, variable or block.
    Address(Value),
    /// The place of the symbol itself, which stands for a function or variable.
    Place(Value),
}

pub(crate) struct Tables {
    strings: Vec<u8>,
    offsets: HashMap<String, u32>,
    /// Four words each, as `Site` has them.
    sites: Vec<[u32; 4]>,
    site_numbers: HashMap<[u32; 4], u64>,
    /// Stand for the tables of sites and symbols until their sizes are known.
    sites_placeholder: Value,
    symbols_placeholder: Value,
    globals: Vec<Value>,
    functions: Vec<Value>,
    /// What the image names, and which numbers it gave them.
    symbols: Vec<Symbol>,
    symbol_numbers: HashMap<Symbol, u64>,
    constants: Vec<Value>,
    listed_constants: HashSet<Value>,
    /// The functions of the image, without their count.
    image: Vec<u8>,
    image_functions: u64,
    /// Demangled names, by what they were before.
    names: HashMap<String, Option<String>>,
    source_file: String,
    directory: String,
    memory: Names,
}

impl Tables {
    pub(crate) fn new(build: &Builder) -> Tables {
        let placeholder = |name: &CStr| {
            // SAFETY: it is replaced in `emit`.
            Value(unsafe { LLVMAddGlobal(build.module, build.i8.0, name.as_ptr()) })
        };
        // SAFETY: the name belongs to the module.
        let (source_file, directory) = unsafe {
            let mut size = 0;
            let name = LLVMGetSourceFileName(build.module, &mut size);
            let name = std::slice::from_raw_parts(name.cast(), size);
            (
                String::from_utf8_lossy(name).into_owned(),
                shim::ft_compilation_directory(build.module).to_owned(),
            )
        };
        let mut tables = Tables {
            strings: Vec::new(),
            offsets: HashMap::new(),
            sites: Vec::new(),
            site_numbers: HashMap::new(),
            sites_placeholder: placeholder(c"__ft_sites_placeholder"),
            symbols_placeholder: placeholder(c"__ft_symbols_placeholder"),
            globals: Vec::new(),
            functions: Vec::new(),
            symbols: Vec::new(),
            symbol_numbers: HashMap::new(),
            constants: Vec::new(),
            listed_constants: HashSet::new(),
            image: Vec::new(),
            image_functions: 0,
            names: HashMap::new(),
            source_file,
            directory,
            memory: Names::of(build.module),
        };
        tables.string("");
        tables
    }

    /// The address of the site of an instruction. Instructions at the same place share it.
    pub(crate) fn site(&mut self, build: &Builder, function: Value, instruction: Value) -> Value {
        let number = self.site_number(function, instruction);
        place_in(build, self.sites_placeholder, number * SITE_SIZE)
    }

    /// The number of the site of an instruction.
    pub(crate) fn site_number(&mut self, function: Value, instruction: Value) -> u64 {
        let mut place = Place::EMPTY;
        // SAFETY: it is an instruction.
        let known = unsafe { shim::ft_place_of_instruction(instruction.0, &mut place) };
        if !known {
            // SAFETY: it is a function.
            unsafe { shim::ft_place_of_function(function.0, &mut place) };
            place.line = 0;
        }
        let system = if self.is_system(&place) { SYSTEM } else { 0 };
        let file = self.file_of(&place);
        let name = self.name_of(&place, function);
        let site = [
            self.string(&file),
            self.string(&name),
            place.line,
            place.column.min(SYSTEM - 1) | system,
        ];
        let next = self.sites.len() as u64;
        let number = *self.site_numbers.entry(site).or_insert(next);
        if number == next {
            self.sites.push(site);
        }
        self.memory.note(number, instruction);
        number
    }

    /// Whether the function was defined in a header of the system.
    pub(crate) fn is_system_function(&self, function: Value) -> bool {
        let mut place = Place::EMPTY;
        // SAFETY: it is a function.
        unsafe { shim::ft_place_of_function(function.0, &mut place) };
        self.is_system(&place)
    }

    fn is_system(&self, place: &Place) -> bool {
        let file = place.file.to_owned();
        let path = if file.starts_with('/') {
            file
        } else {
            format!("{}/{file}", place.directory.to_owned())
        };
        ["/usr/include/", "/usr/lib/"].iter().any(|prefix| path.starts_with(prefix))
            || path.contains("/lib/clang/")
    }

    /// A relative name as the compiler got it, else the whole path. Clang cuts absolute names in
    /// two at whatever they share with the directory it runs in.
    fn file_of(&self, place: &Place) -> String {
        let (file, directory) = (place.file.to_owned(), place.directory.to_owned());
        if file.is_empty() {
            self.source_file.clone()
        } else if file.starts_with('/') || directory.is_empty() || directory == self.directory {
            file
        } else {
            format!("{directory}/{file}")
        }
    }

    /// Its offset among the strings.
    pub(crate) fn string(&mut self, string: &str) -> u32 {
        if let Some(offset) = self.offsets.get(string) {
            return *offset;
        }
        let offset =
            u32::try_from(self.strings.len()).expect("a module's names take less than 4 GiB");
        self.strings.extend(string.bytes().filter(|byte| *byte != 0));
        self.strings.push(0);
        self.offsets.insert(string.to_string(), offset);
        offset
    }

    /// The name that the programmer gave, qualified.
    fn name_of(&mut self, place: &Place, function: Value) -> String {
        let plain = place.name.to_owned();
        let ir_name = function.name();
        self.demangle(place.linkage_name.to_owned())
            .or_else(|| (!plain.is_empty()).then_some(plain))
            .or_else(|| self.demangle(ir_name.clone()))
            .unwrap_or(ir_name)
    }

    fn demangle(&mut self, name: String) -> Option<String> {
        self.names.entry(name).or_insert_with_key(|name| demangle(name)).clone()
    }

    pub(crate) fn add_function(&mut self, function: Value) {
        if is_addressable(function) {
            self.functions.push(function);
        }
    }

    /// Takes the variables that are defined here and can change.
    pub(crate) fn add_globals(&mut self, build: &Builder, globals: &[Value]) {
        let listed = globals.iter().filter(|global| {
            let name = global.name();
            !global.is_declaration()
                && !global.is_constant_global()
                && !global.is_thread_local()
                && is_addressable(**global)
                && !name.starts_with("llvm.")
                && !name.starts_with("__ft_")
                && global.section() != "llvm.metadata"
                && global.value_type().store_size(build.layout).is_some_and(|size| size > 0)
        });
        self.globals.extend(listed);
    }

    /// What records call a function: its address; or the place of a symbol, if no table may refer
    /// to the address or several modules may share it.
    pub(crate) fn identity(&mut self, build: &Builder, function: Value) -> Value {
        let number = match self.own_symbol(function) {
            Some(number) => number,
            None if is_addressable(function) => return function,
            None => self.symbol(function),
        };
        self.place_of(build, number)
    }

    /// The number by which the image names a function or variable.
    pub(crate) fn symbol(&mut self, global: Value) -> u64 {
        self.number(match is_addressable(global) {
            true => Symbol::Address(global),
            false => Symbol::Place(global),
        })
    }

    /// The symbol that tells this module's code of a function from that of another module, of which
    /// the linker keeps one.
    pub(crate) fn own_symbol(&mut self, function: Value) -> Option<u64> {
        let is_shared = matches!(
            function.linkage(),
            LLVMLinkOnceAnyLinkage
                | LLVMLinkOnceODRLinkage
                | LLVMWeakAnyLinkage
                | LLVMWeakODRLinkage
        );
        is_shared.then(|| self.number(Symbol::Place(function)))
    }

    /// The symbol of a block's address; none if the linker may drop the function, since no table
    /// may then refer to what is inside.
    pub(crate) fn label(&mut self, function: Value, block: Block) -> Option<u64> {
        let is_kept = is_addressable(function) && self.own_symbol(function).is_none();
        // SAFETY: the block is one of the function's.
        is_kept
            .then(|| unsafe { Value(LLVMBlockAddress(function.0, block.0)) })
            .map(|address| self.number(Symbol::Address(address)))
    }

    fn number(&mut self, symbol: Symbol) -> u64 {
        let next = self.symbols.len() as u64;
        let number = *self.symbol_numbers.entry(symbol).or_insert(next);
        if number == next {
            self.symbols.push(symbol);
        }
        number
    }

    fn place_of(&self, build: &Builder, symbol: u64) -> Value {
        place_in(build, self.symbols_placeholder, symbol * SYMBOL_SIZE)
    }

    /// Takes a constant variable whose content the runtime is to keep.
    pub(crate) fn add_constant(&mut self, build: &Builder, global: Value) {
        // What another file defines may get its value from a constructor there, after it was
        // copied.
        let is_there = is_addressable(global)
            && !global.is_declaration()
            && !global.is_thread_local()
            && global.linkage() != LLVMExternalWeakLinkage
            && global.value_type().store_size(build.layout).is_some_and(|size| size > 0);
        if is_there && self.listed_constants.insert(global) {
            self.constants.push(global);
        }
    }

    /// Takes all constants of the module: also those that other code reads or that constants name.
    fn add_constants(&mut self, build: &Builder) {
        for global in ir::globals(build.module) {
            let name = global.name();
            let is_ours = name.starts_with("__ft_") || name.starts_with("llvm.");
            if global.is_constant_global() && !is_ours {
                self.add_constant(build, global);
            }
        }
    }

    /// Takes the code of a function.
    pub(crate) fn add_code(&mut self, code: &[u8]) {
        self.image.extend(code);
        self.image_functions += 1;
    }

    /// The offset of the function's name among the strings.
    pub(crate) fn function_name(&mut self, function: Value) -> u32 {
        let mut place = Place::EMPTY;
        // SAFETY: it is a function.
        unsafe { shim::ft_place_of_function(function.0, &mut place) };
        let name = self.name_of(&place, function);
        self.string(&name)
    }

    /// Puts the tables into the module.
    pub(crate) fn emit(mut self, build: &mut Builder) {
        let words =
            self.sites.iter().flatten().map(|word| build.i32.number(u64::from(*word))).collect();
        let sites = constant(build, "__ft_sites", array(build.i32, words));
        replace(self.sites_placeholder, sites);

        self.add_constants(build);
        let globals: Vec<Value> =
            self.globals.clone().iter().map(|one| self.global(build, *one)).collect();
        let functions: Vec<Value> =
            self.functions.clone().iter().map(|one| self.function(build, *one)).collect();
        let image = self.image();
        let symbols = self.symbols.iter().zip(0..).map(|(symbol, number)| match symbol {
            Symbol::Address(global) => *global,
            Symbol::Place(_) => self.place_of(build, number),
        });
        let symbols = symbols.collect();
        let symbols = constant(build, "__ft_symbols", array(build.pointer, symbols));
        replace(self.symbols_placeholder, symbols);
        let names = std::mem::replace(&mut self.memory, Names::of(build.module));
        let names = names.finish(&self.globals);
        let constants: Vec<Value> = self.constants.iter().map(|one| extent(build, *one)).collect();
        let counts = [
            self.sites.len(),
            self.strings.len(),
            globals.len(),
            functions.len(),
            image.len(),
            self.symbols.len(),
            constants.len(),
            names.len(),
        ];
        let tables = [
            sites,
            constant(build, "__ft_strings", bytes(build, &self.strings)),
            constant_table(build, "__ft_globals", globals),
            constant_table(build, "__ft_functions", functions),
            constant(build, "__ft_image", bytes(build, &image)),
            symbols,
            constant_table(build, "__ft_constants", constants),
            constant(build, "__ft_names", bytes(build, &names)),
        ];
        let mut fields = vec![build.i32.number(ABI.into()), build.i32.zero()];
        for (table, count) in tables.into_iter().zip(counts) {
            fields.extend([table, build.i64.number(count as u64)]);
        }
        let module = structure(build, &fields);
        let module = constant(build, "__ft_module_tables", module);
        add_constructor(build, module);
    }

    fn global(&mut self, build: &Builder, global: Value) -> Value {
        let mut place = Place::EMPTY;
        // SAFETY: it is a global variable.
        unsafe { shim::ft_place_of_global(global.0, &mut place) };
        let ir_name = global.name();
        let name = self.demangle(ir_name.clone()).unwrap_or(ir_name);
        let file = self.file_of(&place);
        // SAFETY: it is a global variable; without an initialiser it is not listed.
        let is_zero = unsafe {
            let initial = LLVMGetInitializer(global.0);
            !initial.is_null() && LLVMIsNull(initial) != 0
        };
        let flags = if is_zero { ZERO } else { 0 };
        let words = [self.string(&name), self.string(&file), place.line, flags];
        let size = global.value_type().store_size(build.layout).unwrap_or(0);
        let mut fields = vec![global, build.i64.number(size)];
        fields.extend(words.map(|word| build.i32.number(word.into())));
        structure(build, &fields)
    }

    fn function(&mut self, build: &Builder, function: Value) -> Value {
        let name = self.function_name(function);
        structure(build, &[function, build.i32.number(name.into()), build.i32.zero()])
    }

    fn image(&self) -> Vec<u8> {
        let mut image = Vec::with_capacity(self.image.len() + 16);
        put(&mut image, VERSION);
        put(&mut image, self.image_functions);
        image.extend(&self.image);
        image
    }
}

/// An address inside of a table.
fn place_in(build: &Builder, table: Value, offset: u64) -> Value {
    let mut offset = build.i64.number(offset).0;
    Value(llvm!(LLVMConstGEP2(build.i8.0, table.0, &mut offset, 1)))
}

/// Puts a table where another variable stood for it.
fn replace(placeholder: Value, table: Value) {
    placeholder.replace_uses(table);
    // SAFETY: nothing uses it any more.
    unsafe { LLVMDeleteGlobal(placeholder.0) };
}

/// Address and size of a variable.
fn extent(build: &Builder, global: Value) -> Value {
    let size = global.value_type().store_size(build.layout).unwrap_or(0);
    structure(build, &[global, build.i64.number(size)])
}

/// Whether a table may refer to it: the linker drops all but one of the same comdat, and with it
/// what only this module can name; and what is defined elsewhere may be nowhere.
pub(crate) fn is_addressable(global: Value) -> bool {
    match global.linkage() {
        LLVMInternalLinkage | LLVMPrivateLinkage => !global.in_comdat(),
        LLVMAvailableExternallyLinkage => false,
        _ => true,
    }
}

fn demangle(name: &str) -> Option<String> {
    let name = ir::c_name(name);
    // SAFETY: it returns null or a string from malloc, which is ours to free.
    unsafe {
        let demangled = shim::ft_demangle(name.as_ptr());
        if demangled.is_null() {
            return None;
        }
        let owned = CStr::from_ptr(demangled).to_string_lossy().into_owned();
        shim::free(demangled.cast());
        Some(without_tags(owned))
    }
}

/// The name without tags such as `[abi:cxx11]` and namespaces without a name, which nobody writes
/// in the source.
fn without_tags(name: String) -> String {
    let mut name = name.replace("(anonymous namespace)::", "");
    while let Some(start) = name.find("[abi:") {
        let end = name[start..].find(']').map_or(name.len(), |length| start + length + 1);
        name.replace_range(start..end, "");
    }
    name
}

fn array(of: Type, elements: Vec<Value>) -> Value {
    let mut elements: Vec<LLVMValueRef> = elements.iter().map(|one| one.0).collect();
    Value(llvm!(LLVMConstArray2(of.0, elements.as_mut_ptr(), elements.len() as u64)))
}

fn bytes(build: &Builder, bytes: &[u8]) -> Value {
    let start = bytes.as_ptr().cast();
    Value(llvm!(LLVMConstStringInContext2(build.context, start, bytes.len(), 1)))
}

fn structure(build: &Builder, fields: &[Value]) -> Value {
    let mut fields: Vec<LLVMValueRef> = fields.iter().map(|one| one.0).collect();
    Value(llvm!(LLVMConstStructInContext(
        build.context,
        fields.as_mut_ptr(),
        fields.len() as u32,
        0
    )))
}

fn constant_table(build: &Builder, name: &str, rows: Vec<Value>) -> Value {
    let of = rows.first().map_or(build.i8, |row| row.type_of());
    constant(build, name, array(of, rows))
}

fn constant(build: &Builder, name: &str, value: Value) -> Value {
    let name = ir::c_name(name);
    // SAFETY: the name is a C string, and the value a constant of the same context.
    unsafe {
        let global = LLVMAddGlobal(build.module, value.type_of().0, name.as_ptr());
        LLVMSetInitializer(global, value.0);
        LLVMSetLinkage(global, LLVMInternalLinkage);
        LLVMSetGlobalConstant(global, 1);
        LLVMSetAlignment(global, 16);
        Value(global)
    }
}

fn add_constructor(build: &mut Builder, module: Value) {
    let signature = build.signature(build.void, &[]);
    // SAFETY: names are C strings; the function is new, and gets a body before it is listed.
    unsafe {
        let constructor = LLVMAddFunction(build.module, c"__ft_constructor".as_ptr(), signature.0);
        LLVMSetLinkage(constructor, LLVMInternalLinkage);
        let entry = LLVMAppendBasicBlockInContext(build.context, constructor, c"".as_ptr());
        let end = Value(build.return_from(entry));
        build.stand_before(end);
        build.hook("__ft_module", build.void, &[module]);
        shim::ft_add_constructor(build.module, constructor, PRIORITY);
    }
}
