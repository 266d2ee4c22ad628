//! Branches, calls, exceptions, failures.

use expect_test::expect;

use super::check;

#[test]
fn branches_and_phis() {
    let source = "\
int shared[10];
static int largest(int n) {
  int best = -1;
  for (int i = 0; i < n; i++)
    best = shared[i] > best ? shared[i] : best;
  return best;
}
int main(void) { return largest(10); }
";
    check(
        "phis.c",
        source,
        &[],
        &expect![[r#"
        main() -> 32 enters
        b0():
          r0:32 = call @largest(10:32)  ; 8
          return r0
        largest(r0:32) -> 32
        b0():
          jump b1(4294967295:32, 0:32)
        b1(r1:32, r2:32):
          r4:1 = slt r2, r0
          branch r4, b2(), b7()  ; 4
        b2():
          r5:64 = sext r2
          r6:64 = mul r5, 4:64
          r7:64 = add @shared, r6
          r8:32 = load4 r7  ; 5
          r9:1 = slt r1, r8
          branch r9, b3(), b4()  ; 5
        b3():
          r10:64 = sext r2
          r11:64 = mul r10, 4:64
          r12:64 = add @shared, r11
          r13:32 = load4 r12  ; 5
          jump b5(r13)
        b4():
          jump b5(r1)
        b5(r3:32):
          jump b6()
        b6():
          r14:32 = add r2, 1:32
          jump b1(r3, r14)
        b7():
          return r1
    "#]],
    );
}

#[test]
fn what_fails() {
    let source = "\
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
int balance;
void foretrace_assert(int holds, const char *expression, const char *file, int line);
void foretrace_atomic_begin(void);
void checks(void) {
  assert(balance >= 0);
  if (balance == 3) {
    fprintf(stderr, \"three\\n\");
    abort();
  }
  foretrace_atomic_begin();
  foretrace_assert(balance < 100, \"balance < 100\", \"checks.c\", 14);
}
";
    check(
        "checks.c",
        source,
        &[],
        &expect![[r#"
            checks() -> 0 enters
            b0():
              r0:32 = load4 @balance  ; 8
              r1:1 = sle 0:32, r0
              branch r1, b1(), b2() fails  ; 8
            b1():
              jump b3()
            b2():
              leave `__assert_fail` ?:64(@.str, @.str.1, 8:32, @__PRETTY_FUNCTION__.checks) no return  ; 8
              unreachable
            b3():
              r2:32 = load4 @balance  ; 9
              r3:1 = eq r2, 3:32
              branch r3, b4() fails, b5()  ; 9
            b4():
              r4:64 = load8 @stderr  ; 10
              leave `fprintf` ?:64(r4, @.str.2) named 2  ; 10
              leave `abort` ?:64() no return  ; 11
              unreachable
            b5():
              mark `foretrace_atomic_begin`()  ; 13
              r5:32 = load4 @balance  ; 14
              r6:1 = slt r5, 100:32
              r7:32 = zext r6
              r8:1 = ne r7, 0:32
              assert r8  ; 14
              return
        "#]],
    );
}

#[test]
fn exceptions() {
    let source = "\
int unknown(int);
struct guard { ~guard() { unknown(2); } };
int caught(int n) {
  guard own;
  try {
    return unknown(n);
  } catch (int thrown) {
    return thrown;
  }
}
";
    check(
        "exceptions.cpp",
        source,
        &["caught"],
        &expect![[r#"
        caught(r0:32) -> 32 enters
        b0():
          r2:64 = slot 1:64
          r3:32 = leave `_Z7unknowni` ?:64(r0)  ; 6
          invoked b1(), b2()
        b1():
          jump b6(r3)
        b2():
          r4:0 = opaque `exception`()
          r5:64 = opaque `extractvalue 0`(r4)
          r6:32 = opaque `extractvalue 1`(r4)
          jump b3()
        b3():
          r7:32 = opaque `llvm.eh.typeid.for.p0`(@_ZTIi)
          r8:1 = eq r6, r7
          branch r8, b4(), b7()  ; 7
        b4():
          r9:64 = leave `__cxa_begin_catch` ?:64(r5)  ; 7
          r10:32 = load4 r9  ; 7
          leave `__cxa_end_catch` ?:64()  ; 9
          jump b6(r10)
        b5():
          unsupported `nothing leads here`
        b6(r1:32):
          call @_ZN5guardD2Ev(r2)  ; 10
          return r1
        b7():
          call @_ZN5guardD2Ev(r2)  ; 10
          jump b8()
        b8():
          r11:0 = opaque `insertvalue 0`(?:0, r5)
          r12:0 = opaque `insertvalue 1`(r11, r6)
          resume
    "#]],
    );
}

#[test]
fn switches() {
    let source = "\
int ways(int n, char c) {
  switch (n) {
  case -1: return 5;
  case 2: n = 8; break;
  case 3: n = 9;
  }
  while (1)
    if (n-- == c)
      return n;
}
";
    check(
        "switches.c",
        source,
        &[],
        &expect![[r#"
        ways(r0:32, r1:8) -> 32 enters
        b0():
          switch r0, b4(r0), [4294967295: b1(), 2: b2(), 3: b3()]  ; 2
        b1():
          jump b8(5:32)
        b2():
          jump b4(8:32)
        b3():
          jump b4(9:32)
        b4(r2:32):
          jump b5(r2)
        b5(r3:32):
          r5:32 = add r3, 4294967295:32
          r6:32 = sext r1
          r7:1 = eq r3, r6
          branch r7, b6(), b7()  ; 8
        b6():
          jump b8(r5)
        b7():
          jump b5(r5)
        b8(r4:32):
          return r4
    "#]],
    );
}

#[test]
fn calls() {
    let source = "\
#include <stdio.h>
extern int elsewhere;
static int known(int n, ...) { return n; }
static void *name(void) { return &elsewhere; }
__attribute__((noreturn)) void stop(int);
int calls(int (*pointer)(void), void (*other)(void *)) {
  other(name);
  printf(\"%d\\n\", known(1, 2));
  int n = pointer();
  __asm__ volatile(\"\" : : \"r\"(n) : \"memory\");
  stop(n);
}
";
    check(
        "calls.c",
        source,
        &[],
        &expect![[r#"
            calls(r0:64, r1:64) -> 32 enters
            b0():
              leave `` r1(@name)  ; 7
              r2:32 = call @known(1:32, 2:32) named 1  ; 8
              leave `printf` ?:64(@.str, r2) named 1  ; 8
              r3:32 = leave `` r0()  ; 9
              fence
              leave `stop` ?:64(r3) no return  ; 11
              unreachable
            name() -> 64 enters
            b0():
              return @elsewhere
            known(r0:32) -> 32 variadic
            b0():
              return r0
        "#]],
    );
}

/// The linker may drop them, together with what they initialise, so no other table may have their
/// addresses.
#[test]
fn initialisers_that_nothing_may_name() {
    let source = "\
int unknown();
template <class T> struct holder { static int value; };
template <class T> int holder<T>::value = unknown();
int use() { return holder<int>::value; }
";
    check(
        "initialisers.cpp",
        source,
        &["__cxx_global_var_init"],
        &expect![[r#"
        __cxx_global_var_init() -> 0 enters
        b0():
          r0:8 = load1 @_ZGVN6holderIiE5valueE  ; 0
          r1:1 = eq r0, 0:8
          branch r1, b1(), b2()  ; 0
        b1():
          store1 @_ZGVN6holderIiE5valueE, 1:8  ; 0
          r2:32 = leave `_Z7unknownv` ?:64()  ; 3
          store4 @_ZN6holderIiE5valueE, r2  ; 0
          jump b2()
        b2():
          return
    "#]],
    );
}

#[test]
fn what_is_not_supported() {
    let source = "\
int jumps(int n) {
  static void *labels[] = {&&zero, &&one};
  goto *labels[n];
zero: return 0;
one: return 1;
}
";
    check(
        "jumps.c",
        source,
        &[],
        &expect![[r#"
            jumps(r0:32) -> 32 enters
            b0():
              r3:64 = sext r0
              r4:64 = mul r3, 8:64
              r5:64 = add @jumps.labels, r4
              r6:64 = load8 r5  ; 3
              jump b4(r6)
            b1():
              jump b3(0:32)
            b2():
              jump b3(1:32)
            b3(r2:32):
              return r2
            b4(r1:64):
              switch label r1, [b1(), b2()]  ; 0
        "#]],
    );
}
