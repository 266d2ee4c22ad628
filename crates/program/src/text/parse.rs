//! Declarations, and the bodies of functions one after the other.
//!
//! **Computes.** The program that a text means. A first pass reads declarations and the heads of
//! functions, a second one the bodies, so that a function may call one that comes later.
//!
//! **Cost.** Linear in the text, but for looking up names among declarations.

use rustc_hash::FxHashSet;

use crate::ir::*;

use super::Error;
use super::body::Body;
use super::cursor::{Cursor, unnamed};
use super::token::{Position, Token, tokens};

/// What the first line may say.
pub(super) const HEADER: &str = "foretrace-program 1";
/// The size of a variable that is declared without one: that of C's `int`.
const DEFAULT_SIZE: u32 = 4;
/// The largest variable.
const MAX_SIZE: u64 = 1 << 30;

/// Parses a whole text.
pub(super) fn parse(text: &str) -> Result<Program, Error> {
    let tokens = tokens(text)?;
    let mut heads = Heads {
        cursor: Cursor::new(&tokens, 0),
        program: Program::default(),
        bodies: Vec::new(),
        threads: Vec::new(),
        names: FxHashSet::default(),
    };
    heads.all()?;
    let Heads { mut program, bodies, threads, .. } = heads;
    for start in threads {
        start.resolve(&mut program, &tokens)?;
    }
    for (function, place) in bodies {
        let mut body = Body::new(Cursor::new(&tokens, place), &mut program, function);
        body.read()?;
        let (blocks, registers, is_structured) = body.finish();
        let function = &mut program.functions[function.index()];
        function.blocks = blocks;
        function.registers = registers;
        if is_structured {
            function.canonicalise();
        }
    }
    Ok(program)
}

/// The first pass.
struct Heads<'t> {
    cursor: Cursor<'t>,
    program: Program,
    /// Where the body of a function begins, behind its brace.
    bodies: Vec<(FunctionId, usize)>,
    threads: Vec<Start>,
    /// What is declared, with its kind.
    names: FxHashSet<(&'static str, String)>,
}

/// `thread t = f(1, 2)`, whose function may come later.
struct Start {
    name: String,
    /// The token that names the function.
    place: usize,
    /// Whether the body follows.
    has_body: bool,
}

impl Start {
    fn resolve(self, program: &mut Program, tokens: &[(Token, Position)]) -> Result<(), Error> {
        let mut cursor = Cursor::new(tokens, self.place);
        let position = cursor.position();
        let called = cursor.name("the name of a function")?;
        let function = program.find_function(called);
        let function = function
            .ok_or_else(|| Error::new(position, format!("there is no function `{called}`")))?;
        let head = program.function(function);
        let widths: Vec<u8> = head.params.iter().map(|&param| head.width(param)).collect();
        let args = if cursor.is_symbol("(") {
            cursor.list(|cursor, index| {
                let width = widths.get(index).copied().unwrap_or(MAX_WIDTH);
                signed_number(cursor, "an argument, which is a number", width)
            })?
        } else {
            Vec::new()
        };
        if args.len() != widths.len() {
            let message = format!(
                "`{called}` has {} parameters, here are {} arguments",
                widths.len(),
                args.len()
            );
            return Err(Error::new(position, message));
        }
        if !self.has_body {
            cursor.expect_break()?;
        }
        program.threads.push(Thread { name: self.name, function, args });
        Ok(())
    }
}

