//! Names and numbers as people like to read them: without what templates were made from, and
//! addresses in hexadecimal.

use std::borrow::Cow;

use foretrace_trace::Location;

/// Names up to this length are shown whole.
const SHORT: usize = 40;

/// Numbers from here on are addresses or bits.
const ADDRESS: u64 = 1 << 40;

/// A source location with the name of its function in short.
pub(super) fn location_in_short(location: &str) -> Cow<'_, str> {
    let location = location.strip_prefix("./").unwrap_or(location);
    match Location::parse(location).and_then(|place| Some((place, place.function?))) {
        Some((place, function)) if function_in_short(function) != function => {
            let function = function_in_short(function);
            let text = Location { function: Some(&function), ..place }.to_string();
            Cow::from(without_system_folders(&text).into_owned())
        }
        _ => without_system_folders(location),
    }
}

/// `Cache<…>::get` instead of `Cache<int, std::…>::get`, and `main::{lambda}` for what compilers
/// call `main::$_0::operator()`.
pub fn function_in_short(name: &str) -> Cow<'_, str> {
    let mut short = match name.contains("::operator()") {
        true => Cow::from(with_lambdas(name)),
        false => Cow::from(name),
    };
    if short.chars().count() > SHORT && short.contains('<') {
        short = Cow::from(without_arguments(&short));
    }
    short
}

/// Lambdas have names of the compiler's own: `$_0`, `'lambda'(int)`.
fn with_lambdas(name: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in split(name) {
        let is_lambda = |part: &&str| part.starts_with("$_") || part.starts_with("'lambda");
        match parts.last().filter(|last| is_lambda(last)) {
            Some(_) if part.starts_with("operator()") => {
                parts.pop();
                parts.push("{lambda}");
            }
            _ => parts.push(part),
        }
    }
    parts.join("::")
}

/// What stands between `::`, outside of brackets.
pub(super) fn split(name: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start, mut last) = (Vec::new(), 0, 0, ' ');
    for (at, c) in name.char_indices() {
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' => depth -= 1,
            ':' if depth == 0 && last == ':' => {
                parts.push(&name[start..at - 1]);
                start = at + 1;
            }
            _ => {}
        }
        last = c;
    }
    parts.push(&name[start..]);
    parts
}

/// The name with `<…>` for what templates were made from. Operators keep their signs.
fn without_arguments(name: &str) -> String {
    let (mut short, mut depth) = (String::new(), 0);
    for c in name.chars() {
        // `operator<<`; what follows is a template's.
        let bare = short.trim_end_matches(['<', '>', '=', '-']);
        let is_operator = bare.ends_with("operator") && short.len() - bare.len() < 2;
        match c {
            '<' if depth > 0 || !is_operator => {
                if depth == 0 {
                    short.push_str("<…>");
                }
                depth += 1;
            }
            '>' if depth > 0 => depth -= 1,
            _ if depth > 0 => {}
            _ => short.push(c),
        }
    }
    short
}

/// Whether a word is a name that a recording made up for what was read: `r22`.
fn is_made_up(word: &str) -> bool {
    word.strip_prefix('r').is_some_and(|number| number.parse::<u32>().is_ok())
}

/// Whether only we know what a text means: it has names of what was read, or of memory that has no
/// name in the source.
pub(super) fn has_made_up_names(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.any(is_made_up) || ["heap#", "stack of ", "mem@"].iter().any(|part| text.contains(part))
}

/// An operation without how its value is computed, if only we know what that means.
pub(super) fn without_made_up_names(operation: &str) -> &str {
    let Some((start, expression)) = operation.split_once(" = ") else { return operation };
    if has_made_up_names(expression) { start } else { operation }
}

/// A source location as a reader writes it: headers of the system in pointed brackets.
pub(super) fn without_system_folders(location: &str) -> Cow<'_, str> {
    if !location.starts_with("/usr/") {
        return Cow::from(location);
    }
    let Some(start) = location.rfind("/include/").map(|at| at + "/include/".len()) else {
        return Cow::from(location);
    };
    let name = &location[start..];
    let name =
        name.strip_prefix("c++/").and_then(|rest| rest.split_once('/')).map_or(name, |two| two.1);
    match name.find([':', ' ']) {
        Some(end) => Cow::from(format!("<{}>{}", &name[..end], &name[end..])),
        None => Cow::from(format!("<{name}>")),
    }
}

/// An operation with its addresses in hexadecimal.
pub(super) fn with_addresses(operation: &str) -> Cow<'_, str> {
    let is_address =
        |word: &str| word.len() >= 13 && word.parse().is_ok_and(|value: u64| value >= ADDRESS);
    if !operation.split(' ').any(is_address) {
        return Cow::from(operation);
    }
    let word = |word: &str| match word.parse::<u64>() {
        Ok(value) if is_address(word) => format!("{value:#x}"),
        _ => word.to_string(),
    };
    Cow::from(operation.split(' ').map(word).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions() {
        let long = "LruCache<int, std::basic_string<char, std::allocator<char>>, 4u>::hit_rate";
        assert_eq!(function_in_short(long), "LruCache<…>::hit_rate");
        assert_eq!(function_in_short("Box<int>::get"), "Box<int>::get");
        assert_eq!(function_in_short("main::$_0::operator()"), "main::{lambda}");
        let inner = "work::Pool::Pool(int)::'lambda'()::operator()";
        assert_eq!(function_in_short(inner), "work::Pool::Pool(int)::{lambda}");
        let less = "std::operator<<<std::char_traits<char>, std::allocator<char>>";
        assert_eq!(function_in_short(less), "std::operator<<<…>");
    }

    #[test]
    fn locations() {
        let place = "a.cpp:3:5 (Map<std::string, std::vector<std::string>, 16>::insert)";
        assert_eq!(location_in_short(place), "a.cpp:3:5 (Map<…>::insert)");
        assert_eq!(location_in_short("a.c:3 (main)"), "a.c:3 (main)");
        assert_eq!(location_in_short("./queue.hpp:3:5 (pop)"), "queue.hpp:3:5 (pop)");
    }

    #[test]
    fn headers() {
        let header =
            "/usr/lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12/bits/invoke.h:74:14";
        assert_eq!(location_in_short(header), "<bits/invoke.h>:74:14");
        assert_eq!(location_in_short("/usr/include/stdio.h:3 (f)"), "<stdio.h>:3 (f)");
    }

    #[test]
    fn expressions() {
        assert_eq!(without_made_up_names("write x = s32(r22 * 7)"), "write x");
        assert_eq!(without_made_up_names("write x = x + 50"), "write x = x + 50");
    }

    #[test]
    fn addresses() {
        assert_eq!(with_addresses("write p : 93824992231424"), "write p : 0x555555554000");
        assert_eq!(with_addresses("write n : 4294967296"), "write n : 4294967296");
    }
}
