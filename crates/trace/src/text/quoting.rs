//! Quotes, escapes and comments in the text forms of traces and programs.

/// A name in quotes.
pub fn quote(name: &str, out: &mut String) {
    out.push('"');
    for c in name.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// What people are told who write another one.
pub const ESCAPES: &str = r#"the escapes are \" \\ \n \t \r and \u{…} with hexadecimal digits"#;

/// The character that an escape at the start of `text` means, and the escape's length.
pub fn unescape(text: &str) -> Option<(char, usize)> {
    let plain = match text.as_bytes().get(1)? {
        b'"' => '"',
        b'\\' => '\\',
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'u' => {
            let digits = text.strip_prefix("\\u{")?;
            // Six digits reach every character; a sign, which the standard library accepts, is
            // none.
            let length = digits.bytes().take(7).take_while(u8::is_ascii_hexdigit).count();
            if digits.as_bytes().get(length) != Some(&b'}') {
                return None;
            }
            let code = u32::from_str_radix(&digits[..length], 16).ok()?;
            return Some((char::from_u32(code)?, length + 4));
        }
        _ => return None,
    };
    Some((plain, 2))
}

/// Whether a location can be written without quotes.
pub fn is_bare_location(location: &str) -> bool {
    !location.is_empty()
        // After a declaration's keyword, a colon would make the keyword a thread.
        && !location.starts_with(['"', ':'])
        && location == location.trim()
        && !location.contains(char::is_control)
        && comment_start(location) == location.len()
}

/// Where a comment begins in what is left of a line: at a `#` at the start or after white space.
pub fn comment_start(text: &str) -> usize {
    let bytes = text.as_bytes();
    let starts =
        |at: usize| bytes[at] == b'#' && (at == 0 || matches!(bytes[at - 1], b' ' | b'\t'));
    (0..bytes.len()).find(|&at| starts(at)).unwrap_or(bytes.len())
}
