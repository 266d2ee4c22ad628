//! Random C programs of two or three small threads. What they do is defined on our compiler
//! (`-fwrapv`), but for divisions by zero, which end the run.

mod statements;

pub(crate) use foretrace_testing::Random;
use std::fmt::Write;

use crate::fragments::*;

/// What is not said in terms of what was read, each for another reason.
pub(crate) const HARD: [&str; 14] = [
    "(int)halved((int){x})",
    "((float){x} * 1.5f > 1)",
    "((double){x} < 0.5)",
    "doubled({x})",
    "(long)((__int128){x} << 3)",
    "printed((int){x})",
    "sorted((int){x}, 7)",
    "table[(int){x} & 3]",
    "functions[(int){x} & 1](2)",
    "variable((int){x})",
    "from_array((int){x}, 5)",
    "strtol((int){x} & 1 ? \"12\" : \"7\", NULL, 10)",
    "*((int){x} & 3 ? &two : &one)",
    "strlen(\"long\" + ((int){x} & 3))",
];

/// How a letter is read: see [`letter`].
pub(crate) const WAYS: usize = 3;

/// A program in which one thread sends a letter and then a sign, and another one looks for the sign
/// and then for the letter. What it makes of the letter goes through a function, and decides a
/// branch, is the thread's result, or is stored. It exits with 0 if the reader came first.
pub(crate) fn letter(function: &str, way: usize) -> String {
    let [new, old] = ["data", "0"].map(|value| function.replace("{x}", value));
    let (reader, at_end) = match way {
        0 => (
            format!(
                "if ({new} == {old}) n = 2; else return (void *)1;\n    assert(flag == 0);\n    return NULL;"
            ),
            "return result != NULL;".to_string(),
        ),
        1 => (
            format!("seen0 = flag;\n    return (void *)(long)({new} != {old});"),
            "assert(result || seen0 == 0);\n    return result != NULL;".to_string(),
        ),
        _ => (
            format!("seen0 = flag;\n    made0 = (int){new};\n    return NULL;"),
            format!("assert(made0 != (int){old} || seen0 == 0);\n    return made0 != (int){old};"),
        ),
    };
    format!(
        "{PROLOGUE}
static int n;
{COMMON}
static volatile int letter, sent;

static void *writer(void *unused)
{{
    letter = 3;
    sent = 1;
    return unused;
}}

static void *reader(void *unused)
{{
    int flag = sent;
    int data = letter;
    {reader}
}}

int main(void)
{{
    pthread_t t[2];
    void *result;
    letter = sent = n = 0;
    seen0 = 0;
    made0 = -1;
    pthread_create(&t[0], NULL, reader, NULL);
    pthread_create(&t[1], NULL, writer, NULL);
    pthread_join(t[0], &result);
    pthread_join(t[1], NULL);
    {at_end}
}}
"
    )
}

/// One thread writes first the data and then the flag; another one reads first the flag and then
/// the data. If it sees the flag, it sees the data: whoever loses track of what depends on what
/// finds a failure where there is none.
struct Message {
    data: String,
    flag: String,
    writer: usize,
    /// What holds of it when all is done.
    at_end: Option<String>,
}

struct Generator {
    random: Random,
    text: String,
    /// Names of the shared scalars.
    shared: Vec<&'static str>,
    /// Locals in scope.
    locals: Vec<String>,
    next_local: u32,
    /// Shared operations that the thread may still have.
    budget: u32,
    has_lock: bool,
    /// Only what can be said in terms of reads.
    plain: bool,
    /// Nothing but messages, whose data go through what cannot be said in terms of reads.
    letters: bool,
    messages: Vec<Message>,
    /// Divisions by zero crash. (Where the compiler optimises, they do anything.)
    may_crash: bool,
}

/// The program of a seed.
pub(crate) fn program(seed: u64) -> String {
    let mut random = Random::new(seed);
    let letters = random.one_in(3);
    let plain = !letters && random.below(3) > 0;
    let mut generator = Generator {
        random,
        text: format!("/* seed {seed} */\n{PROLOGUE}\n"),
        shared: vec!["g", "h", "k", "v[1]", "v[2]"],
        locals: Vec::new(),
        next_local: 0,
        budget: 0,
        has_lock: false,
        plain,
        letters,
        messages: Vec::new(),
        may_crash: seed.is_multiple_of(3),
    };
    generator.whole();
    generator.text
}

impl Generator {
    fn line(&mut self, depth: usize, text: &str) {
        writeln!(self.text, "{}{text}", "    ".repeat(depth)).unwrap();
    }

