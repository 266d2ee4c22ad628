//! What each way of writing means, what is wrong with bad texts, and that nothing is lost on the
//! way back.

use expect_test::{Expect, expect};

use super::*;
use crate::validate::validate;

/// The program as it is printed, which comes back; or the error.
fn check(text: &str, expected: Expect) {
    match parse(text) {
        Ok(program) => {
            validate(&program).unwrap_or_else(|invalid| panic!("{invalid}\n{text}"));
            let printed = print(&program);
            assert_eq!(parse(&printed).as_ref(), Ok(&program), "{printed}");
            expected.assert_eq(&printed);
        }
        Err(error) => expected.assert_eq(&error.to_string()),
    }
}

/// The body of a function without parameters, after some declarations; the error in it.
fn check_body(body: &str, expected: Expect) {
    let head = "global x; global y : 1; global big : 64; lock m; func g(a: 8) -> 8 { return a }";
    check(&format!("{head}\nfunc f() {{\n{body}\n}}"), expected);
}

#[test]
fn every_instruction_comes_back() {
    check(
        r#"
global x
global wide : 8 = -2
global buffer : 32 = [1, 2, 3]
global "two words" : 1 = 255
lock m
lock r recursive
cond c
semaphore s = 3
barrier b = 2
thread main {
  a = load x @ a.c:1
  b = load atomic x
  b2 = load atomic acquire buffer[4:2]
  store x, a + 1 @ "a place; with # all"
  store atomic release wide, -1
  store "two words", 7
  p = alloc 16
  q = slot 8
  store.8 p, q
  store.4 p + 8, a
  v = load.2 (p + 8)
  load.1 atomic relaxed p
  free p
  o1 = rmw add x, 1
  rmw xchg atomic relaxed x, a
  o2 = cmpxchg.4 p, 0, a
  fence
  fence acquire
  acquire m; acquire shared m
  k = tryacquire shared m
  timedacquire r
  release m; release shared m
  wait c m
  n = timedwait c m
  signal c; broadcast c
  semwait s; w = trysemwait s; sempost s
  barrier b
  acquire at p
  wait at p at q
  t = fork f(a, u8(v))
  fork f(1, 2)
  join t
  h = call f(1, 2)
  call f(1, 2)
  i = call *&f(a, u8(3)) : 16
  j = external "read it"(u8(1), 2, p) : 7
  external log
  assert k && !n
  assume true
  region begin; region end
  exit
}
func f(a: 32, b: 8) -> 16 { return u16(a) + u16(b) }
"#,
        expect![[r#"
            foretrace-program 1
            global x : 4
            global wide : 8 = -2
            global buffer : 32 = [1, 2, 3]
            global "two words" : 1 = -1
            lock m
            lock r recursive
            cond c
            semaphore s = 3
            barrier b = 2

            func main() {
              entry:
                a = load x @ a.c:1
                b = load atomic x
                b2 = load atomic acquire buffer[4:2]
                %3 = a + 1 @ "a place; with # all"
                store x, %3 @ "a place; with # all"
                store atomic release wide, -1
                store "two words", 7
                p = alloc 16
                q = slot 8
                store.8 p, q
                %6 = p + 8
                store.4 %6, a
                %7 = p + 8
                v = load.2 %7
                %9 = load.1 atomic relaxed p
                free p
                o1 = rmw add x, 1
                rmw xchg atomic relaxed x, a
                o2 = cmpxchg.4 p, 0, a
                fence seq_cst
                fence acquire
                acquire m
                acquire shared m
                k = tryacquire shared m
                timedacquire r
                release m
                release shared m
                wait c m
                n = timedwait c m
                signal c
                broadcast c
                semwait s
                w = trysemwait s
                sempost s
                barrier b
                acquire at p
                wait at p at q
                %15 = u8(v)
                t = fork f(a, %15)
                fork f(1, 2)
                join t
                h = call f(1, 2)
                call f(1, 2)
                i = call *&f(a, u8(3)) : 16
                j = external "read it"(u8(1), 2, p) : 7
                external log()
                %20 = n == 0
                %21 = k & %20
                assert %21
                assume true
                region begin
                region end
                exit
            }

            func f(a: 32, b: 8) -> 16 {
              entry:
                %2 = u16(a)
                %3 = u16(b)
                %4 = %2 + %3
                return %4
            }

            thread main = main()
        "#]],
    );
}

#[test]
fn every_operator_comes_back() {
    check(
        "
func f(a: 32, b: 32, c: 1, d: 8) -> 32 {
  e = (a + b) * 2 - 3 / a % b + a /u b + a %u b
  g = a << 1 | b >> 2 & a >>u 3 ^ b
  h = a < b || a <= b && a > b || a >= b
  i = a <u b || a <=u b && a >u b || a >=u b || a == b || a != 1
  j = c ? a : b
  k = -a + ~b + u32(!c) + u32(d) + i32(d) + u32(u16(a))
  l = u8(1) + 2
  m = c & 1 | (d == -1)
  n = 2 + 3
  o = u32(u8(5))
  return h ? j : i && m ? k : e
}
thread t = f(-1, 5, 1, 255)
",
        expect![[r#"
            foretrace-program 1

            func f(a: 32, b: 32, c: 1, d: 8) -> 32 {
              entry:
                %4 = a + b
                %5 = %4 * 2
                %6 = 3 / a
                %7 = %6 % b
                %8 = %5 - %7
                %9 = a /u b
                %10 = %8 + %9
                %11 = a %u b
                e = %10 + %11
                %13 = a << 1
                %14 = b >> 2
                %15 = a >>u 3
                %16 = %14 & %15
                %17 = %16 ^ b
                g = %13 | %17
                %19 = a < b
                %20 = a <= b
                %21 = b < a
                %22 = %20 & %21
                %23 = %19 | %22
                %24 = b <= a
                h = %23 | %24
                %26 = a <u b
                %27 = a <=u b
                %28 = b <u a
                %29 = %27 & %28
                %30 = %26 | %29
                %31 = b <=u a
                %32 = %30 | %31
                %33 = a == b
                %34 = %32 | %33
                %35 = a != 1
                i = %34 | %35
                j = c ? a : b
                %38 = 0 - a
                %39 = b ^ -1
                %40 = %38 + %39
                %41 = c == 0
                %42 = u32(%41)
                %43 = %40 + %42
                %44 = u32(d)
                %45 = %43 + %44
                %46 = i32(d)
                %47 = %45 + %46
                %48 = u16(a)
                %49 = u32(%48)
                k = %47 + %49
                l = u8(1) + 2
                %52 = c & 1
                %53 = d == -1
                m = %52 | %53
                n = 2 + 3
                o = u32(u8(5))
                %57 = i & m
                %58 = %57 ? k : e
                %59 = h ? j : %58
                return %59
            }

            thread t = f(-1, 5, 1, -1)
        "#]],
    );
}

#[test]
fn conditionals_become_blocks() {
    check(
        "
global x
thread t {
  a := load x
  b := 0
  if a > 3 {
    a := a + 1
    if a == 5 { return }
    c := 1
  } else {
    c := 2
    d := 3
  }
  if c == 1 { b := 1 }
  store x, a + b + c
}",
        expect![[r#"
            foretrace-program 1
            global x : 4

            func t() {
              entry:
                a = load x
                %1 = 3 < a
                branch %1, if1.then, if1.else
              if1.then:
                a.2 = a + 1
                %3 = a.2 == 5
                branch %3, if2.then, if2.else
              if2.then:
                return
              if2.else:
                jump if1.end(a.2, 1)
              if1.else:
                jump if1.end(a, 2)
              if1.end(a.3: 32, c: 32):
                %6 = c == 1
                branch %6, if3.then, if3.else
              if3.then:
                jump if3.end(1)
              if3.else:
                jump if3.end(0)
              if3.end(b: 32):
                %8 = a.3 + b
                %9 = %8 + c
                store x, %9
                return
            }

            thread t = t()
        "#]],
    );
}

#[test]
fn blocks_may_have_no_name() {
    check(
        "
func f(%0: 32, a: 8) {
  entry:
    %2 = a == 0
    branch %2, %1, %2(%0, 7)
  %1:
    jump %2(5, a)
  %2(%3: 32, %4: 8):
    %5 = %3 + %0
    return
}",
        expect![[r#"
            foretrace-program 1

            func f(%0: 32, a: 8) {
              entry:
                %2 = a == 0
                branch %2, %1, %2(%0, 7)
              %1:
                jump %2(5, a)
              %2(%3: 32, %4: 8):
                %5 = %3 + %0
                return
            }
        "#]],
    );
}

#[test]
fn a_switch_may_have_many_lines_and_a_location() {
    check(
        "
func f(a: 8) -> 8 {
  entry:
    switch a + 1 {   # numbers have the width of the value
      0: zero
      -1: end(a)
      else: end(7)
    } @ f.c:3
  zero:
    jump end(0) @ f.c:4
  end(r: 8): return r
}",
        expect![[r#"
            foretrace-program 1

            func f(a: 8) -> 8 {
              entry:
                %1 = a + 1 @ f.c:3
                switch %1 { 0: zero, -1: end(a), else: end(7) } @ f.c:3
              zero:
                jump end(0) @ f.c:4
              end(r: 8):
                return r
            }
        "#]],
    );
}

#[test]
fn errors_say_where_and_what() {
    check(
        "thread t { exit @ here }",
        expect![[r#"
        line 1, column 10: this brace is not closed
          hint: a location without quotes reaches to the end of its line"#]],
    );
    check("global", expect!["line 1, column 7: expected a name, but the line ends"]);
    check(
        "foretrace-program 2",
        expect!["line 1, column 1: the header is `foretrace-program 1`, no other version is known"],
    );
    check("global x\nlock x\nglobal x", expect!["line 3, column 8: `x` is declared a second time"]);
    check("global x : 1 = 256", expect!["line 1, column 16: `256` does not fit in 8 bits"]);
    check("func f() {", expect!["line 1, column 10: this brace is not closed"]);
    check("thread t = g()", expect!["line 1, column 12: there is no function `g`"]);
    check(
        "func g(a: 8) {}\nthread t = g",
        expect!["line 2, column 12: `g` has 1 parameters, here are 0 arguments"],
    );
    check("global \u{1f600}", expect!["line 1, column 8: `😀` means nothing here"]);
    check("global \"a", expect!["line 1, column 8: the quote is not closed on this line"]);
    check(
        "barrier b = 0",
        expect!["line 1, column 13: the number of parties is between 1 and 4294967295"],
    );
    check("func f(a: 65) {}", expect!["line 1, column 11: the width in bits is between 1 and 64"]);
}

#[test]
fn errors_in_bodies() {
    check_body("store x, a", expect!["line 3, column 10: `a` has no value here"]);
    check_body(
        "store x, y",
        expect![[r#"
        line 3, column 10: `y` has no value here
          hint: `load y` reads the variable, `&y` is its address"#]],
    );
    check_body("store y, 256", expect!["line 3, column 10: `256` does not fit in 8 bits"]);
    check_body(
        "store y, load x",
        expect![[r#"
        line 3, column 10: expected a value of 8 bits, but this one has 32
          hint: `u8(…)` cuts it"#]],
    );
    check_body(
        "a = load y + load x",
        expect![[r#"
        line 3, column 12: operands of 8 and 32 bits
          hint: `u32(…)` extends by zeros, `i32(…)` by the sign"#]],
    );
    check_body(
        "a = load big",
        expect![[r#"
        line 3, column 10: `big` has 64 bytes, an access at most 8
          hint: say which: `big[0:4]` are the first four"#]],
    );
    check_body(
        "p = &x; a = load p",
        expect![[r#"
        line 3, column 18: there is no global variable `p`
          hint: an address needs a size: `load.4 p`"#]],
    );
    check_body(
        "a = load.9 &x",
        expect![[r#"
        line 3, column 5: an access has 1 to 8 bytes
          hint: such as `load.4 p`"#]],
    );
    check_body("acquire n", expect!["line 3, column 9: there is no lock `n`"]);
    check_body("a = release m", expect!["line 3, column 1: this instruction gives no value"]);
    check_body(
        "call h()",
        expect![[r#"
        line 3, column 6: there is no function `h`
          hint: `external` calls what is not part of the program"#]],
    );
    check_body("call g()", expect!["line 3, column 6: `g` has 1 parameters, here are 0 arguments"]);
    check_body(
        "return 1",
        expect![[r#"
        line 3, column 8: the function has no result
          hint: declare it: `func f() -> 32`"#]],
    );
    check_body("return; store x, 1", expect!["line 3, column 9: nothing gets here"]);
    check_body(
        "a = 1; a = 2",
        expect![[r#"
        line 3, column 8: `a` is defined a second time
          hint: `:=` assigns a variable again"#]],
    );
    check_body(
        "a := 1; a := u8(2)",
        expect![[r#"
        line 3, column 14: expected a value of 32 bits, but this one has 8
          hint: `u32(…)` extends it by zeros, `i32(…)` by the sign"#]],
    );
    check_body(
        "if load x == 1 { a := 1 }\nstore x, a",
        expect![[r#"
            line 4, column 10: `a` has no value here
              hint: it is not assigned on every way to this place"#]],
    );
    check_body(
        "if load x == 1 { a := 1 } else { a := u8(1) }",
        expect!["line 3, column 46: `a` has 32 bits in one arm and 8 in the other"],
    );
    check_body(
        "jump entry",
        expect![[r#"
        line 3, column 1: expected a statement, but found `jump`
          hint: jumps go between labelled blocks; begin the function with `entry:`"#]],
    );
    check_body(
        "frobnicate x",
        expect!["line 3, column 1: expected a statement, but found `frobnicate`"],
    );
    check_body(
        "entry:\n a := 1",
        expect![[r#"
        line 4, column 2: between labelled blocks values are defined, not assigned
          hint: write `=`; values that differ are parameters of a block"#]],
    );
    check_body("entry:\n jump end", expect!["line 4, column 7: there is no block `end`"]);
    check_body(
        "entry:\n jump entry(1)",
        expect!["line 4, column 7: block `entry` has 0 parameters, here are 1 arguments"],
    );
    check_body(
        "entry:\n store x, 1",
        expect![
            "line 5, column 1: expected how the block ends: `jump`, `branch`, `switch`, `return`, `exit` or `unreachable`, but found `}`"
        ],
    );
    check_body(
        "entry:\n return\nentry:\n return",
        expect!["line 5, column 1: there is a second block `entry`"],
    );
    check_body("a = u65(1)", expect!["line 3, column 5: a value has 1 to 64 bits"]);
    check_body(
        "store x, 1 2",
        expect!["line 3, column 12: expected the end of the line, but found `2`"],
    );
}

#[test]
fn what_is_nested_too_deeply_is_refused() {
    let deep = |count: usize| format!("a = {}1{}", "(".repeat(count), ")".repeat(count));
    check_body(&deep(10_000), expect!["line 3, column 69: nested more than 128 deep"]);
    check_body(
        &format!("a = {}1", "-".repeat(10_000)),
        expect!["line 3, column 132: nested more than 128 deep"],
    );
    check_body(
        &"if true {\n".repeat(10_000),
        expect!["line 2, column 10: this brace is not closed"],
    );
    let many = format!("{}{}", "if true {\n".repeat(500), "}\n".repeat(500));
    check_body(&many, expect!["line 129, column 4: nested more than 128 deep"]);
    assert!(parse(&format!("thread t {{ {} }}", deep(50))).is_ok());
}
