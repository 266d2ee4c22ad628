//! A recorded process as a program: the code and variables that the recording has, with the
//! arguments that the process was started with.
//!
//! **Computes.** One [`ObjectFile`] of all modules. Addresses of the recording say which symbol is
//! which function or variable; the executable says which functions have names that everybody can
//! see, and which run before and after `main`.
//!
//! **Invariant.** A symbol has a meaning only if the recording shows it. A word of a variable that
//! is the address of something known is taken for that address. If it was meant as a number, what
//! is computed from it is the use of an address as a number, which no proof passes.

use foretrace_image::loaded::{Loaded, Module};
use foretrace_image::{Code, Function, Op, Operand, decode};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::executable::{Executable, Imported, Own};
use crate::link::{self, Process};
use crate::object_file::{APART, Meaning, ObjectFile, SITES, Variable, symbol_of};
use crate::{LiftError, Lifted};

/// What a process is given from outside.
#[derive(Clone, Default, Debug)]
pub struct Given {
    /// With the name of the program.
    pub arguments: Vec<Vec<u8>>,
    /// A list of `NAME=value`.
    pub environment: Vec<Vec<u8>>,
    /// Names and contents of files that it may read.
    pub files: Vec<(Vec<u8>, Vec<u8>)>,
    /// What it reads on standard input.
    pub input: Vec<u8>,
    /// How many of them there are.
    pub processors: u32,
}

/// The program that a recorded process ran, with what it was given.
pub fn lift_recorded(
    loaded: &Loaded,
    executable: &[u8],
    given: &Given,
) -> Result<Lifted, LiftError> {
    let mut code = Decoded::default();
    loaded.modules.iter().try_for_each(|module| code.add(module))?;
    if code.functions.is_empty() {
        return Err(LiftError::NoImage);
    }
    let main = code.functions.iter().find(|function| function.name == "main");
    let main = code.address(main.ok_or(LiftError::NoMain)?);
    let mut executable = Executable::read(executable, main, &loaded.modules);
    let mut doubts = Vec::new();
    match &executable {
        None => doubts.push(
            "the program has no symbol table, so that nobody knows what runs before and after main"
                .to_string(),
        ),
        Some(executable) => {
            let known: FxHashSet<u64> =
                code.functions.iter().map(|one| code.address(one)).collect();
            let mut unasked = executable.before.iter().chain(&executable.after);
            if unasked.any(|address| !known.contains(address)) {
                doubts.push("code that is not instrumented runs before or after main".to_string());
            }
            let outside = |function: &&Function| {
                let address = code.address(function);
                address != 0 && !executable.extent.contains(&address)
            };
            if let Some(function) = code.functions.iter().find(outside) {
                doubts.push(format!("{} is in a shared library", function.name));
            }
        }
    }
    if let Some(executable) = &executable {
        code.resolve(executable);
    }
    let names = code.names(executable.as_ref());
    // What a variable holds is known, or the variable is not.
    let known = loaded.variables.iter().filter_map(|one| Some((one, one.bytes.as_ref()?)));
    let places = Places {
        functions: &names,
        imported: executable
            .as_mut()
            .map(|one| std::mem::take(&mut one.imported))
            .unwrap_or_default(),
        variables: known.clone().map(|(one, _)| (one.address, one.size)).collect(),
    };
    let symbols = code.symbols.iter().map(|&address| match address {
        0 => Meaning::Null,
        address => places.meaning(address),
    });
    let symbols = symbols.collect();
    let mut variables: Vec<Variable> = Vec::new();
    for (variable, bytes) in known {
        let addresses = places.addresses(variable.address, bytes);
        let (name, bytes) = (variable.name.clone(), bytes.clone());
        let (is_global, is_own, is_constant) = (false, false, variable.is_constant);
        variables.push(Variable { name, is_global, is_own, is_constant, bytes, addresses });
    }
    for Own { name, bytes } in executable.iter_mut().flat_map(|one| one.own.drain(..)) {
        let (is_global, is_own, is_constant) = (true, true, false);
        let addresses = Vec::new();
        variables.push(Variable { name, is_global, is_own, is_constant, bytes, addresses });
    }
    let argv = add_strings(&mut variables, "argument", &given.arguments);
    let environ = add_strings(&mut variables, "environment", &given.environment);
    let files = add_files(&mut variables, &given.files);
    let input = (variables.len(), given.input.len() as u64);
    variables.push(own_variable("standard input's bytes", given.input.clone(), Vec::new()));
    let mut seen = FxHashSet::default();
    let run = |addresses: &[u64]| -> Vec<Meaning> {
        addresses.iter().filter_map(|address| names.get(address).cloned()).collect()
    };
    let (before, after) = match &executable {
        Some(executable) => (run(&executable.before), run(&executable.after)),
        None => (Vec::new(), Vec::new()),
    };
    let mut undefined = code.called();
    undefined.extend(places.imported.values().map(|one| one.name.clone()));
    let mut imported: Vec<Imported> = places.imported.values().cloned().collect();
    imported.sort_unstable();
    imported.dedup();
    let mut functions = code.functions;
    functions.retain(|function| {
        let (symbol, _) = symbol_of(function.address);
        let address = code.symbols.get(symbol).copied().unwrap_or(0);
        let is_first = seen.insert(address);
        if !is_first {
            doubts.push(format!("{} is compiled more than once", function.name));
        }
        is_first
    });
    let file = ObjectFile {
        functions,
        symbols,
        variables,
        sites: code.places,
        undefined,
        imported,
        // Code that accesses what the recording does not show is an exit.
        others_are_constant: true,
        // The executable's own lists tell.
        has_constructors: false,
    };
    let (count, processors) = (given.arguments.len() as u64, given.processors);
    let process = Process { count, argv, environ, files, input, processors, before, after };
    let mut lifted = link::link(vec![file], None, Some(process))?;
    lifted.doubts.extend(doubts);
    Ok(lifted)
}

