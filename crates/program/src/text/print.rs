//! The printer: a program as text, always in labelled blocks.

use std::fmt::Write;

use rustc_hash::FxHashSet;

use crate::ir::*;

use super::names::{show_location, show_name};
use super::parse::HEADER;
use super::print_op::Printer;

/// The text of a program.
///
/// What is not valid is printed as well as it can be; ids that point nowhere panic.
pub fn print(program: &Program) -> String {
    let mut out = format!("{HEADER}\n");
    declarations(program, &mut out);
    for id in program.function_ids() {
        function(program, id, &mut out);
    }
    if !program.threads.is_empty() {
        out.push('\n');
    }
    for Thread { name, function, args } in &program.threads {
        let head = program.function(*function);
        let args = args.iter().zip(&head.params);
        let args: Vec<String> =
            args.map(|(&value, &param)| show_number(value, head.width(param))).collect();
        let _ = writeln!(
            out,
            "thread {} = {}({})",
            show_name(name),
            show_name(&head.name),
            args.join(", ")
        );
    }
    out
}

/// One instruction or the end of a block in words: its function, its text, its location.
pub fn describe(program: &Program, site: Site) -> String {
    let function = program.function(site.function);
    let shown = Shown::new(function);
    let block = function.block(site.block);
    let printer = Printer { program, function, shown: &shown };
    let text = match block.instructions.get(site.index as usize) {
        Some(instruction) => printer.instruction(instruction),
        None => printer.terminator(&block.terminator.kind),
    };
    let at = program.location(site).map_or(String::new(), |location| format!(" @ {location}"));
    format!("{}: {text}{at}", show_name(&function.name))
}

/// The names that registers and blocks of a function have in its text.
pub(super) struct Shown {
    pub(super) registers: Vec<String>,
    pub(super) labels: Vec<String>,
}

impl Shown {
    pub(super) fn new(function: &Function) -> Shown {
        let registers = function.registers.iter().map(|register| register.name.as_deref());
        let labels = function.blocks.iter().map(|block| block.label.as_deref());
        Shown { registers: unique(registers), labels: unique(labels) }
    }
}

/// Each name where it comes first; `%7` where there is none, or it is taken.
fn unique<'a>(names: impl Iterator<Item = Option<&'a str>>) -> Vec<String> {
    let mut taken = FxHashSet::default();
    names
        .enumerate()
        .map(|(index, name)| match name {
            Some(name) if taken.insert(name) => show_name(name),
            _ => format!("%{index}"),
        })
        .collect()
}

fn declarations(program: &Program, out: &mut String) {
    for Global { name, size, initial } in &program.globals {
        let _ = write!(out, "global {} : {size}", show_name(name));
        if !initial.is_empty() && *size <= 8 {
            let mut bytes = [0; 8];
            bytes[..initial.len()].copy_from_slice(initial);
            let _ = write!(out, " = {}", show_number(u64::from_le_bytes(bytes), *size as u8 * 8));
        } else if !initial.is_empty() {
            let bytes: Vec<String> = initial.iter().map(u8::to_string).collect();
            let _ = write!(out, " = [{}]", bytes.join(", "));
        }
        out.push('\n');
    }
    for Lock { name, recursive } in &program.locks {
        let _ =
            writeln!(out, "lock {}{}", show_name(name), if *recursive { " recursive" } else { "" });
    }
    for name in &program.conds {
        let _ = writeln!(out, "cond {}", show_name(name));
    }
    for Semaphore { name, count } in &program.semaphores {
        let _ = writeln!(out, "semaphore {} = {count}", show_name(name));
    }
    for Barrier { name, parties } in &program.barriers {
        let _ = writeln!(out, "barrier {} = {parties}", show_name(name));
    }
}

fn function(program: &Program, id: FunctionId, out: &mut String) {
    let function = program.function(id);
    let shown = Shown::new(function);
    let printer = Printer { program, function, shown: &shown };
    let result = function.result.map_or(String::new(), |width| format!(" -> {width}"));
    let params = printer.params(&function.params);
    let _ = writeln!(out, "\nfunc {}({params}){result} {{", show_name(&function.name));
    for (block, label) in function.blocks.iter().zip(&shown.labels) {
        let params = match block.params.is_empty() {
            true => String::new(),
            false => format!("({})", printer.params(&block.params)),
        };
        let _ = writeln!(out, "  {label}{params}:");
        let mut line = |text: String, location: Option<LocationId>| {
            let location = location.map(|location| program.locations.get(location.index()));
            let at = location.map_or(String::new(), |at| format!(" @ {}", show_location(at)));
            let _ = writeln!(out, "    {text}{at}");
        };
        for instruction in &block.instructions {
            line(printer.instruction(instruction), instruction.location);
        }
        line(printer.terminator(&block.terminator.kind), block.terminator.location);
    }
    out.push_str("}\n");
}

/// A number that has its width from where it stands: with a minus if it is close to 0 from below.
pub(super) fn show_number(value: u64, width: u8) -> String {
    let number = signed(value, width);
    if width > 1 && number < 0 && number.unsigned_abs() < 1 << (width / 2) {
        number.to_string()
    } else {
        value.to_string()
    }
}
