//! Finds the plugin, the runtime and the header that belong to this program.

use std::path::{Path, PathBuf};

const PLUGIN: &str = "libforetrace_llvm.so";
const RUNTIME: &str = "libforetrace_rt.so";
const HEADER: &str = "foretrace.h";

/// Where to look, in this order: what `FORETRACE_HOME` says, beside this program as cargo builds
/// it, and where packages put it.
pub(super) struct Installation {
    libraries: Vec<PathBuf>,
    headers: Vec<PathBuf>,
    /// Whether a file that is nowhere is taken for the first place (for tests).
    imaginary: bool,
}

impl Installation {
    pub(super) fn of_this_program() -> Installation {
        let mut libraries = Vec::new();
        let mut headers = Vec::new();
        if let Some(home) = std::env::var_os("FORETRACE_HOME").map(PathBuf::from) {
            libraries.extend([home.clone(), home.join("lib"), home.join("lib/foretrace")]);
            headers.extend([home.clone(), home.join("include"), home.join("include/foretrace")]);
        }
        let program = std::env::current_exe().ok().and_then(|program| program.canonicalize().ok());
        if let Some(directory) = program.as_deref().and_then(Path::parent) {
            libraries.extend([directory.to_path_buf(), directory.join("../lib/foretrace")]);
            headers
                .extend([directory.join("../include/foretrace"), directory.join("../../include")]);
        }
        // For a build whose target directory is elsewhere.
        headers.push(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include"));
        Installation { libraries, headers, imaginary: false }
    }

    #[cfg(test)]
    pub(super) fn at(directory: &str) -> Installation {
        Installation {
            libraries: vec![directory.into()],
            headers: vec![directory.into()],
            imaginary: true,
        }
    }

    pub(super) fn plugin(&self) -> Result<PathBuf, String> {
        self.library(PLUGIN)
    }

    pub(super) fn runtime(&self) -> Result<PathBuf, String> {
        self.library(RUNTIME)
    }

    /// The directory of the header, without which most programs do well.
    pub(super) fn headers(&self) -> Option<PathBuf> {
        let has_header = |directory: &&PathBuf| directory.join(HEADER).is_file();
        self.headers.iter().find(has_header).and_then(|directory| directory.canonicalize().ok())
    }

    fn library(&self, name: &str) -> Result<PathBuf, String> {
        if self.imaginary {
            return Ok(self.libraries[0].join(name));
        }
        let found =
            self.libraries.iter().map(|directory| directory.join(name)).find(|file| file.is_file());
        found.and_then(|file| file.canonicalize().ok()).ok_or_else(|| {
            let places: Vec<String> =
                self.libraries.iter().map(|place| place.display().to_string()).collect();
            format!(
                "{name} not found in {}\nhint: build it with `cargo xtask build`",
                places.join(", ")
            )
        })
    }
}
