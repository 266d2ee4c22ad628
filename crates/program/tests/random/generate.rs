//! Small random programs in text form.

pub(super) use foretrace_testing::Random;
use std::fmt::Write;

const DECLARATIONS: &str = "foretrace-program 1
global x = 0
global y : 1 = -1
global buffer : 16 = [1, 2, 3, 0, 0, 0, 0, 0, 9]
global pointer : 8
lock m
lock r recursive
cond c
semaphore s = 1
barrier b = 2
";

/// A program with two or three threads.
pub(super) fn generate(seed: u64) -> String {
    let mut writer =
        Writer { random: Random::new(seed), out: DECLARATIONS.to_string(), variables: 0, left: 0 };
    let threads = 2 + writer.random.below(2);
    let forks = writer.random.chance(50);
    for thread in 1..=threads {
        let _ = writeln!(writer.out, "func f{thread}(p: 32) {{");
        // More threads, fewer statements: the number of interleavings stays small.
        writer.left = 2 + writer.random.below(7 - threads);
        writer.variables = 0;
        while writer.left > 0 {
            writer.statement(1);
        }
        writer.out.push_str("}\n");
    }
    writer.out.push_str("func twice(a: 32, n: 8) -> 32 {\n  k := i32(n)\n  if k < 0 { return a }\n  k := k + a * 2\n  return k - a\n}\n");
    if forks {
        writer.out.push_str("thread main {\n");
        for thread in 1..=threads {
            let _ = writeln!(writer.out, "  t{thread} := fork f{thread}({thread})");
        }
        for thread in 1..=threads {
            if writer.random.chance(70) {
                let _ = writeln!(writer.out, "  join t{thread}");
            }
        }
        writer.out.push_str("  assert load x != 2  @ main.c:1\n}\n");
    } else {
        for thread in 1..=threads {
            let _ = writeln!(writer.out, "thread t{thread} = f{thread}({thread})");
        }
    }
    writer.out
}

struct Writer {
    random: Random,
    out: String,
    /// How many variables `v1`, `v2`, … have a value everywhere from here on.
    variables: usize,
    /// How many visible statements may still come.
    left: usize,
}

