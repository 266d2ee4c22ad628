//! The printer for single instructions.
//!
//! **Invariant.** A number is written with its width, as in `u8(5)`, wherever the parser would give
//! it another one.

use foretrace_trace::{MemoryOrder, Mode, Patience};

use crate::ir::*;

use super::expression::{DEFAULT_WIDTH, Meaning, OPERATORS, ORDERS};
use super::names::show_name;
use super::print::{Shown, show_number};
use super::statement::RMW_OPS;

pub(super) struct Printer<'p> {
    pub(super) program: &'p Program,
    pub(super) function: &'p Function,
    pub(super) shown: &'p Shown,
}

impl Printer<'_> {
    /// `a: 32, b: 8`
    pub(super) fn params(&self, params: &[RegisterId]) -> String {
        let params = params
            .iter()
            .map(|&param| format!("{}: {}", self.register(param), self.function.width(param)));
        params.collect::<Vec<_>>().join(", ")
    }

    pub(super) fn instruction(&self, instruction: &Instruction) -> String {
        let op = self.op(&instruction.op, instruction.result);
        match instruction.result {
            Some(result) => format!("{} = {op}", self.register(result)),
            None => op,
        }
    }

    pub(super) fn terminator(&self, kind: &TerminatorKind) -> String {
        match kind {
            TerminatorKind::Jump(target) => format!("jump {}", self.target(target)),
            TerminatorKind::Branch { condition, then, otherwise } => format!(
                "branch {}, {}, {}",
                self.condition(*condition),
                self.target(then),
                self.target(otherwise)
            ),
            TerminatorKind::Switch { value, cases, default } => {
                let width = self.function.operand_width(*value);
                let mut text = format!("switch {} {{ ", self.any(*value));
                for (case, target) in cases {
                    text += &format!("{}: {}, ", show_number(*case, width), self.target(target));
                }
                text + &format!("else: {} }}", self.target(default))
            }
            TerminatorKind::Return(None) => "return".to_string(),
            TerminatorKind::Return(Some(value)) => format!("return {}", self.known(*value)),
            TerminatorKind::Exit => "exit".to_string(),
            TerminatorKind::ThreadExit(None) => "threadexit".to_string(),
            TerminatorKind::ThreadExit(Some(value)) => {
                format!("threadexit {}", self.known(*value))
            }
            TerminatorKind::Unreachable => "unreachable".to_string(),
        }
    }

    fn op(&self, op: &Op, result: Option<RegisterId>) -> String {
        match op {
            Op::Binary { op, left, right } => {
                let (left, right) = self.pair(*left, *right);
                format!("{left} {} {right}", spelling(*op))
            }
            Op::Cast { cast, value } => {
                let letter = if *cast == Cast::SignExtend { 'i' } else { 'u' };
                let width = result.map_or(DEFAULT_WIDTH, |result| self.function.width(result));
                // The parser would take a number in the width of the cast.
                let value = match value {
                    Operand::Constant(constant) => typed(*constant),
                    _ => self.known(*value),
                };
                format!("{letter}{width}({value})")
            }
            Op::Select { condition, then, otherwise } => {
                let (then, otherwise) = self.pair(*then, *otherwise);
                format!("{} ? {then} : {otherwise}", self.condition(*condition))
            }
            Op::Load { address, size, order } => {
                self.access("load", *address, *size, *order, MemoryOrder::Plain, "")
            }
            Op::Store { address, size, value, order } => {
                let place = self.access("store", *address, *size, *order, MemoryOrder::Plain, "");
                format!("{place}, {}", self.known(*value))
            }
            Op::Rmw { op, address, size, value, order } => {
                let word =
                    RMW_OPS.iter().find(|(_, other)| other == op).map_or("", |(word, _)| word);
                let word = format!(" {word}");
                let place = self.access("rmw", *address, *size, *order, MemoryOrder::SeqCst, &word);
                format!("{place}, {}", self.known(*value))
            }
            Op::CompareExchange { address, size, expected, new, order } => {
                let place =
                    self.access("cmpxchg", *address, *size, *order, MemoryOrder::SeqCst, "");
                format!("{place}, {}, {}", self.known(*expected), self.known(*new))
            }
            Op::Fence { order } => format!("fence {}", order_word(*order)),
            Op::Slot { size } => format!("slot {size}"),
            Op::Alloc { size, storage } => {
                let word = match storage {
                    Storage::Heap => "alloc",
                    Storage::Zeroed => "zalloc",
                    Storage::Call => "alloca",
                };
                format!("{word} {}", self.known(*size))
            }
            Op::SizeOf { address } => format!("sizeof {}", self.known(*address)),
            Op::Free { address } => format!("free {}", self.known(*address)),
            Op::Call { callee, args } => {
                let width = match (callee, result) {
                    (Callee::Indirect(_), Some(result)) => {
                        format!(" : {}", self.function.width(result))
                    }
                    _ => String::new(),
                };
                format!("call {}{width}", self.callee(callee, args))
            }
            Op::Fork { callee, args } => format!("fork {}", self.callee(callee, args)),
            Op::External { name, args } => {
                let width = result
                    .map_or(String::new(), |result| format!(" : {}", self.function.width(result)));
                format!("external {}{}{width}", show_name(name), self.list(args, Self::any))
            }
            Op::Join { thread } => format!("join {}", self.known(*thread)),
            Op::Current => "current".to_string(),
            Op::Own { global } => {
                format!("own {}", show_name(&self.program.globals[global.index()].name))
            }
            Op::Assert { condition } => format!("assert {}", self.condition(*condition)),
            Op::Assume { condition } => format!("assume {}", self.condition(*condition)),
            Op::RegionBegin => "region begin".to_string(),
            Op::RegionEnd => "region end".to_string(),
            Op::SectionBegin => "section begin".to_string(),
            Op::SectionEnd => "section end".to_string(),
            _ => self.synchronisation(op),
        }
    }

    fn synchronisation(&self, op: &Op) -> String {
        let locks = &self.program.locks;
        let lock = |lock: &SyncRef<LockId>| self.sync(lock, |id| &locks[id.index()].name);
        let cond = |cond: &SyncRef<CondId>| self.sync(cond, |id| &self.program.conds[id.index()]);
        let semaphores = &self.program.semaphores;
        let semaphore = |sem: &SyncRef<SemId>| self.sync(sem, |id| &semaphores[id.index()].name);
        match op {
            Op::Acquire { lock: taken, mode, patience } => {
                format!("{}acquire {}{}", patience_word(*patience), mode_word(*mode), lock(taken))
            }
            Op::Release { lock: given, mode } => {
                format!("release {}{}", mode_word(*mode), lock(given))
            }
            Op::Wait { cond: on, lock: with, timed } => {
                format!("{}wait {} {}", if *timed { "timed" } else { "" }, cond(on), lock(with))
            }
            Op::Signal { cond: on } => format!("signal {}", cond(on)),
            Op::Broadcast { cond: on } => format!("broadcast {}", cond(on)),
            Op::SemWait { sem, patience } => {
                format!("{}semwait {}", patience_word(*patience), semaphore(sem))
            }
            Op::SemPost { sem } => format!("sempost {}", semaphore(sem)),
            Op::Barrier { barrier, parties } => {
                let barriers = &self.program.barriers;
                let parties =
                    parties.map_or(String::new(), |parties| format!(", {}", self.known(parties)));
                let barrier = self.sync(barrier, |id| &barriers[id.index()].name);
                format!("barrier {barrier}{parties}")
            }
            _ => unreachable!("every other instruction has a text of its own"),
        }
    }

    fn sync<'a, Id: Copy>(&self, sync: &SyncRef<Id>, name: impl Fn(Id) -> &'a String) -> String {
        match *sync {
            SyncRef::Named(id) => show_name(name(id)),
            SyncRef::At(address) => format!("at {}", self.known(address)),
        }
    }

    /// A keyword with the place that it accesses.
    fn access(
        &self,
        keyword: &str,
        address: Operand,
        size: u8,
        order: MemoryOrder,
        default: MemoryOrder,
        behind: &str,
    ) -> String {
        let order = match order {
            _ if order == default => String::new(),
            MemoryOrder::Plain => " plain".to_string(),
            MemoryOrder::SeqCst => " atomic".to_string(),
            order => format!(" atomic {}", order_word(order)),
        };
        if let Operand::Global { global, offset } = address {
            let Global { name, size: whole, .. } = self.program.global(global);
            let part = match (offset, *whole == u32::from(size)) {
                (0, true) => String::new(),
                _ => format!("[{offset}:{size}]"),
            };
            return format!("{keyword}{behind}{order} {}{part}", show_name(name));
        }
        format!("{keyword}.{size}{behind}{order} {}", self.known(address))
    }

    fn callee(&self, callee: &Callee, args: &[Operand]) -> String {
        match *callee {
            Callee::Direct(function) => {
                let name = show_name(&self.program.function(function).name);
                format!("{name}{}", self.list(args, Self::known))
            }
            Callee::Indirect(address) => {
                format!("*{}{}", self.known(address), self.list(args, Self::any))
            }
        }
    }

    fn list(&self, operands: &[Operand], show: impl Fn(&Self, Operand) -> String) -> String {
        let shown: Vec<String> = operands.iter().map(|&operand| show(self, operand)).collect();
        format!("({})", shown.join(", "))
    }

    fn target(&self, target: &Target) -> String {
        let args = match target.args.is_empty() {
            true => String::new(),
            false => self.list(&target.args, Self::known),
        };
        format!("{}{args}", self.shown.labels[target.block.index()])
    }

    /// Two operands of one width, at least one of which tells it.
    fn pair(&self, left: Operand, right: Operand) -> (String, String) {
        let left_text = match (left, right) {
            (Operand::Constant(_), Operand::Constant(_)) => self.any(left),
            _ => self.known(left),
        };
        (left_text, self.known(right))
    }

    /// An operand where any width may stand.
    fn any(&self, operand: Operand) -> String {
        match operand {
            Operand::Constant(constant) if constant.width != DEFAULT_WIDTH => typed(constant),
            _ => self.known(operand),
        }
    }

    /// An operand where its width is known.
    fn known(&self, operand: Operand) -> String {
        match operand {
            Operand::Register(register) => self.register(register).to_string(),
            Operand::Constant(Constant { value, width }) => show_number(value, width),
            Operand::Global { global, offset: 0 } => {
                format!("&{}", show_name(&self.program.global(global).name))
            }
            Operand::Global { global, offset } => {
                format!("&{}[{offset}]", show_name(&self.program.global(global).name))
            }
            Operand::Function(function) => {
                format!("&{}", show_name(&self.program.function(function).name))
            }
        }
    }

    fn condition(&self, operand: Operand) -> String {
        match operand {
            Operand::Constant(constant) => (constant.value != 0).to_string(),
            _ => self.known(operand),
        }
    }

    fn register(&self, register: RegisterId) -> &str {
        &self.shown.registers[register.index()]
    }
}

/// A number with its width.
fn typed(Constant { value, width }: Constant) -> String {
    match (value, width) {
        (0, 1) => "false".to_string(),
        (1, 1) => "true".to_string(),
        _ => format!("u{width}({})", show_number(value, width)),
    }
}

fn spelling(op: BinaryOp) -> &'static str {
    let found = OPERATORS.iter().find(|(.., meaning)| *meaning == Meaning::Op(op));
    found.map_or("?", |(text, ..)| text)
}

fn order_word(order: MemoryOrder) -> &'static str {
    ORDERS.iter().find(|(_, other)| *other == order).map_or("", |(word, _)| word)
}

fn mode_word(mode: Mode) -> &'static str {
    if mode == Mode::Shared { "shared " } else { "" }
}

fn patience_word(patience: Patience) -> &'static str {
    match patience {
        Patience::Blocking => "",
        Patience::Timed => "timed",
        Patience::Try => "try",
    }
}
