//! Random small programs, as text.
//!
//! Shared variables are small, so that explorations end and threads meet often. A body is a list of
//! labelled blocks; values that live longer than a statement are in slots.

use std::fmt::Write;

use foretrace_testing::Random;

/// What the generator used, for counting.
pub(crate) type Uses = Vec<&'static str>;

/// A program.
pub(crate) struct Generated {
    pub(crate) text: String,
    #[allow(dead_code)] // One of the tests counts them.
    pub(crate) uses: Uses,
}

/// What programs use.
#[allow(dead_code)] // One of the tests counts them.
pub(crate) const CONSTRUCTS: [&str; 35] = [
    "array",
    "assert",
    "assume",
    "atomic",
    "barrier",
    "branch",
    "broadcast",
    "call",
    "chosen free",
    "chosen function",
    "chosen lock",
    "cmpxchg",
    "heap",
    "input",
    "join",
    "lock",
    "loop",
    "misused lock",
    "mixed sizes",
    "own",
    "pointer",
    "placed barrier",
    "publish",
    "result",
    "rmw",
    "section",
    "semaphore",
    "shared lock",
    "signal",
    "spin",
    "threadexit",
    "timed wait",
    "try lock",
    "wait",
    "wide",
];

/// The program of a seed.
pub(crate) fn generate(seed: u64) -> Generated {
    let mut random = Random::new(seed);
    let mut generator = Generator {
        random: &mut random,
        text: String::new(),
        uses: Vec::new(),
        label: 0,
        depth: 0,
        held: Vec::new(),
        left: 0,
        waits: seed % 6 == 5,
    };
    generator.program();
    let Generator { text, uses, .. } = generator;
    Generated { text, uses }
}

struct Generator<'r> {
    random: &'r mut Random,
    text: String,
    uses: Uses,
    label: u32,
    depth: u32,
    /// Locks that the thread has for sure.
    held: Vec<&'static str>,
    left: i32,
    /// Whether the program is mostly about waits and signals.
    waits: bool,
}

const VARIABLES: [&str; 3] = ["x", "y", "z"];