impl Writer {
    fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.out, "{}{text}", "  ".repeat(depth));
    }

    fn statement(&mut self, depth: usize) {
        self.left = self.left.saturating_sub(1);
        match self.random.below(26) {
            0..=2 => {
                let value = self.expression(2);
                let order = self.random.pick(&["", "", "", "atomic ", "atomic release "]);
                self.line(
                    depth,
                    &format!("store {order}x, {value} @ file {depth}.c:{}", self.left),
                );
            }
            3..=6 => {
                let load = self.random.pick(&[
                    "load x",
                    "load x",
                    "load atomic x",
                    "u32(load y)",
                    "i32(load y)",
                    "load buffer[0:4]",
                    "load buffer[8:4]",
                ]);
                self.assign(depth, load);
            }
            7 => {
                let place = self.random.pick(&["y", "buffer[0:1]", "buffer[3:1]", "x[1:1]"]);
                let value = self.expression(1);
                self.line(depth, &format!("store {place}, u8({value})"));
            }
            8 => {
                let op = self.random.pick(&["add", "xchg", "or", "umax", "nand"]);
                self.assign(depth, &format!("rmw {op} x, 1"));
            }
            9 => self.assign(depth, "cmpxchg x, 0, 1"),
            10 | 11 => {
                let condition = self.condition();
                self.line(depth, &format!("assert {condition} @ \"quoted; place\""));
            }
            12 => {
                let condition = self.condition();
                self.line(depth, &format!("assume {condition}"));
            }
            13..=15 if depth < 3 => self.conditional(depth),
            16 | 17 => {
                let (lock, mode) =
                    (self.random.pick(&["m", "m", "r"]), self.random.pick(&["", "", "shared "]));
                self.line(depth, &format!("acquire {mode}{lock}"));
                if self.random.chance(40) {
                    self.statement(depth);
                }
                if lock == "m" && self.random.chance(20) {
                    self.line(depth, "wait c m");
                }
                if self.random.chance(85) {
                    self.line(depth, &format!("release {mode}{lock}"));
                }
            }
            18 => {
                let word = self.random.pick(&[
                    "tryacquire m",
                    "timedacquire r",
                    "trysemwait s",
                    "tryacquire shared m",
                ]);
                self.assign_bit(depth, word);
            }
            19 => {
                let word = self.random.pick(&[
                    "signal c",
                    "broadcast c",
                    "release m",
                    "region begin",
                    "fence",
                ]);
                self.line(depth, word);
            }
            20 => {
                let word = self.random.pick(&["semwait s", "sempost s", "barrier b"]);
                self.line(depth, word);
            }
            21 => {
                self.line(depth, "acquire m");
                self.assign_bit(depth, "timedwait c m");
                self.line(depth, "release m");
            }
            22 => self.assign(depth, "external input(p) : 32"),
            23 => self.heap(depth),
            24 => {
                let value = self.expression(1);
                self.assign(depth, &format!("call twice({value}, 3)"));
            }
            25 if depth == 1 && self.random.chance(60) => {
                self.line(depth, "if load x == 1 { exit }");
            }
            _ => {
                let value = self.expression(3);
                self.assign(depth, &value);
            }
        }
    }

    fn conditional(&mut self, depth: usize) {
        let (condition, variables) = (self.condition(), self.variables);
        self.line(depth, &format!("if {condition} {{"));
        self.statement(depth + 1);
        if self.random.chance(30) {
            self.line(depth + 1, "return");
        }
        let after = std::mem::replace(&mut self.variables, variables);
        if self.random.chance(50) {
            self.line(depth, "} else {");
            self.statement(depth + 1);
        }
        self.line(depth, "}");
        self.variables = after.min(self.variables).min(variables);
    }

    fn heap(&mut self, depth: usize) {
        let name = format!("q{}", self.out.len());
        let how = self.random.pick(&["alloc 8", "slot 8", "slot 4"]);
        self.line(depth, &format!("{name} := {how}"));
        if self.random.chance(60) {
            self.line(depth, &format!("store pointer, {name}"));
        }
        let offset = self.random.pick(&[0, 0, 4, 6]);
        self.line(depth, &format!("store.4 {name} + {offset}, 7"));
        if how == "alloc 8" && self.random.chance(60) {
            self.line(depth, &format!("free {name}"));
        }
        if self.random.chance(40) {
            let pointer = format!("p{}", self.out.len());
            self.line(depth, &format!("{pointer} := load pointer"));
            self.line(depth, &format!("if {pointer} != 0 {{ store.4 {pointer}, 5 }}"));
        }
    }

    fn assign(&mut self, depth: usize, value: &str) {
        let variable = 1 + self.random.below(self.variables + 1).min(2);
        self.line(depth, &format!("v{variable} := {value}"));
        self.variables = self.variables.max(variable);
    }

    fn assign_bit(&mut self, depth: usize, value: &str) {
        let name = format!("k{}", self.out.len());
        self.line(depth, &format!("{name} := {value}"));
        self.assign(depth, &format!("u32({name})"));
    }

    fn condition(&mut self) -> String {
        let (left, right) = (self.expression(1), self.expression(1));
        let op = self.random.pick(&["==", "!=", "<", ">=", "<u", ">=u"]);
        match self.random.below(4) {
            0 => format!("!({left} {op} {right})"),
            1 => format!("{left} {op} {right} || {right} > 1"),
            2 => format!("({left})"),
            _ => format!("{left} {op} {right}"),
        }
    }

    fn expression(&mut self, depth: usize) -> String {
        if depth == 0 || self.random.chance(40) {
            return match self.random.below(3) {
                0 if self.variables > 0 => format!("v{}", 1 + self.random.below(self.variables)),
                1 => "p".to_string(),
                _ => self.random.pick(&["0", "1", "2", "-1"]).to_string(),
            };
        }
        let (left, right) = (self.expression(depth - 1), self.expression(depth - 1));
        match self.random.below(8) {
            0 => format!("-({left})"),
            1 => format!("~{}", self.expression(0)),
            2 => format!("({left} < {right} ? {right} : {left})"),
            3 => format!("u32({left} == {right})"),
            _ => {
                let ops = ["+", "-", "*", "/", "% ", "/u", "%u ", "&", "|", "^", "<<", ">>", ">>u"];
                format!("(({left}) {} ({right}))", self.random.pick(&ops))
            }
        }
    }
}
