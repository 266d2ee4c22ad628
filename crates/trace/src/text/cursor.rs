//! The words of one line.
//!
//! **Computes.** Names, quoted strings, numbers, places' brackets, comments and locations, each
//! from the place where the last one stopped.
//!
//! **Invariant.** `at` is on a character boundary. [`is_bare`] holds for exactly those strings that
//! come back whole when they are written without quotes.
//!
//! **Cost.** Linear in the line; allocates only for quoted strings with escapes.

use std::borrow::Cow;

use super::Error;
use super::quoting::{ESCAPES, comment_start, unescape};

/// A place in a line.
#[derive(Clone)]
pub(super) struct Cursor<'t> {
    line: &'t str,
    at: usize,
    number: u32,
}

/// A name, or a keyword; only those without quotes can be keywords.
pub(super) struct Word<'t> {
    pub(super) text: Cow<'t, str>,
    pub(super) quoted: bool,
    pub(super) start: usize,
}

/// A number as it is written: its sign and its magnitude.
#[derive(Clone, Copy)]
pub(super) struct Number {
    pub(super) negative: bool,
    pub(super) magnitude: u64,
    pub(super) start: usize,
}

impl Number {
    /// The 64-bit word; at least -2^63, which [`Cursor::number`] has checked.
    pub(super) fn word(self) -> u64 {
        if self.negative { self.magnitude.wrapping_neg() } else { self.magnitude }
    }
}

impl<'t> Cursor<'t> {
    pub(super) fn new(line: &'t str, number: u32) -> Cursor<'t> {
        Cursor { line, at: 0, number }
    }

    /// Where the next word begins.
    pub(super) fn place(&mut self) -> usize {
        self.skip_space();
        self.at
    }

    /// The error that the text at `start` is.
    pub(super) fn error(&self, start: usize, message: impl Into<String>) -> Error {
        Error::new(self.number, self.line[..start].chars().count() + 1, message)
    }

    /// The error that the next word is not what was expected.
    pub(super) fn expected(&mut self, what: &str) -> Error {
        let start = self.place();
        let found = if self.at_end() {
            "the line ends".to_string()
        } else {
            let rest = &self.line[start..];
            let word = rest.split([' ', '\t']).next().unwrap_or(rest);
            format!("found `{}`", shorten(word))
        };
        self.error(start, format!("expected {what}, but {found}"))
    }

    #[inline]
    pub(super) fn skip_space(&mut self) {
        let bytes = self.line.as_bytes();
        while matches!(bytes.get(self.at), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    /// Whether nothing but a comment is left.
    pub(super) fn at_end(&mut self) -> bool {
        self.skip_space();
        matches!(self.line.as_bytes().get(self.at), None | Some(b'#'))
    }

    /// What is left of the line.
    pub(super) fn rest(&self) -> &'t str {
        &self.line[self.at..]
    }

    /// Steps over `count` bytes of plain ASCII that [`rest`](Self::rest) has shown.
    pub(super) fn advance(&mut self, count: usize) {
        self.at += count;
    }

    /// Steps over a separator, if it is next.
    #[inline]
    pub(super) fn eat(&mut self, separator: &str) -> bool {
        self.skip_space();
        let found = self.rest().as_bytes().starts_with(separator.as_bytes());
        if found {
            self.at += separator.len();
        }
        found
    }

    pub(super) fn expect(&mut self, separator: &str) -> Result<(), Error> {
        if self.eat(separator) { Ok(()) } else { Err(self.expected(&format!("`{separator}`"))) }
    }

    /// Steps over a keyword, if it is next.
    pub(super) fn keyword(&mut self, keyword: &str) -> bool {
        self.skip_space();
        let found = bare_length(self.rest()) == keyword.len() && self.rest().starts_with(keyword);
        if found {
            self.at += keyword.len();
        }
        found
    }

    /// The next name or keyword, if there is one.
    pub(super) fn word(&mut self) -> Result<Option<Word<'t>>, Error> {
        self.skip_space();
        let start = self.at;
        if self.rest().starts_with('"') {
            let text = self.quoted()?;
            return Ok(Some(Word { text, quoted: true, start }));
        }
        let length = bare_length(self.rest());
        self.at += length;
        let text = Cow::Borrowed(&self.line[start..self.at]);
        Ok((length > 0).then_some(Word { text, quoted: false, start }))
    }

    /// The next name; `what` says whose.
    pub(super) fn name(&mut self, what: &str) -> Result<Word<'t>, Error> {
        match self.word()? {
            Some(word) => Ok(word),
            None => Err(self.expected(what)),
        }
    }

