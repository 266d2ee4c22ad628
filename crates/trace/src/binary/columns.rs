//! Columns: one field of all events of a block.
//!
//! **Computes.** A column is stored as its distances from a base, in as few bytes as the largest
//! distance needs, or, if that is narrower, as the differences of neighbours (zigzag, and then
//! again as distances from a base). All first bytes come first, then all second bytes, and so on:
//! equal bytes lie together, which is what zstd is good at, and the loops below become vector code.
//!
//! **Invariant.** Arithmetic wraps in the width of the column, so every byte string of the right
//! length is some column; whether its numbers make sense is the business of `rows`.
//!
//! **Cost.** A constant column takes ten bytes whatever its length. Decoding is a few instructions
//! per number.

use super::BinaryError;
use super::bytes::Cursor;

/// How the numbers of a column are stored.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Method {
    Distances,
    Differences,
}

macro_rules! columns {
    ($($encode:ident, $decode:ident: $word:ty, $signed:ty;)*) => {$(
        /// Appends a column.
        pub(super) fn $encode(column: &[$word], out: &mut Vec<u8>) {
            let zigzag = |number: $word| {
                let signed = number as $signed;
                ((signed << 1) ^ (signed >> (<$word>::BITS - 1))) as $word
            };
            let mut before: $word = 0;
            let differences: Vec<$word> = column
                .iter()
                .map(|&number| zigzag(number.wrapping_sub(std::mem::replace(&mut before, number))))
                .collect();
            let range = |numbers: &[$word]| {
                let least = numbers.iter().copied().min().unwrap_or(0);
                let most = numbers.iter().copied().max().unwrap_or(0);
                (least, (<$word>::BITS - (most - least).leading_zeros()).div_ceil(8) as usize)
            };
            let (plain, narrow) = (range(column), range(&differences));
            let (method, numbers, (base, width)) = if narrow.1 < plain.1 {
                (Method::Differences, &differences[..], narrow)
            } else {
                (Method::Distances, column, plain)
            };
            out.push(method as u8);
            out.push(width as u8);
            out.extend_from_slice(&(base as u64).to_le_bytes());
            for byte in 0..width {
                out.extend(numbers.iter().map(|&number| ((number - base) >> (8 * byte)) as u8));
            }
        }

        /// Reads a column of `count` numbers.
        pub(super) fn $decode(
            cursor: &mut Cursor,
            count: usize,
            column: &mut Vec<$word>,
        ) -> Result<(), BinaryError> {
            let method = cursor.byte()?;
            let width = cursor.byte()? as usize;
            let base = cursor.take(8)?;
            let base = u64::from_le_bytes(std::array::from_fn(|byte| base[byte]));
            if method > Method::Differences as u8 || width > size_of::<$word>() {
                return Err(cursor.damaged("an unknown kind of column"));
            }
            if base as $word as u64 != base {
                return Err(cursor.damaged("a column whose base is too large"));
            }
            let base = base as $word;
            let planes = cursor.take((width * count) as u64)?;
            column.clear();
            column.resize(count, base);
            for (byte, plane) in planes.chunks_exact(count.max(1)).enumerate() {
                for (number, &bits) in column.iter_mut().zip(plane) {
                    *number = number.wrapping_add((bits as $word) << (8 * byte));
                }
            }
            if method == Method::Differences as u8 {
                let mut before: $word = 0;
                for number in column {
                    let sign = (*number & 1).wrapping_neg();
                    before = before.wrapping_add((*number >> 1) ^ sign);
                    *number = before;
                }
            }
            Ok(())
        }
    )*};
}

columns! {
    encode_bytes, decode_bytes: u8, i8;
    encode_words, decode_words: u32, i32;
    encode_longs, decode_longs: u64, i64;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(column: &[u32]) -> usize {
        let mut bytes = Vec::new();
        encode_words(column, &mut bytes);
        let mut cursor = Cursor::new(&bytes, 0);
        let mut read = Vec::new();
        decode_words(&mut cursor, column.len(), &mut read).unwrap();
        cursor.finish().unwrap();
        assert_eq!(read, column);
        bytes.len() - 10
    }

    #[test]
    fn columns_are_as_narrow_as_their_numbers() {
        assert_eq!(words(&[]), 0);
        assert_eq!(words(&[7, 7, 7]), 0);
        assert_eq!(words(&[1000, 1001, 1255]), 3);
        assert_eq!(words(&[0, 256]), 4);
        assert_eq!(words(&[u32::MAX, 0, u32::MAX, 1 << 31]), 16);
        // Neighbours are close, so their differences need one byte.
        assert_eq!(words(&(0..1000).collect::<Vec<u32>>()), 1000);
        assert_eq!(words(&[0, 100, 200, 300, 400]), 5);
    }

    #[test]
    fn extremes_survive() {
        for column in [&[0, u64::MAX][..], &[u64::MAX, u64::MAX - 1], &[1 << 63, 0, 1, 1 << 62]] {
            let mut bytes = Vec::new();
            encode_longs(column, &mut bytes);
            let mut read = Vec::new();
            decode_longs(&mut Cursor::new(&bytes, 0), column.len(), &mut read).unwrap();
            assert_eq!(read, column);
        }
        let column: Vec<u8> = (0..=255).rev().collect();
        let mut bytes = Vec::new();
        encode_bytes(&column, &mut bytes);
        let mut read = Vec::new();
        decode_bytes(&mut Cursor::new(&bytes, 0), column.len(), &mut read).unwrap();
        assert_eq!(read, column);
    }
}
