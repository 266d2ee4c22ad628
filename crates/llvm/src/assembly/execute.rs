//! What understood assembly does, as LLVM's own instructions.
//!
//! **Computes.** Goes through the instructions of a [`Template`] with a value for each register,
//! and builds loads, stores, atomic operations and arithmetic before the call that the assembly is.
//!
//! **Invariant.** Where an instruction, an operand or a flag is not known exactly, it gives up with
//! the reason, and the caller throws away what was built.
//!
//! An instruction with `lock`, and `xchg` with memory, is one atomic operation. Without `lock`, a
//! change of memory is a plain load and a plain store, between which others can come. A `mov`, or
//! another instruction that only reads memory, is an atomic access with the order that x86-64 gives
//! it: people write such assembly because the compiler must not take it apart.

use std::collections::HashMap;

use foretrace_recording::site::rmw;

use super::Assembly;
use super::constraints::Place;
use super::emit::Order;
use super::flags::Flags;
use super::names::{Change, without_suffix};
use super::registers::Register;
use super::template::{Base, Instruction, Part};
use crate::build::Builder;
use crate::ir::{Type, Value};

/// Why something is not understood.
pub(super) type Reason = String;

/// A place for a value that is no memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Location {
    Operand(usize),
    Register(&'static str),
}

/// What a register holds: the lowest bits.
#[derive(Clone, Copy)]
struct Held {
    value: Value,
    width: u32,
    /// All bits above are 0; otherwise nothing is known of them.
    is_zero_above: bool,
}

pub(super) struct Machine<'a> {
    build: &'a mut Builder,
    assembly: &'a Assembly,
    held: HashMap<Location, Held>,
    flags: Flags,
}

impl<'a> Machine<'a> {
    pub(super) fn new(build: &'a mut Builder, assembly: &'a Assembly) -> Result<Self, Reason> {
        let mut machine = Machine { build, assembly, held: HashMap::new(), flags: Flags::Unknown };
        for number in 0..assembly.constraints.operands.len() {
            let is_value = !assembly.constraints.operands[number].is_output;
            let Some(location) = machine.location(number).filter(|_| is_value) else { continue };
            let argument = assembly.argument(number).ok_or("an operand without a value")?;
            let size = machine.build.word_size(argument.type_of());
            let size = size.ok_or("an operand that is no number")?;
            let value = machine.build.to_word(argument, size);
            let width = 8 * size as u32;
            let held = Held { value, width, is_zero_above: width == 64 };
            machine.held.insert(location, held);
        }
        Ok(machine)
    }

    /// Where the value of an operand is, if it is not in memory nor in the flags.
    fn location(&self, number: usize) -> Option<Location> {
        match &self.assembly.constraints.operands.get(number)?.place {
            Place::Memory | Place::Flag(_) => None,
            Place::Any => Some(Location::Operand(number)),
            Place::Register(name) => {
                let register = Register::named(name);
                Some(
                    register.map_or(Location::Operand(number), |one| Location::Register(one.whole)),
                )
            }
            Place::SameAs(other) if *other < number => self.location(*other),
            Place::SameAs(_) => None,
        }
    }

    /// The result of the call that an output operand is.
    pub(super) fn output(&mut self, number: usize, of: Type) -> Result<Value, Reason> {
        let size = self.build.word_size(of).ok_or("a result that is no number")?;
        if let Place::Flag(condition) = &self.assembly.constraints.operands[number].place {
            let set = self.flags.condition(self.build, condition)?;
            let word = self.build.integer(8 * size as u32);
            let word = self.build.resize(set, word);
            return Ok(self.build.word_to(word, of));
        }
        let location = self.location(number).ok_or("a result that is nowhere")?;
        let word = self.read_register(location, 8 * size as u32)?;
        Ok(self.build.word_to(word, of))
    }

