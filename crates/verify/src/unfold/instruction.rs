//! Instructions but synchronisation: values, accesses, calls, checks.

use foretrace_program::{
    Callee, FunctionId, Instruction, MemoryOrder, Op, Operand, Site, Storage, Violation,
};
use foretrace_words::{BinaryOp, Cast, RmwOp};

use super::access::{Accessing, Found};
use super::ways::Arrival;
use super::{Unfolder, key};
use crate::skeleton::{How, ObjectKind, Why};
use crate::terms::Term;

/// The largest block that the unfolding follows.
const MOST_BYTES: u64 = 1 << 20;
/// The largest block whose size is not known when it is made.
const MOST_DATA_BYTES: u64 = 64;

/// What an operation that reads and writes does in its step.
struct Change {
    new: Term,
    /// When memory changes.
    changes: Term,
    /// When it writes.
    writes: Term,
}

impl Unfolder<'_> {
    pub(super) fn operand(&mut self, here: &Arrival, operand: Operand) -> Term {
        match operand {
            Operand::Register(register) => {
                here.registers[register.index()].expect("a valid program defines before it uses")
            }
            Operand::Constant(constant) => {
                self.skeleton.terms.constant(constant.value, constant.width)
            }
            Operand::Global { global, offset } => self.skeleton.terms.address(global.0, offset),
            // Functions are objects of no bytes, behind all others.
            Operand::Function(function) => self.skeleton.terms.address(FUNCTIONS + function.0, 0),
        }
    }

    pub(super) fn operands(&mut self, here: &Arrival, operands: &[Operand]) -> Vec<Term> {
        operands.iter().map(|&operand| self.operand(here, operand)).collect()
    }

    /// Unfolds an instruction; whether the way goes on.
    pub(super) fn instruction(&mut self, here: &mut Arrival, site: Site, depth: u32) -> bool {
        if here.way.is_dead(&self.skeleton.terms) {
            return false;
        }
        if self.is_too_large() {
            self.exit(&mut here.way, site, Why::Size);
            return false;
        }
        let program = self.program;
        let function = program.function(site.function);
        let instruction = &function.block(site.block).instructions[site.index as usize];
        let Instruction { op, result, .. } = instruction;
        if let Some(goes_on) = self.by_meaning(here, site, depth, op) {
            return goes_on;
        }
        let is_private = |this: &Self, address: Operand| {
            let register = address.register();
            register.is_some_and(|r| this.private_slots[site.function.index()].contains(&r))
        };
        let value: Option<Term> = match op {
            Op::Binary { op, left, right } => {
                let (left, right) = (self.operand(here, *left), self.operand(here, *right));
                if matches!(op, BinaryOp::Eq | BinaryOp::Ne) {
                    self.compared(&mut here.way, left, right, site);
                }
                Some(self.skeleton.terms.binary(*op, left, right))
            }
            Op::Cast { cast, value } => {
                let value = self.operand(here, *value);
                let width = result.map(|result| function.width(result));
                width.map(|width| self.skeleton.terms.cast(*cast, value, width))
            }
            Op::Select { condition, then, otherwise } => {
                let condition = self.operand(here, *condition);
                let (then, otherwise) = (self.operand(here, *then), self.operand(here, *otherwise));
                Some(self.skeleton.terms.ite(condition, then, otherwise))
            }
            Op::Load { address, size, order } => {
                let (is_step, is_atomic) = (!is_private(self, *address), is_atomic(*order));
                let address = self.operand(here, *address);
                let never = self.skeleton.terms.truth(false);
                let nothing = |_: &mut Self, _: &mut _, _: &mut _, _| never;
                let accessing = Accessing { site, size: *size, reads: true, is_atomic, is_step };
                let found = self.access(&mut here.way, address, accessing, nothing);
                let Some(found) = found else { return false };
                Some(found)
            }
            Op::Store { address, size, value, order } => {
                let (is_step, is_atomic) = (!is_private(self, *address), is_atomic(*order));
                let address = self.operand(here, *address);
                let value = self.operand(here, *value);
                let always = self.skeleton.terms.truth(true);
                let stores = |this: &mut Self, way: &mut _, node: &mut _, found: Found| {
                    this.write(way, node, found.place, value, found.condition);
                    always
                };
                let accessing = Accessing { site, size: *size, reads: false, is_atomic, is_step };
                let done = self.access(&mut here.way, address, accessing, stores);
                if done.is_none() {
                    return false;
                }
                None
            }
            Op::Rmw { op, address, size, value, order } => {
                let address = self.operand(here, *address);
                let operand = self.operand(here, *value);
                let truth = self.skeleton.terms.truth(true);
                let change = |this: &mut Self, old: Term| {
                    let new = this.changed(*op, old, operand);
                    // To write what is there changes nothing, but can race.
                    let changes = match op {
                        RmwOp::Exchange | RmwOp::Or | RmwOp::And => {
                            this.skeleton.terms.binary(BinaryOp::Ne, old, new)
                        }
                        _ => truth,
                    };
                    Change { new, changes, writes: truth }
                };
                let accessing = updating(site, *size, *order);
                self.read_modify_write(here, address, accessing, change)
            }
            Op::CompareExchange { address, size, expected, new, order } => {
                let address = self.operand(here, *address);
                let expected = self.operand(here, *expected);
                let new = self.operand(here, *new);
                let change = |this: &mut Self, old: Term| {
                    let writes = this.skeleton.terms.binary(BinaryOp::Eq, old, expected);
                    Change { new, changes: writes, writes }
                };
                let accessing = updating(site, *size, *order);
                let found = self.read_modify_write(here, address, accessing, change);
                if let Some(found) = found {
                    self.compared(&mut here.way, found, expected, site);
                }
                found
            }
            Op::Fence { .. } | Op::RegionBegin | Op::RegionEnd => None,
            Op::Slot { size } => {
                let object = self.allocate(site, *size, ObjectKind::Slot, false);
                here.way.memory.forget(|other| other == object);
                here.way.effects += 1;
                let is_hidden = result.is_some_and(|result| {
                    self.private_slots[site.function.index()].contains(&result)
                });
                if !is_hidden {
                    here.slots.push(object);
                }
                Some(self.skeleton.terms.address(object, 0))
            }
            Op::Alloc { size, storage } => {
                let size = self.operand(here, *size);
                match self.allocated(here, site, size, *storage) {
                    Some(object) => Some(self.skeleton.terms.address(object, 0)),
                    None => return self.refuse(here, site, "an allocation of more than 1 MiB"),
                }
            }
            Op::Free { address } => {
                let address = self.operand(here, *address);
                self.free(&mut here.way, address, site);
                None
            }
            Op::SizeOf { address } => {
                let address = self.operand(here, *address);
                match self.block_size(&mut here.way, address, site) {
                    Some(size) => Some(size),
                    None => return self.refuse(here, site, "the size of a block of many"),
                }
            }
            Op::Call { callee, args } => {
                let Some(function) = self.callee(here, site, callee) else {
                    return self.refuse(here, site, "a call of a function that depends on data");
                };
                let args = match callee {
                    Callee::Direct(_) => self.operands(here, args),
                    Callee::Indirect(_) => self.wanted(here, function, args),
                };
                if !self.takes(function, &args) {
                    return self.refuse(
                        here,
                        site,
                        "a call with other types than the function has",
                    );
                }
                if depth >= self.bounds.calls {
                    self.exit(&mut here.way, site, Why::Recursion);
                    return false;
                }
                match self.call(here.way.clone(), function, args, depth + 1) {
                    Some((way, value)) => {
                        here.way = way;
                        value
                    }
                    None => return false,
                }
            }
            Op::External { name, .. } if name.starts_with(UNKNOWN) => {
                return self.refuse(here, site, &name[UNKNOWN.len()..]);
            }
            Op::External { name, .. } => {
                let value = result.map(|result| {
                    let width = function.width(result);
                    let value = self.skeleton.terms.symbol(width);
                    if name.ends_with("_bool") && width > 1 {
                        let one = self.skeleton.terms.constant(1, width);
                        self.skeleton.terms.binary(BinaryOp::And, value, one)
                    } else {
                        value
                    }
                });
                let guard = here.way.guard(&mut self.skeleton.terms);
                if let (Some(value), "indeterminate") = (value, name.as_str()) {
                    self.arbitrary.insert(value);
                }
                let how = value.map_or(How::Plain, How::Input);
                self.step(&here.way, guard, None, how);
                value
            }
            Op::Assert { condition } => {
                let condition = self.operand(here, *condition);
                let fails = self.skeleton.terms.not(condition);
                self.check(&mut here.way, fails, Violation::Assertion(site));
                None
            }
            Op::Assume { condition } => {
                let condition = self.operand(here, *condition);
                let fails = self.skeleton.terms.not(condition);
                here.way.stop_if(&mut self.skeleton.terms, fails);
                None
            }
            Op::Current => Some(self.own_handle()),
            Op::Own { global } => {
                let variable = program.global(*global);
                let key = key(("own", self.thread_key, global.0));
                self.seen.own.insert(key);
                let bytes = Some(variable.bytes());
                let object = self.object(key, variable.size, bytes, ObjectKind::Global);
                Some(self.skeleton.terms.address(object, 0))
            }
            Op::SectionBegin => {
                self.begin_section(&mut here.way);
                None
            }
            Op::SectionEnd => {
                self.end_section(&mut here.way);
                None
            }
            _ => return self.synchronise(here, site, op, *result),
        };
        if let (Some(result), Some(value)) = (result, value) {
            here.set(*result, value);
        }
        !here.way.is_dead(&self.skeleton.terms)
    }

    /// New memory; `None` if it is too large. If its size is not known, it is as large as it may be
    /// here, and how much of that there is, is a state of its own.
    fn allocated(
        &mut self,
        here: &mut Arrival,
        site: Site,
        size: Term,
        storage: Storage,
    ) -> Option<u32> {
        let way = &mut here.way;
        let size = self.settled(way, site, size);
        let kind = if storage == Storage::Call { ObjectKind::Slot } else { ObjectKind::Heap };
        way.effects += 1;
        let known = self.skeleton.terms.as_constant(size);
        let bytes = known.unwrap_or(MOST_DATA_BYTES);
        if bytes > MOST_BYTES {
            return None;
        }
        let object = self.allocate(site, bytes.max(1) as u32, kind, storage == Storage::Zeroed);
        if known.is_none() {
            let terms = &mut self.skeleton.terms;
            let most = terms.constant(MOST_DATA_BYTES, 64);
            let is_larger = terms.binary(BinaryOp::Ult, most, size);
            let (is_none, one) = (terms.equals(size, 0), terms.constant(1, 64));
            let size = terms.ite(is_none, one, size);
            let size = terms.cast(Cast::Truncate, size, 32);
            let why = format!(
                "an allocation whose size depends on data, of more than {MOST_DATA_BYTES} bytes"
            );
            self.exit_if(way, is_larger, site, Why::Unsupported(why));
            let key = self.skeleton.objects[object as usize].key;
            self.seen.sized.insert(key);
            let length = self.length(object);
            let truth = self.skeleton.terms.truth(true);
            self.write(way, &mut None, length, size, truth);
        }
        if kind == ObjectKind::Slot {
            way.memory.forget(|other| other == object);
            here.slots.push(object);
        }
        Some(object)
    }

    /// The way ends here, since this is not supported.
    pub(super) fn refuse(&mut self, here: &mut Arrival, site: Site, why: &str) -> bool {
        self.exit(&mut here.way, site, Why::Unsupported(why.to_string()));
        false
    }

    pub(super) fn callee(
        &mut self,
        here: &mut Arrival,
        site: Site,
        callee: &Callee,
    ) -> Option<FunctionId> {
        match *callee {
            Callee::Direct(function) => Some(function),
            Callee::Indirect(address) => {
                let address = self.operand(here, address);
                let address = self.settled(&mut here.way, site, address);
                match self.skeleton.terms.as_address(address)? {
                    (object, 0) if object >= FUNCTIONS => Some(FunctionId(object - FUNCTIONS)),
                    _ => None,
                }
            }
        }
    }

    /// Arguments of a computed function: numbers are as wide as it wants them.
    fn wanted(&mut self, here: &Arrival, function: FunctionId, args: &[Operand]) -> Vec<Term> {
        let head = self.program.function(function);
        let mut terms = self.operands(here, args);
        for ((term, arg), &param) in terms.iter_mut().zip(args).zip(&head.params) {
            if let Operand::Constant(constant) = arg
                && self.skeleton.terms.width(*term) == 64
            {
                let width = head.width(param);
                let value = constant.value & (u64::MAX >> (64 - width));
                *term = self.skeleton.terms.constant(value, width);
            }
        }
        terms
    }

    /// Whether a function takes arguments of these widths.
    pub(super) fn takes(&self, function: FunctionId, args: &[Term]) -> bool {
        let head = self.program.function(function);
        let widths = head.params.iter().map(|&param| head.width(param));
        widths.eq(args.iter().map(|&arg| self.skeleton.terms.width(arg)))
    }

    /// One step that reads, and writes if what it found says so.
    fn read_modify_write(
        &mut self,
        here: &mut Arrival,
        address: Term,
        accessing: Accessing,
        change: impl Fn(&mut Self, Term) -> Change,
    ) -> Option<Term> {
        let writes = |this: &mut Self, way: &mut _, node: &mut _, found: Found| {
            let Found { place, condition, value } = found;
            let Change { new, changes, writes } = change(this, value);
            let condition = this.skeleton.terms.and(condition, changes);
            this.write(way, node, place, new, condition);
            writes
        };
        self.access(&mut here.way, address, accessing, writes)
    }

    fn changed(&mut self, op: RmwOp, old: Term, operand: Term) -> Term {
        let terms = &mut self.skeleton.terms;
        let width = terms.width(old);
        let mut choose = |comparison: BinaryOp, swap: bool| {
            let less = terms.binary(comparison, old, operand);
            if swap { terms.ite(less, operand, old) } else { terms.ite(less, old, operand) }
        };
        match op {
            RmwOp::Exchange => operand,
            RmwOp::Add => terms.binary(BinaryOp::Add, old, operand),
            RmwOp::Sub => terms.binary(BinaryOp::Sub, old, operand),
            RmwOp::And => terms.binary(BinaryOp::And, old, operand),
            RmwOp::Or => terms.binary(BinaryOp::Or, old, operand),
            RmwOp::Xor => terms.binary(BinaryOp::Xor, old, operand),
            RmwOp::Nand => {
                let and = terms.binary(BinaryOp::And, old, operand);
                let ones = terms.constant(u64::MAX, width);
                terms.binary(BinaryOp::Xor, and, ones)
            }
            RmwOp::Max => choose(BinaryOp::Slt, true),
            RmwOp::Min => choose(BinaryOp::Slt, false),
            RmwOp::UMax => choose(BinaryOp::Ult, true),
            RmwOp::UMin => choose(BinaryOp::Ult, false),
        }
    }
}

fn is_atomic(order: MemoryOrder) -> bool {
    order != MemoryOrder::Plain
}

/// An access that reads and may write.
fn updating(site: Site, size: u8, order: MemoryOrder) -> Accessing {
    Accessing { site, size, reads: true, is_atomic: is_atomic(order), is_step: true }
}

/// Calls whose names begin with this do something that is not known.
pub(crate) const UNKNOWN: &str = "unknown ";
/// The object that stands for the first function.
pub(super) const FUNCTIONS: u32 = 1 << 30;
