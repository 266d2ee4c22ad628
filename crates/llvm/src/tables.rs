//! The tables of a module (`foretrace_recording::site`): collected while it is instrumented, then put
//! into it as constants, with a constructor that shows them to the runtime.

use std::collections::HashMap;
use std::ffi::CStr;

use foretrace_recording::site::{ABI, SYSTEM};
use llvm_sys::LLVMLinkage::*;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::build::Builder;
use crate::ir::{self, Type, Value};
use crate::shim::{self, Place};

/// Before every constructor that a program can have, which start at 101.
const PRIORITY: i32 = 1;

/// Bytes of a `Site`.
const SITE_SIZE: u64 = 16;

pub(crate) struct Tables {
    strings: Vec<u8>,
    offsets: HashMap<String, u32>,
    /// Four words each, as `Site` has them.
    sites: Vec<[u32; 4]>,
    site_numbers: HashMap<[u32; 4], u64>,
    /// Stands for the table of sites until its size is known.
    placeholder: Value,
    globals: Vec<Value>,
    functions: Vec<Value>,
    /// Demangled names, by what they were before.
    names: HashMap<String, Option<String>>,
    source_file: String,
    directory: String,
}

impl Tables {
    pub(crate) fn new(build: &Builder) -> Tables {
        // SAFETY: the placeholder is replaced in `emit`.
        let (placeholder, source_file, directory) = unsafe {
            let mut size = 0;
            let name = LLVMGetSourceFileName(build.module, &mut size);
            let name = std::slice::from_raw_parts(name.cast(), size);
            (
                LLVMAddGlobal(build.module, build.i8.0, c"__ft_sites_placeholder".as_ptr()),
                String::from_utf8_lossy(name).into_owned(),
                shim::ft_compilation_directory(build.module).to_owned(),
            )
        };
        let mut tables = Tables {
            strings: Vec::new(),
            offsets: HashMap::new(),
            sites: Vec::new(),
            site_numbers: HashMap::new(),
            placeholder: Value(placeholder),
            globals: Vec::new(),
            functions: Vec::new(),
            names: HashMap::new(),
            source_file,
            directory,
        };
        tables.string("");
        tables
    }

    /// The address of the site of an instruction. Instructions at the same place share it.
    pub(crate) fn site(&mut self, build: &Builder, function: Value, instruction: Value) -> Value {
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
        let mut offset = build.i64.number(number * SITE_SIZE).0;
        Value(unsafe { LLVMConstGEP2(build.i8.0, self.placeholder.0, &mut offset, 1) })
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

    /// A relative name as the compiler got it, else the whole path. Clang cuts absolute names in two at
    /// whatever they share with the directory it runs in.
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
    fn string(&mut self, string: &str) -> u32 {
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

    /// Puts the tables into the module.
    pub(crate) fn emit(mut self, build: &mut Builder) {
        let words =
            self.sites.iter().flatten().map(|word| build.i32.number(u64::from(*word))).collect();
        let sites = constant(build, "__ft_sites", array(build.i32, words));
        self.placeholder.replace_uses(sites);
        // SAFETY: nothing uses it any more.
        unsafe { LLVMDeleteGlobal(self.placeholder.0) };

        let globals: Vec<Value> =
            self.globals.clone().iter().map(|one| self.global(build, *one)).collect();
        let functions: Vec<Value> =
            self.functions.clone().iter().map(|one| self.function(build, *one)).collect();
        let counts = [self.sites.len(), self.strings.len(), globals.len(), functions.len()];
        let tables = [
            sites,
            constant(build, "__ft_strings", bytes(build, &self.strings)),
            constant_table(build, "__ft_globals", globals),
            constant_table(build, "__ft_functions", functions),
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
        let words = [self.string(&name), self.string(&file), place.line, 0];
        let size = global.value_type().store_size(build.layout).unwrap_or(0);
        let mut fields = vec![global, build.i64.number(size)];
        fields.extend(words.map(|word| build.i32.number(word.into())));
        structure(build, &fields)
    }

    fn function(&mut self, build: &Builder, function: Value) -> Value {
        let mut place = Place::EMPTY;
        // SAFETY: it is a function.
        unsafe { shim::ft_place_of_function(function.0, &mut place) };
        let name = self.name_of(&place, function);
        let name = self.string(&name);
        structure(build, &[function, build.i32.number(name.into()), build.i32.zero()])
    }
}

/// Whether a table may refer to it: the linker drops all but one of the same comdat, and with it
/// what only this module can name; and what is defined elsewhere may be nowhere.
fn is_addressable(global: Value) -> bool {
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
        Some(owned)
    }
}

fn array(of: Type, elements: Vec<Value>) -> Value {
    let mut elements: Vec<LLVMValueRef> = elements.iter().map(|one| one.0).collect();
    Value(unsafe { LLVMConstArray2(of.0, elements.as_mut_ptr(), elements.len() as u64) })
}

fn bytes(build: &Builder, bytes: &[u8]) -> Value {
    let start = bytes.as_ptr().cast();
    Value(unsafe { LLVMConstStringInContext2(build.context, start, bytes.len(), 1) })
}

fn structure(build: &Builder, fields: &[Value]) -> Value {
    let mut fields: Vec<LLVMValueRef> = fields.iter().map(|one| one.0).collect();
    Value(unsafe {
        LLVMConstStructInContext(build.context, fields.as_mut_ptr(), fields.len() as u32, 0)
    })
}

fn constant_table(build: &Builder, name: &str, rows: Vec<Value>) -> Value {
    let of = rows.first().map_or(build.i8, |row| row.type_of());
    constant(build, name, array(of, rows))
}

fn constant(build: &Builder, name: &str, value: Value) -> Value {
    let name = ir::c_name(name);
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
