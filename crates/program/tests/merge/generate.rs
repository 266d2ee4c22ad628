//! Small random programs that can be written down as a program, and whose runs can be written down
//! as traces with expressions.
//!
//! Every statement has a location of its own, so that what is found in a merged program can be
//! compared with what is found in the whole one. The two ways to write an expression share nothing:
//! the text of the program says where something has how many bits, that of a trace never does.

#[path = "told.rs"]
mod told;

pub(crate) use foretrace_testing::Random;
use std::collections::BTreeMap;
use std::fmt::Write;

use foretrace_program::Program;
use foretrace_program::run::{Action, Event};

use told::Told;

/// What to generate.
#[derive(Clone, Copy)]
pub(crate) struct Mix {
    /// Whether traces may hide what an event does.
    pub(crate) opaque: bool,
    /// Condition variables and barriers.
    pub(crate) waits: bool,
}

/// Variables: name, bytes, contents at the start.
pub(crate) const GLOBALS: [(&str, u32, u64); 4] =
    [("x", 1, 0), ("y", 1, 1), ("w", 2, 0x0102), ("v", 8, 0)];
/// What is accessed: name, offset, bytes. What several threads use is what matters, so most
/// accesses go to the same few bytes.
const PLACES: [Place; 10] = [
    ("x", 0, 1),
    ("x", 0, 1),
    ("x", 0, 1),
    ("x", 0, 1),
    ("y", 0, 1),
    ("y", 0, 1),
    ("w", 0, 1),
    ("w", 1, 1),
    ("w", 0, 2),
    ("v", 0, 8),
];
type Place = (&'static str, u32, u32);
const LOCALS: [&str; 2] = ["a", "b"];

#[derive(Clone)]
enum Expr {
    Number(u64),
    Local(&'static str),
    Unary(&'static str, Box<Expr>),
    /// Cut to so many bits and extended again: by zeros (`u`) or by the sign (`i`).
    Cast(&'static str, u32, Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    Choice(Box<Expr>, Box<Expr>, Box<Expr>),
}

impl Expr {
    /// As a program has it: 64 bits, like everything in a trace.
    fn in_program(&self) -> String {
        match self {
            Expr::Number(number) => format!("u64({number})"),
            Expr::Local(name) => name.to_string(),
            Expr::Unary("!", a) => format!("u64(!{})", a.in_program()),
            Expr::Unary(op, a) => format!("({op}{})", a.in_program()),
            Expr::Cast(kind, bits, a) => format!("{kind}64(u{bits}({}))", a.in_program()),
            Expr::Binary(op, a, b) => {
                let bits = ["==", "!=", "<", "<=", ">", ">=", "&&", "||", "<u", "<=u", ">u", ">=u"];
                let gives_bit = bits.contains(op);
                let cast = if gives_bit { "u64" } else { "" };
                format!("{cast}({} {op} {})", a.in_program(), b.in_program())
            }
            Expr::Choice(c, a, b) => {
                format!("({} ? {} : {})", c.in_program(), a.in_program(), b.in_program())
            }
        }
    }

    fn in_trace(&self) -> String {
        match self {
            Expr::Number(number) => number.to_string(),
            Expr::Local(name) => name.to_string(),
            Expr::Unary(op, a) => format!("({op}({}))", a.in_trace()),
            Expr::Cast(kind, bits, a) => {
                let kind = if *kind == "u" { "u" } else { "s" };
                format!("{kind}{bits}({})", a.in_trace())
            }
            Expr::Binary(op, a, b) => format!("({} {op} {})", a.in_trace(), b.in_trace()),
            Expr::Choice(c, a, b) => {
                format!("({} ? {} : {})", c.in_trace(), a.in_trace(), b.in_trace())
            }
        }
    }
}

enum Kind {
    Load {
        to: &'static str,
        from: Place,
        atomic: bool,
    },
    Store {
        to: Place,
        value: Expr,
        atomic: bool,
    },
    Let {
        to: &'static str,
        value: Expr,
    },
    Rmw {
        to: &'static str,
        at: Place,
        op: &'static str,
        sign: &'static str,
        operand: Expr,
    },
    /// With `assumes`, a trace has it as an update that assumes what it compared, or as a read and
    /// a branch.
    CompareExchange {
        to: &'static str,
        at: Place,
        expected: Expr,
        new: Expr,
        assumes: bool,
    },
    If {
        condition: Expr,
        then: Vec<Statement>,
        otherwise: Vec<Statement>,
    },
    Assert(Expr),
    Assume(Expr),
    /// The same words in both texts.
    Same(String),
    /// An operation that may give up, and what follows when it did not and when it did.
    Try {
        operation: &'static str,
        then: Vec<Statement>,
        otherwise: Vec<Statement>,
    },
    Fork(String),
    Join(String),
    Return,
    Exit,
}

struct Statement {
    id: usize,
    /// A trace does not say what it does.
    opaque: bool,
    kind: Kind,
}

/// A program of which both texts can be had.
pub(crate) struct Generated {
    threads: Vec<(String, Vec<Statement>)>,
    /// Whether the others are forked by the last one.
    forks: bool,
}

struct Writer<'r> {
    random: &'r mut Random,
    mix: Mix,
    next: usize,
    /// Visible statements that are left to write.
    left: usize,
    held: Vec<&'static str>,
}

impl Writer<'_> {
    fn expression(&mut self, depth: usize) -> Expr {
        let simple = |random: &mut Random| match random.below(2) {
            0 => Expr::Number(random.pick(&[0, 1, 2, 3, 255, 256])),
            _ => Expr::Local(random.pick(&LOCALS)),
        };
        if depth == 0 {
            return simple(self.random);
        }
        match self.random.below(13) {
            0..=3 => simple(self.random),
            4 => Expr::Unary(self.random.pick(&["-", "~", "!"]), self.boxed(depth)),
            5 => Expr::Choice(self.boxed(depth), self.boxed(depth), self.boxed(depth)),
            6 => {
                let op = self.random.pick(&["/", "%", "<<", ">>", "*", "/u", "%u", ">>u"]);
                Expr::Binary(op, self.boxed(depth), self.boxed(depth))
            }
            7 => {
                Expr::Binary(self.random.pick(&["&&", "||"]), self.boxed(depth), self.boxed(depth))
            }
            8 => self.comparison(depth - 1),
            9 => {
                let (kind, bits) =
                    (self.random.pick(&["u", "i"]), self.random.pick(&[1, 7, 8, 32]));
                Expr::Cast(kind, bits, self.boxed(depth))
            }
            _ => {
                let op = self.random.pick(&["+", "-", "&", "|", "^"]);
                Expr::Binary(op, self.boxed(depth), self.boxed(depth))
            }
        }
    }

    fn boxed(&mut self, depth: usize) -> Box<Expr> {
        Box::new(self.expression(depth - 1))
    }

    fn comparison(&mut self, depth: usize) -> Expr {
        if self.random.chance(50) {
            let number = Box::new(Expr::Number(self.random.below(3) as u64));
            let op = self.random.pick(&["==", "!=", "<"]);
            return Expr::Binary(op, Box::new(Expr::Local(self.random.pick(&LOCALS))), number);
        }
        let op = self
            .random
            .pick(&["==", "==", "!=", "!=", "<", "<=", ">", ">=", "<u", "<=u", ">u", ">=u"]);
        Expr::Binary(op, Box::new(self.expression(depth)), Box::new(self.expression(0)))
    }

    fn statement(&mut self, kind: Kind) -> Statement {
        self.next += 1;
        let opaque = self.mix.opaque && self.random.chance(40);
        Statement { id: self.next, opaque, kind }
    }

    fn list(&mut self, depth: usize, most: usize) -> Vec<Statement> {
        let mut list = Vec::new();
        for _ in 0..1 + self.random.below(most) {
            if self.left == 0 {
                break;
            }
            self.write(depth, &mut list);
        }
        list
    }

    fn write(&mut self, depth: usize, list: &mut Vec<Statement>) {
        let (local, place) = (self.random.pick(&LOCALS), self.random.pick(&PLACES));
        let atomic = self.random.chance(25);
        let visible = |writer: &mut Self| writer.left = writer.left.saturating_sub(1);
        let kind = match self.random.below(22) {
            0..=3 => {
                visible(self);
                Kind::Load { to: local, from: place, atomic }
            }
            4..=7 => {
                visible(self);
                let next =
                    Expr::Binary("+", Box::new(Expr::Local(local)), Box::new(Expr::Number(1)));
                let value = if self.random.chance(40) { next } else { self.expression(2) };
                Kind::Store { to: place, value, atomic }
            }
            8 => Kind::Let { to: local, value: self.expression(2) },
            9 => {
                visible(self);
                let update = [
                    ("add", "+"),
                    ("sub", "-"),
                    ("and", "&"),
                    ("or", "|"),
                    ("xor", "^"),
                    ("xchg", ""),
                ];
                let (op, sign) = self.random.pick(&update);
                Kind::Rmw { to: local, at: place, op, sign, operand: self.expression(1) }
            }
            10 => {
                visible(self);
                let at = self.random.pick(&[("x", 0, 1), ("y", 0, 1)]);
                let fits = Box::new(Expr::Number(255));
                let expected = match self.random.chance(60) {
                    true => Expr::Number(self.random.below(2) as u64),
                    false => Expr::Binary("&", Box::new(Expr::Local(local)), fits),
                };
                let (new, assumes) = (self.expression(1), self.random.chance(50));
                Kind::CompareExchange { to: local, at, expected, new, assumes }
            }
            11 | 12 => Kind::Assert(self.comparison(1)),
            13 => Kind::Assume(self.comparison(1)),
            14..=16 if depth > 0 => {
                let condition = self.comparison(1);
                let mut then = self.list(depth - 1, 3);
                if self.random.chance(10) {
                    let ending = if self.random.chance(70) { Kind::Return } else { Kind::Exit };
                    let ending = self.statement(ending);
                    then.push(ending);
                }
                let otherwise = match self.random.chance(60) {
                    true => self.list(depth - 1, 2),
                    false => Vec::new(),
                };
                Kind::If { condition, then, otherwise }
            }
            17 | 18 => return self.locked(depth, list),
            19 => {
                visible(self);
                Kind::Same(self.random.pick(&["semwait s", "sempost s", "sempost s"]).to_string())
            }
            20 if depth > 0 => {
                visible(self);
                let then = self.list(depth - 1, 2);
                let otherwise = self.list(depth - 1, 1);
                Kind::Try { operation: "trysemwait s", then, otherwise }
            }
            21 if self.mix.waits => {
                visible(self);
                Kind::Same(self.random.pick(&["signal c", "broadcast c", "barrier b"]).to_string())
            }
            _ => return,
        };
        let statement = self.statement(kind);
        list.push(statement);
    }

    fn locked(&mut self, depth: usize, list: &mut Vec<Statement>) {
        let lock = self.random.pick(&["m", "m", "n", "r"]);
        if self.held.contains(&lock) && lock != "r" {
            return;
        }
        self.left = self.left.saturating_sub(1);
        let shared = lock == "n" && self.random.chance(50);
        let mode = if shared { "shared " } else { "" };
        self.held.push(lock);
        if lock != "r" && depth > 0 && self.random.chance(25) {
            let mut then = self.list(depth - 1, 2);
            let release = self.statement(Kind::Same(format!("release {lock}")));
            then.push(release);
            self.held.pop();
            let otherwise = self.list(depth - 1, 1);
            let operation = if lock == "m" { "tryacquire m" } else { "timedacquire n" };
            let tried = self.statement(Kind::Try { operation, then, otherwise });
            return list.push(tried);
        }
        let acquire = self.statement(Kind::Same(format!("acquire {mode}{lock}")));
        list.push(acquire);
        if self.mix.waits && lock == "m" && self.random.chance(50) {
            self.left = self.left.saturating_sub(1);
            let wait = match self.random.chance(30) {
                true => {
                    let (then, otherwise) = (self.list(0, 1), self.list(0, 1));
                    Kind::Try { operation: "timedwait c m", then, otherwise }
                }
                false => Kind::Same("wait c m".to_string()),
            };
            let wait = self.statement(wait);
            list.push(wait);
        }
        list.extend(self.list(depth, 2));
        self.held.pop();
        let release = self.statement(Kind::Same(format!("release {mode}{lock}")));
        list.push(release);
    }
}

/// A program of two or three threads, and perhaps one that forks them.
pub(crate) fn generate(seed: u64, mix: Mix) -> Generated {
    let mut random = Random::new(seed);
    let count = 2 + random.below(2);
    let forks = random.chance(50);
    let mut next = 0;
    let mut threads = Vec::new();
    for thread in 1..=count {
        let left = 2 + random.below(if count == 2 { 4 } else { 2 });
        let mut writer = Writer { random: &mut random, mix, next, left, held: Vec::new() };
        let mut list = Vec::new();
        for (number, local) in LOCALS.into_iter().enumerate() {
            let value = Expr::Number(((thread + number) % 2) as u64);
            let first = writer.statement(Kind::Let { to: local, value });
            list.push(first);
        }
        while writer.left > 0 {
            writer.write(2, &mut list);
        }
        next = writer.next;
        threads.push((format!("t{thread}"), list));
    }
    if forks {
        let mut writer = Writer { random: &mut random, mix, next, left: 0, held: Vec::new() };
        let mut list = Vec::new();
        for thread in 1..=count {
            list.push(writer.statement(Kind::Fork(format!("t{thread}"))));
        }
        for thread in 1..=count {
            if writer.random.chance(70) {
                list.push(writer.statement(Kind::Join(format!("t{thread}"))));
            }
        }
        list.push(writer.statement(Kind::Load { to: "a", from: ("x", 0, 1), atomic: false }));
        let condition = Expr::Binary("!=", Box::new(Expr::Local("a")), Box::new(Expr::Number(1)));
        list.push(writer.statement(Kind::Assert(condition)));
        threads.push(("main".to_string(), list));
    }
    Generated { threads, forks }
}

impl Generated {
    /// The program.
    pub(crate) fn program(&self) -> String {
        let mut text = "lock m\nlock n\nlock r recursive\nsemaphore s = 1\nbarrier b = 2\ncond c\n"
            .to_string();
        for (name, size, value) in GLOBALS {
            let _ = writeln!(text, "global {name} : {size} = {value}");
        }
        for (name, list) in &self.threads {
            let is_forked = self.forks && name != "main";
            let head = if is_forked { format!("func {name}()") } else { format!("thread {name}") };
            let _ = writeln!(text, "{head} {{");
            in_program(list, &mut text);
            text.push_str("}\n");
        }
        text
    }

    /// A run of the program as a trace, with or without declarations of what is in the variables at
    /// the start.
    pub(crate) fn trace(&self, program: &Program, events: &[Event], declare: bool) -> String {
        let mut names = BTreeMap::new();
        for event in events {
            if event.action == Action::Begin {
                names.insert(event.thread, program.function(event.site.function).name.clone());
            }
        }
        let mut lines: Vec<(usize, String)> = Vec::new();
        for (&thread, name) in &names {
            let of_thread = events.iter().enumerate().filter(|(_, event)| event.thread == thread);
            let events = of_thread.collect();
            let mut told = Told { name, events, at: 0, lines: &mut lines };
            let (_, list) = self.threads.iter().find(|(of, _)| of == name).expect("it is there");
            told.next("begin", None);
            told.list(list);
            if told.action() == Some(Action::End) {
                told.next("end", None);
            }
        }
        lines.sort_by_key(|(event, _)| *event);
        let mut text =
            "lock m plain\nlock r recursive\nsemaphore s = 1\nbarrier b = 2\n".to_string();
        for (name, size, value) in GLOBALS.into_iter().filter(|_| declare) {
            let _ = writeln!(text, "init {name}[0:{size}] = {value}");
        }
        for (_, line) in lines {
            text.push_str(&line);
        }
        text
    }
}

fn in_program(list: &[Statement], text: &mut String) {
    let at = |(name, offset, size): Place| format!("{name}[{offset}:{size}]");
    let cut = |(_, _, size): Place, value: &Expr| format!("u{}({})", size * 8, value.in_program());
    let order = |atomic: bool| if atomic { "atomic " } else { "" };
    for Statement { id, kind, .. } in list {
        let _ = match kind {
            Kind::Load { to, from, atomic } => {
                writeln!(text, "{to} := u64(load {}{}) @ L{id}", order(*atomic), at(*from))
            }
            Kind::Store { to, value, atomic } => {
                writeln!(text, "store {}{}, {} @ L{id}", order(*atomic), at(*to), cut(*to, value))
            }
            Kind::Let { to, value } => writeln!(text, "{to} := {}", value.in_program()),
            Kind::Rmw { to, at: place, op, operand, .. } => {
                let (at, operand) = (at(*place), cut(*place, operand));
                writeln!(text, "t{id} = rmw {op} {at}, {operand} @ L{id}\n{to} := u64(t{id})")
            }
            Kind::CompareExchange { to, at: place, expected, new, .. } => {
                let (at, expected, new) = (at(*place), cut(*place, expected), cut(*place, new));
                writeln!(
                    text,
                    "t{id} = cmpxchg {at}, {expected}, {new} @ L{id}\n{to} := u64(t{id})"
                )
            }
            Kind::If { condition, then, otherwise } => {
                let _ = writeln!(text, "if {} {{ @ L{id}", condition.in_program());
                in_program(then, text);
                text.push_str("} else {\n");
                in_program(otherwise, text);
                writeln!(text, "}}")
            }
            Kind::Assert(condition) => writeln!(text, "assert {} @ L{id}", condition.in_program()),
            Kind::Assume(condition) => writeln!(text, "assume {} @ L{id}", condition.in_program()),
            Kind::Same(words) => writeln!(text, "{words} @ L{id}"),
            Kind::Try { operation, then, otherwise } => {
                let _ = writeln!(text, "t{id} = {operation} @ L{id}\nif t{id} {{");
                in_program(then, text);
                text.push_str("} else {\n");
                in_program(otherwise, text);
                writeln!(text, "}}")
            }
            Kind::Fork(child) => writeln!(text, "h{child} = fork {child}() @ L{id}"),
            Kind::Join(child) => writeln!(text, "join h{child} @ L{id}"),
            Kind::Return => writeln!(text, "return"),
            Kind::Exit => writeln!(text, "exit @ L{id}"),
        };
    }
}
