//! Loads and stores. The hook performs the access; a value that does not fit into a register goes
//! through a local variable that nothing else sees.

use foretrace_recording::library::memory;
use foretrace_recording::record::unseen;

use crate::build::Builder;
use crate::instrument::Instrumenter;
use crate::ir::{Type, Value};
use crate::locals::{Locals, Visibility};

pub(crate) fn load(to: &mut Instrumenter, load: Value) {
    let address = load.operand(0);
    let of = load.type_of();
    let Some(size) = shared_size(&to.build, &to.locals, address, of) else { return };
    if load.order() != 0 {
        return crate::atomics::load(to, load);
    }
    to.build.stand_before(load);
    let site = to.site(load);
    let value = match to.build.word_size(of) {
        Some(size) => {
            let word = to.build.integer(8 * size as u32);
            let word = to.build.hook(&format!("__ft_load{size}"), word, &[site, address]);
            to.build.word_to(word, of)
        }
        None => {
            let copy = to.scratch(of, load.alignment());
            to.load_range(site, address, to.build.i64.number(size), copy);
            to.build.load(of, copy)
        }
    };
    if is_of_the_library(address) {
        crate::calls::unseen(to, load, unseen::LOOKED);
    }
    load.replace_uses(value);
    load.erase();
}

/// Whether the address is one of a variable of the C library that its functions change unseen.
fn is_of_the_library(address: Value) -> bool {
    let is_one = |value: Value| value.is_global_variable() && memory::is_variable(&value.name());
    is_one(address) || address.operand_count() > 0 && is_one(address.operand(0))
}

pub(crate) fn store(to: &mut Instrumenter, store: Value) {
    let (value, address) = (store.operand(0), store.operand(1));
    let of = value.type_of();
    let Some(size) = shared_size(&to.build, &to.locals, address, of) else { return };
    if store.order() != 0 {
        return crate::atomics::store(to, store);
    }
    to.build.stand_before(store);
    let site = to.site(store);
    match to.build.word_size(of) {
        Some(size) => {
            let word = to.build.to_word(value, size);
            to.build.hook(&format!("__ft_store{size}"), to.build.void, &[site, address, word]);
        }
        None => {
            let copy = to.scratch(of, store.alignment());
            to.build.store(value, copy);
            to.store_range(site, address, to.build.i64.number(size), copy);
        }
    }
    store.erase();
}

/// The bytes of an access that other threads can see. Memory that a segment register addresses is
/// left alone, and so are registers that only look like memory.
pub(crate) fn shared_size(
    build: &Builder,
    locals: &Locals,
    address: Value,
    of: Type,
) -> Option<u64> {
    let size = of.store_size(build.layout)?;
    (size > 0 && locals.visibility(address) == Visibility::Shared).then_some(size)
}