/// A variable that the program does not know by name.
fn own_variable(name: &str, bytes: Vec<u8>, addresses: Vec<(u64, Meaning)>) -> Variable {
    let (is_global, is_own, is_constant) = (false, false, false);
    Variable { name: name.to_string(), is_global, is_own, is_constant, bytes, addresses }
}

/// Strings, and then the list of their addresses: its number.
fn add_strings(variables: &mut Vec<Variable>, what: &str, strings: &[Vec<u8>]) -> usize {
    let mut addresses = Vec::new();
    for (number, string) in strings.iter().enumerate() {
        let bytes = [string, &b"\0"[..]].concat();
        addresses.push((8 * number as u64, Meaning::Variable(variables.len(), 0)));
        variables.push(own_variable(&format!("{what} {number}"), bytes, Vec::new()));
    }
    let bytes = vec![0; 8 * strings.len() + 8];
    variables.push(own_variable(&format!("{what}s"), bytes, addresses));
    variables.len() - 1
}

/// Names and contents of files, and then a list of their addresses, and of sizes: its number.
fn add_files(variables: &mut Vec<Variable>, files: &[(Vec<u8>, Vec<u8>)]) -> usize {
    let (mut addresses, mut list) = (Vec::new(), Vec::new());
    for (number, (name, contents)) in files.iter().enumerate() {
        let at = 24 * number as u64;
        addresses.push((at, Meaning::Variable(variables.len(), 0)));
        addresses.push((at + 8, Meaning::Variable(variables.len() + 1, 0)));
        let bytes = [name, &b"\0"[..]].concat();
        variables.push(own_variable(&format!("name of file {number}"), bytes, Vec::new()));
        variables.push(own_variable(&format!("file {number}"), contents.clone(), Vec::new()));
        list.extend([[0; 8], [0; 8], (contents.len() as u64).to_le_bytes()].concat());
    }
    list.extend([0; 8]);
    variables.push(own_variable("files", list, addresses));
    variables.len() - 1
}

/// The functions of all modules. Symbols and sites are numbered through.
#[derive(Default)]
struct Decoded {
    functions: Vec<Function>,
    /// The addresses of symbols in the process.
    symbols: Vec<u64>,
    places: Vec<String>,
}

impl Decoded {
    fn add(&mut self, module: &Module) -> Result<(), LiftError> {
        let first = self.symbols.len() as u64;
        let symbols = first..first + module.symbols.len() as u64;
        let addresses: Vec<u64> = symbols.map(|at| (at + 1) << APART).collect();
        let code = Code {
            sites_base: SITES + 16 * self.places.len() as u64,
            is_system: Vec::new(),
            strings: &module.strings,
            image: &module.image,
            symbols: &addresses,
            constants: Vec::new(),
            functions: &[],
        };
        self.functions.extend(decode(&code).ok_or(LiftError::BadImage)?);
        self.symbols.extend(&module.symbols);
        self.places.extend(module.places.iter().cloned());
        Ok(())
    }

