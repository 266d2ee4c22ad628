//! What the body of a function has so far: registers, blocks, and what each variable stands for.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::ir::*;

use super::Error;
use super::cursor::{Cursor, shorten, unnamed};
use super::token::{Position, Token};

/// Reads one body.
pub(super) struct Body<'p, 't> {
    pub(super) cursor: Cursor<'t>,
    /// Declarations, and the heads of all functions.
    pub(super) program: &'p mut Program,
    pub(super) function: FunctionId,
    pub(super) registers: Vec<Register>,
    /// Blocks that are complete.
    pub(super) blocks: Vec<Option<Block>>,
    /// The block to which instructions are added; `None` behind a terminator.
    pub(super) open: Option<OpenBlock>,
    /// What the variables stand for here.
    pub(super) scope: Scope,
    /// The labelled blocks, with the widths of their parameters.
    pub(super) labels: FxHashMap<String, (BlockId, Vec<u8>)>,
    /// Where the statement that is being read is in the source.
    pub(super) location: Option<&'t str>,
    pub(super) nesting: usize,
    /// How many conditional statements there are so far.
    pub(super) conditionals: usize,
    /// Names that registers have.
    used: FxHashSet<String>,
    /// How many registers are called after each variable.
    counts: FxHashMap<String, u32>,
    /// Names that were given a value somewhere.
    pub(super) assigned: FxHashSet<String>,
    is_structured: bool,
}

pub(super) type Scope = BTreeMap<String, Operand>;

pub(super) struct OpenBlock {
    pub(super) id: BlockId,
    pub(super) label: Option<String>,
    pub(super) params: Vec<RegisterId>,
    pub(super) instructions: Vec<Instruction>,
}

impl<'p, 't> Body<'p, 't> {
    /// The cursor is behind the brace.
    pub(super) fn new(cursor: Cursor<'t>, program: &'p mut Program, function: FunctionId) -> Self {
        let head = program.function(function);
        let registers = head.registers.clone();
        let used = registers.iter().filter_map(|register| register.name.clone()).collect();
        let name = |index: usize| match &registers[index].name {
            Some(name) => name.clone(),
            None => unnamed(index as u32),
        };
        let scope = (0..registers.len())
            .map(|index| (name(index), Operand::Register(RegisterId::from(index))))
            .collect();
        Body {
            cursor,
            program,
            function,
            scope,
            registers,
            blocks: Vec::new(),
            open: None,
            labels: FxHashMap::default(),
            location: None,
            nesting: 0,
            conditionals: 0,
            used,
            counts: FxHashMap::default(),
            assigned: FxHashSet::default(),
            is_structured: false,
        }
    }

    /// Reads up to the brace that closes the body.
    pub(super) fn read(&mut self) -> Result<(), Error> {
        self.cursor.skip_breaks();
        if self.is_label() {
            self.labelled_blocks()
        } else {
            self.is_structured = true;
            self.structured()
        }
    }

    pub(super) fn finish(self) -> (Vec<Block>, Vec<Register>, bool) {
        let missing = || Block {
            label: None,
            params: Vec::new(),
            instructions: Vec::new(),
            terminator: Terminator { kind: TerminatorKind::Unreachable, location: None },
        };
        // Where both arms of a conditional return, nothing was put behind it.
        let blocks = self.blocks.into_iter().map(|block| block.unwrap_or_else(missing)).collect();
        (blocks, self.registers, self.is_structured)
    }

    pub(super) fn head(&self) -> &Function {
        self.program.function(self.function)
    }

    pub(super) fn width(&self, operand: Operand) -> u8 {
        match operand {
            Operand::Register(register) => self.registers[register.index()].width,
            Operand::Constant(constant) => constant.width,
            Operand::Global { .. } | Operand::Function(_) => ADDRESS_WIDTH,
        }
    }

    /// A new register.
    pub(super) fn register(&mut self, width: u8, name: Option<&str>) -> RegisterId {
        let name = name.map(|name| self.fresh_name(name));
        self.registers.push(Register { width, name });
        RegisterId::from(self.registers.len() - 1)
    }

    /// Gives an unnamed register the name, or one like it that is not yet taken.
    pub(super) fn set_name(&mut self, register: RegisterId, name: &str) {
        let fresh = self.fresh_name(name);
        self.registers[register.index()].name = Some(fresh);
    }

    fn fresh_name(&mut self, name: &str) -> String {
        let count = self.counts.entry(name.to_string()).or_default();
        loop {
            *count += 1;
            let fresh = if *count == 1 { name.to_string() } else { format!("{name}.{count}") };
            if self.used.insert(fresh.clone()) {
                return fresh;
            }
        }
    }

    /// Adds an instruction to the open block.
    pub(super) fn push(&mut self, op: Op, result: Option<RegisterId>) {
        let location = self.location_id();
        let open = self.open.as_mut().expect("statements are read only where a block is open");
        open.instructions.push(Instruction { op, result, location });
    }

