//! What follows the thread on an event's line.
//!
//! **Computes.** The operation, the name that it binds and its expression. A value that is not
//! written is computed from the expression where the reads' values are known; a value that is
//! written must be the one that the expression gives.

use crate::Otherwise;
use crate::event::*;
use crate::expr::Expr;
use crate::ids::*;

use super::Error;
use super::cursor::{Cursor, Word, shorten};
use super::eval;
use super::expression::{self, is_identifier};
use super::parse::{Parser, fit};

/// One event without its thread and location.
pub(super) struct Statement {
    pub(super) op: Op,
    pub(super) binding: Option<NameId>,
    pub(super) expr: Option<Expr>,
    pub(super) assumption: Option<Expr>,
    pub(super) fault: Option<Otherwise>,
}

/// The words that events begin with, for the hint.
#[rustfmt::skip]
const KEYWORDS: [&str; 36] = [
    "read", "write", "rmw", "let", "branch", "assert", "assume", "acquire", "tryacquire",
    "timedacquire", "release", "destroy", "wait", "timedwait", "wake", "signal", "broadcast",
    "semwait", "trysemwait", "timedsemwait", "sempost", "arrive", "leave", "request", "fork",
    "join", "begin", "end", "exit", "alloc", "free", "region", "fence", "external",
    "enter-call", "leave-call",
];

impl Parser {
    /// Parses up to the location.
    pub(super) fn statement(
        &mut self,
        cursor: &mut Cursor,
        thread: ThreadId,
    ) -> Result<Statement, Error> {
        let mut word = cursor.name("an event")?;
        let mut binding = None;
        if cursor.eat("=") {
            check_binding(cursor, &word)?;
            binding = Some(self.builder.name(&word.text));
            word = cursor.name("`read` or `rmw`")?;
            if word.quoted || !matches!(&*word.text, "read" | "rmw") {
                let message = "only a `read` or `rmw` binds a name";
                return Err(cursor.error(word.start, message));
            }
        }
        let (mut expr, mut assumption, mut fault) = (None, None, None);
        let op = match &*word.text {
            _ if word.quoted => return Err(unknown(cursor, &word)),
            "read" => self.read(cursor, thread, binding)?,
            "write" => self.write(cursor, thread, &mut expr)?,
            "rmw" => self.rmw(cursor, thread, binding, (&mut expr, &mut assumption))?,
            "let" => {
                binding = Some(self.local(cursor, thread, &mut expr)?);
                Op::Let
            }
            "branch" => {
                let taken = self.condition(cursor, thread, &mut expr)?;
                if cursor.keyword("else") {
                    let known =
                        ImplicitFault::ALL.into_iter().find(|fault| cursor.keyword(fault.name()));
                    let wanted = "`null`, `division`, `bounds`, `freed` or `address`";
                    let known = known.ok_or_else(|| cursor.expected(wanted))?;
                    let object = if known == ImplicitFault::Address {
                        Some((0, cursor.small("the bytes of the object")?.into()))
                    } else {
                        None
                    };
                    fault = Some(Otherwise { object, ..known.into() });
                }
                Op::Branch { taken }
            }
            "assert" => Op::Assert { holds: self.condition(cursor, thread, &mut expr)? },
            "assume" => Op::Assume { holds: self.condition(cursor, thread, &mut expr)? },
            _ => self.synchronisation(cursor, &word)?,
        };
        Ok(Statement { op, binding, expr, assumption, fault })
    }

    fn read(
        &mut self,
        cursor: &mut Cursor,
        thread: ThreadId,
        binding: Option<NameId>,
    ) -> Result<Op, Error> {
        let at = self.place(cursor)?;
        let value = if cursor.eat(":") { value(cursor, at.size)? } else { None };
        if let Some(name) = binding {
            self.bind(thread, name, eval::bound_value(value, at.size));
        }
        Ok(Op::Read { at, value, order: order(cursor, MemoryOrder::Plain)? })
    }