impl Heads<'_> {
    fn all(&mut self) -> Result<(), Error> {
        self.cursor.skip_breaks();
        let position = self.cursor.position();
        // Names have no dashes, so the header is four tokens.
        if self.cursor.eat_word("foretrace") {
            let is_known = self.cursor.eat("-")
                && self.cursor.eat_word("program")
                && self.cursor.number("").ok() == Some(1);
            if !is_known {
                return Err(Error::new(
                    position,
                    format!("the header is `{HEADER}`, no other version is known"),
                ));
            }
            self.cursor.expect_break()?;
        }
        self.declarations()
    }

    fn declarations(&mut self) -> Result<(), Error> {
        loop {
            self.cursor.skip_breaks();
            if *self.cursor.peek() == Token::End {
                return Ok(());
            }
            self.declaration()?;
            self.cursor.expect_break()?;
        }
    }

    fn declaration(&mut self) -> Result<(), Error> {
        let what =
            "a declaration: `global`, `lock`, `cond`, `semaphore`, `barrier`, `func` or `thread`";
        let Token::Word(word) = self.cursor.peek() else { return Err(self.cursor.expected(what)) };
        match word.as_str() {
            "global" => self.global(),
            "lock" => {
                let name = self.declare("lock")?;
                let recursive = self.cursor.eat_word("recursive");
                if !recursive {
                    self.cursor.eat_word("plain");
                }
                self.program.locks.push(Lock { name, recursive });
                Ok(())
            }
            "cond" => {
                let name = self.declare("cond")?;
                self.program.conds.push(name);
                Ok(())
            }
            "semaphore" => {
                let name = self.declare("semaphore")?;
                let count = match self.cursor.eat("=") {
                    true => self.cursor.bounded("the count", 0, u32::MAX.into())? as u32,
                    false => 0,
                };
                self.program.semaphores.push(Semaphore { name, count });
                Ok(())
            }
            "barrier" => {
                let name = self.declare("barrier")?;
                self.cursor.expect("=")?;
                let parties =
                    self.cursor.bounded("the number of parties", 1, u32::MAX.into())? as u32;
                self.program.barriers.push(Barrier { name, parties });
                Ok(())
            }
            "func" => self.function(),
            "thread" => self.thread(),
            _ => Err(self.cursor.expected(what)),
        }
    }

    /// Steps over the keyword and takes a name that is new among its kind.
    fn declare(&mut self, kind: &'static str) -> Result<String, Error> {
        self.cursor.next();
        let position = self.cursor.position();
        let name = self.cursor.name("a name")?.to_string();
        self.add_name(kind, &name, position)?;
        Ok(name)
    }

    fn add_name(
        &mut self,
        kind: &'static str,
        name: &str,
        position: Position,
    ) -> Result<(), Error> {
        if self.names.insert((kind, name.to_string())) {
            return Ok(());
        }
        Err(Error::new(position, format!("`{name}` is declared a second time")))
    }

    fn global(&mut self) -> Result<(), Error> {
        let name = self.declare("address")?;
        let size = match self.cursor.eat(":") {
            true => self.cursor.bounded("the size in bytes", 1, MAX_SIZE)? as u32,
            false => DEFAULT_SIZE,
        };
        let mut initial = Vec::new();
        if self.cursor.eat("=") {
            let position = self.cursor.position();
            if self.cursor.eat("[") {
                loop {
                    initial.push(self.cursor.bounded("a byte", 0, 255)? as u8);
                    if !self.cursor.eat(",") {
                        break;
                    }
                }
                self.cursor.expect("]")?;
            } else {
                let width = size.min(8) as u8 * 8;
                let value = signed_number(&mut self.cursor, "the initial value", width)?;
                initial = value.to_le_bytes()[..usize::from(width / 8)].to_vec();
            }
            if initial.len() > size as usize {
                return Err(Error::new(position, format!("`{name}` has only {size} bytes")));
            }
            while initial.last() == Some(&0) {
                initial.pop();
            }
        }
        self.program.globals.push(Global { name, size, initial });
        Ok(())
    }

    fn function(&mut self) -> Result<(), Error> {
        let name = self.declare("address")?;
        let params = self.cursor.list(|cursor, index| {
            let position = cursor.position();
            let named = cursor.name_or_number("the name of a parameter")?;
            if named.name.is_none() && named.key != unnamed(index as u32) {
                let message = format!("without a name, this parameter is `%{index}`");
                return Err(Error::new(position, message));
            }
            let name = named.name.map(str::to_string);
            Ok((position, Register { width: width(cursor)?, name }))
        })?;
        let mut seen = FxHashSet::default();
        for (position, Register { name, .. }) in &params {
            if name.is_some() && !seen.insert(name) {
                return Err(Error::new(*position, "two parameters have the same name"));
            }
        }
        let result = match self.cursor.eat("->") {
            true => {
                Some(self.cursor.bounded("the width of the result", 1, MAX_WIDTH.into())? as u8)
            }
            false => None,
        };
        let registers: Vec<Register> = params.into_iter().map(|(_, register)| register).collect();
        self.body(name, registers, result)
    }

    fn thread(&mut self) -> Result<(), Error> {
        let name = self.declare("thread")?;
        let position = self.cursor.position();
        if self.cursor.eat("=") {
            self.threads.push(Start { name, place: self.cursor.place(), has_body: false });
            while !matches!(self.cursor.peek(), Token::Break | Token::End) {
                self.cursor.next();
            }
            return Ok(());
        }
        self.add_name("address", &name, position)?;
        if !self.cursor.is_symbol("{") {
            return Err(self.cursor.expected("`{` or `=`"));
        }
        // The name is where the function of the thread is to be looked up, too.
        self.threads.push(Start {
            name: name.clone(),
            place: self.cursor.place() - 1,
            has_body: true,
        });
        self.body(name, Vec::new(), None)
    }

    /// Remembers where the body is and steps over it.
    fn body(
        &mut self,
        name: String,
        registers: Vec<Register>,
        result: Option<u8>,
    ) -> Result<(), Error> {
        let opening = self.cursor.position();
        self.cursor.expect("{")?;
        let function = FunctionId::from(self.program.functions.len());
        self.bodies.push((function, self.cursor.place()));
        let params = (0..registers.len()).map(RegisterId::from).collect();
        self.program.functions.push(Function {
            name,
            params,
            result,
            registers,
            blocks: Vec::new(),
        });
        let mut depth = 1;
        let mut in_location = false;
        while depth > 0 {
            match self.cursor.next() {
                Token::Symbol("{") => depth += 1,
                Token::Symbol("}") => depth -= 1,
                Token::Location(location) => in_location |= location.ends_with('}'),
                Token::End => {
                    let error = Error::new(opening, "this brace is not closed");
                    let hint = "a location without quotes reaches to the end of its line";
                    return Err(if in_location { error.hint(hint) } else { error });
                }
                _ => (),
            }
        }
        Ok(())
    }
}

