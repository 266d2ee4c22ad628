//! Which hooks a piece of C gets, and with which lines.

mod common;

use std::collections::HashMap;
use std::process::Command;

use expect_test::{Expect, expect};

/// The hooks of each function, as `hook line`, in the order of the code; the same for code that
/// is to be optimised and for code that is not.
fn check(name: &str, source: &str, expected: &Expect) {
    check_file(&format!("{name}.c"), source, expected);
}

fn check_file(file: &str, source: &str, expected: &Expect) {
    let directory = common::directory(file);
    std::fs::write(directory.join(file), source).expect("the directory is ours");
    let [unoptimised, optimised] = ["-O0", "-O2"].map(|level| {
        let mut clang = Command::new("clang-19");
        clang.current_dir(&directory).args([
            level,
            "-w",
            "-gline-tables-only",
            "-S",
            "-emit-llvm",
            "-o",
            "plain.ll",
        ]);
        clang.args(["-Xclang", "-disable-O0-optnone", "-Xclang", "-disable-llvm-passes", file]);
        common::succeed(&mut clang);

        let plugin = format!("-load-pass-plugin={}", common::plugin().display());
        let mut opt = Command::new("opt-19");
        opt.current_dir(&directory).args([&plugin, "-passes=foretrace", "-S", "plain.ll"]);
        let output = common::succeed(&mut opt);
        hooks(&String::from_utf8_lossy(&output.stdout))
    });
    assert_eq!(unoptimised, optimised);
    expected.assert_eq(&unoptimised);
}

fn hooks(module: &str) -> String {
    let lines: HashMap<&str, &str> = module
        .lines()
        .filter_map(|line| line.split_once(" = !DILocation(line: "))
        .filter_map(|(location, rest)| Some((location, rest.split_once(',')?.0)))
        .collect();
    let mut hooks = String::new();
    // What the library's headers and clang itself add is not what we look at.
    let mut is_ours = true;
    for line in module.lines() {
        if line.starts_with("define ") {
            let name = line
                .split_once('@')
                .and_then(|(_, rest)| rest.split_once('('))
                .map_or("?", |(name, _)| name);
            is_ours =
                !["__", "_ZSt", "_ZNSt", "_ZNKSt"].iter().any(|prefix| name.starts_with(prefix));
            if is_ours {
                hooks.push_str(&format!("{name}:\n"));
            }
        } else if !is_ours {
            continue;
        } else if let Some((_, call)) = line.split_once("@__ft_").filter(|_| line.contains("call "))
        {
            let hook = call.split_once('(').map_or(call, |(hook, _)| hook);
            let place = line.rsplit_once("!dbg ").and_then(|(_, location)| lines.get(location));
            hooks.push_str(&format!("  {hook} {}\n", place.unwrap_or(&"-")));
        }
    }
    hooks
}

