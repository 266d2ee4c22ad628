//! Places in the source of a program.

use std::fmt;

/// A place in the source: `file:line`, `file:line:column`, either with ` (function)` behind it.
///
/// The traces of other tools may call their locations anything; those have no such value, and are
/// shown as they are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Location<'t> {
    /// The file, as the compiler named it.
    pub file: &'t str,
    /// From 1.
    pub line: u32,
    /// From 1, if it is known.
    pub column: Option<u32>,
    /// The function, if it is known.
    pub function: Option<&'t str>,
}

impl<'t> Location<'t> {
    /// The place that a location of a trace names; `None` if it is of another form.
    pub fn parse(text: &'t str) -> Option<Location<'t>> {
        // Both the file and the function may contain parentheses; the numbers before one do not.
        let ends = text.match_indices(" (").map(|(at, _)| at).chain([text.len()]);
        let places = ends.filter_map(|end| {
            let function = match &text[end..] {
                "" => None,
                rest => Some(rest.strip_prefix(" (")?.strip_suffix(')')?),
            };
            let (file, line, column) = file_and_numbers(&text[..end])?;
            Some(Location { file, line, column, function })
        });
        // Two numbers say more than one.
        places.clone().find(|place| place.column.is_some()).or_else(|| places.clone().next())
    }

    /// The file without its folders.
    pub fn file_name(&self) -> &'t str {
        self.file.rsplit('/').next().unwrap_or(self.file)
    }

    /// A location of a trace without the folders of its file.
    pub fn without_folders(text: &str) -> String {
        if let Some(place) = Location::parse(text) {
            return Location { file: place.file_name(), ..place }.to_string();
        }
        let file = text.find([' ', ':']).unwrap_or(text.len());
        text[..file].rfind('/').map_or(text, |slash| &text[slash + 1..]).to_string()
    }

    /// A location of a trace without folders and function.
    pub fn in_short(text: &str) -> String {
        if let Some(place) = Location::parse(text) {
            return Location { file: place.file_name(), function: None, ..place }.to_string();
        }
        let place = text.split(" (").next().unwrap_or(text);
        place.rsplit('/').next().unwrap_or(place).to_string()
    }
}

/// `file:line:column` or `file:line`, in the form in which numbers are printed.
fn file_and_numbers(place: &str) -> Option<(&str, u32, Option<u32>)> {
    let (rest, last) = place.rsplit_once(':')?;
    let last = number(last)?;
    match rest.rsplit_once(':').and_then(|(file, line)| Some((file, number(line)?))) {
        Some((file, line)) if !file.is_empty() => Some((file, line, Some(last))),
        _ => (!rest.is_empty()).then_some((rest, last, None)),
    }
}

fn number(digits: &str) -> Option<u32> {
    digits.parse().ok().filter(|number: &u32| number.to_string() == digits)
}

impl fmt::Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        self.column.map_or(Ok(()), |column| write!(f, ":{column}"))?;
        self.function.map_or(Ok(()), |function| write!(f, " ({function})"))
    }
}

#[cfg(test)]
mod tests {
    use super::Location;

    #[test]
    fn a_location_is_read_and_shown() {
        for (text, file, line, column, function) in [
            ("bank.c:12", "bank.c", 12, None, None),
            ("/a b/bank.c:12:5", "/a b/bank.c", 12, Some(5), None),
            ("bank.c:12:5 (withdraw)", "bank.c", 12, Some(5), Some("withdraw")),
            ("bank.c:12 (withdraw)", "bank.c", 12, None, Some("withdraw")),
            ("a (b)/c.c:1:2 (f (int))", "a (b)/c.c", 1, Some(2), Some("f (int)")),
            ("c.c:1:2 (operator() (int))", "c.c", 1, Some(2), Some("operator() (int)")),
            ("c:1:2:3", "c:1", 2, Some(3), None),
            ("a:1 (b)/c.c:1:2 (f)", "a:1 (b)/c.c", 1, Some(2), Some("f")),
        ] {
            let location = Location { file, line, column, function };
            assert_eq!(Location::parse(text), Some(location), "{text}");
            assert_eq!(location.to_string(), text);
        }
        for text in ["", "a9", "12", ":12", "bank.c", "bank.c:", "bank.c:-1", "b.c:1 (f", "b.c:01"]
        {
            assert_eq!(Location::parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_short_form_has_no_folders_and_no_function() {
        for (text, without_folders, short) in [
            ("src/deep/a.c:12:3 (deposit)", "a.c:12:3 (deposit)", "a.c:12:3"),
            ("/a b/a.c:12", "a.c:12", "a.c:12"),
            ("src/a.c (main)", "a.c (main)", "a.c"),
            ("a9", "a9", "a9"),
        ] {
            assert_eq!(Location::without_folders(text), without_folders);
            assert_eq!(Location::in_short(text), short);
        }
    }
}
