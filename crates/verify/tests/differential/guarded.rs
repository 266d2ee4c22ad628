//! Random programs about locks and what they protect, as text: most accesses to `g` and `h` hold
//! `k`, and there are loops that wait until a condition holds.

use std::fmt::Write;

use foretrace_testing::Random;

/// The program of a seed.
pub(crate) fn guarded(seed: u64) -> String {
    let mut random = Random::new(seed ^ 0x5eed_0c17);
    let mut generator = Generator { random: &mut random, text: String::new(), label: 0 };
    generator.program();
    generator.text
}

struct Generator<'r> {
    random: &'r mut Random,
    text: String,
    label: u32,
}

impl Generator<'_> {
    fn line(&mut self, line: std::fmt::Arguments) {
        let _ = writeln!(self.text, "    {line}");
    }

    fn block(&mut self, label: std::fmt::Arguments) {
        let _ = writeln!(self.text, "  {label}:");
    }

    fn fresh(&mut self) -> u32 {
        self.label += 1;
        self.label
    }

    fn program(&mut self) {
        self.text
            .push_str("global g : 1\nglobal h : 1 = 1\nglobal x : 1\nlock k\nlock l\ncond c\n");
        // How careless the program is.
        let careless = self.random.pick(&[0, 0, 10, 30]);
        let children = 1 + self.random.below(2);
        for child in 0..children {
            let _ = writeln!(self.text, "func f{child}(n: 8) {{\n  entry:");
            self.line(format_args!("local = slot 1"));
            self.line(format_args!("store.1 local, n"));
            for _ in 0..1 + self.random.below(3) {
                self.statement(careless);
            }
            self.line(format_args!("return"));
            self.text.push_str("}\n");
        }
        self.text.push_str("thread main {\n  entry:\n");
        self.line(format_args!("local = slot 1"));
        self.line(format_args!("store.1 local, 0"));
        let early = self.random.chance(10);
        if early {
            self.line(format_args!("acquire k"));
        }
        for child in 0..children {
            self.line(format_args!("t{child} = fork f{child}({child})"));
        }
        if early {
            self.line(format_args!("release k"));
        }
        if self.random.chance(60) {
            self.statement(careless);
        }
        for child in 0..children {
            if self.random.chance(80) {
                self.line(format_args!("join t{child}"));
            }
        }
        let v = self.fresh();
        let (variable, value) = (self.random.pick(&["g", "h"]), self.random.below(4));
        let locked = self.random.chance(30);
        if locked {
            self.line(format_args!("acquire k"));
        }
        self.line(format_args!("v{v} = load {variable}"));
        self.line(format_args!("assert v{v} != {value}"));
        if locked {
            self.line(format_args!("release k"));
        }
        self.line(format_args!("exit"));
        self.text.push_str("}\n");
    }

    /// Mostly a critical section.
    fn statement(&mut self, careless: usize) {
        let v = self.fresh();
        if self.random.chance(careless) {
            match self.random.below(5) {
                0 => self.change(),
                1 => {
                    let tries_again = self.random.chance(50);
                    if tries_again {
                        self.line(format_args!("jump again{v}"));
                        self.block(format_args!("again{v}"));
                    }
                    self.line(format_args!("v{v} = tryacquire k"));
                    self.line(format_args!("branch v{v}, got{v}, not{v}"));
                    self.block(format_args!("got{v}"));
                    self.change();
                    self.line(format_args!("release k"));
                    self.line(format_args!("jump behind{v}"));
                    self.block(format_args!("not{v}"));
                    if tries_again && self.random.chance(30) {
                        self.change();
                    }
                    let next = if tries_again { "again" } else { "behind" };
                    self.line(format_args!("jump {next}{v}"));
                    self.block(format_args!("behind{v}"));
                }
                2 => {
                    // Only one of two paths takes the lock.
                    self.line(format_args!("v{v} = load x"));
                    self.line(format_args!("c{v} = v{v} == 0"));
                    self.line(format_args!("branch c{v}, then{v}, else{v}"));
                    self.block(format_args!("then{v}"));
                    self.line(format_args!("acquire k"));
                    self.line(format_args!("jump else{v}"));
                    self.block(format_args!("else{v}"));
                    self.change();
                    self.line(format_args!("branch c{v}, last{v}, end{v}"));
                    self.block(format_args!("last{v}"));
                    self.line(format_args!("release k"));
                    self.line(format_args!("jump end{v}"));
                    self.block(format_args!("end{v}"));
                }
                3 => {
                    self.line(format_args!("acquire l"));
                    self.change();
                    self.line(format_args!("release l"));
                }
                _ => self.line(format_args!("acquire k")),
            }
            return;
        }
        if self.random.chance(15) {
            return self.exchange(v);
        }
        self.line(format_args!("acquire k"));
        for _ in 0..1 + self.random.below(3) {
            self.inside();
        }
        self.line(format_args!("release k"));
        if self.random.chance(30) {
            let value = self.random.below(2);
            self.line(format_args!("store x, {value}"));
        }
    }

    /// Hands `x` on without a lock, or tries to until another thread has.
    fn exchange(&mut self, v: u32) {
        let (old, new) = self.random.pick(&[(0, 1), (1, 2)]);
        if self.random.chance(50) {
            self.line(format_args!("v{v} = cmpxchg atomic x, {old}, {new}"));
            return;
        }
        self.line(format_args!("jump head{v}"));
        self.block(format_args!("head{v}"));
        self.line(format_args!("v{v} = load atomic x"));
        self.line(format_args!("c{v} = v{v} == 2"));
        self.line(format_args!("branch c{v}, after{v}, try{v}"));
        self.block(format_args!("try{v}"));
        self.line(format_args!("w{v} = cmpxchg atomic x, {old}, {new}"));
        self.line(format_args!("jump head{v}"));
        self.block(format_args!("after{v}"));
        if self.random.chance(50) {
            self.line(format_args!("assert false"));
        }
    }

    /// A change of what is protected.
    fn change(&mut self) {
        let v = self.fresh();
        let (to, from) = (self.random.pick(&["g", "h"]), self.random.pick(&["g", "h"]));
        let value = self.random.below(3);
        match self.random.below(3) {
            0 => self.line(format_args!("store {to}, {value}")),
            _ => {
                self.line(format_args!("v{v} = load {from}"));
                self.line(format_args!("w{v} = v{v} + 1"));
                self.line(format_args!("store {to}, w{v}"));
            }
        }
    }

    fn inside(&mut self) {
        let v = self.fresh();
        let variable = self.random.pick(&["g", "h"]);
        let value = self.random.below(3);
        match self.random.below(10) {
            0..=3 => self.change(),
            4 => {
                self.line(format_args!("v{v} = load {variable}"));
                self.line(format_args!("assert v{v} != {value}"));
            }
            5 => {
                self.line(format_args!("v{v} = load {variable}"));
                self.line(format_args!("assume v{v} != {value}"));
            }
            6 => {
                self.line(format_args!("v{v} = load {variable}"));
                self.line(format_args!("c{v} = v{v} == {value}"));
                self.line(format_args!("branch c{v}, then{v}, else{v}"));
                self.block(format_args!("then{v}"));
                self.change();
                self.line(format_args!("jump else{v}"));
                self.block(format_args!("else{v}"));
            }
            7 | 8 => self.wait_until(v, variable, value),
            _ => match self.random.below(3) {
                0 => self.line(format_args!("broadcast c")),
                1 => self.line(format_args!("store.1 local, {value}")),
                _ => {
                    self.line(format_args!("acquire l"));
                    self.change();
                    self.line(format_args!("release l"));
                }
            },
        }
    }

    /// A loop that waits; at times it also does something that counts.
    fn wait_until(&mut self, v: u32, variable: &str, value: usize) {
        // What others may wait for in turn.
        if self.random.chance(50) {
            self.line(format_args!("store {variable}, {value}"));
        }
        self.line(format_args!("jump head{v}"));
        self.block(format_args!("head{v}"));
        self.line(format_args!("v{v} = load {variable}"));
        self.line(format_args!("c{v} = v{v} != {value}"));
        self.line(format_args!("branch c{v}, after{v}, wait{v}"));
        self.block(format_args!("wait{v}"));
        if self.random.chance(20) {
            self.change();
        }
        self.line(format_args!("wait c k"));
        if self.random.chance(20) {
            self.line(format_args!("store x, 1"));
        }
        self.line(format_args!("jump head{v}"));
        self.block(format_args!("after{v}"));
    }
}