    pub(super) fn execute(&mut self, instruction: &Instruction) -> Result<(), Reason> {
        let Instruction { is_locked, is_repeated, name, operands } = instruction;
        match (name.as_str(), &operands[..]) {
            ("nop", []) if *is_repeated => self.build.give_way(),
            ("pause", []) => self.build.give_way(),
            ("nop" | "endbr64", _) if !is_locked => {}
            ("mfence", []) => self.build.fence(Order::Sequential),
            ("lfence", []) => self.build.fence(Order::Acquire),
            ("sfence", []) => self.build.fence(Order::Release),
            (name, [_]) if name.starts_with("prefetch") => {}
            ("rdtsc" | "rdtscp", []) => self.time_stamp(name == "rdtscp"),
            _ if *is_repeated => return Err(format!("`rep {name}`")),
            (name, [target]) if name.starts_with("set") && !is_locked => {
                let set = self.flags.condition(self.build, &name[3..])?;
                let byte = self.build.resize(set, self.build.i8);
                match self.address(target, 8)? {
                    // Often the result could be in a register too: that it is in memory is the
                    // compiler's choice.
                    Some(address) => drop(self.build.store(byte, address)),
                    None => self.write(target, byte, 8)?,
                }
            }
            (name, [target, source]) if name.starts_with("movz") && !is_locked => {
                self.extend(name, target, source)?;
            }
            _ => {
                let (name, suffix) = without_suffix(name).ok_or_else(|| format!("`{name}`"))?;
                let width = self.width(instruction, suffix)?;
                self.sized(name, width, *is_locked, operands)?;
            }
        }
        Ok(())
    }

    /// The time stamp in two halves, and, for `rdtscp`, the number of the processor.
    fn time_stamp(&mut self, with_processor: bool) {
        let time = self.build.time_stamp();
        let above = self.build.shift_right(time, self.build.i64.number(32));
        let half = self.build.i32;
        let [low, high] = [time, above].map(|value| self.build.resize(value, half));
        let processor = with_processor.then(|| ("rcx", half.zero()));
        for (name, value) in [("rax", low), ("rdx", high)].into_iter().chain(processor) {
            let held = Held { value, width: 32, is_zero_above: true };
            self.held.insert(Location::Register(name), held);
        }
    }

    /// `movzbl` and its kin.
    fn extend(&mut self, name: &str, target: &Part, source: &Part) -> Result<(), Reason> {
        let widths = match name {
            "movzbw" => (8, 16),
            "movzbl" => (8, 32),
            "movzbq" => (8, 64),
            "movzwl" => (16, 32),
            "movzwq" => (16, 64),
            _ => return Err(format!("`{name}`")),
        };
        let value = self.read(source, widths.0)?;
        let value = self.build.resize(value, self.build.integer(widths.1));
        self.write(target, value, widths.1)
    }

    /// How many bits the instruction works with: as its name says, or the register among its
    /// operands.
    fn width(&self, instruction: &Instruction, suffix: Option<u32>) -> Result<u32, Reason> {
        let known = suffix.or_else(|| {
            let parts = instruction.operands.iter();
            // A number that is written out has no size; one that fits no instruction otherwise is
            // in a register.
            let in_register = parts.clone().find_map(|part| match part {
                Part::Operand { number, .. } => self.assembly.size_of(*number),
                _ => None,
            });
            parts.filter_map(|part| self.width_of(part)).next().or(in_register)
        });
        match known {
            Some(width @ (8 | 16 | 32 | 64)) => Ok(width),
            _ => Err(format!("`{}` of a size that is not said", instruction.name)),
        }
    }

    fn width_of(&self, part: &Part) -> Option<u32> {
        match *part {
            Part::Register(register) => Some(register.width),
            Part::Memory { size, .. } => size,
            Part::Number(_) => None,
            Part::Operand { number, modifier, size } => {
                size.or_else(|| self.register_width(number, modifier))
            }
        }
    }

    /// The bits that the name of a register operand stands for.
    fn register_width(&self, number: usize, modifier: Option<char>) -> Option<u32> {
        self.location(number)?;
        match modifier {
            Some('b') => Some(8),
            Some('w') => Some(16),
            Some('k') => Some(32),
            Some('q') => Some(64),
            None if self.constant(number).is_some() => None,
            None => self.assembly.size_of(number),
            Some(_) => None,
        }
    }

    /// The number that an input is, if nothing else ever is where it is.
    fn constant(&self, number: usize) -> Option<i64> {
        let is_alone = self.location(number) == Some(Location::Operand(number));
        let value = self.assembly.argument(number).filter(|_| is_alone)?;
        self.build.signed_number(value)
    }