#[test]
fn a_lost_update() {
    let source = "\
int counter;
void *worker(void *unused) {
  int seen = counter;
  counter = seen + 1;
  return unused;
}
";
    check(
        "lost_update",
        source,
        &expect![[r#"
        worker:
          enter -
          load4 3
          store4 4
    "#]],
    );
}

#[test]
fn locals_that_stay_inside_have_none() {
    let source = "\
struct pair { long a, b, c; };
void take(struct pair *pair);
long inside(int n) {
  struct pair pair = {n, 2, 3};
  struct pair copy = pair;
  long numbers[4] = {0};
  long *number = &numbers[n & 3];
  *number = 7;
  return copy.a + numbers[1];
}
long outside(void) {
  struct pair pair;
  pair.a = 1;
  take(&pair);
  return pair.a;
}
long either(struct pair *other, int which) {
  struct pair pair = {1, 2, 3};
  struct pair *one = which ? &pair : other;
  return one->a;
}
";
    check(
        "locals",
        source,
        &expect![[r#"
            inside:
              enter -
            outside:
              enter -
              store8 13
              call_on 14
              handed 14
              handed 14
              return 14
              load8 15
            either:
              enter -
              store_n 18
              path 19
              load8 20
        "#]],
    );
}

#[test]
fn every_width_and_the_rest_as_ranges() {
    let source = "\
char c; short s; float f; double d; void *p; _Bool b; long double l; __int128 i;
typedef int four __attribute__((vector_size(16)));
four v;
void widths(void) {
  c = s;
  f = d;
  p = &c;
  b = !b;
  l = l + 1;
  i = i + 1;
  v = v + v;
}
";
    check(
        "widths",
        source,
        &expect![[r#"
        widths:
          enter -
          load2 5
          store1 5
          load8 6
          store4 6
          store8 7
          load1 8
          store1 8
          load_n 9
          store_n 9
          load_n 10
          store_n 10
          load_n 11
          load_n 11
          store_n 11
    "#]],
    );
}

#[test]
fn atomics_and_fences() {
    let source = "\
#include <stdatomic.h>
_Atomic int n; _Atomic float f; _Atomic(char *) p;
int atomics(int expected) {
  atomic_store_explicit(&n, 1, memory_order_release);
  atomic_fetch_add(&n, 2);
  atomic_compare_exchange_weak(&n, &expected, 3);
  atomic_thread_fence(memory_order_acquire);
  atomic_signal_fence(memory_order_acquire);
  atomic_exchange(&p, 0);
  __c11_atomic_fetch_add(&f, 1.0f, memory_order_relaxed);
  return atomic_load(&n);
}
";
    check(
        "atomics",
        source,
        &expect![[r#"
        atomics:
          enter -
          atomic_store4 4
          atomic_rmw4 5
          atomic_cas4 6
          path 6
          fence 7
          atomic_rmw8 9
          atomic_load4 10
          atomic_cas4 10
          path 10
          atomic_load4 11
    "#]],
    );
}

#[test]
fn branches_and_switches() {
    let source = "\
int ways(int n) {
  if (n > 3)
    return 1;
  switch (n) {
  case 1: return 5;
  case 2: return 8;
  }
  while (1) {
    if (n-- == -100)
      return 0;
  }
}
";
    check(
        "branches",
        source,
        &expect![[r#"
        ways:
          enter -
          path 2
          switch 4
          path 9
    "#]],
    );
}

#[test]
fn copies_and_the_c_library() {
    let source = "\
#include <string.h>
struct big { char bytes[100]; } one, two;
void copies(char *text, struct big *to) {
  one = two;
  struct big local = one;
  *to = local;
  memset(to, 0, sizeof *to);
  if (strlen(text) > 3)
    strcpy(to->bytes, text);
}
static void by_value(struct big big) { one.bytes[0] = big.bytes[1]; }
void passes(void) { by_value(two); }
";
    check(
        "copies",
        source,
        &expect![[r#"
        copies:
          enter -
          memcpy 4
          load_n 5
          store_n 6
          memset 7
          strlen 8
          return 8
          path 8
          strcpy 9
          return 9
        passes:
          enter -
          load_n 12
        by_value:
          store1 11
    "#]],
    );
}

#[test]
fn calls_that_leave() {
    let source = "\
#include <stdlib.h>
int unknown(int);
static int known(void) { return 4; }
int calls(int (*pointer)(void)) {
  int sum = unknown(1);
  sum += known();
  sum += pointer();
  if (sum)
    abort();
  return sum;
}
";
    check(
        "calls",
        source,
        &expect![[r#"
        calls:
          enter -
          call_on 5
          return 5
          call_on 7
          return 7
          path 8
          call 9
        known:
    "#]],
    );
}

#[test]
fn exceptions_and_headers_of_the_system() {
    let source = "\
#include <atomic>
int unknown(int);
std::atomic<int> counter;
int caught() {
  try {
    counter.store(1);
    return unknown(1);
  } catch (...) {
    return 0;
  }
}
";
    check_file(
        "exceptions.cpp",
        source,
        &expect![[r#"
            _Z6caughtv:
              enter -
              at 6
              call_on 7
              return 7
              land 11
              call 8
              return 8
              call_on 10
              return 10
        "#]],
    );
}

#[test]
fn what_must_not_be_instrumented() {
    let source = "\
int shared;
static const int table[4] = {1, 2, 3, 4};
__attribute__((naked)) void bare(void) { __asm__(\"ret\"); }
__attribute__((disable_sanitizer_instrumentation)) int trusted(void) { return shared; }
int constant(int n) { return table[n & 3]; }
";
    check(
        "excluded",
        source,
        &expect![[r#"
        bare:
        trusted:
        constant:
          enter -
    "#]],
    );
}

#[test]
fn what_the_user_says_is_not_a_call() {
    let source = "\
void foretrace_atomic_begin(void);
void foretrace_atomic_end(void);
int shared;
static void inner(void) { shared = 1; }
static void taken(void) {}
void (*pointer)(void) = taken;
void outer(void) {
  foretrace_atomic_begin();
  inner();
  foretrace_atomic_end();
}
";
    check(
        "marks",
        source,
        &expect![[r#"
        taken:
          enter -
        outer:
          enter -
          at 8
          at 10
        inner:
          store4 4
    "#]],
    );
}

#[test]
fn a_loop_that_does_nothing_lets_others_run() {
    let source = "\
void idle(void) {
  for (;;)
    ;
}
";
    check(
        "idle",
        source,
        &expect![[r#"
        idle:
          enter -
          pause 2
    "#]],
    );
}

#[test]
fn understood_assembly_is_what_it_does() {
    let source = "\
#define ASM __asm__ __volatile__
int n; unsigned long w;
int swap(int old, int new) {
  _Bool done;
  ASM(\"lock; cmpxchgl %3, %0; sete %1\" : \"+m\"(n), \"=qm\"(done), \"+a\"(old) : \"r\"(new) : \"memory\");
  return done;
}
void others(int by) {
  ASM(\"xchgl %0, %1\" : \"+r\"(by), \"+m\"(n));
  ASM(\"lock; xaddl %0, %1\" : \"+r\"(by), \"+m\"(n));
  ASM(\"lock; btsq %1, %0\" : \"+m\"(w) : \"Ir\"(5l));
  ASM(\"incl %0\" : \"+m\"(n));
  ASM(\"movl %1, %0\" : \"=r\"(by) : \"m\"(n));
  ASM(\"movl %1, %0\" : \"=m\"(n) : \"ir\"(by));
  ASM(\"lock; addl $0, 0(%%rsp)\" ::: \"memory\");
  ASM(\"mfence\" ::: \"memory\");
  ASM(\"\" ::: \"memory\");
  ASM(\"rep; nop\" ::: \"memory\");
  __builtin_ia32_pause();
  ASM(\".pushsection .smp_locks, \\\"a\\\"\\n.long 671f - .\\n.popsection\\n671: lock; decl %0\" : \"+m\"(n));
}
";
    check(
        "assembly",
        source,
        &expect![[r#"
            swap:
              enter -
              atomic_cas4 5
            others:
              enter -
              atomic_rmw4 9
              atomic_rmw4 10
              atomic_rmw8 11
              load4 12
              store4 12
              atomic_load4 13
              atomic_store4 14
              fence 15
              fence 16
              pause 18
              pause 19
              atomic_rmw4 20
        "#]],
    );
}

#[test]
fn other_assembly_says_that_it_touches_memory() {
    let source = "\
#define ASM __asm__ __volatile__
unsigned long w[2];
unsigned long opaque(unsigned long a, unsigned long d, void *p) {
  ASM(\"lock; cmpxchg16b %0\" : \"+m\"(*w), \"+a\"(a), \"+d\"(d) : \"b\"(1l), \"c\"(2l) : \"cc\");
  ASM(\"lock; negq %0\" : \"+m\"(*w));
  ASM(\"syscall\" : \"+a\"(a) :: \"rcx\", \"r11\");
  ASM(\"rep stosb\" : \"+D\"(p), \"+c\"(d) : \"a\"(0));
  ASM(\"cpuid\" : \"+a\"(a) :: \"rbx\", \"rcx\", \"rdx\", \"memory\");
  ASM(\"rdtsc\" : \"=a\"(a), \"=d\"(d));
  ASM(\"mulq %2\" : \"+a\"(a), \"=d\"(d) : \"r\"(3l));
  ASM(\"btsq %%rax, (%0)\" :: \"r\"(p), \"a\"(a), \"i\"(sizeof(long)), \"m\"(*w) : \"rbx\");
  ASM(\"990: nop\\n.pushsection .note.test, \\\"\\\"\\n.8byte 990b\\n.popsection\");
  return a;
}
int jump(void) {
  ASM goto(\"lock; decq %0; jz %l1\" :: \"m\"(*w) : \"memory\" : zero);
  return 1;
zero:
  return 0;
}
";
    check(
        "opaque-assembly",
        source,
        &expect![[r#"
            opaque:
              enter -
              handed 4
              unseen 4
              handed 5
              unseen 5
              unseen 6
              handed 7
              unseen 7
              call 9
              return 9
              load8 11
              store8 11
            jump:
              enter -
              handed 16
              unseen 16
              handed 16
              unseen 16
        "#]],
    );
}
