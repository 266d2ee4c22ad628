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

/// Sixteen hexadecimal digits that are the same for findings that have one cause: of one kind, on
/// one object, between the same functions, in no order. Blocks that were allocated at one place,
/// elements of one array and stacks of threads are the same object here.
pub fn group_key(kind: Kind, object: Option<&str>, functions: &[String]) -> String {
    let mut functions: Vec<&str> = functions.iter().map(String::as_str).collect();
    functions.sort_unstable();
    functions.dedup();
    let object = without_numbers(object.unwrap_or(""));
    let parts = [kind.name(), &object].into_iter().chain(functions);
    format!("{:016x}", parts.fold(OFFSET_BASIS, fold_part))
}

/// An object without the numbers that tell it from its like: `heap#105@a.c:66` is `heap#@a.c:66`,
/// `slots[3]` is `slots[]`, `stack of T2` is `stack of T`.
fn without_numbers(object: &str) -> String {
    let mut text = String::new();
    let mut characters = object.chars().peekable();
    while let Some(character) = characters.next() {
        text.push(character);
        let is_counted = matches!(character, '#' | '[') || text.ends_with("stack of T");
        while is_counted && characters.next_if(char::is_ascii_digit).is_some() {}
    }
    text
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

    #[test]
    fn a_group_has_one_cause() {
        let key = |object: &str, functions: &[&str]| {
            let functions: Vec<String> = functions.iter().map(|one| one.to_string()).collect();
            group_key(Kind::Race, Some(object), &functions)
        };
        assert_eq!(key("x[3].y", &["f", "g"]), key("x[14].y", &["g", "f", "g"]));
        assert_eq!(key("heap#1@a.c:6+4", &["f"]), key("heap#22@a.c:6+4", &["f"]));
        assert_eq!(key("stack of T1+8", &[]), key("stack of T10+8", &[]));
        assert_ne!(key("heap#1@a.c:6+4", &["f"]), key("heap#1@a.c:6+8", &["f"]));
        assert_ne!(key("x", &["f", "g"]), key("x", &["f"]));
        assert_ne!(key("x1", &["f"]), key("x2", &["f"]));
    }
}
