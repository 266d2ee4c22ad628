//! Lines, declarations, and what one line tells the next.
//!
//! **Computes.** The trace that a text means. Names get their ids in the order in which they first
//! appear, table by table; on one line from left to right.
//!
//! **Invariant.** `values` has an entry for each name that a thread has bound so far: what the
//! latest read of that name saw, if that is known.
//!
//! **Cost.** Linear in the text. One look-up in a hash table per name on a line.

use rustc_hash::FxHashMap;

use crate::event::{Event, Place};
use crate::ids::{NameId, ThreadId};
use crate::provenance::Provenance;
use crate::store::{Builder, Dependences, LockKind, Trace};

use super::Error;
use super::cursor::{Cursor, Number, Word, shorten};
use super::eval;
use super::expression::Unbound;

/// The size of a place that is written without brackets.
pub(super) const DEFAULT_SIZE: u32 = 8;

const HEADER: &str = "foretrace-trace";
/// A line can name two threads, so this many lines keep every table within 32 bits.
const MAX_LINES: usize = 1 << 31;

/// Parses a whole text and calls `on_event` with the line of each event.
pub(super) fn parse(bytes: &[u8], on_event: &mut dyn FnMut(u32)) -> Result<Trace, Error> {
    let text = std::str::from_utf8(bytes).map_err(|error| not_utf8(bytes, error.valid_up_to()))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut parser = Parser { builder: Trace::builder(), values: FxHashMap::default() };
    let mut header_possible = true;
    for (index, line) in text.split('\n').enumerate() {
        if index >= MAX_LINES {
            return Err(Error::new(u32::MAX, 1, format!("more than {MAX_LINES} lines")));
        }
        let number = index as u32 + 1;
        let mut cursor = Cursor::new(line.strip_suffix('\r').unwrap_or(line), number);
        if cursor.at_end() {
            continue;
        }
        if parser.line(&mut cursor, header_possible)? {
            on_event(number);
        }
        header_possible = false;
    }
    Ok(parser.builder.finish())
}

/// What the lines so far mean.
pub(super) struct Parser {
    pub(super) builder: Builder,
    values: FxHashMap<(ThreadId, NameId), Option<u64>>,
}

impl Parser {
    /// Takes one line that is not empty; whether it is an event.
    fn line(&mut self, cursor: &mut Cursor, header_possible: bool) -> Result<bool, Error> {
        let first = cursor.name("the name of a thread, or a declaration")?;
        if cursor.eat(":") {
            let thread = self.builder.thread(&first.text);
            self.event(cursor, thread)?;
            return Ok(true);
        }
        self.declaration(cursor, &first, header_possible)?;
        cursor.expect_end()?;
        Ok(false)
    }

    fn event(&mut self, cursor: &mut Cursor, thread: ThreadId) -> Result<(), Error> {
        let statement = self.statement(cursor, thread)?;
        let location = if cursor.eat("@") {
            let location = cursor.location()?;
            Some(self.builder.location(&location))
        } else {
            None
        };
        cursor.expect_end()?;
        let event = self.builder.push(Event { thread, op: statement.op, location });
        if let Some(name) = statement.binding {
            self.builder.bind(event, name);
        }
        if let Some(expr) = statement.expr {
            self.builder.express(event, expr);
        }
        if let Some(fault) = statement.fault {
            self.builder.fails_otherwise(event, fault);
        }
        if let Some(assumption) = statement.assumption {
            self.builder.assume(event, assumption);
        }
        Ok(())
    }

