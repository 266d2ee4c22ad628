//! Calls that leave the instrumented code, and calls that enter a library's headers.

use foretrace_recording::library::{self, Effect, effect};
use foretrace_recording::record::{handed, unseen};
use llvm_sys::LLVMOpcode::{LLVMCall, LLVMInvoke};
use llvm_sys::core::{LLVMAliasGetAliasee, LLVMIsAGlobalAlias};

use crate::instrument::Instrumenter;
use crate::ir::{self, Value};
use crate::libc::Library;
use crate::locals::Visibility;
use crate::scope::{self, Scope};
use crate::{assembly, libc, memory, ranges, shim};

/// What a call does, as lowering and instrumenting see it.
pub(crate) enum Kind {
    Assembly,
    Intrinsic,
    /// A hook that somebody calls by himself.
    Hook,
    /// To a function that this module instruments.
    Inside(Value),
    /// To a function that the runtime has its own of.
    Library(Library),
    /// To a function of `foretrace.h`.
    Mark(String),
    /// To code that nothing is known of.
    Outside,
}

/// What a call or invoke does.
pub(crate) fn kind_of(scope: &Scope, call: Value) -> Kind {
    let callee = resolve(call.callee());
    if callee.is_inline_assembly() {
        return Kind::Assembly;
    }
    if callee.is_intrinsic() {
        return Kind::Intrinsic;
    }
    if !callee.is_function() {
        return Kind::Outside;
    }
    if scope.is_instrumented(callee) && scope::is_called_as_defined(call, callee) {
        return Kind::Inside(callee);
    }
    let name = callee.name();
    if name.starts_with("__ft_") {
        Kind::Hook
    } else if !callee.is_declaration() {
        Kind::Outside
    } else if name.starts_with("foretrace_") && !is_done_by_runtime(&name) {
        Kind::Mark(name)
    } else {
        Library::called_by(call, &name).map_or(Kind::Outside, Kind::Library)
    }
}

