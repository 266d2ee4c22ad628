//! The lines of source files that a page shows: those around the places that events name.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::Report;

/// So many lines before and behind each place are shown.
const AROUND: u32 = 8;

/// A source file, as far as it is shown.
#[derive(Serialize)]
pub(super) struct SourceFile {
    name: String,
    /// Whether the file could be read.
    found: bool,
    chunks: Vec<Chunk>,
}

/// Neighbouring lines.
#[derive(Serialize)]
struct Chunk {
    first: u32,
    lines: Vec<String>,
}

/// The files with the lines around those that are named: file and line, in any order.
pub(super) fn files<'a>(
    places: impl Iterator<Item = (&'a str, u32)>,
    report: &Report,
) -> Vec<SourceFile> {
    let mut named: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    places.for_each(|(file, line)| named.entry(file).or_default().push(line));
    let file = |(name, mut lines): (&str, Vec<u32>)| {
        lines.sort_unstable();
        lines.dedup();
        let text = report.source(name).and_then(|source| source.text.as_deref());
        let chunks = text.map_or(Vec::new(), |text| chunks(text, &lines));
        SourceFile { name: name.to_string(), found: text.is_some(), chunks }
    };
    named.into_iter().map(file).collect()
}

fn chunks(text: &str, named: &[u32]) -> Vec<Chunk> {
    let lines: Vec<&str> = text.lines().collect();
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &line in named {
        let (first, last) = (line.saturating_sub(AROUND).max(1), line.saturating_add(AROUND));
        match ranges.last_mut() {
            Some(range) if first <= range.1 + 1 => range.1 = last,
            _ => ranges.push((first, last)),
        }
    }
    let chunk = |(first, last): (u32, u32)| {
        let end = (last as usize).min(lines.len());
        let lines = lines.get(first as usize - 1..end)?;
        Some(Chunk { first, lines: lines.iter().map(|line| line.to_string()).collect() })
    };
    ranges.into_iter().filter_map(chunk).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_places_share_their_lines() {
        let text: String = (1..=100).map(|line| format!("line {line}\n")).collect();
        let spans = |named: &[u32]| -> Vec<(u32, usize)> {
            let chunks = chunks(&text, named);
            chunks.iter().map(|chunk| (chunk.first, chunk.lines.len())).collect()
        };
        assert_eq!(spans(&[3, 12, 60]), [(1, 20), (52, 17)]);
        assert_eq!(spans(&[98]), [(90, 11)]);
        assert_eq!(spans(&[500]), []);
    }
}