    fn write(
        &mut self,
        cursor: &mut Cursor,
        thread: ThreadId,
        expr: &mut Option<Expr>,
    ) -> Result<Op, Error> {
        let at = self.place(cursor)?;
        let stored = if cursor.eat("=") {
            let given = expr.insert(self.expression(cursor, thread)?);
            self.stored(cursor, thread, given, at.size)?
        } else if cursor.eat(":") {
            value(cursor, at.size)?
        } else {
            None
        };
        Ok(Op::Write { at, value: stored, order: order(cursor, MemoryOrder::Plain)? })
    }

    fn rmw(
        &mut self,
        cursor: &mut Cursor,
        thread: ThreadId,
        binding: Option<NameId>,
        (expr, assumption): (&mut Option<Expr>, &mut Option<Expr>),
    ) -> Result<Op, Error> {
        let at = self.place(cursor)?;
        let read = if cursor.eat(":") { value(cursor, at.size)? } else { None };
        if let Some(name) = binding {
            self.bind(thread, name, eval::bound_value(read, at.size));
        }
        let mut written = None;
        if cursor.eat("->") && !cursor.eat("?") {
            let after_arrow = cursor.clone();
            let parsed = self.expression(cursor, thread)?;
            if matches!(parsed, Expr::Literal(_)) && !cursor.clone().eat(":") {
                // `5 -> 6` only says what was stored, not that it was a constant.
                *cursor = after_arrow;
                written = Some(fit(cursor, at.size)?);
            } else {
                written = self.stored(cursor, thread, expr.insert(parsed), at.size)?;
            }
        }
        let order = order(cursor, MemoryOrder::SeqCst)?;
        let start = cursor.place();
        if cursor.keyword("assuming") {
            let assumed = assumption.insert(self.expression(cursor, thread)?);
            if eval::evaluate(assumed, &|name| self.bound(thread, name)) == Some(0) {
                let error = cursor.error(start, "what it assumes did not hold in the recorded run");
                return Err(error.hint("correct the expression, or a read before it"));
            }
        }
        Ok(Op::Rmw { at, read, written, order })
    }

    /// `let a = expression`.
    fn local(
        &mut self,
        cursor: &mut Cursor,
        thread: ThreadId,
        expr: &mut Option<Expr>,
    ) -> Result<NameId, Error> {
        let word = cursor.name("the name of a local variable")?;
        check_binding(cursor, &word)?;
        cursor.expect("=")?;
        let given = expr.insert(self.expression(cursor, thread)?);
        let value = eval::evaluate(given, &|name| self.bound(thread, name));
        let name = self.builder.name(&word.text);
        self.bind(thread, name, value);
        Ok(name)
    }

    /// The value that a store with an expression stores: written behind a colon, or computed.
    fn stored(
        &self,
        cursor: &mut Cursor,
        thread: ThreadId,
        expr: &Expr,
        size: u32,
    ) -> Result<Option<u64>, Error> {
        let computed = eval::evaluate(expr, &|name| self.bound(thread, name));
        let computed = computed.map(|word| eval::truncate(word, size));
        if !cursor.eat(":") {
            return Ok(computed);
        }
        let start = cursor.place();
        let recorded = value(cursor, size)?;
        match (recorded, computed) {
            (Some(recorded), Some(computed)) if recorded != computed => {
                let message = format!(
                    "the expression gives {}, but the recorded value is {}",
                    super::show_value(computed, size),
                    super::show_value(recorded, size)
                );
                let error = cursor.error(start, message);
                Err(error.hint("correct the expression, a read before it, or the value"))
            }
            _ => Ok(recorded),
        }
    }

    /// A condition and its outcome; one of the two may be missing.
    fn condition(
        &self,
        cursor: &mut Cursor,
        thread: ThreadId,
        expr: &mut Option<Expr>,
    ) -> Result<bool, Error> {
        let mut computed = None;
        if !cursor.at_end() && !cursor.clone().eat(":") && !cursor.clone().eat("@") {
            let condition = expr.insert(self.expression(cursor, thread)?);
            computed = eval::evaluate(condition, &|name| self.bound(thread, name));
        }
        let computed = computed.map(|word| word != 0);
        let end = cursor.place();
        if !cursor.eat(":") {
            return computed.ok_or_else(|| {
                let message = "which way it went is not recorded, and cannot be computed";
                cursor.error(end, message).hint("write `: true` or `: false` after the condition")
            });
        }
        let start = cursor.place();
        let recorded = if cursor.keyword("true") {
            true
        } else if cursor.keyword("false") {
            false
        } else {
            return Err(cursor.expected("`true` or `false`"));
        };
        match computed {
            Some(computed) if computed != recorded => {
                let message =
                    format!("the condition is {computed}, but the recorded outcome is {recorded}");
                let error = cursor.error(start, message);
                Err(error.hint("correct the condition, a read before it, or the outcome"))
            }
            _ => Ok(recorded),
        }
    }

