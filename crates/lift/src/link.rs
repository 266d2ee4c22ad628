//! Which symbol of which file is which function or variable; the start of the program.

use foretrace_image::Op as Opcode;
use foretrace_program::{
    Block, BlockId, Callee, Function, FunctionId, Global, GlobalId, Instruction, MemoryOrder, Op,
    Operand, Program, Register, RegisterId, Site, Terminator, TerminatorKind, Thread, validate,
};
use foretrace_words::BinaryOp;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::executable::Imported;
use crate::function::{Lifting, Made, signature};
use crate::known::{common_name, prints};
use crate::object_file::{Meaning, ObjectFile, symbol_of};
use crate::{LiftError, Lifted, UNKNOWN, models, uses};

/// What all files define.
pub(crate) struct Names {
    /// Functions by name, those that only a file can see with its number.
    functions: FxHashMap<(Option<usize>, String), FunctionId>,
    /// Variables that all can see.
    globals: FxHashMap<String, GlobalId>,
    /// By file and its number there.
    variables: FxHashMap<(usize, usize), GlobalId>,
    /// Variables of which each thread has its own, those that only a file can see with its number.
    own: FxHashMap<(Option<usize>, String), GlobalId>,
    /// Functions of the library that are programs.
    pub(crate) models: FxHashMap<String, FunctionId>,
}

impl Names {
    /// What an address means; `None` if nothing is known of it.
    pub(crate) fn operand(&self, file: usize, meaning: &Meaning, offset: u64) -> Option<Operand> {
        match meaning {
            Meaning::Variable(number, start) => {
                let global = self.variables[&(file, *number)];
                Some(Operand::Global { global, offset: start.wrapping_add(offset) })
            }
            Meaning::Name(name) => match self.function(file, name) {
                Some(function) => (offset == 0).then_some(Operand::Function(function)),
                None if offset == 0 && self.model_at(name).is_some() => {
                    self.model_at(name).map(Operand::Function)
                }
                None => {
                    let global = *self.globals.get(name)?;
                    Some(Operand::Global { global, offset })
                }
            },
            Meaning::OwnFunction(name) => {
                let function = self.function(file, name)?;
                (offset == 0).then_some(Operand::Function(function))
            }
            Meaning::Null => Some(Operand::constant(offset, 64)),
            Meaning::Unknown => None,
        }
    }

    /// The variable of which each thread has its own that a file means by a name.
    pub(crate) fn own(&self, file: usize, name: &str) -> Option<GlobalId> {
        let own = self.own.get(&(Some(file), name.to_string()));
        own.or_else(|| self.own.get(&(None, name.to_string()))).copied()
    }

    /// Where functions leave what does not fit into a register.
    pub(crate) fn wide_result(&self) -> Option<GlobalId> {
        self.globals.get(models::RESULT).copied()
    }

    /// A variable of the library.
    pub(crate) fn library(&self, name: &str) -> Option<Operand> {
        let global = *self.globals.get(name)?;
        Some(Operand::Global { global, offset: 0 })
    }

    /// The function of the library that code means that takes its address.
    fn model_at(&self, name: &str) -> Option<FunctionId> {
        let by_address = self.models.get(&format!("{name} by address"));
        by_address.or_else(|| self.models.get(name)).copied()
    }

    /// What runs when the process ends by `exit`, or by a return from `main`, if anything can.
    pub(crate) fn at_end(&self) -> Option<FunctionId> {
        self.models.get(models::AT_END).copied()
    }

    /// The function that a file means by a name.
    pub(crate) fn function(&self, file: usize, name: &str) -> Option<FunctionId> {
        let own = self.functions.get(&(Some(file), name.to_string()));
        own.or_else(|| self.functions.get(&(None, name.to_string()))).copied()
    }
}

/// How the process is started. Variables and functions are those of the first file.
pub(crate) struct Process {
    /// The value of `argc`.
    pub(crate) count: u64,
    /// The variable that holds the addresses of the arguments.
    pub(crate) argv: usize,
    /// The same of the environment.
    pub(crate) environ: usize,
    /// The variable that holds the list of the files that it can read.
    pub(crate) files: usize,
    /// The one that holds what it reads on standard input, and the size of that.
    pub(crate) input: (usize, u64),
    pub(crate) processors: u32,
    /// Functions that run before `main`, and behind it.
    pub(crate) before: Vec<Meaning>,
    pub(crate) after: Vec<Meaning>,
}

