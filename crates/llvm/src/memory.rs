//! Memory of the program that functions of the C library access: tells the runtime of it before and
//! after their calls.

use foretrace_recording::library::Effect;
use foretrace_recording::library::memory::{self, Amount, Success, code};
use foretrace_recording::record::handed;

use crate::instrument::Instrumenter;
use crate::ir::Value;

/// The values behind a format, in an array.
pub(crate) struct Values {
    array: Value,
    count: Value,
}

/// Before the call: what the function will read.
pub(crate) fn before(
    to: &mut Instrumenter,
    call: Value,
    name: &str,
    effect: Option<Effect>,
) -> Option<Values> {
    let prints = matches!(
        effect,
        Some(Effect::Stream { .. } | Effect::Standard { .. } | Effect::Descriptor | Effect::Cxx)
    );
    let flags = if prints { code::PRINTS } else { 0 };
    for (argument, amount) in memory::reads(name) {
        if let Some(start) = pointer(call, argument) {
            let kind = to.build.i32.number((code::of(amount, Success::Always) | flags).into());
            let [first, second] = numbers(to, call, amount);
            let site = to.site(call);
            to.build.hook("__ft_looks", to.build.void, &[site, start, kind, first, second]);
        }
    }
    if let Some((argument, is_list)) = memory::format(name) {
        let format = pointer(call, argument)?;
        if !format.is_constant_global() {
            let kind = code::of(Amount::Text, Success::Always) | flags & code::PRINTS;
            let (kind, zero) = (to.build.i32.number(kind.into()), to.build.i64.zero());
            let site = to.site(call);
            to.build.hook("__ft_looks", to.build.void, &[site, format, kind, zero, zero]);
        }
        let (values, flags) = if is_list {
            let list = pointer(call, argument + 1)?;
            (Values { array: list, count: to.build.i64.zero() }, flags | code::LIST)
        } else {
            (array(to, call, argument + 1)?, flags)
        };
        let flags = to.build.i32.number(flags.into());
        let site = to.site(call);
        let arguments = [site, format, values.array, values.count, flags];
        to.build.hook("__ft_format", to.build.void, &arguments);
    }
    let argument = memory::scan(name)?;
    pointer(call, argument)?;
    array(to, call, argument + 1)
}

/// The addresses that a function gets which may access memory there in ways that are not described.
/// Whether nothing is known of a function without a known effect turns out when it is called:
/// another module may define it.
pub(crate) fn hand_over(
    to: &mut Instrumenter,
    call: Value,
    name: &str,
    effect: Option<Effect>,
    is_before: bool,
) {
    let Some(what) = memory::handed(name, effect) else { return };
    let what = match (effect, is_before) {
        // Others may find what it writes before it returns.
        (None, true) => u32::from(handed::WRITTEN) | code::ASKED,
        (None, false) => u32::from(what) | code::ASKED,
        (Some(_), true) => return,
        (Some(_), false) => what.into(),
    };
    let is_memory = |argument: &Value| {
        argument.type_of().is_pointer()
            && !argument.is_null()
            && !argument.is_function()
            && !argument.is_constant_global()
    };
    let addresses = call.arguments().into_iter().filter(is_memory).collect();
    hand_over_addresses(to, call, addresses, what);
}

/// Says that somebody unseen got these addresses, and what he may have done with the memory there.
pub(crate) fn hand_over_addresses(
    to: &mut Instrumenter,
    call: Value,
    mut addresses: Vec<Value>,
    what: u32,
) {
    let Some(&last) = addresses.last() else { return };
    addresses.resize(addresses.len().next_multiple_of(HANDED_AT_ONCE), last);
    for addresses in addresses.chunks(HANDED_AT_ONCE) {
        let mut arguments = vec![to.site(call), to.build.i32.number(what.into())];
        arguments.extend(addresses);
        to.build.hook("__ft_handed", to.build.void, &arguments);
    }
}

/// How many addresses the runtime hears of at a time. The last one may be there more than once.
const HANDED_AT_ONCE: usize = 2;

/// Behind the call: what the function has written.
pub(crate) fn behind(to: &mut Instrumenter, call: Value, name: &str, values: Option<Values>) {
    let result = match call.type_of().is_void() {
        true => to.build.i64.zero(),
        false => to.build.to_i64(call),
    };
    for (argument, amount, success) in memory::writes(name) {
        if let Some(start) = pointer(call, argument) {
            let kind = to.build.i32.number(code::of(amount, success).into());
            let [first, second] = numbers(to, call, amount);
            let site = to.site(call);
            let arguments = [site, start, kind, first, second, result];
            to.build.hook("__ft_wrote", to.build.void, &arguments);
        }
    }
    if let Some(success) = memory::looks_elsewhere(name) {
        let when = to.build.i32.number(code::of(Amount::Text, success).into());
        let arguments = [to.site(call), when, result];
        to.build.hook("__ft_looked_elsewhere", to.build.void, &arguments);
    }
    if let Some(values) = values
        && let Some(format) = memory::scan(name).and_then(|argument| pointer(call, argument))
    {
        let site = to.site(call);
        let arguments = [site, format, values.array, values.count, result];
        to.build.hook("__ft_scanned", to.build.void, &arguments);
    }
}

fn pointer(call: Value, argument: u32) -> Option<Value> {
    let argument = call.arguments().get(argument as usize).copied();
    argument.filter(|argument| argument.type_of().is_pointer())
}

/// The numbers that an amount consists of.
fn numbers(to: &mut Instrumenter, call: Value, amount: Amount) -> [Value; 2] {
    let arguments = call.arguments();
    let zero = to.build.i64.zero();
    let number = |to: &mut Instrumenter, argument: u32| {
        arguments.get(argument as usize).map_or(zero, |&value| to.build.to_i64(value))
    };
    match amount {
        Amount::Text | Amount::TextBehind | Amount::ReturnedBytes | Amount::String => [zero, zero],
        Amount::Fixed(bytes) => [to.build.i64.number(bytes.into()), zero],
        Amount::TextUpTo(argument)
        | Amount::Bytes(argument)
        | Amount::UpTo(argument)
        | Amount::Returned(argument) => [number(to, argument), zero],
        Amount::Product(first, second) => [number(to, first), number(to, second)],
    }
}

/// Puts the arguments from this one on into an array, if one of them is an address.
fn array(to: &mut Instrumenter, call: Value, from: u32) -> Option<Values> {
    let arguments = call.arguments();
    let arguments = arguments.get(from as usize..)?;
    if !arguments.iter().any(|argument| argument.type_of().is_pointer()) {
        return None;
    }
    let count = arguments.len() as u64;
    let array = to.build.variable(to.function, to.build.bytes(8 * count), 8);
    for (index, &argument) in arguments.iter().enumerate() {
        let value = to.build.to_i64(argument);
        let element = to.build.element(array, index as u64);
        to.build.store(value, element);
    }
    Some(Values { array, count: to.build.i64.number(count) })
}
