//! Accesses, addresses, variables.

use expect_test::expect;

use super::check;

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
        "lost_update.c",
        source,
        &[],
        &expect![[r#"
        worker(r0:64) -> 64 enters
        b0():
          r1:32 = load4 @counter  ; 3
          r2:32 = add r1, 1:32
          store4 @counter, r2  ; 4
          return r0
    "#]],
    );
}

#[test]
fn elements_of_structs() {
    let source = "\
struct part { char kind; struct { short a; long b[3]; } inner; };
struct part parts[8];
long element(struct part *base, int i, unsigned j) {
  parts[2].inner.b[1] = 5;
  return base[i].inner.b[j] + parts[i].kind;
}
";
    check(
        "elements.c",
        source,
        &[],
        &expect![[r#"
        element(r0:64, r1:32, r2:32) -> 64 enters
        b0():
          store8 @parts+104, 5:64  ; 4
          r3:64 = sext r1
          r4:64 = mul r3, 40:64
          r5:64 = add r0, r4
          r6:64 = add r5, 8:64
          r7:64 = add r6, 8:64
          r8:64 = zext r2
          r9:64 = mul r8, 8:64
          r10:64 = add r7, r9
          r11:64 = load8 r10  ; 5
          r12:64 = sext r1
          r13:64 = mul r12, 40:64
          r14:64 = add @parts, r13
          r15:8 = load1 r14  ; 5
          r16:64 = sext r15
          r17:64 = add r11, r16
          return r17
    "#]],
    );
}

#[test]
fn a_compare_exchange_loop() {
    let source = "\
_Atomic int n;
void doubles(void) {
  int old = __c11_atomic_load(&n, __ATOMIC_ACQUIRE);
  while (!__c11_atomic_compare_exchange_weak(&n, &old, old * 2, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
    ;
  __c11_atomic_fetch_max(&n, 7, __ATOMIC_SEQ_CST);
}
";
    check(
        "exchange.c",
        source,
        &[],
        &expect![[r#"
        doubles() -> 0 enters
        b0():
          r2:32 = load4 acquire @n  ; 3
          jump b1(r2)
        b1(r0:32):
          r3:32 = mul r0, 2:32
          r4:32 = cas4 acq_rel @n, r0, r3  ; 4
          r5:1 = eq r4, r0
          branch r5, b3(r0), b2()  ; 4
        b2():
          jump b3(r4)
        b3(r1:32):
          r6:8 = zext r5
          r7:1 = trunc r6
          r8:1 = xor r7, 1:1
          branch r8, b4(), b5()  ; 4
        b4():
          jump b1(r1)
        b5():
          r9:32 = rmw7 size 4 seq_cst @n, 7:32  ; 6
          return
    "#]],
    );
}

#[test]
fn private_memory_and_constants() {
    let source = "\
#include <string.h>
struct big { long words[9]; };
struct big one;
static const int table[4] = {1, 2, 3, 4};
static long by_value(struct big big) { return big.words[1]; }
long private(int n, const char *text) {
  struct big local = {0};
  struct big other;
  local.words[n] = table[n & 3];
  memcpy(&other, &local, sizeof other);
  one = other;
  return by_value(one) + by_value(other) + strlen(text);
}
";
    check(
        "private.c",
        source,
        &[],
        &expect![[r#"
        private(r0:32, r1:64) -> 64 enters
        b0():
          r2:64 = private slot 72:64
          r3:64 = private slot 72:64
          fill private r2, 0:8, 72:64
          r4:32 = and r0, 3:32
          r5:64 = sext r4
          r6:64 = mul r5, 4:64
          r7:64 = add @table, r6
          r8:32 = private load4 r7
          r9:64 = sext r8
          r10:64 = sext r0
          r11:64 = mul r10, 8:64
          r12:64 = add r2, r11
          private store8 r12, r9
          copy private r3, private r2, 72:64
          copy @one, private r3, 72:64  ; 11
          r13:64 = private slot 72:64
          copy private r13, @one, 72:64  ; 12
          r14:64 = call @by_value(r13)  ; 12
          r15:64 = private slot 72:64
          copy private r15, private r3, 72:64
          r16:64 = call @by_value(r15)  ; 12
          r17:64 = add r14, r16
          r18:64 = hooked `strlen`(r1)  ; 12
          r19:64 = add r17, r18
          return r19
        by_value(r0:64) -> 64
        b0():
          r1:64 = add r0, 8:64
          r2:64 = private load8 r1
          return r2
    "#]],
    );
}

#[test]
fn what_is_passed_by_value_and_seen_by_others() {
    let source = "\
struct big { long words[9]; };
void look(long *);
static long callee(struct big big) { look(big.words); return big.words[1]; }
long caller(struct big *big) { return callee(*big); }
";
    check(
        "passed.c",
        source,
        &[],
        &expect![[r#"
        caller(r0:64) -> 64 enters
        b0():
          r1:64 = private slot 72:64
          copy private r1, r0, 72:64  ; 4
          r2:64 = call @callee(r1)  ; 4
          return r2
        callee(r0:64) -> 64
        b0():
          r1:64 = slot 72:64
          copy private r1, private r0, 72:64
          leave `look` ?:64(r1)  ; 3
          r2:64 = add r1, 8:64
          r3:64 = load8 r2  ; 3
          return r3
    "#]],
    );
}

#[test]
fn assembly_is_what_it_does() {
    let source = "\
int n;
_Bool swap(int old, int new) {
  _Bool done;
  __asm__ volatile(\"lock; cmpxchgl %3, %0\" : \"+m\"(n), \"=@ccz\"(done), \"+a\"(old) : \"r\"(new) : \"memory\");
  return done;
}
int last(void) {
  char done;
  __asm__ volatile(\"lock; decl %0; setz %1\" : \"+m\"(n), \"=qm\"(done));
  return done;
}
void unseen(void) {
  __asm__ volatile(\"pause\");
  __asm__ volatile(\"rep stosb\" ::: \"memory\");
}
";
    check(
        "assembly.c",
        source,
        &[],
        &expect![[r#"
        swap(r0:32, r1:32) -> 1 enters
        b0():
          r2:32 = cas4 seq_cst @n, r0, r1  ; 4
          r3:1 = eq r2, r0
          r4:1 = eq r0, r2
          r5:8 = zext r4
          fence
          r6:1 = ult r5, 2:8
          r7:1 = trunc r5
          return r7
        last() -> 32 enters
        b0():
          r0:64 = private slot 1:64
          r1:32 = rmw2 size 4 seq_cst @n, 1:32  ; 9
          r2:32 = sub r1, 1:32
          r3:1 = eq r2, 0:32
          r4:8 = zext r3
          private store1 r0, r4
          r5:8 = private load1 r0
          r6:32 = sext r5
          return r6
        unseen() -> 0 enters
        b0():
          opaque `hook`()
          opaque memory `inline assembly`()
          return
    "#]],
    );
}
