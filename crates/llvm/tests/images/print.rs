//! Prints the image of a module, which it takes from the text of the compiled module. Shares
//! nothing with what writes images but the numbers of `docs/image.md`. Checks on the way that
//! operands have the widths that they must have, that registers are defined once, and that jumps
//! pass what their targets take.

use std::fmt::Write;

const BINARY: [&str; 19] = [
    "add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "and", "or", "xor", "shl", "lshr", "ashr",
    "eq", "ne", "ult", "ule", "slt", "sle",
];

/// The tables of a module that the image needs.
pub(crate) struct Image {
    bytes: Vec<u8>,
    strings: Vec<u8>,
    symbols: Vec<String>,
    /// Line of each site.
    lines: Vec<u64>,
}

impl Image {
    /// From what `clang -S -emit-llvm` prints.
    pub(crate) fn of(module: &str) -> Image {
        let table = |name: &str| {
            let start = format!("@{name} = ");
            let line = module.lines().find(|line| line.starts_with(&start));
            line.unwrap_or_else(|| panic!("there is no {name}"))
        };
        let sites = numbers(table("__ft_sites"), "i32 ");
        Image {
            bytes: text(table("__ft_image")),
            strings: text(table("__ft_strings")),
            symbols: symbols(table("__ft_symbols")),
            lines: sites.chunks(4).map(|site| site[2]).collect(),
        }
    }

    /// The functions of which a name contains one of these parts; all if there are none.
    pub(crate) fn print(&self, names: &[&str]) -> String {
        let mut reader = Reader {
            rest: &self.bytes,
            image: self,
            widths: Vec::new(),
            is_defined: Vec::new(),
            taken: Vec::new(),
            passed: Vec::new(),
        };
        assert_eq!(reader.number(), 2, "version");
        let count = reader.number();
        let functions: Vec<(String, String)> = (0..count).map(|_| reader.function()).collect();
        assert!(reader.rest.is_empty(), "{} bytes are left", reader.rest.len());
        functions
            .into_iter()
            .filter(|(name, _)| names.is_empty() || names.contains(&name.as_str()))
            .map(|(_, text)| text)
            .collect()
    }

    fn string(&self, offset: u64) -> String {
        let bytes = &self.strings[offset as usize..];
        let end = bytes.iter().position(|byte| *byte == 0).expect("strings end with a NUL");
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    }
}

fn numbers(line: &str, before: &str) -> Vec<u64> {
    let values = line.rsplit_once('[').map_or("", |(_, values)| values);
    let number = |part: &str| {
        let number: i64 = part.split([',', ']']).next()?.parse().ok()?;
        Some(number as u64)
    };
    values.split(before).skip(1).map(|part| number(part).expect("a number")).collect()
}

/// The bytes of a string constant.
fn text(line: &str) -> Vec<u8> {
    if line.contains(" zeroinitializer") {
        return vec![0];
    }
    let (_, rest) = line.split_once("c\"").expect("a string");
    let (quoted, _) = rest.rsplit_once('"').expect("it ends");
    let mut bytes = Vec::new();
    let mut rest = quoted.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let (byte, taken) = match after {
            _ if byte != b'\\' => (byte, 0),
            [b'\\', ..] => (byte, 1),
            _ => {
                let digits = std::str::from_utf8(&after[..2]).expect("two digits");
                (u8::from_str_radix(digits, 16).expect("two digits"), 2)
            }
        };
        bytes.push(byte);
        rest = &after[taken..];
    }
    bytes
}

/// Names of symbols; `own n` for those that stand for themselves, because nothing else may name
/// them.
fn symbols(line: &str) -> Vec<String> {
    let line = line.replace("getelementptr (i8, ptr @__ft_symbols", "own");
    let values = line.split_once("] [").map_or("", |(_, values)| values);
    let name = |(index, part): (usize, &str)| {
        let name = part.split([',', ']']).next().unwrap_or("").trim().trim_start_matches('@');
        if matches!(name, "own" | "__ft_symbols") {
            format!("own {index}")
        } else {
            name.to_string()
        }
    };
    values.split("ptr ").skip(1).enumerate().map(name).collect()
}

