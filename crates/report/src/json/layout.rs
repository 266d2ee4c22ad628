//! How JSON is broken into lines: the outer levels have a line for each value, so that two files
//! can be compared by lines, and inner ones stay on the line of their value.

use std::io::{self, Write};

use serde_json::ser::Formatter;

/// Line breaks and indentation in the outer levels, none further in.
pub(crate) struct Lines {
    /// How many levels have line breaks.
    levels: usize,
    depth: usize,
    /// Whether the innermost open array or object has a value already.
    filled: bool,
}

impl Lines {
    pub(crate) fn new(levels: usize) -> Lines {
        Lines { levels, depth: 0, filled: false }
    }

    fn open<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.filled = false;
        writer.write_all(bracket)
    }

    fn separate<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.filled = true;
        if !first {
            writer.write_all(b",")?;
        }
        if self.depth <= self.levels { self.line(writer) } else { Ok(()) }
    }

    fn line<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| writer.write_all(b" "))
    }

    fn close<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if self.depth < self.levels && self.filled {
            self.line(writer)?;
        }
        self.filled = true;
        writer.write_all(bracket)
    }
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, w: &mut W, first: bool) -> io::Result<()> {
        self.separate(w, first)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, w: &mut W, first: bool) -> io::Result<()> {
        self.separate(w, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        let space = self.depth <= self.levels;
        writer.write_all(if space { b": ".as_slice() } else { b":" })
    }
}