    fn sized(
        &mut self,
        name: &'static str,
        width: u32,
        is_locked: bool,
        operands: &[Part],
    ) -> Result<(), Reason> {
        if let Some(change) = Change::named(name) {
            return match operands {
                [target, source] if change.has_source() => {
                    self.change(change, target, Some(source), width, is_locked)
                }
                [target] if !change.has_source() => {
                    self.change(change, target, None, width, is_locked)
                }
                _ => Err(format!("`{name}` with other operands")),
            };
        }
        let [target, source] = operands else {
            return Err(format!("`{name}` with other operands"));
        };
        match name {
            "mov" if !is_locked => {
                let value = self.read(source, width)?;
                self.write(target, value, width)
            }
            "cmp" if !is_locked => {
                let (left, right) = (self.read(target, width)?, self.read(source, width)?);
                self.flags = Flags::Compared { left, right };
                Ok(())
            }
            "xchg" => self.exchange(target, source, width),
            "xadd" => self.exchange_and_add(target, source, width, is_locked),
            "cmpxchg" => self.compare_exchange(target, source, width, is_locked),
            "bt" | "bts" | "btr" | "btc" => self.bit(name, target, source, width, is_locked),
            _ => Err(format!("`{name}`")),
        }
    }

    fn change(
        &mut self,
        change: Change,
        target: &Part,
        source: Option<&Part>,
        width: u32,
        is_locked: bool,
    ) -> Result<(), Reason> {
        let of = self.build.integer(width);
        if let Some(Part::Number(0)) = source
            && is_locked
            && matches!(
                target,
                Part::Memory { base: Base::Register(Register { whole: "rsp", .. }), .. }
            )
            && matches!(change, Change::Add | Change::Or)
        {
            // Nobody else reads the top of the stack: this is only for its order.
            self.flags = Flags::Unknown;
            self.build.fence(Order::Sequential);
            return Ok(());
        }
        let operand = match (change, source) {
            (Change::Increment | Change::Decrement, _) => of.number(1),
            (Change::Not, _) => of.number(u64::MAX),
            (Change::Negate, _) => of.zero(),
            (_, Some(source)) => self.read(source, width)?,
            (_, None) => return Err("an instruction without its operand".into()),
        };
        let (old, new) = self.update(change.operation(), target, operand, width, is_locked)?;
        self.flags = match change {
            Change::Not => return Ok(()),
            Change::Add => Flags::Sum { old, new },
            Change::Sub => Flags::Difference { left: old, right: operand, new },
            Change::And | Change::Or | Change::Xor => Flags::Logic { new },
            Change::Increment | Change::Decrement => Flags::Counted { new },
            Change::Negate => Flags::Difference { left: operand, right: old, new },
        };
        Ok(())
    }

    /// Changes the target; gives what it held and what it holds now. Without an operation, the old
    /// value is taken from the operand.
    fn update(
        &mut self,
        operation: Option<u32>,
        target: &Part,
        operand: Value,
        width: u32,
        is_locked: bool,
    ) -> Result<(Value, Value), Reason> {
        let compute = |build: &Builder, old: Value| match operation {
            Some(operation) => build.arithmetic(operation, old, operand),
            None => build.arithmetic(rmw::SUB, operand, old),
        };
        let Some(address) = self.address(target, width)? else {
            if is_locked {
                return Err("`lock` without memory".into());
            }
            let old = self.read(target, width)?;
            let new = compute(self.build, old);
            self.write(target, new, width)?;
            return Ok((old, new));
        };
        let of = self.build.integer(width);
        if is_locked {
            let operation = operation.ok_or("`lock neg`")?;
            let old = self.build.atomic_change(operation, address, operand);
            return Ok((old, compute(self.build, old)));
        }
        let old = self.build.load(of, address);
        let new = compute(self.build, old);
        self.build.store(new, address);
        Ok((old, new))
    }

    /// With memory this is atomic, `lock` or not.
    fn exchange(&mut self, target: &Part, source: &Part, width: u32) -> Result<(), Reason> {
        let (memory, register) = match (self.address(target, width)?, self.address(source, width)?)
        {
            (Some(address), None) => (address, source),
            (None, Some(address)) => (address, target),
            _ => return Err("`xchg` without memory".into()),
        };
        let new = self.read(register, width)?;
        let old = self.build.atomic_change(rmw::EXCHANGE, memory, new);
        self.write(register, old, width)
    }

    fn exchange_and_add(
        &mut self,
        target: &Part,
        source: &Part,
        width: u32,
        is_locked: bool,
    ) -> Result<(), Reason> {
        let operand = self.read(source, width)?;
        let (old, new) = self.update(Some(rmw::ADD), target, operand, width, is_locked)?;
        self.flags = Flags::Sum { old, new };
        self.write(source, old, width)
    }

