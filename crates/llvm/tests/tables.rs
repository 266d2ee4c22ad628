//! What a module tells the runtime about itself.

mod common;

use std::path::Path;
use std::process::Command;

use expect_test::{Expect, expect};

/// The module that clang makes of a file when it runs in this directory.
fn compile(directory: &Path, file: &Path) -> String {
    let plugin = format!("-fpass-plugin={}", common::plugin().display());
    let mut clang = Command::new("clang-19");
    clang.current_dir(directory).args([
        "-gline-tables-only",
        "-S",
        "-emit-llvm",
        "-o",
        "-",
        &plugin,
    ]);
    String::from_utf8_lossy(&common::succeed(clang.arg(file)).stdout).into_owned()
}

fn check(module: &str, expected: &Expect) {
    // What is in the image, `images.rs` looks at.
    let is_table = |line: &&str| {
        line.starts_with("@__ft_") && !line.starts_with("@__ft_image")
            || line.starts_with("@llvm.global_ctors")
    };
    let tables: String = module.lines().filter(is_table).map(|line| format!("{line}\n")).collect();
    // As LLVM prints it, with a sign.
    let abi = format!("{{ i32 {}, ", foretrace_recording::site::ABI.cast_signed());
    let tables = tables.replace(&abi, "{ i32 ABI, ");
    expected.assert_eq(&tables);
}

const SOURCE: &str = "\
int counter;
static int hidden[4];
const int constant = 3;
_Thread_local int own;
extern int elsewhere;
int work(int n) {
  static int calls;
  calls++;
  own = elsewhere;
  return counter + hidden[n] + constant;
}
";

#[test]
fn globals_functions_and_sites() {
    let directory = common::directory("tables");
    std::fs::create_dir(directory.join("src")).expect("the directory is ours");
    std::fs::write(directory.join("src/work.c"), SOURCE).expect("the directory is ours");
    check(
        &compile(&directory, Path::new("src/work.c")),
        &expect![[r#"
            @__ft_sites = internal constant [20 x i32] [i32 1, i32 12, i32 8, i32 8, i32 1, i32 12, i32 9, i32 9, i32 1, i32 12, i32 9, i32 7, i32 1, i32 12, i32 10, i32 10, i32 1, i32 12, i32 10, i32 20], align 16
            @__ft_symbols = internal constant [5 x ptr] [ptr @work.calls, ptr @elsewhere, ptr @counter, ptr @hidden, ptr @work], align 16
            @__ft_strings = internal constant [75 x i8] c"\00src/work.c\00work\00llvm.threadlocal.address.p0 own\00work.calls\00counter\00hidden\00", align 16
            @__ft_globals = internal constant [3 x { ptr, i64, i32, i32, i32, i32 }] [{ ptr, i64, i32, i32, i32, i32 } { ptr @work.calls, i64 4, i32 49, i32 1, i32 0, i32 2 }, { ptr, i64, i32, i32, i32, i32 } { ptr @counter, i64 4, i32 60, i32 1, i32 0, i32 2 }, { ptr, i64, i32, i32, i32, i32 } { ptr @hidden, i64 16, i32 68, i32 1, i32 0, i32 2 }], align 16
            @__ft_functions = internal constant [1 x { ptr, i32, i32 }] [{ ptr, i32, i32 } { ptr @work, i32 12, i32 0 }], align 16
            @__ft_constants = internal constant [1 x { ptr, i64 }] [{ ptr, i64 } { ptr @constant, i64 4 }], align 16
            @__ft_names = internal constant [0 x i8] zeroinitializer, align 16
            @__ft_module_tables = internal constant { i32, i32, ptr, i64, ptr, i64, ptr, i64, ptr, i64, ptr, i64, ptr, i64, ptr, i64, ptr, i64 } { i32 ABI, i32 0, ptr @__ft_sites, i64 5, ptr @__ft_strings, i64 75, ptr @__ft_globals, i64 3, ptr @__ft_functions, i64 1, ptr @__ft_image, i64 147, ptr @__ft_symbols, i64 5, ptr @__ft_constants, i64 1, ptr @__ft_names, i64 0 }, align 16
            @llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 1, ptr @__ft_constructor, ptr null }]
        "#]],
    );
}

/// As build systems do that run the compiler elsewhere.
#[test]
fn absolute_names_stay_absolute() {
    let directory = common::directory("absolute");
    std::fs::create_dir(directory.join("build")).expect("the directory is ours");
    std::fs::write(directory.join("work.c"), "int n; void work(void) { n = 1; }\n")
        .expect("the directory is ours");
    let file = directory.join("work.c");
    let module = compile(&directory.join("build"), &file);
    let strings =
        module.lines().find(|line| line.starts_with("@__ft_strings")).expect("there are strings");
    assert!(strings.contains(&format!("\\00{}\\00", file.display())), "{strings}");
}

#[test]
fn names_are_the_programmers() {
    let source = "\
namespace shop {
struct Cart {
  int total;
  void add(int price);
};
void Cart::add(int price) { total += price; }
template <class T> T same(T value) { return value; }
static int counter() { static int calls; return ++calls; }
}
int main() { return shop::same(shop::counter()); }
";
    let directory = common::directory("names");
    std::fs::write(directory.join("shop.cpp"), source).expect("the directory is ours");
    let module = compile(&directory, Path::new("shop.cpp"));
    let strings =
        module.lines().find(|line| line.starts_with("@__ft_strings")).expect("there are strings");
    for name in ["shop::Cart::add", "shop::same", "shop::counter", "shop::counter()::calls", "main"]
    {
        assert!(strings.contains(&format!("\\00{name}\\00")), "{name}: {strings}");
    }
}