    fn whole(&mut self) {
        for name in ["g", "h", "k"] {
            let (kind, value) = (self.random.pick(&TYPES), self.random.below(4));
            let volatile = self.random.pick(&["", "volatile "]);
            self.line(0, &format!("static {volatile}{kind} {name} = {value};"));
        }
        // Few variables: the threads are to meet.
        while self.shared.len() > 2 {
            let at = self.random.below(self.shared.len());
            self.shared.remove(at);
        }
        let (kind, atomic) = (self.random.pick(&TYPES), self.random.pick(&TYPES));
        self.line(0, &format!("static {kind} v[4] = {{1, 2, 3, 0}};"));
        self.line(0, &format!("static _Atomic {atomic} a = 1, b;"));
        self.line(0, "static int n = 1;");
        self.text.push_str(COMMON);
        let threads = if self.random.one_in(4) { 3 } else { 2 };
        let claims = self.letters && self.random.one_in(3);
        let count = if self.letters { 2 } else { usize::from(self.random.below(3) > 0) };
        let first = self.random.below(2);
        for number in 0..count {
            let data = self.mailbox(&format!("letter{number}"));
            let flag = self.mailbox(&format!("sent{number}"));
            self.messages.push(Message { data, flag, writer: first ^ number, at_end: None });
        }
        for thread in 0..threads {
            self.line(0, "");
            self.line(0, &format!("static void *t{thread}(void *unused)\n{{"));
            self.locals.clear();
            self.budget = if threads == 3 { 4 } else { 6 };
            if claims && thread == 0 {
                self.line(1, "int unclaimed = 0;");
                self.line(1, "atomic_compare_exchange_strong(&claim, &unclaimed, 1);");
            } else if claims && thread == 1 {
                self.line(1, "claim = 3;");
            }
            // What a thread has to say comes first: it may return when it reads.
            for is_writer in [true, false] {
                for number in 0..self.messages.len() {
                    if thread < 2 && (self.messages[number].writer == thread) == is_writer {
                        self.exchange(number, is_writer);
                    }
                }
            }
            let mut tries = 0;
            while self.budget > 0 && tries < 12 && !self.letters {
                tries += 1;
                self.statement(1);
            }
            if self.random.below(3) > 0 && !self.letters {
                self.assertion(1);
            }
            if self.plain || self.locals.is_empty() || self.random.below(3) > 0 {
                self.line(1, "return unused;\n}");
            } else {
                let value = self.atom();
                self.line(1, &format!("return (void *)(long){value};\n}}"));
            }
        }
        self.line(0, "");
        self.line(0, "int main(void)\n{");
        self.line(1, "pthread_t t[3];");
        self.line(1, "void *unused = NULL;");
        self.line(1, "heap = calloc(4, sizeof *heap);");
        self.line(1, "sem_init(&permit, 0, 1);");
        self.line(1, "sem_init(&permits, 0, 2);");
        // What memory holds at first is recorded only where somebody reads or writes it first.
        if !self.random.one_in(10) {
            self.line(1, INITIALISED);
        }
        for number in 0..self.messages.len() {
            let Message { data, flag, .. } = &self.messages[number];
            let text = format!("{data} = 0; {flag} = 0;");
            self.line(1, &text);
        }
        for thread in 0..threads {
            let given = self.random.below(4);
            self.line(
                1,
                &format!("pthread_create(&t[{thread}], NULL, t{thread}, (void *){given});"),
            );
        }
        self.locals.clear();
        if threads == 2 && self.random.one_in(3) {
            self.budget = 2;
            self.statement(1);
        }
        for thread in 0..threads {
            if self.letters || self.random.one_in(3) {
                self.line(1, &format!("void *r{thread};"));
                self.line(1, &format!("pthread_join(t[{thread}], &r{thread});"));
                self.locals.push(format!("(long)r{thread}"));
            } else {
                self.line(1, &format!("pthread_join(t[{thread}], NULL);"));
            }
        }
        for number in 0..self.messages.len() {
            if let Some(holds) = self.messages[number].at_end.take() {
                self.assert(1, &holds);
            }
        }
        if claims {
            self.assert(1, "claim == 3");
        }
        self.budget = 3;
        self.assertion(1);
        self.line(1, "return 0;\n}");
    }

    /// Declares a place for a message; returns its name.
    fn mailbox(&mut self, name: &str) -> String {
        let count = if self.plain { 7 } else { MAILBOXES.len() };
        let (declaration, place) = MAILBOXES[self.random.below(count)];
        let kind = self.random.pick(&TYPES);
        let text = declaration.replace("{t}", kind).replace("{n}", name);
        self.line(0, &text);
        place.replace("{n}", name)
    }

