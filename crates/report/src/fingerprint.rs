//! A name for a bug that survives a new recording.

use crate::Kind;

/// Sixteen hexadecimal digits that depend on the kind, the object and the places in the source,
/// in no order, and not on event numbers.
///
/// A place is a source location; where a trace has none, the caller gives thread and operation
/// instead. Two findings at the same places of the same object have the same fingerprint.
pub fn fingerprint(kind: Kind, object: Option<&str>, places: &[&str]) -> String {
    let mut places = places.to_vec();
    places.sort_unstable();
    let parts = [kind.name(), object.unwrap_or("")].into_iter().chain(places);
    format!("{:016x}", parts.fold(OFFSET_BASIS, fold_part))
}

// FNV-1a, 64 bits: stable over platforms and versions of the standard library.
const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

fn fold_part(hash: u64, part: &str) -> u64 {
    // The separator keeps `ab` `c` and `a` `bc` apart: it occurs in no UTF-8 text.
    part.bytes().chain([0xff]).fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depends_on_what_and_where_but_not_on_the_order() {
        let here = fingerprint(Kind::Race, Some("x"), &["a.c:1", "a.c:2"]);
        assert_eq!(here, fingerprint(Kind::Race, Some("x"), &["a.c:2", "a.c:1"]));
        assert_eq!(here, "0723fe4c17b6a0eb");
        assert_ne!(here, fingerprint(Kind::Race, Some("y"), &["a.c:1", "a.c:2"]));
        assert_ne!(here, fingerprint(Kind::Race, Some("x"), &["a.c:1a", ".c:2"]));
        assert_ne!(here, fingerprint(Kind::Atomicity, Some("x"), &["a.c:1", "a.c:2"]));
    }
}
