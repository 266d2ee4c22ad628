//! The text of inline assembly, cut into instructions.
//!
//! **Computes.** From LLVM's form of the text (`$0` is an operand, `$$` a dollar sign, `$(…$|…$)` a
//! choice of dialects) the instructions with their operands, the target first whatever the dialect
//! says.
//!
//! **Invariant.** What is not known in full is an error, with what it was. Left out are only
//! comments, labels, alignment, and what is put into other sections (`.pushsection`), which is not
//! executed here.

use super::registers::Register;

/// One instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Instruction {
    pub(super) is_locked: bool,
    /// `rep` and its kin.
    pub(super) is_repeated: bool,
    /// The name as it is written, in small letters.
    pub(super) name: String,
    /// The target first.
    pub(super) operands: Vec<Part>,
}

/// What an instruction works with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// An operand of the assembly; the letter says how it is written (`b`, `w`, `k`, `q`: so many
    /// bits of it).
    Operand {
        number: usize,
        modifier: Option<char>,
        size: Option<u32>,
    },
    Register(Register),
    Number(i64),
    /// What a register points at, at a distance.
    Memory {
        base: Base,
        distance: i64,
        size: Option<u32>,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Base {
    Operand(usize),
    Register(Register),
}

/// The text, as far as it could be read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Template {
    pub(super) instructions: Vec<Instruction>,
    /// Whether there is more than instructions: labels, other sections.
    pub(super) has_more: bool,
}

/// Marks an operand in the text: its number and its letter follow, up to a second mark.
const MARK: char = '\u{1}';

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Dialect {
    Att,
    Intel,
}

impl Template {
    /// Reads the text; the error is what could not be read.
    pub(super) fn parse(text: &str, dialect: Dialect) -> Result<Template, String> {
        let text = without_comments(&with_marks(text, dialect)?);
        let mut template = Template::default();
        let mut sections = 0;
        let mut prefixes = Prefixes::default();
        for statement in text.split(['\n', ';']) {
            let mut statement = statement.trim();
            if starts_with_word(statement, ".pushsection") {
                sections += 1;
            }
            if sections > 0 {
                template.has_more = true;
                if starts_with_word(statement, ".popsection") {
                    sections -= 1;
                }
                continue;
            }
            while let Some(rest) = behind_label(statement) {
                template.has_more = true;
                statement = rest.trim();
            }
            let is_alignment = [".p2align", ".balign", ".align"];
            if is_alignment.iter().any(|name| starts_with_word(statement, name)) {
                template.has_more = true;
                continue;
            }
            statement = prefixes.take(statement);
            if !statement.is_empty() {
                let instruction = instruction(statement, std::mem::take(&mut prefixes), dialect)?;
                template.instructions.push(instruction);
            }
        }
        match sections == 0 && prefixes == Prefixes::default() {
            true => Ok(template),
            false => Err("it ends in the midst".into()),
        }
    }
}

fn starts_with_word(statement: &str, word: &str) -> bool {
    statement
        .strip_prefix(word)
        .is_some_and(|rest| !rest.starts_with(|one: char| one.is_alphanumeric()))
}

/// What precedes an instruction, perhaps as a statement of its own.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Prefixes {
    is_locked: bool,
    is_repeated: bool,
}

impl Prefixes {
    /// Notes the prefixes that the statement begins with; gives the rest.
    fn take<'a>(&mut self, mut statement: &'a str) -> &'a str {
        loop {
            let end = statement.find(char::is_whitespace).unwrap_or(statement.len());
            match statement[..end].to_lowercase().as_str() {
                "lock" => self.is_locked = true,
                "rep" | "repe" | "repz" | "repne" | "repnz" => self.is_repeated = true,
                // Hints: without the extension they mean nothing.
                "xacquire" | "xrelease" => {}
                _ => return statement,
            }
            statement = statement[end..].trim_start();
        }
    }
}

/// The text in one dialect, with a mark for each operand.
fn with_marks(text: &str, dialect: Dialect) -> Result<String, String> {
    let mut result = String::new();
    // Which choice of a group of dialects this is; outside of a group, none.
    let mut choice: Option<u32> = None;
    let wanted = if dialect == Dialect::Att { 0 } else { 1 };
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let is_meant = choice.is_none_or(|number| number == wanted);
        if character != '$' {
            if is_meant {
                result.push(character);
            }
            continue;
        }
        let mut mark = String::new();
        match characters.next() {
            Some('$') => mark.push('$'),
            Some('(') => choice = Some(0),
            Some('|') => choice = choice.map(|number| number + 1),
            Some(')') => choice = None,
            Some('{') => {
                let inside: String = characters.by_ref().take_while(|one| *one != '}').collect();
                mark = format!("{MARK}{inside}{MARK}");
            }
            Some(digit) if digit.is_ascii_digit() => {
                mark = format!("{MARK}{digit}");
                while let Some(digit) = characters.next_if(char::is_ascii_digit) {
                    mark.push(digit);
                }
                mark.push(MARK);
            }
            _ => return Err("`$` without an operand".into()),
        }
        if is_meant {
            result.push_str(&mark);
        }
    }
    Ok(result)
}

