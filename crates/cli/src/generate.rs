//! `foretrace generate FOLDER`: manual pages and completions for shells, which packages install.

use std::fs;
use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Arguments;
use crate::failure::{Failure, Status};

/// Writes them into `man` and `completions` of the folder.
pub(crate) fn run(folder: &Path) -> Result<Status, Failure> {
    let write = || -> std::io::Result<()> {
        let (man, completions) = (folder.join("man"), folder.join("completions"));
        fs::create_dir_all(&man)?;
        fs::create_dir_all(&completions)?;
        clap_mangen::generate_to(Arguments::command(), &man)?;
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let mut command = Arguments::command();
            clap_complete::generate_to(shell, &mut command, "foretrace", &completions)?;
        }
        Ok(())
    };
    write().map_err(|error| Failure::input(format_args!("{}: {error}", folder.display())))?;
    Ok(Status::Nothing)
}
