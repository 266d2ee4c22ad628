//! Calls: into the module, out of it, to what the runtime does itself.

use foretrace_recording::image::{binary, cast, flags, opcode};
use llvm_sys::LLVMOpcode::LLVMInvoke;

use super::Lowerer;
use super::code::{NOWHERE, Operand, Part};
use crate::assembly;
use crate::branches;
use crate::calls::{self, Kind};
use crate::ir::Value;
use crate::libc::Library;
use crate::ranges::{self, ByValue};

impl Lowerer<'_> {
    /// A call that does not throw, or one that does not have to care.
    pub(super) fn call(&mut self, call: Value) {
        self.call_or_invoke(call);
    }

    /// Lowers a call or invoke and says whether it may throw.
    pub(super) fn call_or_invoke(&mut self, call: Value) -> bool {
        match calls::kind_of(self.scope, call) {
            Kind::Assembly => self.assembly(call),
            Kind::Intrinsic => self.intrinsic(call),
            Kind::Hook => {
                let arguments = self.arguments(call);
                self.opaque_instruction(call, "hook", &arguments);
            }
            Kind::Library(library) => self.library(call, library),
            Kind::Mark(name) => self.mark(call, &name),
            Kind::Inside(callee) => {
                self.inside(call, callee);
                return true;
            }
            Kind::Outside => {
                self.outside(call);
                return true;
            }
        }
        false
    }

    /// The operands that the call passes. What is passed by value is copied first.
    fn arguments(&mut self, call: Value) -> Vec<Operand> {
        let mut arguments = self.operands(&call.arguments());
        for ByValue { index, size, .. } in ranges::by_value(self.build, call) {
            let size = Operand::number(64, size);
            let copy = self.slot(flags::PRIVATE, size);
            let source = call.operand(index);
            let hides_source = self.locals.hide(source);
            let from = arguments[index as usize];
            let site = if hides_source { NOWHERE } else { self.site(call) };
            if hides_source {
                self.keep_constants(source);
            }
            self.copy(site, private_sides(true, hides_source), [copy, from, size]);
            arguments[index as usize] = copy;
        }
        arguments
    }

    /// A copy: target, source and size.
    pub(super) fn copy(&mut self, site: u64, flags: u64, operands: [Operand; 3]) {
        let [to, from, size] = operands;
        let parts = [Part::Number(flags), Part::One(to), Part::One(from), Part::One(size)];
        self.code.perform(opcode::COPY, site, &parts);
    }

    pub(super) fn fill(&mut self, site: u64, flags: u64, operands: [Operand; 3]) {
        let [to, byte, size] = operands;
        let parts = [Part::Number(flags), Part::One(to), Part::One(byte), Part::One(size)];
        self.code.perform(opcode::FILL, site, &parts);
    }

    fn inside(&mut self, call: Value, callee: Value) {
        let arguments = self.arguments(call);
        let callee = Operand::Symbol { number: self.tables.symbol(callee), offset: 0 };
        let site = self.site(call);
        let flags = variadic(call);
        let mut parts = vec![Part::Number(flags), Part::One(callee), Part::List(&arguments)];
        parts.extend(named_count(call));
        self.finish_call(call, opcode::CALL, site, &parts);
    }

    fn outside(&mut self, call: Value) {
        let arguments = self.arguments(call);
        let callee = calls::resolve(call.callee());
        let (name, target) = if callee.is_function() {
            let name = callee.name();
            // The code may turn out never to call it, and then nobody needs to define it.
            let is_here = !callee.is_declaration();
            let target =
                if is_here { self.operand(callee) } else { Operand::Unknown { width: 64 } };
            (self.tables.string(name.trim_start_matches('\u{1}')), target)
        } else {
            (self.tables.string(""), self.operand(call.callee()))
        };
        let site = self.site(call);
        let flags = if calls::returns(call) { 0 } else { flags::NO_RETURN } | variadic(call);
        let mut parts = vec![
            Part::Number(flags),
            Part::Number(name.into()),
            Part::One(target),
            Part::List(&arguments),
        ];
        parts.extend(named_count(call));
        self.finish_call(call, opcode::LEAVE, site, &parts);
    }

    fn finish_call(&mut self, call: Value, opcode: u64, site: u64, parts: &[Part]) {
        let of = call.type_of();
        // A result that nobody looks at cannot matter: what is only printed need not be as it was.
        if of.is_void() || opcode == opcode::LEAVE && call.users().is_empty() {
            return self.code.perform(opcode, site, parts);
        }
        // What is no word, no return record has.
        let is_recorded = opcode == opcode::CALL || self.build.word_size(of).is_some();
        let width = self.width_of(of);
        let result = self.code.define(opcode, site, if is_recorded { width } else { 0 }, parts);
        // The block of an invoke ends with it, so that there is no place to say what the result is
        // made of.
        let result = if is_recorded || width == 0 || !call.is_instruction(LLVMInvoke) {
            self.narrow(result, of)
        } else {
            Operand::Unknown { width }
        };
        self.values.insert(call, result);
    }

    fn library(&mut self, call: Value, library: Library) {
        let site = self.site(call);
        let arguments = self.operands(&library.arguments(call));
        if !library.is_range() {
            let name = self.tables.string(library.name).into();
            let parts = [Part::Number(name), Part::List(&arguments)];
            return self.finish_call(call, opcode::HOOKED, site, &parts);
        }
        let [to, other, size] = arguments[..] else { unreachable!("its shape was compared") };
        let flags = size_flag(call.operand(2));
        if library.name == "memset" {
            let byte = self.code.cast(cast::TRUNCATE, other, 8);
            self.fill(site, flags, [to, byte, size]);
        } else {
            self.copy(site, flags, [to, other, size]);
        }
        self.values.insert(call, to);
    }

    fn mark(&mut self, call: Value, name: &str) {
        let arguments = self.arguments(call);
        let site = self.site(call);
        if let ("foretrace_assert", [condition, ..]) = (name, &arguments[..]) {
            let zero = Operand::number(self.code.width(*condition), 0);
            let holds = self.code.binary(binary::NE, *condition, zero);
            return self.code.perform(opcode::ASSERT, site, &[Part::One(holds)]);
        }
        let name = self.tables.string(name).into();
        let parts = [Part::Number(name), Part::List(&arguments)];
        self.finish_call(call, opcode::MARK, site, &parts);
    }

    fn assembly(&mut self, call: Value) {
        let arguments = self.operands(&call.arguments());
        let touches_memory = assembly::touches_memory(call.callee());
        let opcode = if touches_memory { opcode::OPAQUE_MEMORY } else { opcode::OPAQUE };
        self.opaque_with(opcode, call, "inline assembly", &arguments);
    }
}

/// Which sides of a copy are private.
pub(super) fn private_sides(target: bool, source: bool) -> u64 {
    let [target, source] = [target, source].map(u64::from);
    (target * flags::PRIVATE) | (source * flags::PRIVATE_SOURCE)
}

/// Whether the size of a recorded copy or fill is recorded too.
pub(super) fn size_flag(size: Value) -> u64 {
    if branches::is_recorded(size) { flags::SIZE_RECORDED } else { 0 }
}

fn variadic(call: Value) -> u64 {
    if call.called_type().is_variadic() { flags::VARIADIC_CALL } else { 0 }
}

/// Of a variadic call, how many arguments have a name.
fn named_count(call: Value) -> Option<Part<'static>> {
    let signature = call.called_type();
    signature.is_variadic().then(|| Part::Number(signature.signature().0.len() as u64))
}
