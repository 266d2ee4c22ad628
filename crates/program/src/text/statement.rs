//! Single instructions, and assignments of what they give.

use foretrace_trace::{BarrierId, CondId, LockId, MemoryOrder, Mode, Patience, SemId};

use crate::ir::*;

use super::Error;
use super::body::Body;
use super::cursor::Named;
use super::expression::{checked_size, sized};
use super::parse::width;
use super::token::{Position, Token};

/// What a read-modify-write stores, as it is written.
pub(super) const RMW_OPS: [(&str, RmwOp); 11] = [
    ("xchg", RmwOp::Exchange),
    ("add", RmwOp::Add),
    ("sub", RmwOp::Sub),
    ("and", RmwOp::And),
    ("nand", RmwOp::Nand),
    ("or", RmwOp::Or),
    ("xor", RmwOp::Xor),
    ("max", RmwOp::Max),
    ("min", RmwOp::Min),
    ("umax", RmwOp::UMax),
    ("umin", RmwOp::UMin),
];

/// What an instruction that was read gives.
enum Given {
    /// It was no instruction.
    NoInstruction,
    /// Nothing.
    Nothing,
    /// A value.
    Value(Operand),
}

impl Body<'_, '_> {
    /// Whether `name =` or `name :=` is next.
    pub(super) fn is_assignment(&self) -> bool {
        matches!(self.cursor.peek(), Token::Word(_) | Token::Quoted(_) | Token::Unnamed(_))
            && matches!(self.cursor.peek_at(1), Token::Symbol("=" | ":="))
    }

    /// One statement that does not end a block.
    pub(super) fn statement(&mut self) -> Result<(), Error> {
        if self.is_assignment() {
            return self.assignment();
        }
        if matches!(self.cursor.peek(), Token::Word(word) if sized(word, "load").is_some()) {
            self.operand_of_any_width()?;
            return Ok(());
        }
        match self.instruction(false)? {
            Given::NoInstruction => {
                let structured = ["jump", "branch", "switch"];
                let error = self.cursor.expected("a statement");
                let is_jump = match self.cursor.peek() {
                    Token::Word(word) => structured.contains(&word.as_str()),
                    _ => false,
                };
                Err(if is_jump {
                    error.hint("jumps go between labelled blocks; begin the function with `entry:`")
                } else {
                    error
                })
            }
            _ => Ok(()),
        }
    }

    fn assignment(&mut self) -> Result<(), Error> {
        let position = self.cursor.position();
        let Named { key, name } = self.cursor.name_or_number("a name")?;
        let is_new = self.cursor.eat("=");
        if !is_new {
            self.cursor.expect(":=")?;
            if !self.labels.is_empty() {
                let error = Error::new(
                    position,
                    "between labelled blocks values are defined, not assigned",
                );
                return Err(error.hint("write `=`; values that differ are parameters of a block"));
            }
        }
        let old_width = self.scope.get(&key).map(|&operand| self.width(operand));
        if is_new && old_width.is_some() {
            let error = Error::new(position, format!("`{key}` is defined a second time"));
            return Err(if self.labels.is_empty() {
                error.hint("`:=` assigns a variable again")
            } else {
                error
            });
        }
        let registers_before = self.registers.len();
        let operand = match self.instruction(true)? {
            Given::Value(operand) => operand,
            Given::Nothing => return Err(Error::new(position, "this instruction gives no value")),
            Given::NoInstruction => match old_width {
                Some(width) => self.operand(width)?,
                None => self.operand_of_any_width()?,
            },
        };
        if let Some(width) = old_width
            && width != self.width(operand)
        {
            let found = self.width(operand);
            return Err(Error::new(position, format!("`{key}` has {width} bits, not {found}")));
        }
        if let (Operand::Register(register), Some(name)) = (operand, name)
            && register.index() >= registers_before
        {
            self.set_name(register, name);
        }
        self.assigned.insert(key.clone());
        self.scope.insert(key, operand);
        Ok(())
    }