/// Functions of `foretrace.h` that are calls like others: they give values, take a lock, or end the
/// process.
fn is_done_by_runtime(name: &str) -> bool {
    ["foretrace_input_", "foretrace_assume", "foretrace_exclusive_"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

/// A call or invoke.
pub(crate) fn call(to: &mut Instrumenter, call: Value) {
    let kind = kind_of(&to.scope, call);
    if !matches!(kind, Kind::Assembly | Kind::Intrinsic) {
        ranges::copy_arguments(to, call);
    }
    match kind {
        Kind::Assembly => unseen_assembly(to, call),
        Kind::Hook => {}
        Kind::Intrinsic => intrinsic(to, call),
        Kind::Inside(callee) => enter(to, call, callee),
        Kind::Library(library) => libc::redirect(to, call, library),
        Kind::Mark(_) => announce(to, call),
        Kind::Outside => leave(to, call),
    }
}

/// Constructors often are aliases of each other.
pub(crate) fn resolve(mut callee: Value) -> Value {
    // SAFETY: aliases do not form cycles.
    unsafe {
        while !LLVMIsAGlobalAlias(callee.0).is_null() {
            callee = Value(LLVMAliasGetAliasee(callee.0));
        }
    }
    callee
}

/// What is instrumented records itself; only code of system headers needs to know who called.
fn enter(to: &mut Instrumenter, call: Value, callee: Value) {
    if to.is_system || !to.tables.is_system_function(callee) {
        return;
    }
    announce(to, call);
}

/// What the runtime records next happens here.
fn announce(to: &mut Instrumenter, call: Value) {
    to.build.stand_before(call);
    let site = to.site(call);
    to.build.hook("__ft_at", to.build.void, &[site]);
}

/// Assembly that is not understood: if it may touch memory, the runtime hears that something
/// happened.
fn unseen_assembly(to: &mut Instrumenter, call: Value) {
    if !assembly::touches_memory(call.callee()) {
        return;
    }
    let after = behind(call);
    to.build.stand_before_for(after, call);
    hand_over(to, call);
    unseen(to, call, unseen::ASSEMBLY);
}

/// Says that something happened that nobody saw, here, on behalf of an instruction.
pub(crate) fn unseen(to: &mut Instrumenter, instruction: Value, what: u8) {
    let arguments = [to.site(instruction), to.build.i32.number(what.into())];
    to.build.hook("__ft_unseen", to.build.void, &arguments);
}

/// Copies and fills are recorded. Others (vectors with masks) may access the memory at the
/// addresses that they get: the runtime hears of these.
fn intrinsic(to: &mut Instrumenter, call: Value) {
    let name = call.callee().name();
    let reaches = REACHING.iter().any(|prefix| name.starts_with(prefix))
        && !HARMLESS.iter().any(|part| name.contains(part));
    if !reaches {
        return ranges::intrinsic(to, call);
    }
    let after = behind(call);
    to.build.stand_before_for(after, call);
    hand_over(to, call);
}

/// Says which addresses an instruction got that may access memory there.
fn hand_over(to: &mut Instrumenter, call: Value) {
    let mut addresses = Vec::new();
    for argument in call.arguments() {
        let of = argument.type_of();
        if of.is_pointer() && to.locals.visibility(argument) == Visibility::Shared {
            addresses.push(argument);
        } else if of.is_vector_of_pointers() {
            addresses.extend((0..of.lanes()).map(|lane| to.build.lane(argument, lane)));
        }
    }
    memory::hand_over_addresses(to, call, addresses, handed::UNDESCRIBED.into());
}

/// Beginnings of the names of intrinsics that access memory at the addresses that they get.
const REACHING: [&str; 4] = ["llvm.masked.", "llvm.vp.", "llvm.x86.", "llvm.experimental.vp."];

/// Parts of the names of those that do not.
const HARMLESS: [&str; 3] = ["clflush", "clwb", "cldemote"];

/// Assembly that may go on at several places: the runtime hears of it there.
pub(crate) fn jumping_assembly(to: &mut Instrumenter, call: Value) {
    // SAFETY: it is a callbr, and has so many targets.
    let targets = unsafe { shim::ft_callbr_targets(call.0) };
    for target in 0..targets {
        // SAFETY: as above.
        let after = Value(unsafe { shim::ft_after_callbr(call.0, target) });
        to.build.stand_before_for(after, call);
        hand_over(to, call);
        unseen(to, call, unseen::ASSEMBLY);
    }
}

/// Whether the return of a call that leaves is recorded. What follows a tail call is not ours.
pub(crate) fn returns(call: Value) -> bool {
    let noreturn = ir::attribute_kind("noreturn");
    let callee = call.callee();
    let never_returns = call.call_has_attribute(u32::MAX, noreturn)
        || callee.is_function() && callee.has_attribute(u32::MAX, noreturn);
    !call.is_must_tail() && !never_returns
}

/// The instruction before which something is done that belongs behind a call which returned.
fn behind(call: Value) -> Value {
    match call.opcode() {
        LLVMCall => call.next(),
        // SAFETY: it is an invoke.
        LLVMInvoke => Value(unsafe { shim::ft_after_invoke(call.0) }),
        other => unreachable!("{other:?} is no call"),
    }
}

/// What stands for the working directory.
const AT_FDCWD: i32 = -100;

/// Whether a function on a file gets its name together with a folder, other than the working
/// directory: then it is not known here which file that is. Without a name it is the descriptor.
fn names_in_folder(call: Value, effect: Effect) -> bool {
    match effect {
        Effect::Named { argument, .. } if argument > 0 => {
            let folder = call.arguments().get(argument as usize - 1).copied();
            // `rename` has two names.
            folder.is_some_and(|folder| {
                let is_number = !folder.type_of().is_pointer();
                let number = folder.constant_bits(folder.type_of());
                is_number && number.map(|number| number as i32) != Some(AT_FDCWD)
            })
        }
        _ => false,
    }
}

/// What is not instrumented does things unseen: the runtime hears of the call and of its result,
/// and of the channels by which it may see other threads.
fn leave(to: &mut Instrumenter, call: Value) {
    to.build.stand_before(call);
    let site = to.site(call);
    let callee = resolve(call.callee());
    let effect = if callee.is_function() { effect(&callee.name()) } else { None };
    let effect = effect.filter(|&effect| !names_in_folder(call, effect));
    let stream = match effect {
        Some(Effect::Stream { argument, .. } | Effect::Named { argument, .. }) => {
            call.arguments().get(argument as usize).copied()
        }
        Some(Effect::Descriptor | Effect::Asks { .. } | Effect::Queue | Effect::Cxx) => {
            call.arguments().first().copied()
        }
        // Which function it is turns out when it is called.
        None if !callee.is_function() => call.arguments().first().copied(),
        _ => None,
    };
    match effect {
        Some(Effect::None) => {
            to.build.hook("__ft_call", to.build.void, &[site, call.callee()]);
        }
        _ => {
            let code = to.build.i32.number(library::code(effect).into());
            let stream = stream.map_or(to.build.i64.zero(), |stream| to.build.to_i64(stream));
            let arguments = [site, call.callee(), code, stream];
            to.build.hook("__ft_call_on", to.build.void, &arguments);
        }
    }

    let name = if callee.is_function() { callee.name() } else { String::new() };
    let values = memory::before(to, call, &name, effect);
    memory::hand_over(to, call, &name, effect, true);
    if !returns(call) {
        return;
    }
    let after = behind(call);
    to.build.stand_before_for(after, call);
    memory::behind(to, call, &name, values);
    memory::hand_over(to, call, &name, effect, false);
    if name.starts_with("__atomic_") && name != "__atomic_is_lock_free" {
        // One of more bytes than the processor has operations for.
        unseen(to, call, unseen::WIDE_ATOMIC);
    }
    let result = if call.type_of().is_void() { to.build.i64.zero() } else { to.build.to_i64(call) };
    to.build.hook("__ft_return", to.build.void, &[site, result]);
}