/// The program of the files; without a process, for all arguments.
pub(crate) fn link(
    files: Vec<ObjectFile>,
    error: Option<&str>,
    process: Option<Process>,
) -> Result<Lifted, LiftError> {
    let mut program = Program::default();
    let mut names = Names {
        functions: FxHashMap::default(),
        globals: FxHashMap::default(),
        variables: FxHashMap::default(),
        own: FxHashMap::default(),
        models: FxHashMap::default(),
    };
    list_globals(&files, &mut program, &mut names)?;
    let mut undefined: FxHashSet<&str> =
        files.iter().flat_map(|file| &file.undefined).map(String::as_str).collect();
    for function in files.iter().flat_map(|file| &file.functions) {
        models::loops(function).for_each(|name| {
            undefined.insert(name);
        });
    }
    undefined.extend(helpers(&files));
    let imported = files.iter().flat_map(|file| &file.imported);
    for Imported { name, .. } in imported.filter(|one| !one.is_function) {
        if LIBRARY.iter().all(|(other, ..)| other != name) {
            names.globals.insert(name.clone(), GlobalId::from(program.globals.len()));
            let (name, size) = (name.clone(), IMPORTED_SIZE);
            program.globals.push(Global { name, size, initial: Vec::new() });
        }
    }
    for (name, size, initial) in LIBRARY.into_iter().filter(|(name, ..)| undefined.contains(name)) {
        names.globals.insert(name.to_string(), GlobalId::from(program.globals.len()));
        program.globals.push(Global { name: name.to_string(), size, initial: initial.to_vec() });
    }
    let mut bodies = Vec::new();
    for (number, file) in files.iter().enumerate() {
        for function in &file.functions {
            let (symbol, _) = symbol_of(function.address);
            let (owner, name) = match file.symbols.get(symbol) {
                Some(Meaning::OwnFunction(name)) => (Some(number), name.clone()),
                Some(Meaning::Name(name)) => (None, name.clone()),
                // Functions that exist only to be inlined.
                _ => (Some(number), function.name.clone()),
            };
            let id = FunctionId::from(bodies.len());
            if names.functions.insert((owner, name.clone()), id).is_some() {
                return Err(LiftError::Twice(name));
            }
            bodies.push((number, name, function));
        }
    }
    let main = names.functions.get(&(None, "main".to_string())).copied();
    let main = main.ok_or(LiftError::NoMain)?;
    let errors: Vec<String> = match error {
        Some(error) => vec![error.to_string()],
        None => ERRORS.map(str::to_string).to_vec(),
    };
    let is_task = error.is_some()
        || files
            .iter()
            .flat_map(|file| &file.undefined)
            .any(|name| name.starts_with("__VERIFIER_") || name == "reach_error")
        || bodies
            .iter()
            .any(|(_, name, _)| name == "reach_error" || name.starts_with("__VERIFIER_"));
    // What the property names is all that counts, if the program can call that at all.
    let can_be_called = |name: &str| {
        undefined.contains(name) || bodies.iter().any(|(_, defined, _)| defined == name)
    };
    let asserts_count = error.is_none_or(|error| !can_be_called(error));
    let tries = ["pthread_mutex_trylock", "pthread_mutex_timedlock", "pthread_mutex_clocklock"];
    let functions = || files.iter().flat_map(|file| &file.functions);
    let has_kinds = undefined.contains("pthread_mutexattr_settype")
        || program.globals.iter().any(|global| models::may_hold_kind(&global.bytes()))
        // Elsewhere, a mutex of another kind is misused as one of the default kind.
        || tries.iter().any(|name| undefined.contains(name))
            && functions().any(models::may_make_kind);
    let prefers_writers = undefined.contains("pthread_rwlock_rdlock")
        && program.globals.iter().any(|global| models::may_prefer_writers(&global.bytes()));
    let uses = models::Uses { has_kinds, has_process: process.is_some() };
    let first = (bodies.len(), program.globals.len());
    let (mut models, variables) = models::called(&undefined, uses, first);
    program.globals.extend(variables);
    for name in OWN_LIBRARY.map(str::to_string) {
        let known = program.globals.iter().position(|global| global.name == name);
        let id = GlobalId::from(known.unwrap_or(program.globals.len()));
        if known.is_none() && uses_own(&files, &name) {
            program.globals.push(Global { name: name.clone(), size: 8, initial: Vec::new() });
        }
        names.own.entry((None, name)).or_insert(id);
    }
    let known = program.globals.iter().position(|global| global.name == models::RESULT);
    let wide = GlobalId::from(known.unwrap_or(program.globals.len()));
    if known.is_none() {
        let (name, size) = (models::RESULT.to_string(), models::RESULT_BYTES as u32);
        program.globals.push(Global { name, size, initial: Vec::new() });
    }
    names.globals.insert(models::RESULT.to_string(), wide);
    names.models = models::numbered(&models, bodies.len());
    for Imported { name, is_function } in files.iter().flat_map(|file| &file.imported) {
        let is_known = names.model_at(name).is_some() || names.function(0, name).is_some();
        if *is_function && !is_known {
            let stub = models::unknown(name);
            let id = FunctionId::from(bodies.len() + models.len());
            names.models.insert(stub.name.clone(), id);
            models.push(stub);
        }
    }
    let mut signatures: Vec<(Vec<u8>, Option<u8>)> =
        bodies.iter().map(|(_, _, function)| signature(function)).collect();
    let after = process.as_ref().map_or(&[][..], |process| &process.after);
    if let Some(end) = end(&names, after, &signatures) {
        let id = FunctionId::from(bodies.len() + models.len());
        names.models.insert(end.name.clone(), id);
        models.push(end);
    }
    signatures.extend(models.iter().map(|model| {
        let params = model.params.iter().map(|&param| model.width(param)).collect();
        (params, model.result)
    }));
    let (mut silent, mut implicit) = (FxHashSet::default(), FxHashSet::default());
    let mut overflows = FxHashSet::default();
    for (number, name, function) in &bodies {
        let lifting = Lifting {
            names: &names,
            file: &files[*number],
            number: *number,
            signatures: &signatures,
            is_task,
            asserts_count,
            has_kinds,
            errors: &errors,
        };
        let Made { function: made, silent: without_record, implicit: undefined, overflows: found } =
            lifting.function(function, name.clone(), &mut program.locations);
        // As `canonicalise` will number them.
        let order = made.reverse_postorder();
        let function = FunctionId::from(program.functions.len());
        let site = |(block, index): (usize, usize)| {
            let block = BlockId::from(order.iter().position(|old| old.index() == block)?);
            Some(Site { function, block, index: index as u32 })
        };
        silent.extend(without_record.into_iter().filter_map(site));
        implicit.extend(undefined.into_iter().filter_map(site));
        overflows.extend(found.into_iter().filter_map(site));
        program.functions.push(made);
    }
    program.functions.extend(models);
    let mut used: FxHashSet<String> =
        program.globals.iter().map(|global| global.name.clone()).collect();
    for function in &mut program.functions {
        let name = function.name.clone();
        let mut count = 1;
        while !used.insert(function.name.clone()) {
            count += 1;
            function.name = format!("{name}#{count}");
        }
    }
    let has_more = process.as_ref().is_some_and(|process| !process.after.is_empty());
    let start = start(&files, &names, &program, main, process);
    let function = FunctionId::from(program.functions.len());
    // What variables hold at first is stored by nobody.
    let stores = 0..start.blocks[0].instructions.len() as u32;
    silent.extend(stores.map(|index| Site { function, block: Function::ENTRY, index }));
    program.functions.push(start);
    program.threads.push(Thread { name: "main".to_string(), function, args: Vec::new() });
    if names.at_end().is_none() && !has_more {
        end_with(&mut program, main);
    }
    for function in &mut program.functions {
        function.canonicalise();
    }
    let inside = names.models.values().copied();
    let inside = inside.filter(|&id| models::is_inside(&program.function(id).name));
    // Other ways to sort compare other things.
    let compares = files.iter().enumerate().flat_map(|(number, file)| {
        let sorts_by = uses::sorts_by(file).filter_map(|symbol| file.symbols.get(symbol));
        let functions = sorts_by.filter_map(|meaning| names.operand(number, meaning, 0));
        functions.collect::<Vec<_>>()
    });
    let compares = compares.filter_map(|operand| match operand {
        Operand::Function(function) => Some(function),
        _ => None,
    });
    for function in inside.chain(compares) {
        let all = program.function(function).instructions();
        silent.extend(all.map(|(block, index, _)| Site { function, block, index: index as u32 }));
    }
    validate(&program).map_err(|error| LiftError::Invalid(error.to_string()))?;
    let models = names.models.into_values().collect();
    let has_constructors = files.iter().any(|file| file.has_constructors);
    let doubts = has_constructors.then(|| {
        "code runs before or after main (constructors, destructors), which is not verified"
            .to_string()
    });
    let preference = "a reader-writer lock may be initialised so that it prefers writers";
    let doubts =
        doubts.into_iter().chain(prefers_writers.then(|| preference.to_string())).collect();
    Ok(Lifted { program, is_task, silent, models, implicit, overflows, doubts })
}

