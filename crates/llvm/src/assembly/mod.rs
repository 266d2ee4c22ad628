//! Inline assembly, as people write it for atomic operations and barriers on x86-64.
//!
//! **Computes.** Replaces each piece of assembly that is understood in full by LLVM instructions
//! that do the same, before hooks and image are made: what follows never knows that there was
//! assembly. What is not understood stays; if it may touch memory, a hook behind it says so, and
//! the trace keeps everything that was recorded before it in its order.
//!
//! **Invariant.** All of an assembly is replaced, or nothing. What stays and is not said to touch
//! memory touches none.
//!
//! **Cost.** Linear in the code.
//!
//! - [`constraints`], [`template`], [`registers`]: what is written;
//! - [`execute`], [`flags`]: what it does;
//! - [`emit`]: the instructions for it.

mod constraints;
mod emit;
mod execute;
mod flags;
mod names;
mod registers;
mod template;

use llvm_sys::LLVMInlineAsmDialect::*;
use llvm_sys::LLVMOpcode::*;
use llvm_sys::LLVMTypeKind::{LLVMStructTypeKind, LLVMVoidTypeKind};
use llvm_sys::core::*;
use llvm_sys::prelude::LLVMValueRef;

use crate::build::Builder;
use crate::ir::llvm;
use crate::ir::{Type, Value};
use constraints::{Constraints, Place};
use emit::Order;
use execute::{Machine, Reason};
use template::{Dialect, Template};

/// A call of inline assembly.
struct Assembly {
    constraints: Constraints,
    /// The argument of each operand, if it has one.
    arguments: Vec<Option<Value>>,
    /// The type of each operand that is a result.
    results: Vec<Option<Type>>,
    sizes: Vec<Option<u32>>,
}

impl Assembly {
    fn of(build: &Builder, call: Value) -> Result<Assembly, Reason> {
        let text = constraints_of(call.callee());
        let constraints = Constraints::parse(&text).ok_or("an unusual constraint")?;
        let mut passed = call.arguments().into_iter();
        let mut returned = results_of(call.type_of()).into_iter();
        let mut assembly =
            Assembly { constraints, arguments: Vec::new(), results: Vec::new(), sizes: Vec::new() };
        for operand in &assembly.constraints.operands {
            let (argument, result) = match operand.is_argument() {
                true => (passed.next(), None),
                false => (None, returned.next()),
            };
            let is_memory = operand.place == Place::Memory;
            let of = argument.map(|value| value.type_of()).or(result).filter(|_| !is_memory);
            let size = of.and_then(|of| build.word_size(of)).map(|size| 8 * size as u32);
            assembly.arguments.push(argument);
            assembly.results.push(result);
            assembly.sizes.push(size);
        }
        match passed.next().is_none() && returned.next().is_none() {
            true => Ok(assembly),
            false => Err("operands and constraints that do not match".into()),
        }
    }

    fn argument(&self, number: usize) -> Option<Value> {
        *self.arguments.get(number)?
    }

    /// The bits of an operand that is no memory.
    fn size_of(&self, number: usize) -> Option<u32> {
        *self.sizes.get(number)?
    }
}

/// Replaces what is understood in a function.
pub(crate) fn replace(build: &mut Builder, function: Value) {
    let instructions = function.blocks().into_iter().flat_map(|block| block.instructions());
    let calls: Vec<Value> = instructions.filter(|one| one.is_instruction(LLVMCall)).collect();
    for call in calls {
        if call.callee().is_inline_assembly() {
            replace_assembly(build, call);
        } else {
            replace_intrinsic(build, call);
        }
    }
}

/// The compiler's own functions that read the clock of the processor.
const TIME_STAMPS: [&str; 4] =
    ["llvm.x86.rdtsc", "llvm.x86.rdtscp", "llvm.readcyclecounter", "llvm.readsteadycounter"];

/// What the compiler's own functions for barriers, time and waiting stand for.
fn replace_intrinsic(build: &mut Builder, call: Value) {
    if !call.callee().is_intrinsic() {
        return;
    }
    let name = call.callee().name();
    if TIME_STAMPS.contains(&name.as_str()) {
        build.stand_before(call);
        let time = build.time_stamp();
        match call.type_of().kind() {
            LLVMStructTypeKind => put_results(build, call, &[time, build.i32.zero()]),
            _ => call.replace_uses(time),
        }
        return call.erase();
    }
    let order = match name.as_str() {
        "llvm.x86.sse2.pause" => None,
        "llvm.x86.sse2.mfence" => Some(Order::Sequential),
        "llvm.x86.sse2.lfence" => Some(Order::Acquire),
        "llvm.x86.sse.sfence" => Some(Order::Release),
        _ => return,
    };
    build.stand_before(call);
    match order {
        Some(order) => build.fence(order),
        None => build.give_way(),
    }
    call.erase();
}

fn replace_assembly(build: &mut Builder, call: Value) {
    // SAFETY: it is an instruction; the one before it stays where it is.
    let before = unsafe { LLVMGetPreviousInstruction(call.0) };
    build.stand_before(call);
    match translate(build, call) {
        Ok(results) => {
            put_results(build, call, &results);
            let end = call.next();
            call.erase();
            erase_built(before, end, is_unused);
        }
        Err(_) => erase_built(before, call, |_| true),
    }
}