    fn compare_exchange(
        &mut self,
        target: &Part,
        source: &Part,
        width: u32,
        is_locked: bool,
    ) -> Result<(), Reason> {
        let address = self.address(target, width)?.ok_or("`cmpxchg` without memory")?;
        let accumulator = Location::Register("rax");
        let expected = self.read_register(accumulator, width)?;
        let new = self.read(source, width)?;
        let old = if is_locked {
            self.build.atomic_compare_exchange(address, expected, new)
        } else {
            let old = self.build.load(self.build.integer(width), address);
            let is_equal = self.build.equal(old, expected);
            let stored = self.build.select(is_equal, new, old);
            self.build.store(stored, address);
            old
        };
        self.flags = Flags::Compared { left: expected, right: old };
        // On success only the upper half of `rax` stays what it was; nobody should want that.
        self.held.insert(accumulator, Held { value: old, width, is_zero_above: width == 64 });
        Ok(())
    }

    /// A bit of memory is counted from its address, however far away; one of a register within it.
    fn bit(
        &mut self,
        name: &str,
        target: &Part,
        source: &Part,
        width: u32,
        is_locked: bool,
    ) -> Result<(), Reason> {
        let of = self.build.integer(width);
        let inside = of.number(u64::from(width) - 1);
        let number = self.read(source, width)?;
        let is_written_out = matches!(source, Part::Number(_))
            || number.constant_bits(of).is_some_and(|bits| bits < u64::from(width));
        let address = match self.address(target, width)? {
            Some(_) if !is_written_out && number.is_constant() => {
                return Err(format!("`{name}` of a bit that is far away"));
            }
            Some(address) if !is_written_out => {
                Some(self.build.word_of_bit(address, number, width))
            }
            address => address,
        };
        let number = self.build.arithmetic(rmw::AND, number, inside);
        let mask = self.build.shift_left(of.number(1), number);
        let (operation, operand) = match name {
            "bts" => (rmw::OR, mask),
            "btr" => (rmw::AND, self.build.arithmetic(rmw::XOR, mask, of.number(u64::MAX))),
            "btc" => (rmw::XOR, mask),
            _ => (rmw::OR, of.zero()),
        };
        let old = match (address, name) {
            (Some(address), "bt") => self.build.atomic_load(of, address),
            (Some(address), _) if is_locked => {
                self.build.atomic_change(operation, address, operand)
            }
            (Some(address), _) => {
                let old = self.build.load(of, address);
                let new = self.build.arithmetic(operation, old, operand);
                self.build.store(new, address);
                old
            }
            (None, "bt") => self.read(target, width)?,
            (None, _) => self.update(Some(operation), target, operand, width, is_locked)?.0,
        };
        self.flags = Flags::Bit { word: old, number };
        Ok(())
    }

    /// The address of an operand that is in memory.
    fn address(&mut self, part: &Part, width: u32) -> Result<Option<Value>, Reason> {
        match *part {
            Part::Register(_) | Part::Number(_) => Ok(None),
            Part::Operand { number, modifier, size } => {
                let operands = &self.assembly.constraints.operands;
                let operand = operands.get(number).ok_or("an operand that is not there")?;
                if operand.place != Place::Memory {
                    return Ok(None);
                }
                if modifier.is_some() || size.is_some_and(|size| size != width) {
                    return Err("memory that is written in an unusual way".into());
                }
                let pointer = self.assembly.argument(number).ok_or("memory without an address")?;
                self.plain(pointer).map(Some)
            }
            Part::Memory { size: Some(size), .. } if size != width => {
                Err("memory of another size".into())
            }
            Part::Memory { base, distance, .. } => {
                let location = match base {
                    Base::Operand(number) => {
                        let pointer = self.assembly.argument(number);
                        if let Some(pointer) = pointer.filter(|one| one.type_of().is_pointer()) {
                            // Straight from the pointer: an address through a number would lose
                            // what it points into.
                            let is_changed =
                                self.location(number) != Some(Location::Operand(number));
                            if !is_changed {
                                let pointer = self.plain(pointer)?;
                                return Ok(Some(self.build.behind(pointer, distance)));
                            }
                        }
                        self.location(number).ok_or("memory at an address in memory")?
                    }
                    Base::Register(register) if register.width == 64 => {
                        Location::Register(register.whole)
                    }
                    Base::Register(_) => return Err("a short address".into()),
                };
                let base = self.read_register(location, 64)?;
                let pointer = self.build.word_to(base, self.build.pointer);
                Ok(Some(self.build.behind(pointer, distance)))
            }
        }
    }

