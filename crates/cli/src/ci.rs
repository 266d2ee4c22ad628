//! `foretrace ci init`: recipes for continuous integration, as files of the project.

use std::fs;

use crate::args::{InitArguments, Recipe};
use crate::failure::{Failure, Status};
use crate::output;
use crate::process::record::say;

const SCRIPT: (&str, &str) = ("ci/foretrace.sh", include_str!("ci/foretrace.sh"));

/// The files of a recipe, and what is in them.
fn files(recipe: Recipe) -> &'static [(&'static str, &'static str)] {
    match recipe {
        Recipe::Github => {
            &[SCRIPT, (".github/workflows/foretrace.yml", include_str!("ci/github.yml"))]
        }
        Recipe::Gitlab => &[SCRIPT, (".gitlab/foretrace.yml", include_str!("ci/gitlab.yml"))],
        Recipe::Cmake => &[
            ("CMakePresets.json", include_str!("ci/presets.json")),
            ("cmake/Foretrace.cmake", include_str!("ci/Foretrace.cmake")),
        ],
    }
}

/// Writes the recipes.
pub(crate) fn init(arguments: &InitArguments) -> Result<Status, Failure> {
    let mut all: Vec<_> = arguments.recipes.iter().flat_map(|&recipe| files(recipe)).collect();
    all.sort_unstable();
    all.dedup();
    for (name, text) in all {
        let path = arguments.folder.join(name);
        if path.exists() && !arguments.force {
            say(&format!("{} exists and is left alone (--force replaces it)", path.display()));
            continue;
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)
                .map_err(|error| Failure::input(format_args!("{}: {error}", folder.display())))?;
        }
        output::to_path(&path, |writer| writer.write_all(text.as_bytes()))?;
        say(&format!("wrote {}", path.display()));
    }
    say("change what is marked with CHANGE, and commit the files; docs/ci.md says more");
    Ok(Status::Nothing)
}