/// Nothing runs behind `main`: where it returns, the process ends. So its variables live as long as
/// the process.
fn end_with(program: &mut Program, main: FunctionId) {
    let last = program.functions.len() - 1;
    let names_main = |op: &Op| {
        let callee = match op {
            Op::Call { callee, .. } | Op::Fork { callee, .. } => *callee == Callee::Direct(main),
            _ => false,
        };
        callee || op.operands().iter().any(|operand| **operand == Operand::Function(main))
    };
    let others = program.functions[..last].iter();
    let is_called = others.flat_map(Function::instructions).any(|(.., one)| names_main(&one.op));
    if !is_called {
        for block in &mut program.functions[main.index()].blocks {
            if let TerminatorKind::Return(_) = block.terminator.kind {
                block.terminator.kind = TerminatorKind::Exit;
            }
        }
    }
}

fn list_globals(
    files: &[ObjectFile],
    program: &mut Program,
    names: &mut Names,
) -> Result<(), LiftError> {
    let mut used: FxHashMap<String, u32> = FxHashMap::default();
    for (number, file) in files.iter().enumerate() {
        for (at, variable) in file.variables.iter().enumerate() {
            let id = GlobalId::from(program.globals.len());
            if variable.is_own {
                let owner = (!variable.is_global).then_some(number);
                names.own.insert((owner, variable.name.clone()), id);
            } else if variable.is_global {
                if let Some(&known) = names.globals.get(&variable.name) {
                    // Tentative definitions are one variable.
                    let global = &mut program.globals[known.index()];
                    let is_tentative = variable.bytes.iter().all(|&byte| byte == 0);
                    if !is_tentative && !global.initial.is_empty() {
                        return Err(LiftError::Twice(variable.name.clone()));
                    }
                    names.variables.insert((number, at), known);
                    continue;
                }
                names.globals.insert(variable.name.clone(), id);
            }
            names.variables.insert((number, at), id);
            let count = used.entry(variable.name.clone()).or_default();
            *count += 1;
            let name = match *count {
                1 => variable.name.clone(),
                count => format!("{}#{count}", variable.name),
            };
            let mut initial = variable.bytes.clone();
            while initial.last() == Some(&0) {
                initial.pop();
            }
            let size = (variable.bytes.len() as u32).max(1);
            program.globals.push(Global { name, size, initial });
        }
    }
    Ok(())
}