    /// Where a function is in the process.
    fn address(&self, function: &Function) -> u64 {
        self.symbols.get(symbol_of(function.address).0).copied().unwrap_or(0)
    }

    /// Calls by name of functions that the program itself defines are calls of these, also if the C
    /// library has others of the same names.
    fn resolve(&mut self, executable: &Executable) {
        let places = self.functions.iter().map(|one| (self.address(one), one.address));
        let places: FxHashMap<u64, u64> = places.collect();
        let blocks = self.functions.iter_mut().flat_map(|function| &mut function.blocks);
        for instruction in blocks.flat_map(|block| &mut block.instructions) {
            let Op::Leave { name, arguments, .. } = &mut instruction.op else { continue };
            let Some(address) = executable.functions.get(name) else { continue };
            match places.get(address) {
                Some(&place) => {
                    let (callee, arguments) = (Operand::Address(place), std::mem::take(arguments));
                    instruction.op = Op::Call { callee, arguments, variadic_from: None };
                }
                None => name.push_str(", which is not instrumented"),
            }
        }
    }

    /// The names of functions that code calls without knowing where they are.
    fn called(&self) -> Vec<String> {
        let blocks = self.functions.iter().flat_map(|function| &function.blocks);
        let instructions = blocks.flat_map(|block| &block.instructions);
        let names = instructions.filter_map(|instruction| match &instruction.op {
            Op::Leave { name, .. } | Op::Hooked { name, .. } => Some(name.clone()),
            _ => None,
        });
        let names: FxHashSet<String> = names.collect();
        let mut names: Vec<String> = names.into_iter().collect();
        names.sort_unstable();
        names
    }

    /// What each function is called, by its address. A name that others can see means the same to
    /// all; any other one must not be one that somebody calls.
    fn names(&self, executable: Option<&Executable>) -> FxHashMap<u64, Meaning> {
        let mut used: FxHashSet<String> = self.called().into_iter().collect();
        used.extend(executable.iter().flat_map(|executable| executable.functions.keys().cloned()));
        let mut names = FxHashMap::default();
        for function in &self.functions {
            let address = self.address(function);
            let name = &function.name;
            let is_global = match executable {
                Some(executable) => executable.functions.get(name) == Some(&address),
                None => name == "main",
            };
            names.entry(address).or_insert_with(|| {
                if is_global {
                    return Meaning::Name(name.clone());
                }
                let mut own = name.clone();
                let mut count = 1;
                while !used.insert(own.clone()) {
                    count += 1;
                    own = format!("{name}#{count}");
                }
                Meaning::OwnFunction(own)
            });
        }
        names
    }
}

/// What addresses of the process mean.
struct Places<'a> {
    functions: &'a FxHashMap<u64, Meaning>,
    /// What shared libraries define.
    imported: FxHashMap<u64, Imported>,
    /// First addresses and sizes, sorted.
    variables: Vec<(u64, u64)>,
}

impl Places<'_> {
    fn meaning(&self, address: u64) -> Meaning {
        if let Some(function) = self.functions.get(&address) {
            return function.clone();
        }
        if let Some(imported) = self.imported.get(&address) {
            return Meaning::Name(imported.name.clone());
        }
        let behind = self.variables.partition_point(|&(start, _)| start <= address);
        let Some(at) = behind.checked_sub(1) else { return Meaning::Unknown };
        let (start, size) = self.variables[at];
        match address - start <= size {
            true => Meaning::Variable(at, address - start),
            false => Meaning::Unknown,
        }
    }

    /// The words of a variable that are addresses of something known.
    fn addresses(&self, start: u64, bytes: &[u8]) -> Vec<(u64, Meaning)> {
        let skipped = start.next_multiple_of(8) - start;
        let words = bytes.get(skipped as usize..).unwrap_or_default().chunks_exact(8);
        let meanings = words.enumerate().filter_map(|(at, word)| {
            let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
            let meaning = self.meaning(word);
            (meaning != Meaning::Unknown).then_some((skipped + 8 * at as u64, meaning))
        });
        meanings.collect()
    }
}