    /// An instruction other than a load, if its keyword is next.
    fn instruction(&mut self, is_wanted: bool) -> Result<Given, Error> {
        let Token::Word(word) = self.cursor.peek() else { return Ok(Given::NoInstruction) };
        let at = self.cursor.position();
        let place = self.cursor.place();
        self.cursor.next();
        let (stem, patience) = match (word.strip_prefix("try"), word.strip_prefix("timed")) {
            (Some(stem), _) => (stem, Patience::Try),
            (_, Some(stem)) => (stem, Patience::Timed),
            _ => (word.as_str(), Patience::Blocking),
        };
        let outcome = (patience != Patience::Blocking).then_some(1);
        let (op, width) = match (stem, patience) {
            ("acquire", _) => {
                let (mode, lock) = (self.mode(), self.lock()?);
                (Op::Acquire { lock, mode, patience }, outcome)
            }
            ("semwait", _) => (Op::SemWait { sem: self.semaphore()?, patience }, outcome),
            ("wait", Patience::Blocking | Patience::Timed) => {
                let (cond, lock) = (self.cond()?, self.lock()?);
                (Op::Wait { cond, lock, timed: patience == Patience::Timed }, outcome)
            }
            (_, Patience::Blocking) => match self.plain_instruction(word, at, is_wanted)? {
                Some(read) => read,
                None => {
                    self.cursor.rewind(place);
                    return Ok(Given::NoInstruction);
                }
            },
            _ => {
                self.cursor.rewind(place);
                return Ok(Given::NoInstruction);
            }
        };
        let always_gives = matches!(
            op,
            Op::Slot { .. } | Op::Alloc { .. } | Op::SizeOf { .. } | Op::Current | Op::Own { .. }
        );
        match width {
            Some(width) if is_wanted || always_gives => Ok(Given::Value(self.emit(op, width))),
            _ => {
                self.push(op, None);
                Ok(Given::Nothing)
            }
        }
    }

    /// An instruction that knows no patience, and the width of what it gives; `None` if the word is
    /// no keyword.
    fn plain_instruction(
        &mut self,
        word: &str,
        at: Position,
        is_wanted: bool,
    ) -> Result<Option<(Op, Option<u8>)>, Error> {
        if let Some(size) = sized(word, "store") {
            let size = checked_size(size, at)?;
            let order = self.order(MemoryOrder::Plain);
            let (address, size) = self.place(size, false)?;
            self.cursor.expect(",")?;
            let value = self.operand(size * 8)?;
            return Ok(Some((Op::Store { address, size, value, order }, None)));
        }
        if let Some(size) = sized(word, "rmw") {
            let size = checked_size(size, at)?;
            let found = RMW_OPS.iter().find(|(word, _)| self.cursor.eat_word(word));
            let Some(&(_, op)) = found else {
                return Err(self
                    .cursor
                    .expected("what is stored: `xchg`, `add`, `sub`, `and`, `or`, …"));
            };
            let order = self.order(MemoryOrder::SeqCst);
            let (address, size) = self.place(size, false)?;
            self.cursor.expect(",")?;
            let value = self.operand(size * 8)?;
            return Ok(Some((Op::Rmw { op, address, size, value, order }, Some(size * 8))));
        }
        if let Some(size) = sized(word, "cmpxchg") {
            let size = checked_size(size, at)?;
            let order = self.order(MemoryOrder::SeqCst);
            let (address, size) = self.place(size, false)?;
            self.cursor.expect(",")?;
            let expected = self.operand(size * 8)?;
            self.cursor.expect(",")?;
            let new = self.operand(size * 8)?;
            return Ok(Some((
                Op::CompareExchange { address, size, expected, new, order },
                Some(size * 8),
            )));
        }
        Ok(Some(match word {
            "fence" => {
                let order = self.order_word().unwrap_or(MemoryOrder::SeqCst);
                (Op::Fence { order }, None)
            }
            "slot" => {
                let size = self.cursor.bounded("the size in bytes", 1, 1 << 30)? as u32;
                (Op::Slot { size }, Some(ADDRESS_WIDTH))
            }
            "alloc" | "zalloc" | "alloca" => {
                let storage = match word {
                    "alloc" => Storage::Heap,
                    "zalloc" => Storage::Zeroed,
                    _ => Storage::Call,
                };
                let size = self.operand(ADDRESS_WIDTH)?;
                (Op::Alloc { size, storage }, Some(ADDRESS_WIDTH))
            }
            "sizeof" => (Op::SizeOf { address: self.operand(ADDRESS_WIDTH)? }, Some(ADDRESS_WIDTH)),
            "free" => (Op::Free { address: self.operand(ADDRESS_WIDTH)? }, None),
            "call" => self.call(is_wanted)?,
            "fork" => {
                let (callee, args, _) = self.callee()?;
                (Op::Fork { callee, args }, Some(ADDRESS_WIDTH))
            }
            "external" => {
                let name = self.cursor.name("the name of what is called")?.to_string();
                let args = self.arguments(&[], true)?;
                let result = if is_wanted { Some(width(&mut self.cursor)?) } else { None };
                (Op::External { name, args }, result)
            }
            "release" => {
                let (mode, lock) = (self.mode(), self.lock()?);
                (Op::Release { lock, mode }, None)
            }
            "signal" => (Op::Signal { cond: self.cond()? }, None),
            "broadcast" => (Op::Broadcast { cond: self.cond()? }, None),
            "sempost" => (Op::SemPost { sem: self.semaphore()? }, None),
            "barrier" => {
                let barrier = self.barrier()?;
                let parties = match barrier {
                    SyncRef::Named(_) => None,
                    SyncRef::At(_) => {
                        self.cursor.expect(",")?;
                        Some(self.operand(32)?)
                    }
                };
                (Op::Barrier { barrier, parties }, None)
            }
            "join" => {
                let thread = self.operand(ADDRESS_WIDTH)?;
                (Op::Join { thread }, Some(ADDRESS_WIDTH))
            }
            "current" => (Op::Current, Some(ADDRESS_WIDTH)),
            "own" => {
                let position = self.cursor.position();
                let name = self.cursor.name("the name of a global variable")?;
                let Some(global) = self.program.find_global(name) else {
                    let message = format!("there is no global variable `{name}`");
                    return Err(Error::new(position, message));
                };
                (Op::Own { global }, Some(ADDRESS_WIDTH))
            }
            "assert" => (Op::Assert { condition: self.condition()? }, None),
            "assume" => (Op::Assume { condition: self.condition()? }, None),
            "region" if self.cursor.eat_word("begin") => (Op::RegionBegin, None),
            "region" if self.cursor.eat_word("end") => (Op::RegionEnd, None),
            "section" if self.cursor.eat_word("begin") => (Op::SectionBegin, None),
            "section" if self.cursor.eat_word("end") => (Op::SectionEnd, None),
            "section" => return Err(self.cursor.expected("`begin` or `end`")),
            "region" => return Err(self.cursor.expected("`begin` or `end`")),
            _ => return Ok(None),
        }))
    }