/// Functions that must not be called, if nobody says otherwise.
const ERRORS: [&str; 2] = ["reach_error", "__VERIFIER_error"];

/// Variables of the C and C++ libraries: their names, sizes and what is known of them.
const LIBRARY: [(&str, u32, &[u8]); 4] =
    [("stderr", 8, &[]), ("stdin", 8, &[]), ("stdout", 8, &[]), (SINGLE_THREADED, 1, &[1])];

/// As many bytes are taken for a variable of a library of which nothing is known.
const IMPORTED_SIZE: u32 = 280;

/// Whether there never was another thread.
pub(crate) const SINGLE_THREADED: &str = "__libc_single_threaded";

/// Variables of the C++ library of which each thread has its own.
const OWN_LIBRARY: [&str; 2] = ["_ZSt15__once_callable", "_ZSt11__once_call"];

/// Models that code needs which names no function.
fn helpers(files: &[ObjectFile]) -> impl Iterator<Item = &str> {
    let functions = files.iter().flat_map(|file| &file.functions);
    let blocks = functions.flat_map(|function| &function.blocks);
    blocks.flat_map(|block| &block.instructions).filter_map(|instruction| match &instruction.op {
        Opcode::Leave { name, .. } | Opcode::Hooked { name, .. } => match common_name(name) {
            "malloc" | "aligned_alloc" | "operator new with alignment" => Some(models::FORGET),
            name if prints(name) => Some(models::READ),
            _ => None,
        },
        _ => None,
    })
}

