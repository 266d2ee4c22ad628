//! Statements of random programs.

use super::Generator;
use crate::fragments::*;

impl Generator {
    pub(super) fn assertion(&mut self, depth: usize) {
        if self.random.below(3) > 0 {
            return self.repeated(depth);
        }
        if self.locals.is_empty() || self.random.one_in(3) {
            self.read(depth);
        }
        // Not so often false that the recorded run never passes.
        let (x, c) = (self.atom(), self.random.below(9));
        let condition = match self.random.below(10) {
            0..=2 => format!("{x} != {c}"),
            8 => {
                let (kind, z) = (self.random.pick(&TYPES), self.constant());
                format!("({kind})({x} + {z}) {} {}", self.random.pick(&["<", ">"]), self.atom())
            }
            9 => {
                let (kind, z) = (self.random.pick(&TYPES), self.constant());
                format!(
                    "({x} {} {z}) != ({kind}){}",
                    self.random.pick(&["+", "*", "-", "^"]),
                    self.atom()
                )
            }
            3 => format!("({x} & 7) != {c}"),
            4 => format!("{x} + {} != {c}", self.atom()),
            5 => format!("{x} <= {} || {x} > {c}", self.atom()),
            6 => format!("{x} == {} || {x} != {c}", self.atom()),
            _ => self.condition(),
        };
        self.assert(depth, &condition);
    }

    pub(super) fn assert(&mut self, depth: usize, condition: &str) {
        let text = match self.random.below(4) {
            0 => format!("if (!({condition})) abort();"),
            1 => format!("FORETRACE_ASSERT({condition});"),
            _ => format!("assert({condition});"),
        };
        self.line(depth, &text);
    }

    /// What holds if nobody interferes.
    pub(super) fn repeated(&mut self, depth: usize) {
        let place = self.place();
        let (name, again) = (self.local(), self.local());
        self.spend(2);
        if self.random.one_in(2) {
            self.line(depth, &format!("__typeof__({place}) {name} = {place};"));
        } else {
            let value = self.value();
            self.line(depth, &format!("__typeof__({place}) {name} = {value};"));
            self.line(depth, &format!("{place} = {name};"));
        }
        self.locals.push(name.clone());
        if self.random.one_in(2) {
            self.statement(depth);
        }
        let kind = self.random.pick(&TYPES);
        let c = self.random.below(4);
        match self.random.below(3) {
            0 => self.line(depth, &format!("__typeof__({place}) {again} = {place};")),
            1 if !self.has_lock => {
                self.line(depth, "pthread_mutex_lock(&m0);");
                self.line(depth, &format!("__typeof__({place}) {again} = {place};"));
                self.line(depth, "pthread_mutex_unlock(&m0);");
            }
            _ => self.line(depth, &format!("{kind} {again} = ({kind}){place};")),
        }
        let condition = match self.random.below(6) {
            0 | 1 => format!("{name} == {again}"),
            2 => format!("({kind})({again} - {name}) == 0"),
            3 => format!("({again} ^ {name}) < {c} + 1"),
            4 => format!("{again} * 3 - {name} * 3 != {c} + 1"),
            _ => format!("({kind}){again} <= ({kind}){name}"),
        };
        self.assert(depth, &condition);
        if self.random.one_in(3) {
            self.assert(depth, &format!("{again} != {c} + 1"));
        }
        self.locals.push(again);
    }

    pub(super) fn block(&mut self, depth: usize, count: u64) {
        let scope = self.locals.len();
        for _ in 0..count {
            self.statement(depth);
        }
        self.locals.truncate(scope);
    }

