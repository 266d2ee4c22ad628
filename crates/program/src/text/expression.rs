//! Expressions, with C's precedence.
//!
//! **Computes.** The operand that an expression is worth, and the instructions that compute it, in
//! the order of the text.
//!
//! **Invariant.** A number gets its width from the other operand, else from where the expression
//! stands, else it has [`DEFAULT_WIDTH`] bits. An expression that is one operation becomes one
//! instruction, and one that is one operand becomes none.

use foretrace_trace::MemoryOrder;

use crate::ir::*;

use super::Error;
use super::body::Body;
use super::cursor::unnamed;
use super::parse::{in_width, too_wide};
use super::token::{Position, Token};

/// The width of a number that nothing else determines: that of C's `int`.
pub(super) const DEFAULT_WIDTH: u8 = 32;

/// What an operator does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Meaning {
    Op(BinaryOp),
    /// With its operands swapped.
    Swapped(BinaryOp),
    LogicAnd,
    LogicOr,
}

/// An operator's text, how tightly it binds, and what it does.
pub(super) const OPERATORS: [(&str, u8, Meaning); 25] = {
    use BinaryOp::*;
    use Meaning::{LogicAnd, LogicOr, Op, Swapped};
    [
        ("||", 1, LogicOr),
        ("&&", 2, LogicAnd),
        ("|", 3, Op(Or)),
        ("^", 4, Op(Xor)),
        ("&", 5, Op(And)),
        ("==", 6, Op(Eq)),
        ("!=", 6, Op(Ne)),
        ("<", 7, Op(Slt)),
        ("<=", 7, Op(Sle)),
        (">", 7, Swapped(Slt)),
        (">=", 7, Swapped(Sle)),
        ("<u", 7, Op(Ult)),
        ("<=u", 7, Op(Ule)),
        (">u", 7, Swapped(Ult)),
        (">=u", 7, Swapped(Ule)),
        ("<<", 8, Op(Shl)),
        (">>", 8, Op(AShr)),
        (">>u", 8, Op(LShr)),
        ("+", 9, Op(Add)),
        ("-", 9, Op(Sub)),
        ("*", 10, Op(Mul)),
        ("/", 10, Op(SDiv)),
        ("/u", 10, Op(UDiv)),
        ("%", 10, Op(SRem)),
        ("%u", 10, Op(URem)),
    ]
};
/// What was read: an operand, or a number whose width is not yet known.
#[derive(Clone, Copy)]
enum Value {
    Operand(Operand),
    Number { negative: bool, magnitude: u64, at: Position },
}

impl Body<'_, '_> {
    /// An expression of so many bits.
    pub(super) fn operand(&mut self, width: u8) -> Result<Operand, Error> {
        let position = self.cursor.position();
        let value = self.choice(Some(width))?;
        let operand = self.fix(value, width)?;
        self.expect_width(operand, width, position)
    }

    /// An expression of any width.
    pub(super) fn operand_of_any_width(&mut self) -> Result<Operand, Error> {
        let value = self.choice(None)?;
        self.fix(value, DEFAULT_WIDTH)
    }

    /// An expression of so many bits that ends before the next operator of two operands.
    pub(super) fn tight_operand(&mut self, width: u8) -> Result<Operand, Error> {
        let position = self.cursor.position();
        let value = self.unary(Some(width))?;
        let operand = self.fix(value, width)?;
        self.expect_width(operand, width, position)
    }

    /// An expression that is true or false, in one bit.
    pub(super) fn condition(&mut self) -> Result<Operand, Error> {
        let value = self.choice(None)?;
        Ok(self.truth(value))
    }

    /// `(a, b)`, of these widths; of any width beyond them. If there is no parenthesis, and it may
    /// be missing, none.
    pub(super) fn arguments(
        &mut self,
        widths: &[u8],
        may_be_missing: bool,
    ) -> Result<Vec<Operand>, Error> {
        let mut list = Vec::new();
        if may_be_missing && !self.cursor.is_symbol("(") {
            return Ok(list);
        }
        self.cursor.expect("(")?;
        if self.cursor.eat(")") {
            return Ok(list);
        }
        loop {
            list.push(match widths.get(list.len()) {
                Some(&width) => self.operand(width)?,
                None => self.operand_of_any_width()?,
            });
            if self.cursor.eat(")") {
                return Ok(list);
            }
            if !self.cursor.eat(",") {
                return Err(self.cursor.expected("`,` or `)`"));
            }
        }
    }