    fn expression(&self, cursor: &mut Cursor, thread: ThreadId) -> Result<Expr, Error> {
        expression::parse(cursor, &|name| self.resolve(thread, name))
    }

    fn synchronisation(&mut self, cursor: &mut Cursor, word: &Word) -> Result<Op, Error> {
        Ok(match &*word.text {
            "acquire" => self.acquire(cursor, Patience::Blocking)?,
            "tryacquire" => self.acquire(cursor, Patience::Try)?,
            "timedacquire" => self.acquire(cursor, Patience::Timed)?,
            "release" => {
                let mode = mode(cursor);
                Op::Release { lock: self.lock(cursor)?, mode }
            }
            "destroy" => Op::Destroy { lock: self.lock(cursor)? },
            "wait" => self.wait(cursor, false)?,
            "timedwait" => self.wait(cursor, true)?,
            "wake" => {
                let (cond, lock) = (self.cond(cursor)?, self.lock(cursor)?);
                let reason = if cursor.keyword("timeout") {
                    WakeReason::TimedOut
                } else if cursor.keyword("spurious") {
                    WakeReason::Spurious
                } else {
                    WakeReason::Notified
                };
                Op::Wake { cond, lock, reason }
            }
            "signal" => Op::Signal { cond: self.cond(cursor)? },
            "broadcast" => Op::Broadcast { cond: self.cond(cursor)? },
            "semwait" => self.semaphore_wait(cursor, Patience::Blocking)?,
            "trysemwait" => self.semaphore_wait(cursor, Patience::Try)?,
            "timedsemwait" => self.semaphore_wait(cursor, Patience::Timed)?,
            "sempost" => Op::SemPost { sem: self.semaphore(cursor)? },
            "arrive" => Op::Arrive { barrier: self.barrier(cursor)? },
            "leave" => Op::Leave { barrier: self.barrier(cursor)? },
            "request" => Op::Request(self.request(cursor)?),
            "fork" => Op::Fork { child: self.child(cursor)? },
            "join" => Op::Join { child: self.child(cursor)? },
            "begin" => Op::Begin,
            "end" => Op::End,
            "exit" => Op::Exit,
            "alloc" => {
                let name = cursor.name("the name of an object")?;
                let object = self.builder.object(&name.text);
                if !cursor.keyword("size") {
                    return Err(cursor.expected("`size` and the number of bytes"));
                }
                let size = cursor.small("the size of an object")?;
                let mut address = None;
                if cursor.keyword("at") {
                    address = Some(cursor.number("an address")?.word());
                }
                Op::Alloc { object, size, address }
            }
            "free" => {
                let name = cursor.name("the name of an object")?;
                Op::Free { object: self.builder.object(&name.text) }
            }
            "region" if cursor.keyword("begin") => Op::RegionBegin,
            "region" if cursor.keyword("end") => Op::RegionEnd,
            "region" => return Err(cursor.expected("`begin` or `end`")),
            "fence" => match named_order(cursor) {
                Some(order) => Op::Fence { order },
                None => return Err(cursor.expected("a memory order").hint(ORDERS)),
            },
            "external" => Op::External,
            "enter-call" => {
                let on = self.channels(cursor)?;
                let by = match cursor.keyword("by") {
                    true => Some(cursor.name("the name of a function")?),
                    false => None,
                };
                Op::EnterCall { on, by: by.map(|name| self.builder.function(&name.text)) }
            }
            "leave-call" => Op::LeaveCall,
            _ => return Err(unknown(cursor, word)),
        })
    }