    /// A thread's part in the message.
    fn exchange(&mut self, number: usize, is_writer: bool) {
        let Message { data, flag, .. } = &self.messages[number];
        let (data, flag) = (data.clone(), flag.clone());
        let before = if self.letters { 0 } else { self.random.below(3) };
        for _ in 0..before {
            self.budget = self.budget.max(1);
            self.statement(1);
        }
        self.spend(3);
        if is_writer {
            let (first, second) = (1 + self.random.below(3), 1 + self.random.below(3));
            self.line(1, &format!("{data} = {first};"));
            if self.random.one_in(3) && !self.letters {
                self.statement(1);
            }
            self.line(1, &format!("{flag} = {second};"));
            return;
        }
        let (x, y) = (self.local(), self.local());
        // Now and then in the wrong order: then it can fail.
        let reads = [
            format!("__typeof__(0 + {flag}) {x} = {flag};"),
            format!("__typeof__(0 + {data}) {y} = {data};"),
        ];
        let is_wrong = self.random.one_in(4);
        for at in 0..2 {
            self.line(1, &reads[at ^ usize::from(is_wrong)]);
        }
        let of = |function: &str, value: &str| function.replace("{x}", value);
        let (f, g) = (self.function(self.plain), self.function(self.plain));
        let simple = self.function(true);
        let as_before = self.random.pick(&["==", "==", "<=", ">="]);
        let has_no_flag = format!("{} {as_before} {}", of(&f, &x), of(&f, "0"));
        let has_simply_no_flag = format!("{} {as_before} {}", of(&simple, &x), of(&simple, "0"));
        let has_no_data = format!("{} == {}", of(&g, &y), of(&g, "0"));
        let simply = [of(&simple, &x), of(&simple, "0")];
        match self.random.below(if self.letters { 12 } else { 8 }) {
            // Others look at what the reader makes of it.
            8 | 9 => {
                self.line(1, &format!("seen{number} = (long){};", simply[0]));
                self.line(1, &format!("return (void *)(long)({has_no_data});"));
                let reader = 1 - self.messages[number].writer;
                let holds = format!("!r{reader} || seen{number} {as_before} (long){}", simply[1]);
                self.messages[number].at_end = Some(holds);
            }
            10 | 11 => {
                self.line(1, &format!("seen{number} = (long){};", simply[0]));
                self.line(1, &format!("made{number} = (int){};", of(&g, &y)));
                let holds = format!(
                    "made{number} != (int){} || seen{number} {as_before} (long){}",
                    of(&g, "0"),
                    simply[1]
                );
                self.messages[number].at_end = Some(holds);
            }
            0..=3 => {
                self.line(1, &format!("if ({has_no_data})"));
                self.line(2, "n = 2;");
                self.line(1, "else");
                self.line(2, "return unused;");
                self.assert(1, &has_simply_no_flag);
            }
            4 => {
                // The same through memory.
                self.line(1, &format!("own = {has_no_data};"));
                self.assert(1, &format!("{has_simply_no_flag} || !own"));
            }
            5 => {
                self.line(1, &format!("long {x}z = {}, {y}z = {};", of(&simple, &x), of(&g, &y)));
                self.line(
                    1,
                    &format!("if ({y}z == {}) put(&p.s, (int){y}z); else abort();", of(&g, "0")),
                );
                self.assert(1, &format!("{x}z {as_before} {}", of(&simple, "0")));
            }
            _ => self.assert(1, &format!("{has_no_flag} || !({has_no_data})")),
        }
        self.locals.extend([format!("(int){x}"), format!("(int){y}")]);
    }

    /// A function of {x} in C.
    fn function(&mut self, plain: bool) -> String {
        const SIMPLE: [&str; 14] = [
            "{x}",
            "({x} + 1)",
            "twice({x})",
            "(unsigned char){x}",
            "far({x}, 3)",
            "choose({x}, 9)",
            "((unsigned){x} + 0xffffffffu)",
            "(unsigned char)({x} + 255)",
            "(signed char)({x} + 127)",
            "((unsigned long){x} - 2)",
            "((unsigned){x} * 0x80000001u)",
            "((unsigned short)({x} - 1) / 2)",
            "((int){x} - 2 >> 1)",
            "(~(unsigned){x} % 7)",
        ];
        match self.random.below(4) {
            _ if plain => return self.random.pick(&SIMPLE).to_string(),
            0 => return self.random.pick(&SIMPLE).to_string(),
            1 | 2 => return self.random.pick(&HARD).to_string(),
            _ => {}
        }
        let y = self.random.below(6).to_string();
        self.random.pick(&VALUES).replace("{x}", "(int){x}").replace("{y}", &y)
    }

