//! Which names need quotes.

use foretrace_trace::text::quoting::{is_bare_location, quote};

use super::token::is_word;

/// Words that begin a statement or mean something in an expression.
const KEYWORDS: &str = "
    acq_rel acquire alloc assert assume at atomic barrier branch broadcast call cmpxchg current else
    exit external false fence fork free if join jump load own plain region relaxed release return
    rmw section sempost semwait seq_cst shared signal slot store switch threadexit timed true
    try unreachable wait
";

/// Whether an unquoted word is a keyword, with or without a suffix such as `.4`.
pub(super) fn is_keyword(word: &str) -> bool {
    let stem = word.split('.').next().unwrap_or(word);
    let bare = stem.strip_prefix("try").or_else(|| stem.strip_prefix("timed")).unwrap_or(stem);
    // A name such as `u8` before a parenthesis is a cast.
    let is_cast = stem.strip_prefix(['u', 'i']).is_some_and(|digits| {
        !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())
    });
    is_cast
        || [stem, bare].iter().any(|word| KEYWORDS.split_ascii_whitespace().any(|one| one == *word))
}

/// The name as it is written where a name may stand.
pub(super) fn show_name(name: &str) -> String {
    if is_word(name) && !is_keyword(name) { name.to_string() } else { in_quotes(name) }
}

/// The location as it is written behind `@`.
pub(super) fn show_location(location: &str) -> String {
    if is_bare_location(location) { location.to_string() } else { in_quotes(location) }
}

fn in_quotes(name: &str) -> String {
    let mut out = String::new();
    quote(name, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_can_be_searched() {
        assert!(is_keyword("load.4") && is_keyword("tryacquire") && is_keyword("timedwait"));
        assert!(!is_keyword("x") && !is_keyword("a.load"));
        assert_eq!(show_name("a.b") + &show_name("load") + &show_name("a b"), "a.b\"load\"\"a b\"");
    }
}