    fn acquire(&mut self, cursor: &mut Cursor, patience: Patience) -> Result<Op, Error> {
        let mode = mode(cursor);
        let lock = self.lock(cursor)?;
        Ok(match succeeded(cursor, patience)? {
            true => Op::Acquire { lock, mode, patience },
            false => Op::AcquireFailed { lock, mode, patience },
        })
    }

    fn semaphore_wait(&mut self, cursor: &mut Cursor, patience: Patience) -> Result<Op, Error> {
        let sem = self.semaphore(cursor)?;
        Ok(match succeeded(cursor, patience)? {
            true => Op::SemWait { sem, patience },
            false => Op::SemWaitFailed { sem, patience },
        })
    }

    fn wait(&mut self, cursor: &mut Cursor, timed: bool) -> Result<Op, Error> {
        Ok(Op::Wait { cond: self.cond(cursor)?, lock: self.lock(cursor)?, timed })
    }

    fn request(&mut self, cursor: &mut Cursor) -> Result<Request, Error> {
        if cursor.keyword("acquire") {
            let mode = mode(cursor);
            Ok(Request::Acquire(self.lock(cursor)?, mode))
        } else if cursor.keyword("semwait") {
            Ok(Request::SemWait(self.semaphore(cursor)?))
        } else if cursor.keyword("join") {
            Ok(Request::Join(self.child(cursor)?))
        } else {
            Err(cursor.expected("`acquire`, `semwait` or `join`"))
        }
    }

    fn lock(&mut self, cursor: &mut Cursor) -> Result<LockId, Error> {
        let name = cursor.name("the name of a lock")?;
        Ok(self.builder.lock(&name.text))
    }

    fn cond(&mut self, cursor: &mut Cursor) -> Result<CondId, Error> {
        let name = cursor.name("the name of a condition variable")?;
        Ok(self.builder.cond(&name.text))
    }

    fn semaphore(&mut self, cursor: &mut Cursor) -> Result<SemId, Error> {
        let name = cursor.name("the name of a semaphore")?;
        Ok(self.builder.semaphore(&name.text))
    }

    fn barrier(&mut self, cursor: &mut Cursor) -> Result<BarrierId, Error> {
        let name = cursor.name("the name of a barrier")?;
        Ok(self.builder.barrier(&name.text))
    }

    /// `waits-for source piece p`: what the call does not return without.
    fn awaited(&mut self, cursor: &mut Cursor) -> Result<Option<Awaited>, Error> {
        if !cursor.keyword("waits-for") {
            return Ok(None);
        }
        let source = cursor.name("the name of a channel")?;
        let source = self.builder.channel(&source.text);
        let piece = match cursor.keyword("piece") {
            true => Some(cursor.name("the name of a channel")?),
            false => None,
        };
        let piece = piece.map(|name| self.builder.channel(&name.text));
        Ok(Some(Awaited { source, piece }))
    }

    /// `a >b <c`: both ways, gives, takes; or `*` for every channel. What the call waits for
    /// follows.
    pub(super) fn channels(&mut self, cursor: &mut Cursor) -> Result<ChannelsId, Error> {
        if cursor.keyword("*") {
            return Ok(self.builder.every_channel());
        }
        let mut list = Vec::new();
        loop {
            let is_behind = |cursor: &mut Cursor| cursor.eat("@") || cursor.keyword("by");
            let awaited = self.awaited(cursor)?;
            if awaited.is_some() || cursor.at_end() || is_behind(&mut cursor.clone()) {
                return Ok(self.builder.channels_awaiting(&list, awaited));
            }
            let direction = match () {
                () if cursor.eat(">") => Direction::Gives,
                () if cursor.eat("<") => Direction::Takes,
                () => Direction::Both,
            };
            let wanted = "the name of a channel, in quotes if it is `by`, `waits-for` or `*`";
            let is_keyword = |keyword| cursor.clone().keyword(keyword);
            if ["by", "waits-for", "*"].into_iter().any(is_keyword) {
                return Err(cursor.expected(wanted));
            }
            let name = cursor.name(wanted)?;
            let channel = self.builder.channel(&name.text);
            if list.iter().any(|(known, _)| *known == channel) {
                let message = format!("the channel `{}` is there twice", shorten(&name.text));
                return Err(cursor.error(name.start, message).hint("a bare name is both ways"));
            }
            list.push((channel, direction));
        }
    }

