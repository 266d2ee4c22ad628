//! The formats of `printf` and `scanf`, as far as they say where texts are read and values stored.

use std::ffi::c_char;

/// The values behind a format.
pub(super) enum Values<'v> {
    /// As the plugin passes them: one word each.
    Array(std::slice::Iter<'v, u64>),
    /// A `va_list` of the System V ABI: where the next general register is in the save area, where
    /// the next vector register is, what is on the stack, and the save area.
    List { general: u32, vector: u32, stack: *const u8, saved: *const u8 },
}

impl<'v> Values<'v> {
    /// # Safety
    ///
    /// There are so many values.
    pub(super) unsafe fn of_array(values: *const u64, count: usize) -> Values<'v> {
        if count == 0 {
            return Values::Array([].iter());
        }
        // SAFETY: the caller says so.
        Values::Array(unsafe { std::slice::from_raw_parts(values, count) }.iter())
    }

    /// # Safety
    ///
    /// There is a `va_list`, which stays as it is.
    pub(super) unsafe fn of_list(list: *const u64) -> Values<'v> {
        // SAFETY: the caller says so: two numbers, then two addresses.
        unsafe {
            let numbers = list.cast::<u32>();
            Values::List {
                general: numbers.read(),
                vector: numbers.add(1).read(),
                stack: list.add(1).cast::<*const u8>().read(),
                saved: list.add(2).cast::<*const u8>().read(),
            }
        }
    }

    /// The next value, if there is one.
    ///
    /// # Safety
    ///
    /// The format says that there is one, of this kind.
    unsafe fn next(&mut self, kind: Kind) -> Option<u64> {
        const GENERAL: u32 = 48;
        const VECTOR: u32 = 176;
        match self {
            Values::Array(values) => values.next().copied(),
            Values::List { general, vector, stack, saved } => {
                // SAFETY: the caller says so, and this is where the ABI has it.
                unsafe {
                    if kind == Kind::Word && *general < GENERAL {
                        *general += 8;
                        return Some(saved.add(*general as usize - 8).cast::<u64>().read());
                    }
                    if kind == Kind::Double && *vector < VECTOR {
                        *vector += 16;
                        return Some(0);
                    }
                    if kind == Kind::LongDouble {
                        *stack = stack.add(stack.align_offset(16) + 16);
                        return Some(0);
                    }
                    *stack = stack.add(8);
                    Some(stack.sub(8).cast::<u64>().read())
                }
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word,
    Double,
    LongDouble,
}

/// How many characters are printed at most.
#[derive(Clone, Copy)]
enum Limit {
    Number(usize),
    /// As this value says.
    Value(usize),
}

/// More values than this a format does not name.
const MOST_VALUES: usize = 4096;

/// Which value a conversion means: the one with this number, or the next one.
fn value_at(kinds: &mut Vec<Kind>, next: &mut usize, number: Option<usize>, kind: Kind) -> usize {
    let at = number.unwrap_or_else(|| std::mem::replace(next, *next + 1));
    if at < MOST_VALUES {
        kinds.resize(kinds.len().max(at + 1), Kind::Word);
        kinds[at] = kind;
    }
    at
}

/// What is left of a format.
pub(super) struct Format {
    rest: *const u8,
}

impl Format {
    /// # Safety
    ///
    /// It is a text, and stays as it is.
    pub(super) unsafe fn new(format: *const c_char) -> Format {
        Format { rest: format.cast() }
    }

    fn peek(&self) -> u8 {
        // SAFETY: it is in a text, at most at its end.
        unsafe { self.rest.read() }
    }

    fn take(&mut self) -> u8 {
        let byte = self.peek();
        if byte != 0 {
            self.rest = self.rest.wrapping_add(1);
        }
        byte
    }

    fn take_any_of(&mut self, set: &[u8]) -> bool {
        let is_there = self.peek() != 0 && set.contains(&self.peek());
        if is_there {
            self.take();
        }
        is_there
    }

    fn number(&mut self) -> Option<usize> {
        let mut number = None;
        while self.peek().is_ascii_digit() {
            let digit = usize::from(self.take() - b'0');
            number = Some(number.unwrap_or(0usize).saturating_mul(10).saturating_add(digit));
        }
        number
    }

    /// Goes behind the next `%` that is none itself.
    fn next_conversion(&mut self) -> bool {
        loop {
            match self.take() {
                0 => return false,
                b'%' if self.peek() == b'%' => {
                    self.take();
                }
                b'%' => return true,
                _ => {}
            }
        }
    }

    /// The texts that `printf` reads, with how many characters of each at most, of so many bytes.
    ///
    /// # Safety
    ///
    /// The values are those of the format.
    pub(super) unsafe fn texts(mut self, values: &mut Values) -> Vec<(*const u8, usize, usize)> {
        let (mut kinds, mut texts, mut next) = (Vec::new(), Vec::new(), 0);
        while self.next_conversion() {
            let number = self.position();
            while self.take_any_of(b"-+ #0'I") {}
            self.size(&mut kinds, &mut next);
            let limit = match self.take_any_of(b".") {
                true => self.size(&mut kinds, &mut next),
                false => Limit::Number(usize::MAX),
            };
            let (mut is_wide, mut is_long_double) = (false, false);
            loop {
                let byte = self.peek();
                if !self.take_any_of(b"hlLqjzt") {
                    break;
                }
                is_wide |= byte == b'l';
                is_long_double |= byte == b'L';
            }
            let conversion = self.take();
            let kind = match conversion {
                0 => break,
                b'm' => continue,
                b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' if is_long_double => {
                    Kind::LongDouble
                }
                b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' => Kind::Double,
                _ => Kind::Word,
            };
            let at = value_at(&mut kinds, &mut next, number, kind);
            if matches!(conversion, b's' | b'S') {
                let is_wide = is_wide || conversion == b'S';
                texts.push((at, limit, if is_wide { 4 } else { 1 }));
            }
        }
        // SAFETY: the caller says so; a value that no conversion names is a word.
        let all: Vec<u64> =
            kinds.into_iter().map_while(|kind| unsafe { values.next(kind) }).collect();
        let text = |(at, limit, width): (usize, Limit, usize)| {
            let limit = match limit {
                Limit::Number(number) => number,
                // One below 0 is none.
                Limit::Value(at) => {
                    usize::try_from(*all.get(at)? as u32 as i32).unwrap_or(usize::MAX)
                }
            };
            let value = all.get(at).copied().filter(|&value| value != 0)?;
            // At most as many characters are read as bytes are printed.
            Some((value as *const u8, limit, width))
        };
        texts.into_iter().filter_map(text).collect()
    }

    /// The number of a value, if it is named so (`1$`), from 0.
    fn position(&mut self) -> Option<usize> {
        let before = self.rest;
        match self.number() {
            Some(number) if number > 0 && self.take_any_of(b"$") => Some(number - 1),
            _ => {
                self.rest = before;
                None
            }
        }
    }

    /// A width or a precision.
    fn size(&mut self, kinds: &mut Vec<Kind>, next: &mut usize) -> Limit {
        if self.take_any_of(b"*") {
            let number = self.position();
            return Limit::Value(value_at(kinds, next, number, Kind::Word));
        }
        Limit::Number(self.number().unwrap_or(0))
    }

    /// Where `scanf` stores, and how many bytes; none: a text with its end.
    ///
    /// # Safety
    ///
    /// The values are those of the format.
    pub(super) unsafe fn places(mut self, values: &mut Values) -> Vec<(*mut u8, Option<usize>)> {
        let mut places = Vec::new();
        while self.next_conversion() {
            let is_skipped = self.take_any_of(b"*");
            while self.take_any_of(b"'I") {}
            let width = self.number();
            if self.peek() == b'$' {
                break;
            }
            let mut size = 4;
            let mut is_wide = false;
            loop {
                match self.peek() {
                    b'h' if size == 2 => size = 1,
                    b'h' => size = 2,
                    b'l' | b'j' | b'z' | b't' | b'q' => {
                        is_wide |= self.peek() == b'l';
                        size = 8;
                    }
                    b'L' => size = 16,
                    // The function allocates: the address is all that is stored here.
                    b'm' => {
                        self.take();
                        size = 8;
                        while !matches!(self.peek(), 0 | b'c' | b's' | b'[') {
                            self.take();
                        }
                        is_wide = true;
                        break;
                    }
                    _ => break,
                }
                self.take();
            }
            let conversion = self.take();
            if conversion == b'[' {
                self.take_any_of(b"^");
                self.take_any_of(b"]");
                while !matches!(self.take(), 0 | b']') {}
            }
            if conversion == 0 {
                break;
            }
            if is_skipped {
                continue;
            }
            // SAFETY: the caller says so.
            let Some(value) = (unsafe { values.next(Kind::Word) }) else { break };
            let size = match conversion {
                // Not one of those that are counted.
                b'n' => continue,
                // Of wide texts only the beginning is known to be there.
                b's' | b'[' | b'c' if is_wide => Some(size.min(8)),
                b's' | b'[' => None,
                b'c' => Some(width.unwrap_or(1)),
                b'p' => Some(8),
                _ => Some(size),
            };
            places.push((value as *mut u8, size));
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(format: &std::ffi::CStr, values: &[u64]) -> Vec<(u64, usize, usize)> {
        // SAFETY: each format has as many values as it says.
        let found = unsafe {
            let mut values = Values::of_array(values.as_ptr(), values.len());
            Format::new(format.as_ptr()).texts(&mut values)
        };
        found.into_iter().map(|(text, limit, width)| (text as u64, limit, width)).collect()
    }

    #[test]
    fn texts_of_printf_are_found() {
        const ALL: usize = usize::MAX;
        assert_eq!(texts(c"%d%% %s %-5ld|%s", &[1, 2, 3, 4]), [(2, ALL, 1), (4, ALL, 1)]);
        assert_eq!(texts(c"%.*s %.3s %.s", &[7, 8, 9, 10]), [(8, 7, 1), (9, 3, 1), (10, 0, 1)]);
        assert_eq!(texts(c"%*.*f %m %ls %s", &[1, 2, 3, 4, 5]), [(4, ALL, 4), (5, ALL, 1)]);
        assert_eq!(texts(c"%2$s %1$s", &[1, 2]), [(2, ALL, 1), (1, ALL, 1)]);
        assert_eq!(texts(c"%3$.*2$s %1$d", &[1, 2, 3]), [(3, 2, 1)]);
    }

    #[test]
    fn places_of_scanf_are_found() {
        let values = [1, 2, 3, 4, 5, 6];
        // SAFETY: the format has as many values as it says.
        let found = unsafe {
            let mut values = Values::of_array(values.as_ptr(), values.len());
            Format::new(c"%d %*d %ld%n %hhu %[^]a] %2c".as_ptr()).places(&mut values)
        };
        let found: Vec<_> = found.into_iter().map(|(at, size)| (at as u64, size)).collect();
        assert_eq!(found, [(1, Some(4)), (2, Some(8)), (4, Some(1)), (5, None), (6, Some(2))]);
    }
}