    pub(super) fn statement(&mut self, depth: usize) {
        let place = self.place();
        match self.random.below(if self.plain { 30 } else { 60 }) {
            0..=4 => self.read(depth),
            5..=8 => {
                let value = self.value();
                self.spend(1);
                self.line(depth, &format!("{place} = {value};"));
            }
            9..=11 => {
                let value = self.atom();
                self.spend(2);
                let operation = self.random.pick(&["+", "+", "-", "^", "|", "*"]);
                self.line(depth, &format!("{place} {operation}= {value};"));
            }
            12 => {
                self.spend(2);
                self.line(depth, &format!("{place}++;"));
            }
            13 | 14 if !self.has_lock => {
                let [take, give] = *self.random.pick(&LOCKS);
                self.line(depth, take);
                self.has_lock = true;
                self.spend(1);
                self.block(depth, 2);
                self.has_lock = false;
                self.line(depth, give);
            }
            15 | 16 if depth < 3 => {
                if self.locals.is_empty() {
                    self.read(depth);
                }
                let condition = self.condition();
                self.line(depth, &format!("if ({condition}) {{"));
                self.block(depth + 1, 1);
                if self.random.one_in(3) {
                    self.line(depth, "} else {");
                    self.block(depth + 1, 1);
                }
                self.line(depth, "}");
            }
            17 if depth < 3 && self.budget > 2 => {
                let name = self.local();
                self.line(depth, &format!("for (int {name} = 0; {name} < 2; {name}++) {{"));
                self.locals.push(name);
                let before = self.budget;
                self.block(depth + 1, 1);
                self.locals.pop();
                self.spend(before - self.budget);
                self.line(depth, "}");
            }
            18 => {
                let operation = self.random.pick(&["add", "sub", "xor", "or"]);
                let value = self.atom();
                self.spend(1);
                self.declare(depth, &format!("atomic_fetch_{operation}(&a, {value})"));
            }
            19 => {
                let value = self.value();
                self.spend(1);
                let atomic = self.random.pick(&["a", "b"]);
                self.line(depth, &format!("{atomic} = {value};"));
            }
            20 => {
                self.spend(1);
                let atomic = self.random.pick(&["a", "b"]);
                self.declare(depth, atomic);
            }
            21 => {
                let (name, value) = (self.local(), self.atom());
                let wanted = self.random.below(3);
                self.spend(1);
                self.line(depth, &format!("__typeof__((0, a)) {name} = {wanted};"));
                let done = format!("atomic_compare_exchange_strong(&a, &{name}, {value})");
                self.declare(depth, &done);
                self.locals.push(name);
            }
            22 => {
                let value = self.atom();
                self.spend(2);
                self.line(depth, &format!("add(&n, (int){value});"));
            }
            23 => {
                self.spend(1);
                self.declare(depth, "get(&n)");
            }
            24 => {
                // A local whose address is taken.
                let (name, value, more) = (self.local(), self.atom(), self.atom());
                self.line(depth, &format!("int {name} = (int){value};"));
                self.line(depth, &format!("add(&{name}, (int){more});"));
                self.locals.push(name);
            }
            25 => {
                let value = self.value();
                self.spend(1);
                let field = self.random.pick(&["p.s", "p.c", "p.d", "p.i", "p.l"]);
                self.line(depth, &format!("{field} = {value};"));
            }
            26 => {
                self.spend(1);
                let field = self.random.pick(&["p.s", "p.c", "p.d", "p.i", "q.i"]);
                self.declare(depth, field);
            }
            27 => {
                let value = self.atom();
                self.spend(1);
                self.line(depth, &format!("put(&p.s, (int){value});"));
            }
            28 | 29 => self.assertion(depth),
            30 => {
                self.spend(4);
                let copy = self.random.pick(&[
                    "q = p;",
                    "memcpy(&q, &p, sizeof q);",
                    "memcpy(&q, &p, 5);",
                    "memset(&p, 0, sizeof p);",
                    "memset(&p, 1, 4);",
                    "p = made(3);",
                ]);
                self.line(depth, copy);
            }
            31 | 32 => {
                self.spend(2);
                self.declare(depth, "sum(p)");
            }
            33 => {
                let value = self.atom();
                self.line(depth, &format!("printf(\"%ld\\n\", (long){value});"));
            }
            34 | 35 => {
                self.spend(1);
                let index = self.atom();
                self.declare(depth, &format!("v[{index} & 3]"));
            }
            36 => {
                self.spend(1);
                let (index, value) = (self.atom(), self.atom());
                self.line(depth, &format!("v[{index} & 3] = {value};"));
            }
            37 => {
                self.spend(2);
                let value = self.atom();
                self.line(depth, &format!("f = f * 2 + (float){value};"));
            }
            38 => {
                self.spend(1);
                self.declare(depth, "f > 2");
            }
            39 => {
                self.spend(2);
                self.line(depth, "d += 0.5;");
            }
            40 => {
                // A copy of a struct that the thread has for itself.
                let (name, value) = (self.local(), self.atom());
                self.line(depth, &format!("struct pair {name} = made((int){value});"));
                self.locals.push(format!("{name}.s"));
                self.locals.push(format!("{name}.i"));
            }
            41 => {
                let (name, value) = (self.local(), self.value());
                self.spend(2);
                self.line(depth, &format!("struct pair {name} = p; {name}.i += (int){value};"));
                self.locals.push(format!("sum({name})"));
            }
            42 => {
                let value = self.value();
                self.line(depth, &format!("switch ((int){value}) {{"));
                self.line(depth, &format!("case 0: {place} = 1; break;"));
                self.line(depth, "case 1: n = 2; break;");
                self.line(depth, &format!("default: {place} = 3;\n    }}"));
                self.spend(1);
            }
            43 => {
                let value = self.atom();
                self.spend(2);
                let pointer = self.random.pick(&["&p.i", "&n"]);
                self.line(
                    depth,
                    &format!(
                        "int *to{0} = {value} & 1 ? &n : {pointer}; *to{0} += 1;",
                        self.next_local
                    ),
                );
                self.next_local += 1;
            }
            44 => {
                self.spend(1);
                self.line(depth, "atomic_thread_fence(memory_order_seq_cst);");
            }
            45..=49 => {
                self.spend(1);
                let value = self.random.pick(&READS);
                self.declare(depth, value);
            }
            50..=57 => {
                self.spend(2);
                let (change, value) = (self.random.pick(&CHANGES), self.atom());
                self.line(depth, &change.replace("{x}", &value));
            }
            _ => {
                let value = self.value();
                self.declare(depth, &value);
            }
        }
    }
}
