//! Program images: the numbers of `docs/image.md`, and how numbers are written.

/// Version of the encoding.
pub const VERSION: u64 = 2;

/// What an instruction does.
pub mod opcode {
    #![allow(missing_docs)]
    pub const BINARY: u64 = 1;
    pub const CAST: u64 = 2;
    pub const SELECT: u64 = 3;
    pub const LOAD: u64 = 4;
    pub const STORE: u64 = 5;
    pub const RMW: u64 = 6;
    pub const COMPARE_EXCHANGE: u64 = 7;
    pub const FENCE: u64 = 8;
    pub const SLOT: u64 = 9;
    pub const CALL: u64 = 10;
    pub const LEAVE: u64 = 11;
    pub const ASSERT: u64 = 12;
    pub const COPY: u64 = 13;
    pub const FILL: u64 = 14;
    pub const OPAQUE: u64 = 15;
    pub const LOAD_WIDE: u64 = 16;
    pub const STORE_WIDE: u64 = 17;
    pub const HOOKED: u64 = 18;
    pub const MARK: u64 = 19;
    pub const OPAQUE_MEMORY: u64 = 20;
    pub const OPAQUE_LIST: u64 = 21;
}

/// How a block ends.
pub mod terminator {
    #![allow(missing_docs)]
    pub const JUMP: u64 = 0;
    pub const BRANCH: u64 = 1;
    pub const SWITCH: u64 = 2;
    pub const RETURN: u64 = 3;
    pub const UNREACHABLE: u64 = 4;
    pub const INVOKED: u64 = 5;
    pub const UNSUPPORTED: u64 = 6;
    pub const RESUME: u64 = 7;
    pub const LABEL: u64 = 8;
}

/// The tags of operands.
pub mod operand {
    #![allow(missing_docs)]
    pub const REGISTER: u64 = 0;
    pub const CONSTANT: u64 = 1;
    pub const SYMBOL: u64 = 2;
    pub const UNKNOWN: u64 = 3;
}

/// Operations on two values of one width.
pub mod binary {
    #![allow(missing_docs)]
    pub const ADD: u64 = 0;
    pub const SUB: u64 = 1;
    pub const MUL: u64 = 2;
    pub const UDIV: u64 = 3;
    pub const SDIV: u64 = 4;
    pub const UREM: u64 = 5;
    pub const SREM: u64 = 6;
    pub const AND: u64 = 7;
    pub const OR: u64 = 8;
    pub const XOR: u64 = 9;
    pub const SHL: u64 = 10;
    pub const LSHR: u64 = 11;
    pub const ASHR: u64 = 12;
    pub const EQ: u64 = 13;
    pub const NE: u64 = 14;
    pub const ULT: u64 = 15;
    pub const ULE: u64 = 16;
    pub const SLT: u64 = 17;
    pub const SLE: u64 = 18;
}

/// Changes of width.
pub mod cast {
    #![allow(missing_docs)]
    pub const ZERO_EXTEND: u64 = 0;
    pub const SIGN_EXTEND: u64 = 1;
    pub const TRUNCATE: u64 = 2;
}

/// Flags of functions, accesses, calls and branches.
pub mod flags {
    /// Of a function: its code makes an enter record.
    pub const ENTERS: u64 = 1;
    /// Of a function: it is variadic.
    pub const VARIADIC: u64 = 2;
    /// Of a function: records call it by a symbol of its own, since the linker may keep that of
    /// another module.
    pub const OWN_SYMBOL: u64 = 4;
    /// Of an access, slot, fill, or the target of a copy: private, not recorded.
    pub const PRIVATE: u64 = 1;
    /// Of a copy: the source is private.
    pub const PRIVATE_SOURCE: u64 = 2;
    /// Of a copy or fill: its size is recorded first, as that of a switch.
    pub const SIZE_RECORDED: u64 = 4;
    /// Of a call: no return is recorded.
    pub const NO_RETURN: u64 = 1;
    /// Of a call: it has arguments without a name.
    pub const VARIADIC_CALL: u64 = 2;
    /// Of a branch or switch: no outcome is recorded.
    pub const CONSTANT: u64 = 1;
    /// Of a branch: where it goes if the condition holds, the program fails.
    pub const THEN_FAILS: u64 = 2;
    /// Of a branch: where it goes otherwise, the program fails.
    pub const ELSE_FAILS: u64 = 4;
}

/// Appends an unsigned number.
pub fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Appends a signed number.
pub fn put_signed(bytes: &mut Vec<u8>, number: i64) {
    put(bytes, ((number << 1) ^ (number >> 63)) as u64);
}

/// Takes an unsigned number from the front; `None` if there is none.
pub fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Takes a signed number from the front.
pub fn take_signed(bytes: &mut &[u8]) -> Option<i64> {
    let number = take(bytes)?;
    Some((number >> 1) as i64 ^ -((number & 1) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let numbers = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX];
        let mut bytes = Vec::new();
        for number in numbers {
            put(&mut bytes, number);
            put_signed(&mut bytes, number as i64);
        }
        let mut rest = &bytes[..];
        for number in numbers {
            assert_eq!(take(&mut rest), Some(number));
            assert_eq!(take_signed(&mut rest), Some(number as i64));
        }
        assert_eq!(take(&mut rest), None);
        assert_eq!(take(&mut &[0xff; 11][..]), None);
    }
}