    fn call(&mut self, is_wanted: bool) -> Result<(Op, Option<u8>), Error> {
        let (callee, args, result) = self.callee()?;
        let result = match callee {
            Callee::Direct(_) => result,
            Callee::Indirect(_) if is_wanted => Some(width(&mut self.cursor)?),
            Callee::Indirect(_) => None,
        };
        Ok((Op::Call { callee, args }, result))
    }

    /// `f(a, b)` or `*p(a, b)`, and the width of the result if it is known.
    fn callee(&mut self) -> Result<(Callee, Vec<Operand>, Option<u8>), Error> {
        if self.cursor.eat("*") {
            let address = self.tight_operand(ADDRESS_WIDTH)?;
            return Ok((Callee::Indirect(address), self.arguments(&[], false)?, None));
        }
        let position = self.cursor.position();
        let name = self.cursor.name("the name of a function")?;
        let Some(function) = self.program.find_function(name) else {
            let error = Error::new(position, format!("there is no function `{name}`"));
            return Err(error.hint("`external` calls what is not part of the program"));
        };
        let head = self.program.function(function);
        let result = head.result;
        let widths: Vec<u8> = head.params.iter().map(|&param| head.width(param)).collect();
        let args = self.arguments(&widths, false)?;
        if args.len() != widths.len() {
            let message = format!(
                "`{name}` has {} parameters, here are {} arguments",
                widths.len(),
                args.len()
            );
            return Err(Error::new(position, message));
        }
        Ok((Callee::Direct(function), args, result))
    }

    fn mode(&mut self) -> Mode {
        if self.cursor.eat_word("shared") { Mode::Shared } else { Mode::Exclusive }
    }

    fn lock(&mut self) -> Result<SyncRef<LockId>, Error> {
        self.sync("lock", |program, name| program.locks.iter().position(|lock| lock.name == name))
    }

    fn cond(&mut self) -> Result<SyncRef<CondId>, Error> {
        self.sync("condition variable", |program, name| {
            program.conds.iter().position(|cond| cond == name)
        })
    }

    fn semaphore(&mut self) -> Result<SyncRef<SemId>, Error> {
        self.sync("semaphore", |program, name| {
            program.semaphores.iter().position(|semaphore| semaphore.name == name)
        })
    }

    fn barrier(&mut self) -> Result<SyncRef<BarrierId>, Error> {
        self.sync("barrier", |program, name| {
            program.barriers.iter().position(|barrier| barrier.name == name)
        })
    }

    /// A declared object of this kind, or `at` an address.
    fn sync<Id: From<usize>>(
        &mut self,
        kind: &str,
        find: impl Fn(&Program, &str) -> Option<usize>,
    ) -> Result<SyncRef<Id>, Error> {
        let position = self.cursor.position();
        if self.cursor.eat_word("at") {
            return Ok(SyncRef::At(self.tight_operand(ADDRESS_WIDTH)?));
        }
        let name = self.cursor.name(&format!("the name of a {kind}"))?;
        match find(self.program, name) {
            Some(index) => Ok(SyncRef::Named(Id::from(index))),
            None => Err(Error::new(position, format!("there is no {kind} `{name}`"))),
        }
    }
}
