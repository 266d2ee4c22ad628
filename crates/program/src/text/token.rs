//! Words, numbers, operators, locations.
//!
//! **Invariant.** The last token is [`Token::End`]. A line break is a token, because it ends a
//! statement; several in a row are one.
//!
//! **Cost.** Linear in the text.

use foretrace_trace::text::quoting::{ESCAPES, comment_start, unescape};

use super::Error;

/// Where a token begins, from 1, in characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Position {
    pub(super) line: u32,
    pub(super) column: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token {
    /// A name or keyword without quotes.
    Word(String),
    /// A name in quotes, which is never a keyword.
    Quoted(String),
    /// `%7`
    Unnamed(u32),
    Number(u64),
    /// Punctuation or an operator.
    Symbol(&'static str),
    /// What follows `@`.
    Location(String),
    /// A line break or `;`.
    Break,
    End,
}

/// Longer symbols come before their own prefixes.
const SYMBOLS: [&str; 39] = [
    "<=u", ">=u", ">>u", ":=", "->", "<u", ">u", "/u", "%u", "<<", ">>", "<=", ">=", "==", "!=",
    "&&", "||", "+", "-", "*", "/", "%", "&", "|", "^", "~", "!", "<", ">", "=", "(", ")", "[",
    "]", "{", "}", ",", ":", "?",
];

/// Takes a text apart.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, Position)>, Error> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut all = Vec::new();
    for (index, line) in text.split('\n').enumerate() {
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let mut scanner =
            Scanner { line: line.strip_suffix('\r').unwrap_or(line), at: 0, number, column: 1 };
        while let Some(token) = scanner.next()? {
            all.push(token);
        }
        if !matches!(all.last(), None | Some((Token::Break, _))) {
            all.push((Token::Break, scanner.position()));
        }
    }
    let end = all.last().map_or(Position { line: 1, column: 1 }, |(_, position)| *position);
    all.push((Token::End, end));
    Ok(all)
}

/// Whether a name can stand without quotes, keywords aside.
pub(super) fn is_word(name: &str) -> bool {
    name.starts_with(starts_word) && name.chars().all(continues_word)
}

fn starts_word(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || c == '$'
}

fn continues_word(c: char) -> bool {
    starts_word(c) || c.is_ascii_digit() || c == '.'
}

struct Scanner<'t> {
    line: &'t str,
    at: usize,
    number: u32,
    column: u32,
}

impl<'t> Scanner<'t> {
    fn rest(&self) -> &'t str {
        &self.line[self.at..]
    }

    fn position(&self) -> Position {
        Position { line: self.number, column: self.column }
    }

    fn take(&mut self, bytes: usize) -> &'t str {
        let taken = &self.rest()[..bytes];
        self.at += bytes;
        self.column += taken.chars().count() as u32;
        taken
    }

    fn take_while(&mut self, is_part: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        self.take(rest.find(|c| !is_part(c)).unwrap_or(rest.len()))
    }

    /// The next token of the line, if there is one.
    fn next(&mut self) -> Result<Option<(Token, Position)>, Error> {
        self.take_while(|c| c == ' ' || c == '\t');
        let start = self.position();
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Ok(None) };
        let second = rest.chars().nth(1);
        let token = match first {
            '#' => return Ok(None),
            ';' => {
                self.take(1);
                Token::Break
            }
            '"' => Token::Quoted(self.quoted()?),
            '@' => {
                self.take(1);
                Token::Location(self.location()?)
            }
            '%' if second.is_some_and(|c| c.is_ascii_digit()) => {
                self.take(1);
                let number = self.number()?;
                let number = u32::try_from(number).ok();
                Token::Unnamed(number.ok_or_else(|| Error::new(start, "the number is too large"))?)
            }
            c if c.is_ascii_digit() => Token::Number(self.number()?),
            c if starts_word(c) => Token::Word(self.take_while(continues_word).to_string()),
            _ => Token::Symbol(self.symbol()?),
        };
        Ok(Some((token, start)))
    }

    fn symbol(&mut self) -> Result<&'static str, Error> {
        let rest = self.rest();
        let found = SYMBOLS.into_iter().find(|symbol| {
            // `a <u b` is unsigned, `a <up` compares with `up`.
            let follows = rest.strip_prefix(symbol);
            follows.is_some_and(|rest| !symbol.ends_with('u') || !rest.starts_with(continues_word))
        });
        let Some(symbol) = found else {
            let unknown: String = rest.chars().take(1).collect();
            return Err(Error::new(
                self.position(),
                format!("`{}` means nothing here", unknown.escape_debug()),
            ));
        };
        self.take(symbol.len());
        Ok(symbol)
    }

    fn number(&mut self) -> Result<u64, Error> {
        let start = self.position();
        let digits = self.take_while(continues_word);
        let parsed = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            Some(hex) => u64::from_str_radix(hex, 16),
            None => digits.parse(),
        };
        parsed.map_err(|error| {
            let shown: String = digits.chars().take(40).collect();
            match error.kind() {
                std::num::IntErrorKind::PosOverflow => {
                    Error::new(start, format!("`{shown}` does not fit in 64 bits"))
                }
                _ => Error::new(start, format!("`{shown}` is not a whole number")),
            }
        })
    }

    /// What follows `@`: a string in quotes, or all the rest up to a comment.
    fn location(&mut self) -> Result<String, Error> {
        self.take_while(|c| c == ' ' || c == '\t');
        if self.rest().starts_with('"') {
            return self.quoted();
        }
        let rest = self.rest();
        let location = rest[..comment_start(rest)].trim_end();
        if location.is_empty() {
            return Err(Error::new(self.position(), "expected a source location after `@`"));
        }
        Ok(self.take(location.len()).to_string())
    }

    fn quoted(&mut self) -> Result<String, Error> {
        let start = self.position();
        self.take(1);
        let mut text = String::new();
        loop {
            text.push_str(self.take_while(|c| c != '"' && c != '\\'));
            let at = self.position();
            match self.rest().chars().next() {
                None => return Err(Error::new(start, "the quote is not closed on this line")),
                Some('"') => {
                    self.take(1);
                    return Ok(text);
                }
                Some(_) => {
                    let (escaped, length) = unescape(self.rest())
                        .ok_or_else(|| Error::new(at, "unknown escape").hint(ESCAPES))?;
                    text.push(escaped);
                    self.take(length);
                }
            }
        }
    }
}