/// Without `# …` and `/* … */`.
fn without_comments(text: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(['#', '/']) {
        let (before, comment) = rest.split_at(start);
        result.push_str(before);
        let end = if comment.starts_with("/*") {
            comment.find("*/").map_or(comment.len(), |end| end + 2)
        } else if comment.starts_with('#') || comment.starts_with("//") {
            comment.find('\n').unwrap_or(comment.len())
        } else {
            result.push('/');
            1
        };
        rest = &comment[end..];
    }
    result.push_str(rest);
    result
}

/// What follows a label, if the statement begins with one.
fn behind_label(statement: &str) -> Option<&str> {
    let (label, rest) = statement.split_once(':')?;
    let is_name = |one: char| one.is_alphanumeric() || matches!(one, '_' | '.');
    (!label.is_empty() && label.chars().all(is_name)).then_some(rest)
}

fn instruction(text: &str, prefixes: Prefixes, dialect: Dialect) -> Result<Instruction, String> {
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (name, operands) = text.split_at(end);
    let mut parts = Vec::new();
    if !operands.trim().is_empty() {
        for operand in split_operands(operands) {
            let part = match dialect {
                Dialect::Att => att_part(operand.trim()),
                Dialect::Intel => intel_part(operand.trim(), None),
            };
            parts.push(part.ok_or_else(|| readable(text))?);
        }
    }
    if dialect == Dialect::Att {
        parts.reverse();
    }
    let Prefixes { is_locked, is_repeated } = prefixes;
    let name = name.to_lowercase();
    Ok(Instruction { is_locked, is_repeated, name, operands: parts })
}

/// The text of a message.
fn readable(text: &str) -> String {
    let mut inside = false;
    let plain = text.chars().map(|one| match one {
        MARK => {
            inside = !inside;
            if inside { "%".to_string() } else { String::new() }
        }
        other => other.to_string(),
    });
    format!("`{}`", plain.collect::<String>())
}

/// Splits at the commas that are not inside parentheses.
fn split_operands(text: &str) -> Vec<&str> {
    let mut depth = 0;
    text.split(|character| {
        match character {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            _ => {}
        }
        character == ',' && depth == 0
    })
    .collect()
}

/// `$5`, `%eax`, `8(%0)`, or an operand.
fn att_part(text: &str) -> Option<Part> {
    if let Some(rest) = text.strip_prefix('$') {
        return match marked(rest) {
            Some((number, Some('c' | 'P'))) => {
                Some(Part::Operand { number, modifier: None, size: None })
            }
            Some(_) => None,
            None => number(rest).map(Part::Number),
        };
    }
    if let Some(name) = text.strip_prefix('%') {
        return Register::named(&name.to_lowercase()).map(Part::Register);
    }
    if let Some((number, modifier)) = marked(text) {
        return Some(Part::Operand { number, modifier, size: None });
    }
    let (distance, base) = text.strip_suffix(')')?.split_once('(')?;
    let distance = if distance.trim().is_empty() { 0 } else { number(distance.trim())? };
    Some(Part::Memory { base: base_of(base.trim(), '%')?, distance, size: None })
}

/// `5`, `eax`, `dword ptr [%0 + 8]`, or an operand.
fn intel_part(text: &str, size: Option<u32>) -> Option<Part> {
    let sizes = [("byte ptr", 8), ("word ptr", 16), ("dword ptr", 32), ("qword ptr", 64)];
    let small = text.to_lowercase();
    for (words, bits) in sizes {
        if small.starts_with(words) {
            return intel_part(text[words.len()..].trim_start(), Some(bits));
        }
    }
    if let Some((number, modifier)) = marked(text) {
        return Some(Part::Operand { number, modifier, size });
    }
    if let Some(inside) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let at = inside.find(['+', '-']).unwrap_or(inside.len());
        let (base, distance) = inside.split_at(at);
        let distance: String = distance.chars().filter(|one| !one.is_whitespace()).collect();
        let distance = match distance.as_str() {
            "" => 0,
            written => number(written.trim_start_matches('+'))?,
        };
        return Some(Part::Memory { base: base_of(base.trim(), ' ')?, distance, size });
    }
    Register::named(&small).map(Part::Register).or_else(|| number(text).map(Part::Number))
}

fn base_of(text: &str, sign: char) -> Option<Base> {
    match marked(text) {
        Some((number, None | Some('q'))) => Some(Base::Operand(number)),
        Some(_) => None,
        None => {
            let name = text.trim_start_matches(sign).to_lowercase();
            Register::named(&name).map(Base::Register)
        }
    }
}

/// The number and the letter of an operand, if the text is one.
fn marked(text: &str) -> Option<(usize, Option<char>)> {
    let inside = text.strip_prefix(MARK)?.strip_suffix(MARK)?;
    match inside.split_once(':') {
        None => Some((inside.parse().ok()?, None)),
        Some((number, letter)) => {
            let mut letters = letter.chars();
            let modifier = letters.next().filter(|_| letters.next().is_none())?;
            Some((number.parse().ok()?, Some(modifier)))
        }
    }
}

fn number(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest.trim_start()),
        None => (false, text),
    };
    let magnitude = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None if digits.len() > 1 && digits.starts_with('0') => {
            u64::from_str_radix(digits, 8).ok()?
        }
        None => digits.parse().ok()?,
    };
    let value = magnitude as i64;
    Some(if negative { value.wrapping_neg() } else { value })
}