/// Whether code uses a variable of which each thread has its own.
fn uses_own(files: &[ObjectFile], variable: &str) -> bool {
    let functions = files.iter().flat_map(|file| &file.functions);
    let blocks = functions.flat_map(|function| &function.blocks);
    blocks.flat_map(|block| &block.instructions).any(|instruction| match &instruction.op {
        Opcode::Opaque { name, .. } => name.ends_with(&format!(" {variable}")),
        _ => false,
    })
}

fn plain(op: Op, result: Option<RegisterId>) -> Instruction {
    Instruction { op, result, location: None }
}

fn call(function: FunctionId) -> Instruction {
    plain(Op::Call { callee: Callee::Direct(function), args: Vec::new() }, None)
}

/// Calls of functions that the start of the program, or its end, calls by itself.
fn calls(
    list: &[Meaning],
    names: &Names,
    has_no_parameters: impl Fn(FunctionId) -> bool,
) -> Vec<Instruction> {
    let functions = list.iter().filter_map(|meaning| names.operand(0, meaning, 0));
    let calls = functions.map(|operand| match operand {
        Operand::Function(function) if has_no_parameters(function) => call(function),
        _ => {
            let name = format!("{UNKNOWN}a function with arguments that nobody calls");
            plain(Op::External { name, args: Vec::new() }, None)
        }
    });
    calls.collect()
}

/// What runs at the end: what was asked for, and then destructors. `None` if there is neither.
fn end(names: &Names, after: &[Meaning], signatures: &[(Vec<u8>, Option<u8>)]) -> Option<Function> {
    let asked_for = names.models.get(models::AT_EXIT).map(|&function| call(function));
    let has_no_parameters = |function: FunctionId| {
        signatures.get(function.index()).is_some_and(|(params, _)| params.is_empty())
    };
    let mut instructions: Vec<Instruction> = asked_for.into_iter().collect();
    instructions.extend(calls(after, names, has_no_parameters));
    let terminator = Terminator { kind: TerminatorKind::Return(None), location: None };
    let block = Block { label: None, params: Vec::new(), instructions, terminator };
    let (params, registers, name) = (Vec::new(), Vec::new(), models::AT_END.to_string());
    (!block.instructions.is_empty()).then(|| Function {
        name,
        params,
        result: None,
        registers,
        blocks: vec![block],
    })
}

