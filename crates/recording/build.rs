//! Numbers the layouts, so that a plugin, a runtime and a command of different builds notice each
//! other: the number is a hash (FNV-1a) of all that defines them.

use std::path::{Path, PathBuf};
use std::{fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=src");
    let mut files = Vec::new();
    list(Path::new("src"), &mut files)?;
    files.sort();
    let mut hash: u32 = 0x811c_9dc5;
    for file in files {
        for byte in fs::read(file)? {
            hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
    }
    println!("cargo::rustc-env=FORETRACE_LAYOUT={hash}");
    Ok(())
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
