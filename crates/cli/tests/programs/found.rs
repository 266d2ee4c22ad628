//! Findings, as the text report shows them.

use std::path::Path;

#[derive(Debug)]
pub(super) struct Found {
    pub(super) id: String,
    /// `race`, `lock-cycle`, ...: the id without its number.
    pub(super) kind: String,
    pub(super) property: &'static str,
    /// What the first line says behind the colon.
    pub(super) what: String,
    pub(super) confirmed: bool,
    /// `bug.c:12`, sorted.
    pub(super) places: Vec<String>,
}

/// What the lines have that follow those of the sides.
const BEHIND_SIDES: [&str; 5] =
    ["--> ", ": called from ", ": thread created at ", ": in a block of ", "  schedule:"];

/// The findings of a report.
pub(super) fn findings(report: &str) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let mut in_sides = false;
    for line in report.lines() {
        let header = line.split_once(" (").filter(|(id, _)| {
            id.rsplit_once('-').is_some_and(|(_, number)| number.parse::<u32>().is_ok())
                && !id.contains(' ')
        });
        if let Some((id, rest)) = header {
            let kind = id.rsplit_once('-').unwrap().0.to_string();
            let property = match &kind[..] {
                "race" => "race",
                "atomicity" => "atomicity",
                "assertion" => "assertion",
                "lock-cycle" | "stuck" => "deadlock",
                _ => "lock",
            };
            let confirmed = rest.starts_with("real, confirmed ");
            let what = rest.split_once("): ").map_or("", |(_, what)| what).to_string();
            let (id, places) = (id.to_string(), Vec::new());
            found.push(Found { id, kind, property, what, confirmed, places });
            in_sides = true;
        } else if BEHIND_SIDES.iter().any(|start| line.contains(start)) {
            in_sides = false;
        } else if in_sides
            && let (Some(found), Some((_, place))) = (found.last_mut(), line.split_once(" at "))
        {
            // `is about to read x  at dir/bug.c:12:5 (main)  holding ...`;
            // `waits to acquire m  at ...`
            let place = place.rsplit_once(" at ").map_or(place, |(_, place)| place).trim();
            let place = place.split(' ').next().unwrap_or(place);
            let mut parts = place.rsplitn(3, ':');
            let (_, line, file) = (parts.next(), parts.next(), parts.next());
            if let (Some(line), Some(file)) = (line, file) {
                let name = Path::new(file).file_name().unwrap().to_str().unwrap();
                found.places.push(format!("{name}:{line}"));
            }
        }
    }
    found.iter_mut().for_each(|found| found.places.sort());
    found
}
