//! The report as one self-contained HTML file: a page to step through the findings.
//!
//! The page is fixed (`page.html`, `*.css`, `*.js`); the report is in it as a block of JSON, with
//! tables that findings share. Scripts are few and small, load nothing, and only ever show what is
//! in the block as text.
//!
//! **Invariant.** Nothing from the analysed program can leave the block of JSON: every `<` in it is
//! written as an escape of JSON. The page itself has no other place for such text.
//!
//! **Cost.** Linear in the report. A schedule is written as runs of one thread each, so that a
//! thousand findings with long schedules stay small.

mod data;
mod source;

use std::io::{self, Write};

use serde::Serialize;

use crate::Report;
use data::Data;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPTS: [&str; 6] = [
    include_str!("data.js"),
    include_str!("schedule.js"),
    include_str!("rows.js"),
    include_str!("panels.js"),
    include_str!("overview.js"),
    include_str!("page.js"),
];

/// Writes the report as a page.
///
/// # Errors
/// Those of the writer.
pub fn write_html(report: &Report, writer: &mut dyn Write) -> io::Result<()> {
    for part in PAGE.split_inclusive("}}") {
        let Some((text, name)) = part.strip_suffix("}}").and_then(|part| part.rsplit_once("{{"))
        else {
            writer.write_all(part.as_bytes())?;
            continue;
        };
        writer.write_all(text.as_bytes())?;
        match name {
            "style" => writer.write_all(STYLE.as_bytes())?,
            "scripts" => SCRIPTS.iter().try_for_each(|code| writer.write_all(code.as_bytes()))?,
            "data" => {
                let mut block = io::BufWriter::with_capacity(1 << 16, Inert(writer));
                let data = Data::new(report);
                data.serialize(&mut serde_json::Serializer::new(&mut block))?;
                block.flush()?;
            }
            other => unreachable!("the page has no part {other}"),
        }
    }
    Ok(())
}

/// JSON that no HTML parser takes for a tag or a comment. A `<` occurs in strings only, where an
/// escape stands for it.
struct Inert<'a>(&'a mut dyn Write);

impl Write for Inert<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|&byte| byte == b'<') {
            self.0.write_all(&rest[..at])?;
            self.0.write_all(b"\\u003c")?;
            rest = &rest[at + 1..];
        }
        self.0.write_all(rest)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_the_program_stays_text() {
        let mut bytes = Vec::new();
        let text = "</script><script>alert(1)</script><!-- \"\\";
        serde_json::to_writer(Inert(&mut bytes), text).unwrap();
        let written = String::from_utf8(bytes).unwrap();
        assert!(!written.contains('<'), "{written}");
        assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
    }

    #[test]
    fn the_parts_of_the_page_are_there() {
        for name in ["style", "scripts", "data"] {
            assert_eq!(PAGE.matches(&format!("{{{{{name}}}}}")).count(), 1, "{name}");
        }
        // Else the page would end where its own code says so.
        assert!(SCRIPTS.iter().all(|code| !code.contains("</script")));
    }
}