    /// Adds an instruction with a result of so many bits.
    pub(super) fn emit(&mut self, op: Op, width: u8) -> Operand {
        let register = self.register(width, None);
        self.push(op, Some(register));
        Operand::Register(register)
    }

    /// Ends the open block.
    pub(super) fn terminate(&mut self, kind: TerminatorKind) {
        let location = self.location_id();
        let OpenBlock { id, label, params, instructions } =
            self.open.take().expect("terminators are read only where a block is open");
        let terminator = Terminator { kind, location };
        self.blocks[id.index()] = Some(Block { label, params, instructions, terminator });
    }

    /// A block that is to be filled later.
    pub(super) fn reserve(&mut self) -> BlockId {
        self.blocks.push(None);
        BlockId::from(self.blocks.len() - 1)
    }

    pub(super) fn begin(&mut self, id: BlockId, label: Option<String>, params: Vec<RegisterId>) {
        self.open = Some(OpenBlock { id, label, params, instructions: Vec::new() });
    }

    /// What a variable stands for.
    pub(super) fn variable(&self, name: &str, at: Position) -> Result<Operand, Error> {
        if let Some(operand) = self.scope.get(name) {
            return Ok(*operand);
        }
        let shown = shorten(name);
        let error = Error::new(at, format!("`{shown}` has no value here"));
        Err(if self.program.find_global(name).is_some() {
            error.hint(format!("`load {shown}` reads the variable, `&{shown}` is its address"))
        } else if self.assigned.contains(name) {
            error.hint("it is not assigned on every way to this place")
        } else {
            error
        })
    }

    /// Looks ahead for the location of the statement that is next: before the end of its line or
    /// the brace that it opens, unless that one belongs to a `switch`.
    pub(super) fn find_location(&mut self) {
        let is_switch = matches!(self.cursor.peek(), Token::Word(word) if word == "switch");
        let mut depth = 0;
        let mut ahead = 0;
        self.location = loop {
            match self.cursor.peek_at(ahead) {
                Token::Location(location) => break Some(location.as_str()),
                Token::Symbol("{") if is_switch => depth += 1,
                Token::Symbol("{") => match self.cursor.peek_at(ahead + 1) {
                    Token::Location(location) => break Some(location.as_str()),
                    _ => break None,
                },
                Token::Symbol("}") if depth > 0 => depth -= 1,
                Token::Break if depth > 0 => (),
                Token::Break | Token::End | Token::Symbol("}") => break None,
                _ => (),
            }
            ahead += 1;
        };
    }

    /// The location gets its id when the first instruction has it.
    fn location_id(&mut self) -> Option<LocationId> {
        self.location.map(|location| LocationId::from(self.program.locations.intern(location)))
    }

    /// Steps over the location, which [`find_location`](Self::find_location) has taken.
    pub(super) fn skip_location(&mut self) {
        if matches!(self.cursor.peek(), Token::Location(_)) {
            self.cursor.next();
        }
    }

    /// Counts one more level of what is nested, or says that it is too deep.
    pub(super) fn enter(&mut self) -> Result<(), Error> {
        self.nesting += 1;
        if self.nesting > super::MAX_NESTING {
            return Err(self.cursor.error(format!("nested more than {} deep", super::MAX_NESTING)));
        }
        Ok(())
    }

    pub(super) fn leave(&mut self) {
        self.nesting -= 1;
    }

    /// `return`, `exit` or `unreachable`, if it is next.
    pub(super) fn ending(&mut self) -> Result<Option<TerminatorKind>, Error> {
        let position = self.cursor.position();
        Ok(if self.cursor.eat_word("exit") {
            Some(TerminatorKind::Exit)
        } else if self.cursor.eat_word("threadexit") {
            let is_bare = matches!(
                self.cursor.peek(),
                Token::Break | Token::End | Token::Symbol("}") | Token::Location(_)
            );
            let value = if is_bare { None } else { Some(self.operand(ADDRESS_WIDTH)?) };
            Some(TerminatorKind::ThreadExit(value))
        } else if self.cursor.eat_word("unreachable") {
            Some(TerminatorKind::Unreachable)
        } else if self.cursor.eat_word("return") {
            let is_bare = matches!(
                self.cursor.peek(),
                Token::Break | Token::End | Token::Symbol("}") | Token::Location(_)
            );
            match self.head().result {
                None if is_bare => Some(TerminatorKind::Return(None)),
                None => {
                    return Err(self
                        .cursor
                        .error("the function has no result")
                        .hint("declare it: `func f() -> 32`"));
                }
                Some(width) if is_bare => {
                    return Err(Error::new(
                        position,
                        format!("the function has a result of {width} bits"),
                    ));
                }
                Some(width) => Some(TerminatorKind::Return(Some(self.operand(width)?))),
            }
        } else {
            None
        })
    }
}