    fn spend(&mut self, operations: u32) {
        self.budget = self.budget.saturating_sub(operations);
    }

    fn place(&mut self) -> &'static str {
        let at = self.random.below(self.shared.len());
        self.shared[at]
    }

    fn constant(&mut self) -> String {
        const EXTREME: [&str; 14] = [
            "-1",
            "-2",
            "127",
            "128",
            "255",
            "-128L",
            "0x7fff",
            "0xffffu",
            "0x10001",
            "0x7fffffff",
            "0xffffffffu",
            "1000000007",
            "0x100000001L",
            "0x7fffffffffffffffL",
        ];
        match self.random.below(5) {
            0 | 1 => self.random.pick(&EXTREME).to_string(),
            _ => self.random.below(5).to_string(),
        }
    }

    /// Something that reads nothing shared.
    fn atom(&mut self) -> String {
        if self.locals.is_empty() || self.random.one_in(4) {
            return self.constant();
        }
        // What was read last matters most.
        let count = self.locals.len();
        let at = self.random.below(count).max(self.random.below(count));
        self.locals[at].clone()
    }

    fn expression(&mut self, depth: u32) -> String {
        if depth == 0 {
            return self.atom();
        }
        let x = self.expression(depth - 1);
        let y = self.atom();
        match self.random.below(32) {
            0..=3 => format!("({x} + {y})"),
            4 => format!("({x} - {y})"),
            5 => format!("({x} * {y})"),
            6 => format!("({x} & {y})"),
            7 => format!("({x} | {y})"),
            8 => format!("({x} ^ {y})"),
            9 => format!("(~{x})"),
            10 => format!("(- {x})"),
            11 => format!("({x} << ({y} & 7))"),
            12 => format!("({x} >> ({y} & 7))"),
            13 => format!("({x} / (({y} & 3) + 1))"),
            14 => format!("({x} % (({y} & 7) + 2))"),
            15 => format!("((unsigned){x} / ((unsigned){y} | 1))"),
            16 => format!("(({}){x})", self.random.pick(&TYPES)),
            17 => format!("({x} ? {y} : {})", self.atom()),
            18 => format!("({x} && {y})"),
            19 => format!("({x} || {y})"),
            20 => format!("({x} {} {y})", self.random.pick(&["<", "<=", "==", "!="])),
            21 => format!("twice((int){x})"),
            22 => format!("choose((unsigned char){x}, {y})"),
            23 => format!("far({x}, (int){y})"),
            24 => format!("(!{x})"),
            25 if self.may_crash => format!("quotient((unsigned){x}, (unsigned){y})"),
            26 if !self.plain => format!("parity((unsigned){x} & 7)"),
            27 if !self.plain => format!("table[{x} & 3]"),
            28 if !self.plain => format!("(int)((float){x} * 1.5f)"),
            29..=31 if !self.plain || self.random.one_in(2) => {
                let value = self.random.pick(&VALUES);
                value.replace("{x}", &x).replace("{y}", &y)
            }
            _ => format!("({x} + 1)"),
        }
    }

    fn value(&mut self) -> String {
        let depth = 1 + self.random.below(2) as u32;
        self.expression(depth)
    }

    fn condition(&mut self) -> String {
        let x = self.expression(1);
        let y = if self.random.one_in(3) { self.atom() } else { self.constant() };
        match self.random.below(10) {
            0..=4 => format!("{x} != {y}"),
            5 => format!("{x} == {y}"),
            6 => format!("{x} <= {y}"),
            7 => format!("{x} < {y} || {} != {}", self.atom(), self.constant()),
            8 => format!("{x} != {y} && {} != {}", self.atom(), self.constant()),
            _ => x,
        }
    }

    fn local(&mut self) -> String {
        self.next_local += 1;
        format!("x{}", self.next_local)
    }

    fn declare(&mut self, depth: usize, value: &str) {
        let (name, kind) = (self.local(), self.random.pick(&TYPES));
        self.line(depth, &format!("{kind} {name} = {value};"));
        self.locals.push(name);
    }

    fn read(&mut self, depth: usize) {
        let place = self.place();
        self.spend(1);
        self.declare(depth, place);
    }
}
