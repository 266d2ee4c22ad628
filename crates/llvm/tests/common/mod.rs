//! Runs clang with the plugin that cargo built for these tests.

use std::path::PathBuf;
use std::process::{Command, Output};

pub(crate) fn plugin() -> PathBuf {
    let plugin =
        std::env::current_exe().expect("tests are programs").with_file_name("libforetrace_llvm.so");
    assert!(plugin.is_file(), "{} is not built", plugin.display());
    plugin
}

/// Runs a command that must succeed. The plugin then verifies what it made.
pub(crate) fn succeed(command: &mut Command) -> Output {
    let output = command.env("FORETRACE_VERIFY", "1").output();
    let output =
        output.unwrap_or_else(|error| panic!("{command:?}: {error}; is clang 19 installed?"));
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// A directory of its own for a test, emptied.
pub(crate) fn directory(name: &str) -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).expect("the target directory is ours");
    directory
}