/// `: 32`, 32 if it is missing.
pub(super) fn width(cursor: &mut Cursor) -> Result<u8, Error> {
    match cursor.eat(":") {
        true => Ok(cursor.bounded("the width in bits", 1, MAX_WIDTH.into())? as u8),
        false => Ok(super::expression::DEFAULT_WIDTH),
    }
}

/// A number, perhaps with a minus, in two's complement.
pub(super) fn signed_number(cursor: &mut Cursor, what: &str, width: u8) -> Result<u64, Error> {
    let position = cursor.position();
    let negative = cursor.eat("-");
    let magnitude = cursor.number(what)?;
    in_width(negative, magnitude, width)
        .ok_or_else(|| too_wide(position, negative, magnitude, width))
}

/// The number in so many bits, if it has a place there, as signed or as unsigned.
pub(super) fn in_width(negative: bool, magnitude: u64, width: u8) -> Option<u64> {
    if negative {
        (magnitude <= 1 << (width - 1)).then(|| cut(magnitude.wrapping_neg(), width))
    } else {
        fits(magnitude, width).then_some(magnitude)
    }
}

pub(super) fn too_wide(position: Position, negative: bool, magnitude: u64, width: u8) -> Error {
    let sign = if negative { "-" } else { "" };
    Error::new(position, format!("`{sign}{magnitude}` does not fit in {width} bits"))
}
