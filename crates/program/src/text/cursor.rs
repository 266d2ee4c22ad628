//! The token that is next, and what was expected instead.

use super::Error;
use super::token::{Position, Token};

/// A place in a list of tokens.
pub(super) struct Cursor<'t> {
    tokens: &'t [(Token, Position)],
    at: usize,
}

impl<'t> Cursor<'t> {
    /// The list ends with [`Token::End`].
    pub(super) fn new(tokens: &'t [(Token, Position)], at: usize) -> Cursor<'t> {
        Cursor { tokens, at }
    }

    /// The number of tokens before the next.
    pub(super) fn place(&self) -> usize {
        self.at
    }

    /// Goes back to a [`place`](Self::place).
    pub(super) fn rewind(&mut self, place: usize) {
        self.at = place;
    }

    pub(super) fn position(&self) -> Position {
        self.tokens[self.at].1
    }

    pub(super) fn peek(&self) -> &'t Token {
        &self.tokens[self.at].0
    }

    /// The token that is `ahead` places behind the next one.
    pub(super) fn peek_at(&self, ahead: usize) -> &'t Token {
        &self.tokens[(self.at + ahead).min(self.tokens.len() - 1)].0
    }

    pub(super) fn next(&mut self) -> &'t Token {
        let token = self.peek();
        if *token != Token::End {
            self.at += 1;
        }
        token
    }

    pub(super) fn error(&self, message: impl Into<String>) -> Error {
        Error::new(self.position(), message)
    }

    /// The error that the next token is not what was expected.
    pub(super) fn expected(&self, what: &str) -> Error {
        let found = match self.peek() {
            Token::Word(word) => format!("found `{}`", shorten(word)),
            Token::Quoted(name) => format!("found the name \"{}\"", shorten(name)),
            Token::Unnamed(number) => format!("found `%{number}`"),
            Token::Number(number) => format!("found `{number}`"),
            Token::Symbol(symbol) => format!("found `{symbol}`"),
            Token::Location(_) => "found a location".to_string(),
            Token::Break => "the line ends".to_string(),
            Token::End => "the text ends".to_string(),
        };
        self.error(format!("expected {what}, but {found}"))
    }

    pub(super) fn is_symbol(&self, symbol: &str) -> bool {
        matches!(self.peek(), Token::Symbol(next) if *next == symbol)
    }

    pub(super) fn eat(&mut self, symbol: &str) -> bool {
        let found = self.is_symbol(symbol);
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, symbol: &str) -> Result<(), Error> {
        if self.eat(symbol) { Ok(()) } else { Err(self.expected(&format!("`{symbol}`"))) }
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Word(next) if next == word);
        self.at += usize::from(found);
        found
    }

    /// A name, with or without quotes.
    pub(super) fn name(&mut self, what: &str) -> Result<&'t str, Error> {
        match self.peek() {
            Token::Word(name) | Token::Quoted(name) => {
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.expected(what)),
        }
    }

    /// A name, or `%7` for what has none.
    pub(super) fn name_or_number(&mut self, what: &str) -> Result<Named<'t>, Error> {
        match self.peek() {
            Token::Unnamed(number) => {
                self.at += 1;
                Ok(Named { key: unnamed(*number), name: None })
            }
            _ => self.name(what).map(|name| Named { key: name.to_string(), name: Some(name) }),
        }
    }

    pub(super) fn number(&mut self, what: &str) -> Result<u64, Error> {
        match self.peek() {
            Token::Number(number) => {
                self.at += 1;
                Ok(*number)
            }
            _ => Err(self.expected(what)),
        }
    }

    /// A number from `least` to `most`.
    pub(super) fn bounded(&mut self, what: &str, least: u64, most: u64) -> Result<u64, Error> {
        let position = self.position();
        let number = self.number(what)?;
        if (least..=most).contains(&number) {
            Ok(number)
        } else {
            Err(Error::new(position, format!("{what} is between {least} and {most}")))
        }
    }

    pub(super) fn skip_breaks(&mut self) {
        while *self.peek() == Token::Break {
            self.at += 1;
        }
    }

    /// The end of a statement: a line break, or a brace that closes what it is in.
    pub(super) fn expect_break(&mut self) -> Result<(), Error> {
        match self.peek() {
            Token::Break => {
                self.at += 1;
                Ok(())
            }
            Token::End | Token::Symbol("}") => Ok(()),
            _ => Err(self.expected("the end of the line")),
        }
    }

    /// `(a, b, …)`, each read by `item`, which is told how many came before.
    pub(super) fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self, usize) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let mut list = Vec::new();
        self.expect("(")?;
        if self.eat(")") {
            return Ok(list);
        }
        loop {
            list.push(item(self, list.len())?);
            if self.eat(")") {
                return Ok(list);
            }
            if !self.eat(",") {
                return Err(self.expected("`,` or `)`"));
            }
        }
    }
}

/// How something is called in its function.
pub(super) struct Named<'t> {
    /// Under which it is found.
    pub(super) key: String,
    /// Its name, if it has one.
    pub(super) name: Option<&'t str>,
}

/// The key of what has no name.
pub(super) fn unnamed(number: u32) -> String {
    format!("%{number}")
}

/// At most the first 40 characters.
pub(super) fn shorten(text: &str) -> String {
    match text.char_indices().nth(40) {
        None => text.to_string(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
