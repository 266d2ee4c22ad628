//! The names of the general registers of x86-64.

/// A part of a general register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Register {
    /// The name of all 64 bits.
    pub(super) whole: &'static str,
    /// How many of the lowest bits are meant.
    pub(super) width: u32,
}

const NAMES: [[&str; 4]; 16] = [
    ["rax", "eax", "ax", "al"],
    ["rbx", "ebx", "bx", "bl"],
    ["rcx", "ecx", "cx", "cl"],
    ["rdx", "edx", "dx", "dl"],
    ["rsi", "esi", "si", "sil"],
    ["rdi", "edi", "di", "dil"],
    ["rbp", "ebp", "bp", "bpl"],
    ["rsp", "esp", "sp", "spl"],
    ["r8", "r8d", "r8w", "r8b"],
    ["r9", "r9d", "r9w", "r9b"],
    ["r10", "r10d", "r10w", "r10b"],
    ["r11", "r11d", "r11w", "r11b"],
    ["r12", "r12d", "r12w", "r12b"],
    ["r13", "r13d", "r13w", "r13b"],
    ["r14", "r14d", "r14w", "r14b"],
    ["r15", "r15d", "r15w", "r15b"],
];

impl Register {
    /// The register of this name, without `%`. (`ah` and its kin are not known.)
    pub(super) fn named(name: &str) -> Option<Register> {
        NAMES.iter().find_map(|names| {
            let part = names.iter().position(|one| *one == name)?;
            Some(Register { whole: names[0], width: 64 >> part })
        })
    }
}