/// Stores the addresses that variables hold at first, calls `main` and what runs before and behind
/// it, and ends the process.
fn start(
    files: &[ObjectFile],
    names: &Names,
    program: &Program,
    main: FunctionId,
    given: Option<Process>,
) -> Function {
    let mut instructions = Vec::new();
    let mut registers: Vec<Register> = Vec::new();
    let mut register = |width: u8| {
        registers.push(Register { width, name: None });
        RegisterId::from(registers.len() - 1)
    };
    for (number, file) in files.iter().enumerate() {
        for (at, variable) in file.variables.iter().enumerate() {
            for (offset, meaning) in &variable.addresses {
                if variable.is_own {
                    let name = format!("{UNKNOWN}a thread-local variable that holds an address");
                    instructions.push(plain(Op::External { name, args: Vec::new() }, None));
                    continue;
                }
                let global = names.variables[&(number, at)];
                let value = names.operand(number, meaning, 0).unwrap_or_else(|| {
                    let value = register(64);
                    let name = "indeterminate".to_string();
                    instructions.push(plain(Op::External { name, args: Vec::new() }, Some(value)));
                    Operand::Register(value)
                });
                let address = Operand::Global { global, offset: *offset };
                let order = MemoryOrder::Plain;
                instructions.push(plain(Op::Store { address, size: 8, value, order }, None));
            }
        }
    }
    let library = LIBRARY.iter().filter(|(.., known)| known.is_empty());
    let library = library.filter_map(|(name, size, _)| Some((*names.globals.get(*name)?, *size)));
    let imported = files.iter().flat_map(|file| &file.imported);
    let imported = imported.filter(|one| !one.is_function && one.name != SINGLE_THREADED);
    let imported = imported.filter_map(|one| {
        let known = LIBRARY.iter().any(|(name, ..)| *name == one.name);
        (!known).then_some((*names.globals.get(&one.name)?, IMPORTED_SIZE))
    });
    let named = |name: &str| program.globals.iter().position(|global| global.name == name);
    let clocks = models::CLOCKS.iter().filter_map(|name| Some((named(name)?.into(), 8)));
    for (global, size) in library.chain(imported).chain(clocks) {
        for offset in (0..u64::from(size)).step_by(8) {
            let address = Operand::Global { global, offset };
            let order = MemoryOrder::Plain;
            if let (Some(stream), Some(_)) = (named(models::INPUT), &given)
                && names.globals.get("stdin") == Some(&global)
            {
                let value = Operand::Global { global: stream.into(), offset: 0 };
                instructions.push(plain(Op::Store { address, size: 8, value, order }, None));
                continue;
            }
            let value = register(64);
            let known = LIBRARY.iter().any(|(name, ..)| names.globals.get(*name) == Some(&global));
            let name = if known { "indeterminate" } else { "any value of the library" };
            let name = name.to_string();
            instructions.push(plain(Op::External { name, args: Vec::new() }, Some(value)));
            let value = Operand::Register(value);
            instructions.push(plain(Op::Store { address, size: 8, value, order }, None));
        }
    }
    if let Some(given) = &given {
        let of = |variable: usize| {
            let global = names.variables[&(0, variable)];
            Operand::Global { global, offset: 0 }
        };
        let (contents, size) = given.input;
        let known = [
            (models::ENVIRONMENT, 0, 8, of(given.environ)),
            (models::FILES, 0, 8, of(given.files)),
            (models::INPUT, 8, 8, of(contents)),
            (models::INPUT, 16, 8, Operand::constant(size, 64)),
            (models::PROCESSORS, 0, 4, Operand::constant(given.processors.into(), 32)),
        ];
        for (name, offset, size, value) in known {
            let Some(global) = named(name) else { continue };
            let address = Operand::Global { global: global.into(), offset };
            let order = MemoryOrder::Plain;
            instructions.push(plain(Op::Store { address, size, value, order }, None));
        }
    }
    let has_no_parameters = |function: FunctionId| program.function(function).params.is_empty();
    let before = given.as_ref().map_or(&[][..], |given| &given.before);
    instructions.extend(calls(before, names, has_no_parameters));
    let head = program.function(main);
    let mut args = Vec::new();
    for (at, &param) in head.params.iter().enumerate() {
        let width = head.width(param);
        match (at, &given) {
            (0, Some(given)) => {
                args.push(Operand::constant(given.count, width));
                continue;
            }
            (1, Some(given)) if width == 64 => {
                let global = names.variables[&(0, given.argv)];
                args.push(Operand::Global { global, offset: 0 });
                continue;
            }
            _ => (),
        }
        let value = register(width);
        let name = ["argc", "argv", "envp"].get(at).unwrap_or(&"unknown argument").to_string();
        instructions.push(plain(Op::External { name, args: Vec::new() }, Some(value)));
        if at == 0 {
            let some = register(1);
            let (left, right) = (Operand::constant(0, width), Operand::Register(value));
            let op = Op::Binary { op: BinaryOp::Slt, left, right };
            instructions.push(plain(op, Some(some)));
            let condition = Operand::Register(some);
            instructions.push(plain(Op::Assume { condition }, None));
        }
        args.push(Operand::Register(value));
    }
    instructions.push(plain(Op::Call { callee: Callee::Direct(main), args }, None));
    instructions.extend(names.at_end().map(call));
    let terminator = Terminator { kind: TerminatorKind::Exit, location: None };
    let block = Block { label: None, params: Vec::new(), instructions, terminator };
    let name = "start of the process".to_string();
    Function { name, params: Vec::new(), result: None, registers, blocks: vec![block] }
}