    fn declaration(
        &mut self,
        cursor: &mut Cursor,
        keyword: &Word,
        header_possible: bool,
    ) -> Result<(), Error> {
        match &*keyword.text {
            _ if keyword.quoted => return Err(cursor.expected("`:` after the name of the thread")),
            HEADER => return header(cursor, keyword.start, header_possible),
            "thread" => {
                let name = cursor.name("the name of a thread")?;
                self.builder.thread(&name.text);
            }
            "object" => {
                let name = cursor.name("the name of an object")?;
                self.builder.object(&name.text);
            }
            "cond" => {
                let name = cursor.name("the name of a condition variable")?;
                self.builder.cond(&name.text);
            }
            "channel" => {
                let name = cursor.name("the name of a channel")?;
                let channel = self.builder.channel(&name.text);
                if cursor.keyword("delayed") {
                    self.builder.set_delayed(channel);
                }
            }
            "channels" => {
                self.channels(cursor)?;
            }
            "function" => {
                let name = cursor.name("the name of a function")?;
                self.builder.function(&name.text);
            }
            "location" => {
                let location = cursor.location()?;
                self.builder.location(&location);
            }
            "name" => {
                let name = cursor.name("a name that a read binds")?;
                self.builder.name(&name.text);
            }
            "lock" => self.declare_lock(cursor)?,
            "semaphore" => {
                let name = cursor.name("the name of a semaphore")?;
                let sem = self.builder.semaphore(&name.text);
                if cursor.eat("=") {
                    let count = cursor.small("the count of a semaphore")?;
                    if self.builder.so_far().semaphore_count(sem).is_some() {
                        return Err(twice(cursor, &name, "a count"));
                    }
                    self.builder.set_semaphore(sem, count);
                }
            }
            "barrier" => {
                let name = cursor.name("the name of a barrier")?;
                let barrier = self.builder.barrier(&name.text);
                if cursor.eat("=") {
                    let place = cursor.place();
                    let parties = cursor.small("the number of parties of a barrier")?;
                    if parties == 0 {
                        return Err(cursor.error(place, "a barrier has at least 1 party"));
                    }
                    if self.builder.so_far().barrier_parties(barrier).is_some() {
                        return Err(twice(cursor, &name, "a number of parties"));
                    }
                    self.builder.set_barrier(barrier, parties);
                }
            }
            "init" => {
                let start = cursor.place();
                let at = self.place(cursor)?;
                if at.size > 8 {
                    let error = cursor.error(start, "an initial value has at most 8 bytes");
                    return Err(error.hint("declare the place in parts of 8 bytes"));
                }
                cursor.expect("=")?;
                let value = fit(cursor, at.size)?;
                self.builder.set_initial(at, value);
            }
            "benign" => {
                let at = self.place(cursor)?;
                let reason = cursor.name("the reason, in quotes")?;
                self.builder.declare_benign(at, &reason.text);
            }
            "dependences" => {
                if !cursor.keyword("unknown") {
                    return Err(cursor.expected("`unknown`"));
                }
                self.builder.set_dependences(Dependences::Unknown);
            }
            "note" => {
                let note = cursor.name("a note")?;
                cursor.expect("=")?;
                self.count_fact(cursor, &note, Provenance::Other(note.text.to_string()))?;
            }
            "fact" => {
                let code = cursor.name("the code of a fact")?;
                let mut details = Vec::new();
                while !cursor.eat("=") {
                    details.push(cursor.name("a detail of the fact, or `=`")?.text);
                }
                let details: Vec<&str> = details.iter().map(|detail| &**detail).collect();
                let Some(fact) = Provenance::from_parts(&code.text, &details) else {
                    let (shown, count) = (shorten(&code.text), details.len());
                    let message = format!("no fact is called `{shown}` with these {count} details");
                    let error = cursor.error(code.start, message);
                    return Err(error.hint("free text is written `note \"text\" = count`"));
                };
                self.count_fact(cursor, &code, fact)?;
            }
            other => {
                let message =
                    format!("expected `:` after the thread `{}`, or a declaration", shorten(other));
                let error = cursor.error(keyword.start, message);
                return Err(error.hint(
                    "an event is `thread: event`; declarations are thread, object, lock, cond, \
                     semaphore, barrier, channel, channels, function, init, benign, location, name, \
                     dependences, note, fact",
                ));
            }
        }
        Ok(())
    }

    /// The count behind a fact.
    fn count_fact(
        &mut self,
        cursor: &mut Cursor,
        name: &Word,
        fact: Provenance,
    ) -> Result<(), Error> {
        let count = cursor.number("a count")?;
        if count.negative {
            return Err(cursor.error(count.start, "a count is not negative"));
        }
        if self.builder.so_far().provenance().iter().any(|(known, _)| *known == fact) {
            return Err(twice(cursor, name, "a count"));
        }
        self.builder.tell(fact, count.magnitude);
        Ok(())
    }

    fn declare_lock(&mut self, cursor: &mut Cursor) -> Result<(), Error> {
        let name = cursor.name("the name of a lock")?;
        let lock = self.builder.lock(&name.text);
        let kind = if cursor.keyword("recursive") {
            LockKind::Recursive
        } else if cursor.keyword("plain") {
            LockKind::Plain
        } else {
            return Ok(());
        };
        if self.builder.so_far().lock_kind(lock) != LockKind::Unknown {
            return Err(twice(cursor, &name, "a kind"));
        }
        self.builder.set_lock_kind(lock, kind);
        Ok(())
    }

