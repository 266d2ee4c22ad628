//! The names of x86-64 instructions: what those with a common form change, and how many bits.

use foretrace_recording::site::rmw;

/// How an instruction changes its target.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Add,
    Sub,
    And,
    Or,
    Xor,
    Increment,
    Decrement,
    Not,
    Negate,
}

impl Change {
    pub(super) fn named(name: &str) -> Option<Change> {
        Some(match name {
            "add" => Change::Add,
            "sub" => Change::Sub,
            "and" => Change::And,
            "or" => Change::Or,
            "xor" => Change::Xor,
            "inc" => Change::Increment,
            "dec" => Change::Decrement,
            "not" => Change::Not,
            "neg" => Change::Negate,
            _ => return None,
        })
    }

    pub(super) fn has_source(self) -> bool {
        !matches!(self, Change::Increment | Change::Decrement | Change::Not | Change::Negate)
    }

    /// In the numbers of [`rmw`]. Nothing atomic negates.
    pub(super) fn operation(self) -> Option<u32> {
        Some(match self {
            Change::Add | Change::Increment => rmw::ADD,
            Change::Sub | Change::Decrement => rmw::SUB,
            Change::And => rmw::AND,
            Change::Or => rmw::OR,
            Change::Xor | Change::Not => rmw::XOR,
            Change::Negate => return None,
        })
    }
}

/// The names that have a width as their last letter.
const SIZED: [&str; 18] = [
    "mov", "xchg", "xadd", "cmpxchg", "add", "sub", "and", "or", "xor", "inc", "dec", "not", "neg",
    "bt", "bts", "btr", "btc", "cmp",
];

/// The name without the letter that says how many bits are meant, and these bits.
pub(super) fn without_suffix(name: &str) -> Option<(&'static str, Option<u32>)> {
    let known = |name: &str| SIZED.iter().copied().find(|one| *one == name);
    if let Some(name) = known(name) {
        return Some((name, None));
    }
    let width = match name.chars().last()? {
        'b' => 8,
        'w' => 16,
        'l' => 32,
        'q' => 64,
        _ => return None,
    };
    Some((known(&name[..name.len() - 1])?, Some(width)))
}
