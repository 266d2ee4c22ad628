//! Small random programs, as text.

use foretrace_testing::Random;
use std::fmt::Write;

/// One function of a thread that is being written.
struct Body<'r> {
    random: &'r mut Random,
    text: String,
    /// Statements that are left to write.
    left: usize,
    held: Vec<&'static str>,
}

impl Body<'_> {
    fn expression(&mut self, depth: usize) -> String {
        match self.random.below(if depth == 0 { 2 } else { 6 }) {
            0 => format!("u8({})", self.random.below(4)),
            1 => self.random.pick(&["a", "b"]).to_string(),
            _ => {
                let op = self.random.pick(&["+", "-", "*", "&", "|", "^", "/", "%u", ">>u", "<<"]);
                let (left, right) = (self.expression(depth - 1), self.expression(depth - 1));
                format!("({left} {op} {right})")
            }
        }
    }

    fn condition(&mut self) -> String {
        let op = self.random.pick(&["==", "!=", "<", "<=u", ">=", ">u"]);
        let (left, right) = (self.expression(1), self.expression(0));
        format!("{left} {op} {right}")
    }

    fn statements(&mut self, depth: usize, most: usize) {
        for _ in 0..1 + self.random.below(most) {
            if self.left == 0 {
                return;
            }
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: usize) {
        let local = self.random.pick(&["a", "b"]);
        let global = self.random.pick(&["x", "x", "y", "w[0:1]", "w[1:1]"]);
        let order = self.random.pick(&["", "", "", "atomic "]);
        let line = match self.random.below(17) {
            0..=2 => {
                self.left -= 1;
                format!("{local} := load {order}{global}")
            }
            3..=5 => {
                self.left -= 1;
                format!("store {order}{global}, {}", self.expression(2))
            }
            6 => format!("{local} := {}", self.expression(2)),
            7 => {
                self.left -= 1;
                let op = self.random.pick(&["add", "xchg", "xor", "umax", "min"]);
                format!("{local} := rmw {op} {global}, {}", self.expression(1))
            }
            8 => {
                self.left -= 1;
                let (expected, new) = (self.expression(0), self.expression(1));
                format!("{local} := cmpxchg z, {expected}, {new}")
            }
            9 => format!("assert {}", self.condition()),
            10 => format!("assume {}", self.condition()),
            11 | 12 if depth > 0 => return self.branch(depth),
            13 => {
                self.left -= 1;
                let lock = self.random.pick(&["m", "m", "n", "r"]);
                match self.random.below(8) {
                    0 => format!("g := tryacquire {lock}; {local} := u8(g)"),
                    1 => format!("release {lock}"),
                    _ => return self.locked(depth, lock),
                }
            }
            14 => {
                self.left -= 1;
                self.random.pick(&["semwait s", "sempost s", "sempost s"]).to_string()
            }
            15 if self.random.chance(20) => {
                self.left -= 1;
                format!("{local} := external in : 8; {local} := {local} & 1")
            }
            16 if self.random.chance(30) => {
                format!("{local} := call twice({})", self.expression(1))
            }
            _ => {
                self.left -= 1;
                format!("{local} := load w[0:1]; {local} := {local} + u8(load w)")
            }
        };
        let _ = writeln!(self.text, "  {line}");
    }

    fn branch(&mut self, depth: usize) {
        let condition = self.condition();
        let _ = writeln!(self.text, "  if {condition} {{");
        self.statements(depth - 1, 3);
        if self.random.chance(8) {
            let ending = self.random.pick(&["return", "exit", "unreachable"]);
            let _ = writeln!(self.text, "  {ending}");
        }
        if self.random.chance(60) {
            let _ = writeln!(self.text, "  }} else {{");
            self.statements(depth - 1, 3);
        }
        let _ = writeln!(self.text, "  }}");
    }

    fn locked(&mut self, depth: usize, lock: &'static str) {
        if self.held.contains(&lock) && lock != "r" && !self.random.chance(10) {
            return;
        }
        let _ = writeln!(self.text, "  acquire {lock}");
        self.held.push(lock);
        self.statements(depth, 2);
        self.held.pop();
        if !self.random.chance(5) {
            let _ = writeln!(self.text, "  release {lock}");
        }
    }
}

/// A program of two or three threads.
pub(crate) fn program(seed: u64) -> String {
    let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    for _ in 0..8 {
        random.below(2);
    }
    let mut text = String::from(
        "lock m\nlock n\nlock r recursive\nsemaphore s = 1\n\
         global x : 1\nglobal y : 1 = 1\nglobal w : 2 = 0x0102\nglobal z : 1\n\
         func twice(v: 8) -> 8 {\n  if v == 0 { return v }\n  t := load atomic z\n  return v + v + t\n}\n",
    );
    let threads = 2 + random.below(2);
    let forked = random.chance(50);
    for thread in 0..threads {
        let left = 3 + random.below(if threads == 2 { 5 } else { 3 });
        let mut body = Body { random: &mut random, text: String::new(), left, held: Vec::new() };
        while body.left > 0 {
            body.statement(2);
        }
        let head = if forked { "func" } else { "thread" };
        let parameters = if forked { "()" } else { "" };
        let _ = writeln!(
            text,
            "{head} t{thread}{parameters} {{\n  a := u8({thread})\n  b := u8(1)\n{}}}",
            body.text
        );
    }
    if forked {
        text.push_str("thread main {\n  a := u8(0)\n");
        for thread in 0..threads {
            let _ = writeln!(text, "  h{thread} = fork t{thread}()");
            if random.chance(20) {
                let _ = writeln!(text, "  a := load x");
            }
        }
        for thread in 0..threads {
            if random.chance(70) {
                let _ = writeln!(text, "  join h{thread}");
            }
        }
        let _ = writeln!(text, "  assert load x != u8({})\n}}", random.below(4));
    }
    text
}