    /// `x`, or `x[offset:size]`.
    pub(super) fn place(&mut self, cursor: &mut Cursor) -> Result<Place, Error> {
        let name = cursor.name("the name of an object")?;
        let object = self.builder.object(&name.text);
        let mut at = Place { object, offset: 0, size: DEFAULT_SIZE };
        if cursor.eat("[") {
            at.offset = cursor.small("the offset of a place")?;
            if !cursor.eat(":") {
                let offset = at.offset;
                let error = cursor.expected("`:` and the size in bytes");
                return Err(error.hint(format!(
                    "a place is written x or x[offset:size]; x[{offset}:8] are the 8 bytes from \
                     {offset} on"
                )));
            }
            let start = cursor.place();
            at.size = cursor.small("the size of a place")?;
            if at.size == 0 {
                return Err(cursor.error(start, "an access has at least 1 byte"));
            }
            cursor.expect("]")?;
            if at.offset.checked_add(at.size).is_none() {
                return Err(cursor.error(name.start, "the place ends behind byte 2^32 - 1"));
            }
        }
        Ok(at)
    }

    /// From here on `name` means this value in this thread.
    pub(super) fn bind(&mut self, thread: ThreadId, name: NameId, value: Option<u64>) {
        self.values.insert((thread, name), value);
    }

    /// What the latest read that bound `name` saw.
    pub(super) fn bound(&self, thread: ThreadId, name: NameId) -> Option<u64> {
        self.values.get(&(thread, name)).copied().flatten()
    }

    /// The id of a name in an expression.
    pub(super) fn resolve(&self, thread: ThreadId, name: &str) -> Result<NameId, Unbound> {
        let so_far = self.builder.so_far();
        let id = so_far.names().find(name).map(NameId::from);
        if let Some(id) = id.filter(|&id| self.values.contains_key(&(thread, id))) {
            return Ok(id);
        }
        let reader = so_far.name(thread);
        let hint = if id.is_some() {
            "other threads' reads do not count: let this thread read the value first".to_string()
        } else {
            format!("bind it first: {} = read …", shorten(name))
        };
        Err(Unbound {
            message: format!(
                "no read of {} before this line binds the name `{}`",
                shorten(reader),
                shorten(name)
            ),
            hint: Some(hint),
        })
    }
}

/// A value for `size` bytes: signed or unsigned, as long as it fits.
pub(super) fn fit(cursor: &mut Cursor, size: u32) -> Result<u64, Error> {
    let number = cursor.number("a value")?;
    if fits(number, size) {
        return Ok(eval::truncate(number.word(), size));
    }
    let bytes = if size == 1 { "byte" } else { "bytes" };
    let sign = if number.negative { "-" } else { "" };
    let message = format!("{sign}{} does not fit in {size} {bytes}", number.magnitude);
    Err(cursor.error(number.start, message))
}

fn fits(number: Number, size: u32) -> bool {
    let bits = 8 * size.min(8);
    if number.negative {
        number.magnitude <= 1 << (bits - 1)
    } else {
        bits == 64 || number.magnitude < 1 << bits
    }
}

fn header(cursor: &mut Cursor, start: usize, possible: bool) -> Result<(), Error> {
    if !possible {
        let message = format!("`{HEADER}` stands only on the first line");
        return Err(cursor.error(start, message));
    }
    let version = cursor.number("a version number")?;
    if version.word() != 1 {
        let message = format!("version {} of the text form is not known", version.word() as i64);
        return Err(cursor.error(version.start, message).hint("this program reads version 1"));
    }
    cursor.expect_end()
}

fn twice(cursor: &Cursor, name: &Word, what: &str) -> Error {
    cursor.error(name.start, format!("`{}` is given {what} twice", shorten(&name.text)))
}

fn not_utf8(bytes: &[u8], at: usize) -> Error {
    let before = &bytes[..at];
    let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let message = format!("byte 0x{:02x} is not UTF-8", bytes[at]);
    let line = u32::try_from(line).unwrap_or(u32::MAX);
    Error::new(line, at - line_start + 1, message)
}