struct Reader<'a> {
    rest: &'a [u8],
    image: &'a Image,
    /// Of the registers of the function at hand.
    widths: Vec<u64>,
    is_defined: Vec<bool>,
    /// What the blocks of the function take, and what jumps pass.
    taken: Vec<Vec<u64>>,
    passed: Vec<(u64, Vec<u64>)>,
}

/// An operand as it is printed, and its width.
struct Operand {
    text: String,
    width: u64,
}

impl std::fmt::Display for Operand {
    fn fmt(&self, to: &mut std::fmt::Formatter) -> std::fmt::Result {
        to.write_str(&self.text)
    }
}

impl Reader<'_> {
    fn number(&mut self) -> u64 {
        let mut number = 0;
        for shift in (0..).step_by(7) {
            let (&byte, rest) = self.rest.split_first().expect("the image goes on");
            self.rest = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        number
    }

    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.number()).map(|_| item(self)).collect()
    }

    fn string(&mut self) -> String {
        let offset = self.number();
        self.image.string(offset)
    }

    fn function(&mut self) -> (String, String) {
        let symbol = self.number();
        assert!((symbol as usize) < self.image.symbols.len(), "symbol {symbol}");
        let name = self.string();
        let flags = self.number();
        if flags & 4 != 0 {
            let symbol = self.number();
            assert!(self.image.symbols[symbol as usize].starts_with("own "), "symbol {symbol}");
        }
        let result = self.number();
        self.widths = self.list(Self::number);
        self.is_defined = vec![false; self.widths.len()];
        let parameters: Vec<String> = (0..self.number()).map(|one| self.register(one)).collect();
        let mut text = format!("{name}({}) -> {result}", parameters.join(", "));
        for (bit, word) in [(1, " enters"), (2, " variadic")] {
            text += if flags & bit != 0 { word } else { "" };
        }
        text.push('\n');
        for block in 0..self.number() {
            self.block(block, &mut text);
        }
        assert!(self.is_defined.iter().all(|is| *is), "a register is nowhere defined\n{text}");
        let taken = std::mem::take(&mut self.taken);
        for (block, passed) in self.passed.drain(..) {
            assert_eq!(taken[block as usize], passed, "to b{block}\n{text}");
        }
        (name, text)
    }

    /// A register where it is defined.
    fn register(&mut self, register: u64) -> String {
        let is_defined = &mut self.is_defined[register as usize];
        assert!(!*is_defined, "r{register} is defined twice");
        *is_defined = true;
        format!("r{register}:{}", self.widths[register as usize])
    }

    fn block(&mut self, number: u64, text: &mut String) {
        let parameters = self.list(Self::number);
        self.taken.push(parameters.iter().map(|one| self.widths[*one as usize]).collect());
        let parameters: Vec<String> =
            parameters.into_iter().map(|one| self.register(one)).collect();
        writeln!(text, "b{number}({}):", parameters.join(", ")).expect("a string takes all");
        for _ in 0..self.number() {
            let instruction = self.instruction();
            writeln!(text, "  {instruction}").expect("a string takes all");
        }
        let end = self.terminator();
        writeln!(text, "  {end}").expect("a string takes all");
    }

    fn operand(&mut self) -> Operand {
        let head = self.number();
        let number = head >> 2;
        match head & 3 {
            0 => Operand { text: format!("r{number}"), width: self.widths[number as usize] },
            1 => {
                let value = self.number();
                assert!((1..=64).contains(&number), "a constant of {number} bits");
                assert!(number == 64 || value >> number == 0, "{value} in {number} bits");
                Operand { text: format!("{value}:{number}"), width: number }
            }
            2 => {
                let name = &self.image.symbols[number as usize];
                let offset = self.number();
                let offset = (offset >> 1) as i64 ^ -((offset & 1) as i64);
                let offset = if offset == 0 { String::new() } else { format!("{offset:+}") };
                Operand { text: format!("@{name}{offset}"), width: 64 }
            }
            _ => Operand { text: format!("?:{number}"), width: number },
        }
    }

    /// An operand that must be this wide.
    fn wide(&mut self, width: u64) -> String {
        let operand = self.operand();
        assert_eq!(operand.width, width, "{operand}");
        operand.text
    }

    fn operands(&mut self) -> String {
        let operands = self.list(Self::operand);
        operands.into_iter().map(|one| one.text).collect::<Vec<String>>().join(", ")
    }

    fn site(&mut self) -> String {
        match self.number() {
            0 => String::new(),
            site => format!("  ; {}", self.image.lines[site as usize - 1]),
        }
    }

    fn instruction(&mut self) -> String {
        let opcode = self.number();
        let site = self.site();
        match self.number() {
            0 => format!("{}{site}", self.body(opcode, None)),
            register => {
                let result = self.register(register - 1);
                let width = self.widths[register as usize - 1];
                format!("{result} = {}{site}", self.body(opcode, Some(width)))
            }
        }
    }

    /// What an instruction does whose result is so wide.
    fn body(&mut self, opcode: u64, result: Option<u64>) -> String {
        let private = |flags| if flags & 1 != 0 { "private " } else { "" };
        match opcode {
            1 => {
                let number = self.number();
                let (left, right) = (self.operand(), self.operand());
                assert!(left.width > 0 && left.width == right.width, "{left}, {right}");
                assert_eq!(result, Some(if number >= 13 { 1 } else { left.width }));
                format!("{} {left}, {right}", BINARY[number as usize])
            }
            2 => {
                let kind = self.number();
                let (value, width) = (self.operand(), result.expect("a cast has a result"));
                let fits = if kind == 2 { value.width > width } else { value.width < width };
                assert!(fits && value.width > 0 && width > 0, "{value} to {width} bits");
                format!("{} {value}", ["zext", "sext", "trunc"][kind as usize])
            }
            3 => {
                let condition = self.wide(1);
                let (then, other) = (self.operand(), self.operand());
                assert!([then.width, other.width].iter().all(|one| Some(*one) == result));
                format!("select {condition}, {then}, {other}")
            }
            4 => {
                let (flags, size, order) = (self.number(), self.number(), self.number());
                assert_eq!(result, Some(8 * size));
                format!("{}load{size}{} {}", private(flags), order_name(order), self.wide(64))
            }
            5 => {
                let (flags, size, order) = (self.number(), self.number(), self.number());
                let (address, value) = (self.wide(64), self.wide(8 * size));
                format!("{}store{size}{} {address}, {value}", private(flags), order_name(order))
            }
            6 => {
                let (flags, operation) = (self.number(), self.number());
                let (size, order) = (self.number(), self.number());
                let (address, value) = (self.wide(64), self.wide(8 * size));
                assert_eq!(result, Some(8 * size));
                let order = order_name(order);
                format!("{}rmw{operation} size {size}{order} {address}, {value}", private(flags))
            }
            7 => {
                let (flags, size, order) = (self.number(), self.number(), self.number());
                let address = self.wide(64);
                let (expected, new) = (self.wide(8 * size), self.wide(8 * size));
                assert_eq!(result, Some(8 * size));
                let order = order_name(order);
                format!("{}cas{size}{order} {address}, {expected}, {new}", private(flags))
            }
            8 => format!("fence{}", order_name(self.number())),
            9 => format!("{}slot {}", private(self.number()), self.wide(64)),
            _ => self.long_body(opcode),
        }
    }

    fn long_body(&mut self, opcode: u64) -> String {
        let private = |flags| if flags & 1 != 0 { "private " } else { "" };
        match opcode {
            10 => {
                let flags = self.number();
                let callee = self.wide(64);
                format!("call {callee}({}){}", self.operands(), self.call_flags(flags))
            }
            11 => {
                let flags = self.number();
                let (name, callee) = (self.string(), self.wide(64));
                format!("leave `{name}` {callee}({}){}", self.operands(), self.call_flags(flags))
            }
            12 => format!("assert {}", self.wide(1)),
            13 => {
                let flags = self.number();
                let source = private(flags >> 1);
                let (to, from, size) = (self.wide(64), self.wide(64), self.wide(64));
                let noted = if flags & 4 != 0 { " noted" } else { "" };
                format!("copy {}{to}, {source}{from}, {size}{noted}", private(flags))
            }
            14 => {
                let flags = self.number();
                let (to, byte, size) = (self.wide(64), self.wide(8), self.wide(64));
                let noted = if flags & 4 != 0 { " noted" } else { "" };
                format!("fill {}{to}, {byte}, {size}{noted}", private(flags))
            }
            15 => format!("opaque `{}`({})", self.string(), self.operands()),
            20 => format!("opaque memory `{}`({})", self.string(), self.operands()),
            21 => format!("opaque list `{}`({})", self.string(), self.operands()),
            16 => {
                let (flags, size) = (self.number(), self.number());
                format!("{}load wide {size} {}", private(flags), self.wide(64))
            }
            17 => {
                let (flags, size) = (self.number(), self.number());
                let (address, value) = (self.wide(64), self.operand());
                format!("{}store wide {size} {address}, {value}", private(flags))
            }
            18 => format!("hooked `{}`({})", self.string(), self.operands()),
            19 => format!("mark `{}`({})", self.string(), self.operands()),
            other => panic!("unknown opcode {other}"),
        }
    }

    fn call_flags(&mut self, flags: u64) -> String {
        let mut text = String::new();
        if flags & 1 != 0 {
            text += " no return";
        }
        if flags & 2 != 0 {
            text += &format!(" named {}", self.number());
        }
        text
    }

    fn target(&mut self) -> String {
        let block = self.number();
        let arguments = self.list(Self::operand);
        self.passed.push((block, arguments.iter().map(|one| one.width).collect()));
        let arguments: Vec<String> = arguments.into_iter().map(|one| one.text).collect();
        format!("b{block}({})", arguments.join(", "))
    }

    fn terminator(&mut self) -> String {
        match self.number() {
            0 => format!("jump {}", self.target()),
            1 => {
                let flags = self.number();
                let site = self.site();
                let mark = |bit, word: &'static str| if flags & bit != 0 { word } else { "" };
                let (constant, then_fails, else_fails) =
                    (mark(1, " constant"), mark(2, " fails"), mark(4, " fails"));
                let condition = self.wide(1);
                let (then, other) = (self.target(), self.target());
                format!(
                    "branch{constant} {condition}, {then}{then_fails}, {other}{else_fails}{site}"
                )
            }
            2 => {
                let constant = if self.number() & 1 != 0 { " constant" } else { "" };
                let site = self.site();
                let (value, default) = (self.operand(), self.target());
                let case = |reader: &mut Self| format!("{}: {}", reader.number(), reader.target());
                let cases = self.list(case).join(", ");
                format!("switch{constant} {value}, {default}, [{cases}]{site}")
            }
            3 => format!("return {}", self.operands()).trim_end().to_string(),
            4 => "unreachable".to_string(),
            5 => format!("invoked {}, {}", self.target(), self.target()),
            6 => format!("unsupported `{}`", self.string()),
            7 => "resume".to_string(),
            8 => {
                let (site, value) = (self.site(), self.operand());
                let labels = self.list(|reader| {
                    reader.number();
                    reader.target()
                });
                format!("switch label {value}, [{}]{site}", labels.join(", "))
            }
            other => panic!("unknown terminator {other}"),
        }
    }
}

fn order_name(order: u64) -> &'static str {
    ["", " relaxed", " acquire", " release", " acq_rel", " seq_cst"][order as usize]
}
