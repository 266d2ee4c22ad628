//! Compiles the part that needs LLVM's C++ interface.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=cpp");
    println!("cargo::rerun-if-env-changed=LLVM_SYS_191_PREFIX");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .flag("-fno-rtti")
        .flag("-fno-exceptions")
        .flag("-fvisibility-inlines-hidden")
        .warnings(false)
        .include(include_directory())
        .files(["cpp/shim.cpp", "cpp/names.cpp"])
        .compile("foretrace_llvm_shim");
}

fn include_directory() -> PathBuf {
    let config = match env::var_os("LLVM_SYS_191_PREFIX") {
        Some(prefix) => PathBuf::from(prefix).join("bin/llvm-config"),
        None => PathBuf::from("llvm-config-19"),
    };
    let output = Command::new(&config).arg("--includedir").output().unwrap_or_else(|error| {
        panic!(
            "{}: {error}; install LLVM 19: apt-get install clang-19 llvm-19-dev",
            config.display()
        )
    });
    PathBuf::from(String::from_utf8(output.stdout).expect("llvm-config prints a path").trim())
}
