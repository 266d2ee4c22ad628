//! The image of a piece of C, and that it means the hooks that the piece has.

#[path = "../common/mod.rs"]
mod common;
mod computations;
mod control;
mod hooks;
mod memory;
mod print;

use std::process::Command;

use expect_test::Expect;

use hooks::{hooks_of_image, hooks_of_module};
use print::Image;

/// The images of the named functions, or of all.
fn check(file: &str, source: &str, names: &[&str], expected: &Expect) {
    let directory = common::directory(&format!("image-{file}"));
    std::fs::write(directory.join(file), source).expect("the directory is ours");
    let plugin = format!("-fpass-plugin={}", common::plugin().display());
    let compiler = if file.ends_with(".cpp") { "clang++-19" } else { "clang-19" };
    let mut clang = Command::new(compiler);
    clang.current_dir(&directory).args(["-O0", "-w", "-gline-tables-only", "-S", "-emit-llvm"]);
    clang.args(["-Xclang", "-disable-O0-optnone", &plugin, "-o", "-", file]);
    let output = common::succeed(&mut clang);
    let module = String::from_utf8_lossy(&output.stdout);
    let image = Image::of(&module);
    expected.assert_eq(&image.print(names));
    let all = image.print(&[]);
    // Code that is left out has hooks too.
    if !all.contains("unsupported `") {
        assert_eq!(hooks_of_image(&all), hooks_of_module(&module));
    }
}