    fn child(&mut self, cursor: &mut Cursor) -> Result<ThreadId, Error> {
        let name = cursor.name("the name of a thread")?;
        Ok(self.builder.thread(&name.text))
    }
}

/// Whether a word can be a name that expressions use.
fn check_binding(cursor: &Cursor, word: &Word) -> Result<(), Error> {
    if word.quoted || is_identifier(&word.text) {
        return Ok(());
    }
    let message = format!("`{}` cannot name a read", shorten(&word.text));
    let error = cursor.error(word.start, message);
    Err(error.hint("use letters, digits, _, $ and ., or put it in quotes"))
}

/// A recorded value, or `?` for none.
fn value(cursor: &mut Cursor, size: u32) -> Result<Option<u64>, Error> {
    if cursor.eat("?") { Ok(None) } else { fit(cursor, size).map(Some) }
}

fn mode(cursor: &mut Cursor) -> Mode {
    if cursor.keyword("shared") { Mode::Shared } else { Mode::Exclusive }
}

/// How an attempt ended; what blocks for ever succeeds unless the trace says otherwise.
fn succeeded(cursor: &mut Cursor, patience: Patience) -> Result<bool, Error> {
    if !cursor.eat(":") {
        if patience == Patience::Blocking {
            return Ok(true);
        }
        return Err(cursor.expected("`: ok` or `: fail`"));
    }
    if cursor.keyword("ok") {
        Ok(true)
    } else if cursor.keyword("fail") {
        Ok(false)
    } else {
        Err(cursor.expected("`ok` or `fail`"))
    }
}

/// The memory order behind an access: `atomic`, `atomic relaxed`, `plain`, or nothing.
fn order(cursor: &mut Cursor, default: MemoryOrder) -> Result<MemoryOrder, Error> {
    if cursor.keyword("atomic") {
        let start = cursor.place();
        match named_order(cursor) {
            Some(MemoryOrder::Plain) => Err(cursor.error(start, "atomic, and yet plain?")),
            named => Ok(named.unwrap_or(MemoryOrder::SeqCst)),
        }
    } else if cursor.keyword("plain") {
        Ok(MemoryOrder::Plain)
    } else {
        let start = cursor.place();
        match named_order(cursor) {
            None => Ok(default),
            Some(_) => {
                let error = cursor.error(start, "a memory order needs `atomic` before it");
                Err(error.hint("for example: read x : 5 atomic relaxed"))
            }
        }
    }
}

const ORDERS: &str = "the memory orders are relaxed, acquire, release, acq_rel, seq_cst, plain";

fn named_order(cursor: &mut Cursor) -> Option<MemoryOrder> {
    let named = [
        ("relaxed", MemoryOrder::Relaxed),
        ("acquire", MemoryOrder::Acquire),
        ("release", MemoryOrder::Release),
        ("acq_rel", MemoryOrder::AcqRel),
        ("seq_cst", MemoryOrder::SeqCst),
        ("plain", MemoryOrder::Plain),
    ];
    named.into_iter().find(|(name, _)| cursor.keyword(name)).map(|(_, order)| order)
}

fn unknown(cursor: &Cursor, word: &Word) -> Error {
    let error = cursor.error(word.start, format!("unknown event `{}`", shorten(&word.text)));
    let meant = match &*word.text {
        "lock" => Some("acquire"),
        "unlock" => Some("release"),
        "notify" => Some("signal"),
        other => KEYWORDS.into_iter().find(|keyword| almost(keyword, other)),
    };
    match meant {
        Some(meant) => error.hint(format!("did you mean `{meant}`?")),
        None => error,
    }
}

/// Whether one letter too many, too few, or wrong, or two swapped, turn one word into the other.
fn almost(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len().abs_diff(b.len()) > 1 {
        return false;
    }
    let start = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[start..], &b[start..]);
    let end = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[..a.len() - end], &b[..b.len() - end]);
    match (a, b) {
        ([x, y], [z, w]) => x == w && y == z,
        _ => a.len() <= 1 && b.len() <= 1,
    }
}
