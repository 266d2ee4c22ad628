//! Bodies of labelled blocks.
//!
//! Labels are found before anything is read, so that a jump may go to a block that comes later.
//! Registers must be defined above their uses.

use crate::ir::*;

use super::Error;
use super::body::Body;
use super::cursor::Named;
use super::names::is_keyword;
use super::parse::{signed_number, width};
use super::token::Token;

/// The head of a block.
struct Label<'t> {
    named: Named<'t>,
    /// With their widths.
    params: Vec<(Named<'t>, u8)>,
}

impl<'t> Body<'_, 't> {
    /// Whether a label is next: a name and a colon, or a name that is no keyword and a parenthesis.
    pub(super) fn is_label(&self) -> bool {
        match (self.cursor.peek(), self.cursor.peek_at(1)) {
            (Token::Word(_) | Token::Quoted(_) | Token::Unnamed(_), Token::Symbol(":")) => true,
            (Token::Word(word), Token::Symbol("(")) => !is_keyword(word),
            (Token::Quoted(_) | Token::Unnamed(_), Token::Symbol("(")) => true,
            _ => false,
        }
    }

    pub(super) fn labelled_blocks(&mut self) -> Result<(), Error> {
        self.find_labels()?;
        while !self.cursor.eat("}") {
            let Label { named: label, params } = self.label()?;
            let id = self.labels[&label.key].0;
            let mut registers = Vec::new();
            for (named, width) in params {
                let register = self.register(width, named.name);
                self.define(named.key, Operand::Register(register))?;
                registers.push(register);
            }
            self.begin(id, label.name.map(str::to_string), registers);
            self.cursor.skip_breaks();
            while self.open.is_some() {
                self.find_location();
                match self.terminator()? {
                    Some(kind) => self.terminate(kind),
                    None if self.cursor.is_symbol("}") || self.is_label() => {
                        let what = "how the block ends: `jump`, `branch`, `switch`, `return`, `exit` or `unreachable`";
                        return Err(self.cursor.expected(what));
                    }
                    None => self.statement()?,
                }
                self.skip_location();
                self.cursor.expect_break()?;
                self.cursor.skip_breaks();
            }
        }
        Ok(())
    }

    /// A new name for a value; names are given once.
    pub(super) fn define(&mut self, name: String, operand: Operand) -> Result<(), Error> {
        match self.scope.insert(name.clone(), operand) {
            None => Ok(()),
            Some(_) => Err(self
                .cursor
                .error(format!("`{name}` is defined a second time in this function"))),
        }
    }

    /// Reads every label of the body, and returns to its start.
    fn find_labels(&mut self) -> Result<(), Error> {
        let start = self.cursor.place();
        let mut depth = 1;
        let mut starts_statement = true;
        while depth > 0 {
            if starts_statement && depth == 1 && self.is_label() {
                let position = self.cursor.position();
                let Label { named: Named { key: label, .. }, params } = self.label()?;
                let id = self.reserve();
                let widths = params.into_iter().map(|(_, width)| width).collect();
                if self.labels.insert(label.clone(), (id, widths)).is_some() {
                    return Err(Error::new(position, format!("there is a second block `{label}`")));
                }
                continue;
            }
            let token = self.cursor.next();
            starts_statement = *token == Token::Break;
            match token {
                Token::Symbol("{") => depth += 1,
                Token::Symbol("}") => depth -= 1,
                Token::End => return Err(self.cursor.expected("`}`")),
                _ => (),
            }
        }
        self.cursor.rewind(start);
        Ok(())
    }

    /// `name:` or `name(a: 32, %3: 8):`
    fn label(&mut self) -> Result<Label<'t>, Error> {
        let named = self.cursor.name_or_number("a label, such as `entry:`")?;
        let mut params = Vec::new();
        if self.cursor.is_symbol("(") {
            params = self.cursor.list(|cursor, _| {
                Ok((cursor.name_or_number("the name of a parameter")?, width(cursor)?))
            })?;
        }
        let has_colon = self.cursor.expect(":");
        has_colon.map_err(|error| {
            error.hint("this is read as a label; a call is written `call f(…)`")
        })?;
        Ok(Label { named, params })
    }

    /// How a block ends, if that is next.
    fn terminator(&mut self) -> Result<Option<TerminatorKind>, Error> {
        if self.is_assignment() {
            return Ok(None);
        }
        if self.cursor.eat_word("jump") {
            return Ok(Some(TerminatorKind::Jump(self.target()?)));
        }
        if self.cursor.eat_word("branch") {
            let condition = self.condition()?;
            self.cursor.expect(",")?;
            let then = self.target()?;
            self.cursor.expect(",")?;
            let otherwise = self.target()?;
            return Ok(Some(TerminatorKind::Branch { condition, then, otherwise }));
        }
        if self.cursor.eat_word("switch") {
            return self.switch().map(Some);
        }
        self.ending()
    }

    /// `v { 0: a, 1: b(x), else: c }`
    fn switch(&mut self) -> Result<TerminatorKind, Error> {
        let value = self.operand_of_any_width()?;
        let width = self.width(value);
        let mut cases = Vec::new();
        self.cursor.expect("{")?;
        self.cursor.skip_breaks();
        while !self.cursor.eat_word("else") {
            let case = signed_number(&mut self.cursor, "a number or `else`", width)?;
            self.cursor.expect(":")?;
            cases.push((case, self.target()?));
            self.cursor.eat(",");
            self.cursor.skip_breaks();
        }
        self.cursor.expect(":")?;
        let default = self.target()?;
        self.cursor.eat(",");
        self.cursor.skip_breaks();
        self.cursor.expect("}")?;
        Ok(TerminatorKind::Switch { value, cases, default })
    }

    fn target(&mut self) -> Result<Target, Error> {
        let position = self.cursor.position();
        let label = self.cursor.name_or_number("the label of a block")?.key;
        let Some((block, widths)) = self.labels.get(&label).cloned() else {
            return Err(Error::new(position, format!("there is no block `{label}`")));
        };
        let args = self.arguments(&widths, true)?;
        if args.len() != widths.len() {
            let message = format!(
                "block `{label}` has {} parameters, here are {} arguments",
                widths.len(),
                args.len()
            );
            return Err(Error::new(position, message));
        }
        Ok(Target { block, args })
    }
}
