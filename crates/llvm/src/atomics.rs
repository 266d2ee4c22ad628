//! Atomic operations and fences.
//!
//! Those of 16 bytes, which only `-mcx16` makes, stay as they are, between the marks of a call
//! whose target is unknown: the runtime sees that something happened, not what, and nothing behind
//! it is certain.

use foretrace_recording::record::unseen;
use llvm_sys::LLVMOpcode::LLVMAtomicRMW;

use crate::calls;
use crate::instrument::Instrumenter;
use crate::ir::Value;
use crate::locals::Visibility;
use crate::shim;

/// Turns the read-modify-writes that have no hook (on floats, wrapping counters) into loops around
/// a compare-exchange.
pub(crate) fn expand_unusual(function: Value) {
    let instructions = function.blocks().into_iter().flat_map(|block| block.instructions());
    let unusual: Vec<Value> = instructions
        .filter(|one| one.is_instruction(LLVMAtomicRMW) && one.rmw_operation().is_none())
        .collect();
    for rmw in unusual {
        // SAFETY: it is a read-modify-write of the function, and not used afterwards.
        unsafe { shim::ft_expand_rmw(rmw.0) }
    }
}

pub(crate) fn load(to: &mut Instrumenter, load: Value) {
    let of = load.type_of();
    let Some(size) = to.build.word_size(of) else { return announce(to, load) };
    to.build.stand_before(load);
    let arguments = [to.site(load), load.operand(0), order(to, load.order())];
    let word = to.build.integer(8 * size as u32);
    let word = to.build.hook(&format!("__ft_atomic_load{size}"), word, &arguments);
    load.replace_uses(to.build.word_to(word, of));
    load.erase();
}

pub(crate) fn store(to: &mut Instrumenter, store: Value) {
    let value = store.operand(0);
    let Some(size) = to.build.word_size(value.type_of()) else { return announce(to, store) };
    to.build.stand_before(store);
    let word = to.build.to_word(value, size);
    let arguments = [to.site(store), store.operand(1), word, order(to, store.order())];
    to.build.hook(&format!("__ft_atomic_store{size}"), to.build.void, &arguments);
    store.erase();
}

pub(crate) fn read_modify_write(to: &mut Instrumenter, rmw: Value) {
    let (address, operand) = (rmw.operand(0), rmw.operand(1));
    if to.locals.visibility(address) != Visibility::Shared {
        return;
    }
    let of = operand.type_of();
    let (Some(size), Some(operation)) = (to.build.word_size(of), rmw.rmw_operation()) else {
        return announce(to, rmw);
    };
    to.build.stand_before(rmw);
    let word = to.build.to_word(operand, size);
    let operation = to.build.i32.number(operation.into());
    let arguments = [to.site(rmw), address, word, operation, order(to, rmw.order())];
    let old = to.build.hook(&format!("__ft_atomic_rmw{size}"), word.type_of(), &arguments);
    rmw.replace_uses(to.build.word_to(old, of));
    rmw.erase();
}

pub(crate) fn compare_exchange(to: &mut Instrumenter, exchange: Value) {
    let (address, expected, desired) =
        (exchange.operand(0), exchange.operand(1), exchange.operand(2));
    if to.locals.visibility(address) != Visibility::Shared {
        return;
    }
    let of = expected.type_of();
    let Some(size) = to.build.word_size(of) else { return announce(to, exchange) };
    to.build.stand_before(exchange);
    let expected = to.build.to_word(expected, size);
    let desired = to.build.to_word(desired, size);
    let orders = [order(to, exchange.order()), order(to, exchange.failure_order())];
    let arguments = [to.site(exchange), address, expected, desired, orders[0], orders[1]];
    let old = to.build.hook(&format!("__ft_atomic_cas{size}"), expected.type_of(), &arguments);
    let succeeded = to.build.equal(old, expected);
    let old = to.build.word_to(old, of);
    exchange.replace_uses(to.build.pair(exchange.type_of(), old, succeeded));
    exchange.erase();
}

pub(crate) fn fence(to: &mut Instrumenter, fence: Value) {
    if fence.order() == 0 {
        return;
    }
    to.build.stand_before(fence);
    let arguments = [to.site(fence), order(to, fence.order())];
    to.build.hook("__ft_fence", to.build.void, &arguments);
}

fn announce(to: &mut Instrumenter, operation: Value) {
    to.build.stand_before(operation);
    let site = to.site(operation);
    to.build.hook("__ft_call", to.build.void, &[site, to.build.pointer.zero()]);
    to.build.stand_before_for(operation.next(), operation);
    to.build.hook("__ft_return", to.build.void, &[site, to.build.i64.zero()]);
    calls::unseen(to, operation, unseen::WIDE_ATOMIC);
}

fn order(to: &Instrumenter, order: u32) -> Value {
    to.build.i32.number(order.into())
}