    /// A place in memory: `x`, `x[4:2]`, or an expression for the address if a size is given.
    pub(super) fn place(
        &mut self,
        size: Option<u8>,
        is_tight: bool,
    ) -> Result<(Operand, u8), Error> {
        if let Some(size) = size {
            let address = if is_tight {
                self.tight_operand(ADDRESS_WIDTH)?
            } else {
                self.operand(ADDRESS_WIDTH)?
            };
            return Ok((address, size));
        }
        let position = self.cursor.position();
        let name = self.cursor.name("the name of a global variable")?;
        let Some(global) = self.program.find_global(name) else {
            let error = Error::new(position, format!("there is no global variable `{name}`"));
            let is_value = self.scope.contains_key(name);
            return Err(if is_value {
                error.hint("an address needs a size: `load.4 p`")
            } else {
                error
            });
        };
        let whole = self.program.global(global).size;
        if self.cursor.eat("[") {
            let offset = self.cursor.number("an offset")?;
            self.cursor.expect(":")?;
            let size = self.cursor.bounded("the size in bytes", 1, 8)? as u8;
            self.cursor.expect("]")?;
            return Ok((Operand::Global { global, offset }, size));
        }
        if whole > 8 {
            let error =
                Error::new(position, format!("`{name}` has {whole} bytes, an access at most 8"));
            return Err(error.hint(format!("say which: `{name}[0:4]` are the first four")));
        }
        Ok((Operand::Global { global, offset: 0 }, whole as u8))
    }

    /// `plain`, or `atomic` and perhaps an order.
    pub(super) fn order(&mut self, default: MemoryOrder) -> MemoryOrder {
        if self.cursor.eat_word("plain") {
            return MemoryOrder::Plain;
        }
        if !self.cursor.eat_word("atomic") {
            return default;
        }
        self.order_word().unwrap_or(MemoryOrder::SeqCst)
    }

    /// The name of an order, if it is next.
    pub(super) fn order_word(&mut self) -> Option<MemoryOrder> {
        ORDERS.iter().find(|(word, _)| self.cursor.eat_word(word)).map(|(_, order)| *order)
    }

    /// `c ? a : b`, or less.
    fn choice(&mut self, expected: Option<u8>) -> Result<Value, Error> {
        self.enter()?;
        let first = self.operators(1, expected)?;
        let position = self.cursor.position();
        let value = if self.cursor.eat("?") {
            let condition = self.truth(first);
            let then = self.choice(expected)?;
            self.cursor.expect(":")?;
            let otherwise = self.choice(expected)?;
            let (then, otherwise) = self.alike(then, otherwise, expected, position)?;
            let width = self.width(then);
            Value::Operand(self.emit(Op::Select { condition, then, otherwise }, width))
        } else {
            first
        };
        self.leave();
        Ok(value)
    }

    /// Operators that bind at least as tightly as `least`.
    fn operators(&mut self, least: u8, expected: Option<u8>) -> Result<Value, Error> {
        let mut left = self.unary(expected)?;
        loop {
            let Token::Symbol(symbol) = self.cursor.peek() else { return Ok(left) };
            let found = OPERATORS.iter().find(|(text, ..)| text == symbol);
            let Some(&(_, level, meaning)) = found else {
                return Ok(left);
            };
            if level < least {
                return Ok(left);
            }
            let position = self.cursor.position();
            self.cursor.next();
            let right = self.operators(level + 1, expected)?;
            left = Value::Operand(self.binary(meaning, left, right, expected, position)?);
        }
    }

    fn binary(
        &mut self,
        meaning: Meaning,
        left: Value,
        right: Value,
        expected: Option<u8>,
        at: Position,
    ) -> Result<Operand, Error> {
        let (op, left, right) = match meaning {
            Meaning::LogicAnd => (BinaryOp::And, self.truth(left), self.truth(right)),
            Meaning::LogicOr => (BinaryOp::Or, self.truth(left), self.truth(right)),
            Meaning::Op(op) => {
                let (left, right) = self.alike(left, right, expected, at)?;
                (op, left, right)
            }
            Meaning::Swapped(op) => {
                let (left, right) = self.alike(left, right, expected, at)?;
                (op, right, left)
            }
        };
        let width = if op.is_comparison() { 1 } else { self.width(left) };
        Ok(self.emit(Op::Binary { op, left, right }, width))
    }

