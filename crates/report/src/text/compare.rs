//! The table of the models, and below it what each is the first to find.

use std::io::{self, Write};

use super::table::Table;
use crate::{Comparison, ModelVerdict};

/// How many findings a line names.
const NAMED: usize = 3;

pub(super) fn write_comparison(comparison: &Comparison, writer: &mut dyn Write) -> io::Result<()> {
    let names = || comparison.models.iter().map(|model| model.model.as_str());
    let open: Vec<String> = comparison
        .models
        .iter()
        .filter(|model| model.undecided > 0)
        .map(|model| format!("{} {}", model.model, model.undecided))
        .collect();
    if !open.is_empty() {
        writeln!(writer, "left open: {}", open.join(", "))?;
    }
    if comparison.rows.is_empty() {
        let all: Vec<&str> = names().collect();
        return writeln!(writer, "nothing found by {}", all.join(", "));
    }
    let mut table = Table::default();
    table.row(["", "finding"].into_iter().chain(names()).map(str::to_string));
    for row in &comparison.rows {
        let id = row.id.clone().unwrap_or_default();
        let verdicts = row.verdicts.iter().map(|&verdict| in_short(verdict).to_string());
        table.row([id, row.in_words()].into_iter().chain(verdicts));
    }
    table.write(writer)?;
    for (at, model) in names().enumerate() {
        let first = comparison.rows.iter().filter(|row| comparison.first(row) == Some(at));
        let found: Vec<String> =
            first.map(|row| row.id.clone().unwrap_or_else(|| row.in_words())).collect();
        if found.is_empty() {
            continue;
        }
        let mut list = found[..found.len().min(NAMED)].join("; ");
        if found.len() > NAMED {
            list += &format!(" and {} more", found.len() - NAMED);
        }
        writeln!(writer, "{model} is the first to find {list}")?;
    }
    Ok(())
}

fn in_short(verdict: ModelVerdict) -> &'static str {
    match verdict {
        ModelVerdict::Real => "real",
        ModelVerdict::Possible => "possible",
        ModelVerdict::Undecided => "undecided",
        ModelVerdict::NotFound => "-",
    }
}