    /// Nobody knows what a segment register adds.
    fn plain(&self, pointer: Value) -> Result<Value, Reason> {
        match pointer.type_of().is_pointer() && pointer.type_of().address_space() == 0 {
            true => Ok(pointer),
            false => Err("memory behind a segment register".into()),
        }
    }

    /// The value of an operand, in so many bits.
    fn read(&mut self, part: &Part, width: u32) -> Result<Value, Reason> {
        let of = self.build.integer(width);
        if let Some(address) = self.address(part, width)? {
            return Ok(self.build.atomic_load(of, address));
        }
        match *part {
            Part::Number(number) => Ok(of.number(number as u64)),
            Part::Register(register) => {
                same_width(register.width, width)?;
                self.read_register(Location::Register(register.whole), width)
            }
            Part::Operand { number, modifier, .. } => {
                let is_usual = modifier.is_none_or(|one| matches!(one, 'b' | 'w' | 'k' | 'q'));
                if let Some(number) = self.constant(number).filter(|_| is_usual) {
                    return Ok(of.number(number as u64));
                }
                let named = self.register_width(number, modifier).ok_or("an unusual operand")?;
                same_width(named, width)?;
                let location = self.location(number).ok_or("an unusual operand")?;
                self.read_register(location, width)
            }
            Part::Memory { .. } => Err("an unusual operand".into()),
        }
    }

    fn read_register(&mut self, location: Location, width: u32) -> Result<Value, Reason> {
        let held = self.held.get(&location).ok_or("a register with an unknown value")?;
        if width > held.width && !held.is_zero_above {
            return Err("bits of a register with an unknown value".into());
        }
        Ok(self.build.resize(held.value, self.build.integer(width)))
    }

    fn write(&mut self, part: &Part, value: Value, width: u32) -> Result<(), Reason> {
        if let Some(address) = self.address(part, width)? {
            self.build.atomic_store(value, address);
            return Ok(());
        }
        let (location, named) = match *part {
            Part::Register(register) => (self.changeable(register)?, register.width),
            Part::Operand { number, modifier, .. } => {
                let location = self.location(number).ok_or("an unusual operand")?;
                let is_output = self.assembly.constraints.operands[number].is_output
                    || location != Location::Operand(number);
                if !is_output {
                    return Err("a change of an operand that is no output".into());
                }
                (location, self.register_width(number, modifier).unwrap_or(width))
            }
            Part::Number(_) | Part::Memory { .. } => return Err("an unusual target".into()),
        };
        same_width(named, width)?;
        self.write_register(location, value, width);
        Ok(())
    }

    /// A register that the assembly says it changes.
    fn changeable(&self, register: Register) -> Result<Location, Reason> {
        let constraints = &self.assembly.constraints;
        let names =
            |name: &String| Register::named(name).is_some_and(|one| one.whole == register.whole);
        let is_output = constraints.operands.iter().any(|operand| {
            operand.is_output && matches!(&operand.place, Place::Register(name) if names(name))
        });
        match is_output || constraints.clobbers.iter().any(names) {
            true => Ok(Location::Register(register.whole)),
            false => Err("a change of a register that is not named".into()),
        }
    }

    fn write_register(&mut self, location: Location, value: Value, width: u32) {
        let before = self.held.get(&location).copied();
        let held = match before {
            // 8 and 16 bits leave the others as they are, 32 make them 0.
            Some(before) if width < 32 && before.width > width => {
                let of = self.build.integer(before.width);
                let kept = of.number(u64::MAX << width);
                let kept = self.build.arithmetic(rmw::AND, before.value, kept);
                let value = self.build.resize(value, of);
                Held { value: self.build.arithmetic(rmw::OR, kept, value), ..before }
            }
            _ => Held { value, width, is_zero_above: width >= 32 },
        };
        self.held.insert(location, held);
    }
}

fn same_width(named: u32, width: u32) -> Result<(), Reason> {
    match named == width {
        true => Ok(()),
        false => Err("operands of different sizes".into()),
    }
}