    /// A string in quotes, which is next.
    pub(super) fn quoted(&mut self) -> Result<Cow<'t, str>, Error> {
        let opening = self.at;
        self.at += 1;
        let start = self.at;
        let mut unescaped: Option<String> = None;
        loop {
            let rest = self.rest();
            let plain = rest.find(['"', '\\']).unwrap_or(rest.len());
            if let Some(text) = &mut unescaped {
                text.push_str(&rest[..plain]);
            }
            self.at += plain;
            match self.line.as_bytes().get(self.at) {
                None => {
                    let error = self.error(opening, "the quote is not closed on this line");
                    return Err(error.hint("a line break in a name is written \\n"));
                }
                Some(b'"') => {
                    let end = self.at;
                    self.at += 1;
                    return Ok(unescaped.map_or(Cow::Borrowed(&self.line[start..end]), Cow::Owned));
                }
                Some(_) => {
                    let so_far = &self.line[start..self.at];
                    let text = unescaped.get_or_insert_with(|| so_far.to_string());
                    let (escaped, length) = unescape(self.rest())
                        .ok_or_else(|| self.error(self.at, "unknown escape").hint(ESCAPES))?;
                    text.push(escaped);
                    self.at += length;
                }
            }
        }
    }

    /// The number that is next: decimal, or hexadecimal after `0x`, perhaps with a minus.
    pub(super) fn number(&mut self, what: &str) -> Result<Number, Error> {
        let start = self.place();
        let negative = self.rest().starts_with('-');
        let sign = usize::from(negative);
        let rest = &self.rest()[sign..];
        if !rest.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(self.expected(what));
        }
        let length =
            rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '.').unwrap_or(rest.len());
        let digits = &rest[..length];
        let parsed = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            Some(hex) => u64::from_str_radix(hex, 16),
            None => digits.parse(),
        };
        let magnitude = parsed.map_err(|error| {
            let written = shorten(&self.rest()[..sign + length]).into_owned();
            let is_large = *error.kind() == std::num::IntErrorKind::PosOverflow;
            let wrong = if is_large { "does not fit in 64 bits" } else { "is not a whole number" };
            self.error(start, format!("`{written}` {wrong}"))
        })?;
        if negative && magnitude > 1 << 63 {
            return Err(self.error(start, format!("`-{magnitude}` does not fit in 64 bits")));
        }
        self.at += sign + length;
        Ok(Number { negative, magnitude, start })
    }

    /// A number that is at most 2^32 - 1.
    pub(super) fn small(&mut self, what: &str) -> Result<u32, Error> {
        let number = self.number(what)?;
        match u32::try_from(number.magnitude) {
            Ok(small) if !number.negative || small == 0 => Ok(small),
            _ => Err(self.error(number.start, format!("{what} is between 0 and 2^32 - 1"))),
        }
    }

    /// What follows `@`: a quoted string, or all the rest up to a comment.
    pub(super) fn location(&mut self) -> Result<Cow<'t, str>, Error> {
        self.skip_space();
        if self.rest().starts_with('"') {
            return self.quoted();
        }
        let rest = self.rest();
        let location = rest[..comment_start(rest)].trim_end();
        if location.is_empty() {
            return Err(self.expected("a source location after `@`"));
        }
        self.at += location.len();
        Ok(Cow::Borrowed(location))
    }

    pub(super) fn expect_end(&mut self) -> Result<(), Error> {
        if self.at_end() { Ok(()) } else { Err(self.expected("the end of the line")) }
    }
}

/// Whether a name can be written without quotes.
pub(super) fn is_bare(name: &str) -> bool {
    // A name that ends in a colon could be read, but not by people.
    !name.is_empty() && bare_length(name) == name.len() && !name.ends_with(':')
}

/// At most the first 40 characters: an error about a line of 4 GB is still one line.
pub(super) fn shorten(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(40) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
    }
}

/// How long the bare name at the start of `text` is; 0 if there is none.
///
/// It ends before white space, control characters, `"`, `=`, `[`, `]`, `->` and a `:` that is not
/// doubled. It does not begin with `#`, `@` or `:`.
fn bare_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    if matches!(bytes.first(), Some(b'#' | b'@' | b':')) {
        return 0;
    }
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += match byte {
            0..=b' ' | 0x7f | b'"' | b'=' | b'[' | b']' => break,
            b':' if bytes.get(at + 1) == Some(&b':') => 2,
            b':' => break,
            b'-' if bytes.get(at + 1) == Some(&b'>') => break,
            0x80.. => match text[at..].chars().next() {
                Some(c) if !c.is_whitespace() && !c.is_control() => c.len_utf8(),
                _ => break,
            },
            _ => 1,
        };
    }
    at
}
