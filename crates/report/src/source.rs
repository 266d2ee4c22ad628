//! Where things are in the source: calls, stacks of calls, and the source itself.

use foretrace_trace::Location;
use serde::Serialize;

use crate::Report;

/// A place in a function.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize)]
pub struct CallFrame {
    /// The function, as its source calls it, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The file, as the compiler named it; what the trace says, if that is no file and line.
    pub file: String,
    /// From 1; 0 if it is not known.
    pub line: u32,
    /// From 1, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
}

impl CallFrame {
    /// The place that a location of a trace names.
    pub fn new(location: &str) -> CallFrame {
        match Location::parse(location) {
            Some(Location { file, line, column, function }) => {
                let (file, function) = (file.to_string(), function.map(str::to_string));
                CallFrame { function, file, line, column }
            }
            None => CallFrame { function: None, file: location.to_string(), line: 0, column: None },
        }
    }
}

/// Where something comes from: a thread, a block of memory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Origin {
    /// The name of the thread that made it.
    pub thread: String,
    /// Where, as the trace writes it.
    pub location: Option<String>,
    /// The calls that led there: a number of [`Report::stacks`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<u32>,
    /// How many bytes it has, if it is memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u32>,
}

/// A file of the program's source.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SourceFile {
    /// As locations call it.
    pub file: String,
    /// Where it can be opened, if it was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What is in it, if it could be read. It may have changed since it was compiled.
    #[serde(skip)]
    pub text: Option<String>,
}

impl Report {
    /// The frames of a stack, the innermost first.
    pub fn stack(&self, stack: u32) -> impl ExactSizeIterator<Item = &CallFrame> {
        self.stacks[stack as usize].iter().map(|&frame| &self.frames[frame as usize])
    }

    /// The files that locations and stacks of the report name, each once, in order.
    pub fn files(&self) -> Vec<&str> {
        let excerpt = self.excerpt.iter().filter_map(|text| text.location.as_deref());
        let origins = self.created.iter().flatten();
        let origins = origins.chain(self.findings.iter().filter_map(|one| one.allocated.as_ref()));
        let holds = self.findings.iter().flat_map(|one| &one.sides).flat_map(|side| &side.holds);
        let locations = excerpt
            .chain(origins.filter_map(|origin| origin.location.as_deref()))
            .chain(holds.filter_map(|hold| hold.location.as_deref()));
        let refuted = self.refuted.iter().flat_map(|one| one.places.iter().map(String::as_str));
        let files = locations.chain(refuted).filter_map(|text| Some(Location::parse(text)?.file));
        let frames = self.frames.iter().filter(|frame| frame.line > 0);
        let mut files: Vec<&str> = files.chain(frames.map(|frame| frame.file.as_str())).collect();
        files.sort_unstable();
        files.dedup();
        files
    }

    /// The source of a file, as locations call it.
    pub fn source(&self, file: &str) -> Option<&SourceFile> {
        self.sources.iter().find(|source| source.file == file)
    }
}