/// Builds what the assembly does; gives the results of the call.
fn translate(build: &mut Builder, call: Value) -> Result<Vec<Value>, Reason> {
    let template = template_of(call.callee())?;
    if !template.instructions.is_empty() && !is_x86_64(build) {
        return Err("another processor".into());
    }
    if template.has_more && template.instructions.iter().all(|one| one.name == "nop") {
        // All that it does is elsewhere: a note for a debugger, for example.
        return Err("nothing to replace".into());
    }
    let assembly = Assembly::of(build, call)?;
    let is_barrier = assembly.constraints.clobber_memory();
    let mut machine = Machine::new(build, &assembly)?;
    for instruction in &template.instructions {
        machine.execute(instruction)?;
    }
    let outputs = assembly.results.iter().enumerate();
    let results: Result<Vec<Value>, Reason> =
        outputs.filter_map(|(number, of)| of.map(|of| machine.output(number, of))).collect();
    if is_barrier {
        build.compiler_fence();
    }
    results
}

fn is_x86_64(build: &Builder) -> bool {
    // SAFETY: the module owns the text.
    let target = unsafe { std::ffi::CStr::from_ptr(LLVMGetTarget(build.module)) };
    target.to_bytes().starts_with(b"x86_64")
}

/// The types of what a call returns: one, the fields of a structure, or none.
fn results_of(of: Type) -> Vec<Type> {
    match of.kind() {
        LLVMVoidTypeKind => Vec::new(),
        LLVMStructTypeKind => {
            // SAFETY: it is a structure, with so many fields.
            let count = unsafe { LLVMCountStructElementTypes(of.0) };
            (0..count).map(|at| Type(llvm!(LLVMStructGetTypeAtIndex(of.0, at)))).collect()
        }
        _ => vec![of],
    }
}

/// Lets everybody who used the result of the call use these.
fn put_results(build: &Builder, call: Value, results: &[Value]) {
    if call.type_of().kind() != LLVMStructTypeKind {
        results.iter().for_each(|result| call.replace_uses(*result));
        return;
    }
    for user in call.users() {
        if user.is_instruction(LLVMExtractValue)
            && let Some(index) = user.only_index()
        {
            user.replace_uses(results[index as usize]);
            user.erase();
        }
    }
    if !call.users().is_empty() {
        let whole = call.type_of().undefined();
        let whole = results
            .iter()
            .zip(0..)
            .fold(whole, |whole, (field, index)| build.insert(whole, *field, index));
        call.replace_uses(whole);
    }
}

/// Erases what was built behind one instruction (or the start of the block) and before another one,
/// as far as it is asked for.
fn erase_built(before: LLVMValueRef, end: Value, is_erased: impl Fn(Value) -> bool) {
    // SAFETY: each instruction is left before it is erased, users before what they use.
    unsafe {
        let mut built = LLVMGetPreviousInstruction(end.0);
        while !built.is_null() && built != before {
            let next = LLVMGetPreviousInstruction(built);
            if is_erased(Value(built)) {
                Value(built).erase();
            }
            built = next;
        }
    }
}

/// Whether nobody needs what the instruction computes.
fn is_unused(instruction: Value) -> bool {
    let has_effects = matches!(
        instruction.opcode(),
        LLVMCall | LLVMLoad | LLVMStore | LLVMFence | LLVMAtomicRMW | LLVMAtomicCmpXchg
    );
    !has_effects && instruction.users().is_empty()
}

/// Instructions that ask the processor or wait, and touch no memory, whatever the constraints say
/// to be safe.
const HARMLESS: [&str; 15] = [
    "nop",
    "pause",
    "mfence",
    "lfence",
    "sfence",
    "endbr64",
    "serialize",
    "cpuid",
    "rdpmc",
    "xgetbv",
    "rdrand",
    "rdseed",
    "ud2",
    "int3",
    "hlt",
];

/// Words of instructions that touch memory which no operand shows.
const REACHING: [&str; 11] =
    ["syscall", "sysenter", "int ", "call", "jmp", "movs", "stos", "lods", "cmps", "scas", "rdtsc"];

/// Whether assembly that was not replaced may touch memory.
pub(crate) fn touches_memory(callee: Value) -> bool {
    let text = text_of(callee);
    let template = template_of(callee);
    let Some(constraints) = Constraints::parse(&constraints_of(callee)) else { return true };
    let is_harmless = template.is_ok_and(|template| {
        let mut names = template.instructions.iter().map(|one| one.name.as_str());
        names.all(|name| HARMLESS.contains(&name) || name.starts_with("prefetch"))
    });
    if constraints.have_memory() {
        return true;
    }
    // Who reads the time comes behind those who have read an earlier one.
    let reaches = || REACHING.iter().any(|word| text.to_lowercase().contains(word));
    !is_harmless && (constraints.clobber_memory() || text.contains(['(', '[']) || reaches())
}

fn template_of(assembly: Value) -> Result<Template, Reason> {
    // SAFETY: it is inline assembly.
    let (dialect, unwinds) = unsafe {
        (LLVMGetInlineAsmDialect(assembly.0), LLVMGetInlineAsmCanUnwind(assembly.0) != 0)
    };
    if unwinds {
        return Err("assembly that throws".into());
    }
    let dialect = match dialect {
        LLVMInlineAsmDialectATT => Dialect::Att,
        LLVMInlineAsmDialectIntel => Dialect::Intel,
    };
    Template::parse(&text_of(assembly), dialect)
}

fn text_of(assembly: Value) -> String {
    owned(assembly, LLVMGetInlineAsmAsmString)
}

fn constraints_of(assembly: Value) -> String {
    owned(assembly, LLVMGetInlineAsmConstraintString)
}

fn owned(
    assembly: Value,
    text: unsafe extern "C" fn(LLVMValueRef, *mut usize) -> *const std::ffi::c_char,
) -> String {
    let mut size = 0;
    // SAFETY: it is inline assembly, which owns the text.
    let bytes = unsafe {
        let start = text(assembly.0, &mut size);
        std::slice::from_raw_parts(start.cast(), size)
    };
    String::from_utf8_lossy(bytes).into_owned()
}