impl Generator<'_> {
    fn line(&mut self, line: std::fmt::Arguments) {
        let _ = writeln!(self.text, "    {line}");
    }

    fn uses(&mut self, what: &'static str) {
        if !self.uses.contains(&what) {
            self.uses.push(what);
        }
    }

    fn fresh(&mut self) -> u32 {
        self.label += 1;
        self.label
    }

    fn program(&mut self) {
        self.text.push_str("global x : 1\nglobal y : 1 = 1\nglobal z : 2\nglobal p : 8\n");
        self.text.push_str("global a : 4\nlock m\nlock n\nlock r recursive\ncond c\ncond d\nsemaphore s = 1\nbarrier b = 2\n");
        let children = 1 + self.random.below(2) + usize::from(self.waits);
        for child in 0..children {
            let _ = writeln!(self.text, "func f{child}(k: 8) -> 64 {{\n  entry:");
            let most = if self.waits { 3 } else { 5 };
            let statements = most - 2 + self.random.below(most as usize) as i32;
            self.body(statements);
            self.text.push_str("}\n");
        }
        self.text
            .push_str("func leaf(k: 8) -> 8 {\n  entry:\n    v = load x\n    return v + k\n}\n");
        self.text.push_str("func twig(k: 8) -> 8 {\n  entry:\n    store y, k\n    return k\n}\n");
        self.text.push_str("thread main {\n  entry:\n");
        self.line(format_args!("local = slot 1"));
        self.line(format_args!("cell = slot 1"));
        self.line(format_args!("store.1 local, 0"));
        self.line(format_args!("store.1 cell, 0"));
        self.line(format_args!("store p, cell"));
        if self.random.chance(50) {
            self.left = 1;
            self.statements(true);
        }
        for child in 0..children {
            let k = self.random.below(3);
            self.line(format_args!("t{child} = fork f{child}({k})"));
        }
        self.left = self.random.below(3) as i32;
        self.statements(true);
        for child in 0..children {
            if self.random.chance(80) {
                self.uses("join");
                if self.random.chance(30) {
                    self.uses("result");
                    let v = self.fresh();
                    self.line(format_args!("v{v} = join t{child}"));
                    self.line(format_args!("w{v} = u8(v{v})"));
                    self.line(format_args!("assert w{v} != {}", v % 3));
                } else {
                    self.line(format_args!("join t{child}"));
                }
            }
        }
        self.left = self.random.below(3) as i32;
        self.statements(true);
        let v = self.fresh();
        let variable = self.random.pick(&["x", "y"]);
        let value = self.random.below(4);
        self.line(format_args!("v{v} = load {variable}"));
        self.line(format_args!("assert v{v} != {value}"));
        self.line(format_args!("exit"));
        self.text.push_str("}\n");
    }

    fn body(&mut self, statements: i32) {
        self.held.clear();
        self.line(format_args!("local = slot 1"));
        self.line(format_args!("store.1 local, k"));
        self.left = statements;
        self.statements(false);
        for lock in std::mem::take(&mut self.held) {
            if self.random.chance(95) {
                self.line(format_args!("release {lock}"));
            }
        }
        if self.random.chance(20) {
            self.uses("threadexit");
            self.line(format_args!("threadexit 1"));
        } else {
            self.line(format_args!("given = load.1 local"));
            self.line(format_args!("return u64(given)"));
        }
    }

    fn statements(&mut self, in_main: bool) {
        while self.left > 0 {
            self.left -= 1;
            self.statement(in_main);
        }
    }

    /// A value of one byte, in a new register.
    fn value(&mut self) -> String {
        let v = self.fresh();
        let variable = self.random.pick(&["x", "y"]);
        match self.random.below(6) {
            0 => return self.random.below(4).to_string(),
            1 => self.line(format_args!("v{v} = load.1 local")),
            2 => {
                self.line(format_args!("w{v} = load {variable}"));
                self.line(format_args!("v{v} = w{v} + 1"));
            }
            3 => {
                self.uses("mixed sizes");
                let part = self.random.below(2);
                self.line(format_args!("v{v} = load z[{part}:1]"));
            }
            _ => self.line(format_args!("v{v} = load {variable}")),
        }
        format!("v{v}")
    }

    fn condition(&mut self) -> String {
        let value = self.value();
        let number = self.random.below(3);
        let v = self.fresh();
        let op = self.random.pick(&["==", "!=", "<u", "<=u"]);
        if value.starts_with('v') {
            self.line(format_args!("c{v} = {value} {op} {number}"));
        } else {
            self.line(format_args!("c{v} = u8({value}) {op} {number}"));
        }
        format!("c{v}")
    }

    /// A wait, or what ends one.
    fn wait_or_signal(&mut self) {
        let cond = self.random.pick(&["c", "c", "d"]);
        match self.random.below(6) {
            0 | 1 => {
                self.uses("wait");
                self.line(format_args!("acquire m"));
                self.line(format_args!("wait {cond} m"));
                self.line(format_args!("release m"));
            }
            2 => {
                self.uses("timed wait");
                let v = self.fresh();
                self.line(format_args!("acquire m"));
                self.line(format_args!("v{v} = timedwait {cond} m"));
                self.line(format_args!("release m"));
                self.line(format_args!("store x, u8(v{v})"));
            }
            3 | 4 => {
                self.uses("signal");
                self.line(format_args!("signal {cond}"));
            }
            _ => {
                self.uses("broadcast");
                self.line(format_args!("broadcast {cond}"));
            }
        }
    }

    fn statement(&mut self, in_main: bool) {
        if self.waits && self.held.is_empty() && self.random.chance(75) {
            return self.wait_or_signal();
        }
        let variable = self.random.pick(&VARIABLES[..2]);
        let v = self.fresh();
        match self.random.below(33) {
            28 => self.chosen_function(variable),
            29 => self.chosen_lock(),
            30 => self.own(),
            31 => {
                self.uses("chosen free");
                self.line(format_args!("v{v} = load p"));
                self.line(format_args!("free v{v}"));
            }
            32 => {
                self.uses("placed barrier");
                let parties = if self.random.chance(90) { 2 } else { 1 };
                self.line(format_args!("barrier at &a, {parties}"));
            }
            24 => {
                self.uses("atomic");
                let order = self.random.pick(&["", " relaxed", " release"]);
                let value = self.value();
                self.line(format_args!("store atomic{order} {variable}, {value}"));
            }
            25 => {
                self.uses("atomic");
                let order = self.random.pick(&["", " relaxed", " acquire"]);
                self.line(format_args!("v{v} = load atomic{order} {variable}"));
                self.line(format_args!("store.1 local, v{v}"));
            }
            0..=4 => {
                let value = self.value();
                self.line(format_args!("store {variable}, {value}"));
            }
            5 => {
                let value = self.value();
                self.line(format_args!("store.1 local, {value}"));
            }
            6 => {
                self.uses("rmw");
                let op = self.random.pick(&["add", "xchg", "sub", "or", "umax"]);
                self.line(format_args!("v{v} = rmw {op} atomic {variable}, 1"));
                if self.random.chance(50) {
                    self.line(format_args!("store.1 local, v{v}"));
                }
            }
            7 => {
                self.uses("cmpxchg");
                let (old, new) = (self.random.below(2), self.random.below(3));
                let order = self.random.pick(&["atomic", "atomic", "plain"]);
                self.line(format_args!("v{v} = cmpxchg {order} {variable}, {old}, {new}"));
                self.line(format_args!("store.1 local, v{v}"));
            }
            8 => {
                self.uses("assert");
                let condition = self.condition();
                self.line(format_args!("assert {condition}"));
            }
            9 => {
                self.uses("assume");
                let condition = self.condition();
                self.line(format_args!("assume {condition}"));
            }
            10 | 11 if self.depth < 2 => self.branch(in_main),
            12 | 13 if self.depth < 2 => self.repeat(in_main),
            14 if self.depth == 0 => self.section(in_main),
            15 | 16 | 26 | 27 => self.lock(),
            17 => {
                self.uses("pointer");
                self.line(format_args!("v{v} = load p"));
                match self.random.below(3) {
                    0 => self.line(format_args!("w{v} = load.1 v{v}")),
                    _ => {
                        let value = self.value();
                        self.line(format_args!("store.1 v{v}, {value}"));
                    }
                }
            }
            18 => {
                self.uses("publish");
                let target = self.random.pick(&["x", "y", "a"]);
                self.line(format_args!("store p, &{target}"));
            }
            19 => {
                self.uses("array");
                let value = self.value();
                if value.starts_with('v') {
                    self.line(format_args!("i{v} = u64({value} & 3)"));
                    self.line(format_args!("q{v} = &a + i{v}"));
                    match self.random.below(2) {
                        0 => self.line(format_args!("store.1 q{v}, 1")),
                        _ => {
                            self.line(format_args!("w{v} = load.1 q{v}"));
                            self.line(format_args!("store.1 local, w{v}"));
                        }
                    }
                }
            }
            20 => {
                self.uses("input");
                self.line(format_args!("v{v} = external in : 8"));
                self.line(format_args!("assume v{v} <u 2"));
                self.line(format_args!("store {variable}, v{v}"));
            }
            21 => {
                self.uses("heap");
                self.line(format_args!("h{v} = alloc 1"));
                self.line(format_args!("store.1 h{v}, 1"));
                match self.random.below(3) {
                    0 => self.line(format_args!("store p, h{v}")),
                    1 => self.line(format_args!("free h{v}")),
                    _ => {
                        self.line(format_args!("store p, h{v}"));
                        self.line(format_args!("free h{v}"));
                    }
                }
            }
            22 => {
                self.uses("call");
                self.line(format_args!("v{v} = call leaf(1)"));
                self.line(format_args!("store {variable}, v{v}"));
            }
            _ => {
                self.uses("wide");
                let v = self.fresh();
                match self.random.below(2) {
                    0 => self.line(format_args!("store z, {}", self.label * 37 % 1000)),
                    _ => {
                        self.line(format_args!("v{v} = load z"));
                        self.line(format_args!("w{v} = u8(v{v})"));
                        self.line(format_args!("store {variable}, w{v}"));
                    }
                }
            }
        }
    }

    /// A call of one of two functions.
    fn chosen_function(&mut self, variable: &str) {
        self.uses("chosen function");
        let condition = self.condition();
        let v = self.fresh();
        self.line(format_args!("f{v} = {condition} ? &leaf : &twig"));
        self.line(format_args!("v{v} = call *f{v}(1) : 8"));
        self.line(format_args!("store {variable}, v{v}"));
    }

    /// A lock of an array, by its address.
    fn chosen_lock(&mut self) {
        self.uses("chosen lock");
        let value = self.value();
        let v = self.fresh();
        self.line(format_args!("n{v} = u8({value}) & 1"));
        self.line(format_args!("i{v} = u64(n{v})"));
        self.line(format_args!("q{v} = &a + i{v}"));
        self.line(format_args!("acquire at q{v}"));
        self.line(format_args!("w{v} = load x"));
        self.line(format_args!("store x, w{v} + 1"));
        if self.random.chance(90) {
            self.line(format_args!("release at q{v}"));
        }
    }

    /// The thread's own copy of a variable.
    fn own(&mut self) {
        self.uses("own");
        let v = self.fresh();
        self.line(format_args!("o{v} = own y"));
        self.line(format_args!("v{v} = load.1 o{v}"));
        match self.random.below(3) {
            0 => self.line(format_args!("store p, o{v}")),
            1 => self.line(format_args!("store y, v{v}")),
            _ => self.line(format_args!("store.1 o{v}, v{v} + 1")),
        }
    }

    fn lock(&mut self) {
        match self.random.below(12) {
            8 | 9 => {
                self.uses("misused lock");
                let op = self.random.pick(&[
                    "release m",
                    "release shared n",
                    "release r",
                    "wait c n",
                    "acquire m",
                ]);
                self.line(format_args!("{op}"));
            }
            0 | 1 if !self.held.is_empty() && self.depth == 0 => {
                let lock = self.held.pop().expect("one");
                self.line(format_args!("release {lock}"));
            }
            0..=2 if self.depth == 0 => {
                let lock = self.random.pick(&["m", "n", "r"]);
                self.uses("lock");
                self.line(format_args!("acquire {lock}"));
                self.held.push(lock);
            }
            3 | 10 | 11 => {
                self.uses("shared lock");
                let v = self.fresh();
                self.line(format_args!("acquire shared n"));
                if self.random.chance(50) {
                    self.line(format_args!("v{v} = load x"));
                    self.line(format_args!("store.1 local, v{v}"));
                } else {
                    self.line(format_args!("store x, {}", v % 4));
                }
                self.line(format_args!("release shared n"));
            }
            4 => {
                self.uses("try lock");
                let v = self.fresh();
                self.line(format_args!("v{v} = tryacquire m"));
                self.line(format_args!("branch v{v}, got{v}, not{v}"));
                let _ = writeln!(self.text, "  got{v}:");
                self.line(format_args!("store x, 2"));
                self.line(format_args!("release m"));
                self.line(format_args!("jump not{v}"));
                let _ = writeln!(self.text, "  not{v}:");
            }
            5 => {
                self.uses("semaphore");
                let op = self.random.pick(&["semwait s", "sempost s"]);
                self.line(format_args!("{op}"));
            }
            6 => {
                self.uses("wait");
                if let Some(&lock) = self.held.last() {
                    self.line(format_args!("wait c {lock}"));
                } else {
                    self.line(format_args!("acquire m"));
                    self.line(format_args!("wait c m"));
                    self.line(format_args!("release m"));
                }
            }
            _ => {
                self.uses("barrier");
                let op = self.random.pick(&["barrier b", "signal c", "broadcast c"]);
                self.line(format_args!("{op}"));
            }
        }
    }

    fn inner(&mut self, in_main: bool) {
        let left = std::mem::replace(&mut self.left, 1 + self.random.below(2) as i32);
        self.depth += 1;
        self.statements(in_main);
        self.depth -= 1;
        self.left = left;
    }

    fn branch(&mut self, in_main: bool) {
        self.uses("branch");
        let condition = self.condition();
        let v = self.fresh();
        self.line(format_args!("branch {condition}, then{v}, else{v}"));
        let _ = writeln!(self.text, "  then{v}:");
        self.inner(in_main);
        self.line(format_args!("jump end{v}"));
        let _ = writeln!(self.text, "  else{v}:");
        if self.random.chance(40) {
            self.inner(in_main);
        }
        self.line(format_args!("jump end{v}"));
        let _ = writeln!(self.text, "  end{v}:");
    }

    fn repeat(&mut self, in_main: bool) {
        let v = self.fresh();
        if self.random.chance(40) {
            self.uses("spin");
            self.line(format_args!("jump head{v}"));
            let _ = writeln!(self.text, "  head{v}:");
            let variable = self.random.pick(&VARIABLES[..2]);
            let value = self.random.below(3);
            self.line(format_args!("v{v} = load {variable}"));
            self.line(format_args!("c{v} = v{v} != {value}"));
            self.line(format_args!("branch c{v}, after{v}, head{v}"));
            let _ = writeln!(self.text, "  after{v}:");
            return;
        }
        self.uses("loop");
        let turns = 1 + self.random.below(2);
        self.line(format_args!("jump head{v}(0)"));
        let _ = writeln!(self.text, "  head{v}(i{v}: 8):");
        let condition = self.condition();
        self.line(format_args!("d{v} = i{v} <u {turns}"));
        let both = self.random.pick(&["d{}", "c && d"]);
        if both == "d{}" {
            self.line(format_args!("branch d{v}, body{v}, after{v}"));
        } else {
            self.line(format_args!("e{v} = d{v} && {condition}"));
            self.line(format_args!("branch e{v}, body{v}, after{v}"));
        }
        let _ = writeln!(self.text, "  body{v}:");
        self.inner(in_main);
        self.line(format_args!("n{v} = i{v} + 1"));
        self.line(format_args!("jump head{v}(n{v})"));
        let _ = writeln!(self.text, "  after{v}:");
    }

    fn section(&mut self, in_main: bool) {
        self.uses("section");
        self.line(format_args!("section begin"));
        self.depth += 1;
        self.inner(in_main);
        self.depth -= 1;
        self.line(format_args!("section end"));
    }
}