    fn unary(&mut self, expected: Option<u8>) -> Result<Value, Error> {
        self.enter()?;
        let at = self.cursor.position();
        let value = if self.cursor.eat("-") {
            if let Token::Number(magnitude) = *self.cursor.peek() {
                self.cursor.next();
                Value::Number { negative: true, magnitude, at }
            } else {
                let value = self.unary(expected)?;
                let right = self.fix(value, expected.unwrap_or(DEFAULT_WIDTH))?;
                let width = self.width(right);
                let left = Operand::constant(0, width);
                Value::Operand(self.emit(Op::Binary { op: BinaryOp::Sub, left, right }, width))
            }
        } else if self.cursor.eat("~") {
            let value = self.unary(expected)?;
            let left = self.fix(value, expected.unwrap_or(DEFAULT_WIDTH))?;
            let width = self.width(left);
            let right = Operand::constant(u64::MAX, width);
            Value::Operand(self.emit(Op::Binary { op: BinaryOp::Xor, left, right }, width))
        } else if self.cursor.eat("!") {
            let value = self.unary(None)?;
            let left = self.fix(value, DEFAULT_WIDTH)?;
            let right = Operand::constant(0, self.width(left));
            Value::Operand(self.emit(Op::Binary { op: BinaryOp::Eq, left, right }, 1))
        } else if self.cursor.eat("&") {
            Value::Operand(self.address()?)
        } else {
            self.primary(expected)?
        };
        self.leave();
        Ok(value)
    }

    /// What follows `&`: a global variable, perhaps with an offset, or a function.
    fn address(&mut self) -> Result<Operand, Error> {
        let position = self.cursor.position();
        let name = self.cursor.name("the name of a global variable or function")?;
        if let Some(global) = self.program.find_global(name) {
            let mut offset = 0;
            if self.cursor.eat("[") {
                offset = self.cursor.number("an offset")?;
                self.cursor.expect("]")?;
            }
            return Ok(Operand::Global { global, offset });
        }
        let function = self.program.find_function(name);
        let error =
            || Error::new(position, format!("there is no global variable or function `{name}`"));
        Ok(Operand::Function(function.ok_or_else(error)?))
    }

    fn primary(&mut self, expected: Option<u8>) -> Result<Value, Error> {
        let at = self.cursor.position();
        match self.cursor.peek() {
            Token::Number(magnitude) => {
                self.cursor.next();
                Ok(Value::Number { negative: false, magnitude: *magnitude, at })
            }
            Token::Unnamed(number) => {
                self.cursor.next();
                Ok(Value::Operand(self.variable(&unnamed(*number), at)?))
            }
            Token::Quoted(name) => {
                self.cursor.next();
                Ok(Value::Operand(self.variable(name, at)?))
            }
            Token::Symbol("(") => {
                self.cursor.next();
                let value = self.choice(expected)?;
                self.cursor.expect(")")?;
                Ok(value)
            }
            Token::Word(word) => {
                if *self.cursor.peek_at(1) == Token::Symbol("(")
                    && let Some((is_signed, width)) = cast_word(word)
                {
                    self.cursor.next();
                    return self.cast(is_signed, width, at);
                }
                self.cursor.next();
                match word.as_str() {
                    "true" => Ok(Value::Operand(Operand::constant(1, 1))),
                    "false" => Ok(Value::Operand(Operand::constant(0, 1))),
                    _ => match sized(word, "load") {
                        Some(size) => self.load(size, at),
                        None => Ok(Value::Operand(self.variable(word, at)?)),
                    },
                }
            }
            _ => Err(self.cursor.expected("an expression")),
        }
    }

    fn load(&mut self, size: Option<u64>, at: Position) -> Result<Value, Error> {
        let size = checked_size(size, at)?;
        let order = self.order(MemoryOrder::Plain);
        let (address, size) = self.place(size, true)?;
        Ok(Value::Operand(self.emit(Op::Load { address, size, order }, size * 8)))
    }

    /// `(x)` behind `u8` or `i64`.
    fn cast(&mut self, is_signed: bool, width: u64, at: Position) -> Result<Value, Error> {
        let width = u8::try_from(width).ok().filter(|width| (1..=MAX_WIDTH).contains(width));
        let width = width.ok_or_else(|| Error::new(at, "a value has 1 to 64 bits"))?;
        self.cursor.expect("(")?;
        let inner = self.choice(None)?;
        self.cursor.expect(")")?;
        let value = match inner {
            Value::Number { .. } => return Ok(Value::Operand(self.fix(inner, width)?)),
            Value::Operand(operand) => operand,
        };
        let cast = match (width.cmp(&self.width(value)), is_signed) {
            (std::cmp::Ordering::Equal, _) => return Ok(Value::Operand(value)),
            (std::cmp::Ordering::Less, _) => Cast::Truncate,
            (_, false) => Cast::ZeroExtend,
            (_, true) => Cast::SignExtend,
        };
        Ok(Value::Operand(self.emit(Op::Cast { cast, value }, width)))
    }

    /// The two as operands of one width.
    fn alike(
        &mut self,
        left: Value,
        right: Value,
        expected: Option<u8>,
        at: Position,
    ) -> Result<(Operand, Operand), Error> {
        let width = match (left, right) {
            (Value::Operand(operand), _) | (_, Value::Operand(operand)) => self.width(operand),
            _ => expected.unwrap_or(DEFAULT_WIDTH),
        };
        let (left, right) = (self.fix(left, width)?, self.fix(right, width)?);
        let (first, second) = (self.width(left), self.width(right));
        if first != second {
            let error = Error::new(at, format!("operands of {first} and {second} bits"));
            let wider = first.max(second);
            return Err(
                error.hint(format!("`u{wider}(…)` extends by zeros, `i{wider}(…)` by the sign"))
            );
        }
        Ok((left, right))
    }

    /// A number gets this width; an operand keeps its own.
    fn fix(&mut self, value: Value, width: u8) -> Result<Operand, Error> {
        match value {
            Value::Operand(operand) => Ok(operand),
            Value::Number { negative, magnitude, at } => in_width(negative, magnitude, width)
                .map(|value| Operand::constant(value, width))
                .ok_or_else(|| too_wide(at, negative, magnitude, width)),
        }
    }

    /// One bit: whether it is not 0.
    fn truth(&mut self, value: Value) -> Operand {
        match value {
            Value::Number { magnitude, .. } => Operand::constant(u64::from(magnitude != 0), 1),
            Value::Operand(operand) if self.width(operand) == 1 => operand,
            Value::Operand(left) => {
                let right = Operand::constant(0, self.width(left));
                self.emit(Op::Binary { op: BinaryOp::Ne, left, right }, 1)
            }
        }
    }

    fn expect_width(&self, operand: Operand, width: u8, at: Position) -> Result<Operand, Error> {
        let found = self.width(operand);
        if found == width {
            return Ok(operand);
        }
        let error =
            Error::new(at, format!("expected a value of {width} bits, but this one has {found}"));
        Err(error.hint(if found > width {
            format!("`u{width}(…)` cuts it")
        } else {
            format!("`u{width}(…)` extends it by zeros, `i{width}(…)` by the sign")
        }))
    }
}

/// The orders of atomic accesses.
pub(super) const ORDERS: [(&str, MemoryOrder); 5] = [
    ("relaxed", MemoryOrder::Relaxed),
    ("acquire", MemoryOrder::Acquire),
    ("release", MemoryOrder::Release),
    ("acq_rel", MemoryOrder::AcqRel),
    ("seq_cst", MemoryOrder::SeqCst),
];

/// `u8` or `i64`: whether it extends by the sign, and the width.
fn cast_word(word: &str) -> Option<(bool, u64)> {
    let is_signed = word.starts_with('i');
    let digits = word.strip_prefix(['u', 'i'])?;
    let is_number = digits.bytes().all(|digit| digit.is_ascii_digit());
    // A number too large to be one is no width either.
    is_number.then(|| digits.parse().ok()).flatten().map(|width| (is_signed, width))
}

/// If `word` is the keyword: the size behind its dot, as in `load.4`.
pub(super) fn sized(word: &str, keyword: &str) -> Option<Option<u64>> {
    let rest = word.strip_prefix(keyword)?;
    match rest.strip_prefix('.') {
        Some(digits) => Some(Some(digits.parse().unwrap_or(0))),
        None => rest.is_empty().then_some(None),
    }
}

/// The size behind a dot, 1 to 8 bytes.
pub(super) fn checked_size(size: Option<u64>, at: Position) -> Result<Option<u8>, Error> {
    match size {
        None => Ok(None),
        Some(size @ 1..=8) => Ok(Some(size as u8)),
        Some(_) => Err(Error::new(at, "an access has 1 to 8 bytes").hint("such as `load.4 p`")),
    }
}
