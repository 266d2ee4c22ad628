//! Numbers of all widths.

use expect_test::expect;

use super::check;

#[test]
fn widths() {
    let source = "\
_Bool flag; char c; float f; double d; long double l; __int128 big;
struct odd { int a : 3; int b : 21; } odd;
int widths(void) {
  flag = !flag;
  f = d + c;
  l = l + 1;
  big = big + 1;
  odd.b = odd.a;
  return f < 2;
}
";
    check(
        "widths.c",
        source,
        &[],
        &expect![[r#"
        widths() -> 32 enters
        b0():
          r0:8 = load1 @flag  ; 4
          r1:1 = trunc r0
          r2:1 = xor r1, 1:1
          r3:8 = zext r2
          store1 @flag, r3  ; 4
          r4:64 = load8 @d  ; 5
          r5:8 = load1 @c  ; 5
          r6:32 = sext r5
          r7:64 = opaque `sitofp`(r6)
          r8:64 = opaque `fadd`(r4, r7)
          r9:32 = opaque `fptrunc`(r8)
          store4 @f, r9  ; 5
          r10:0 = load wide 10 @l  ; 6
          r11:0 = opaque `fadd`(r10, ?:0)
          store wide 10 @l, r11  ; 6
          r12:0 = load wide 16 @big  ; 7
          r13:0 = opaque `add`(r12, ?:0)
          store wide 16 @big, r13  ; 7
          r14:32 = load4 @odd  ; 8
          r15:32 = shl r14, 29:32
          r16:32 = ashr r15, 29:32
          r17:32 = load4 @odd  ; 8
          r18:32 = and r16, 2097151:32
          r19:32 = shl r18, 3:32
          r20:32 = and r17, 4278190087:32
          r21:32 = or r20, r19
          store4 @odd, r21  ; 8
          r22:32 = shl r18, 11:32
          r23:32 = ashr r22, 11:32
          r24:32 = load4 @f  ; 9
          r25:1 = opaque `fcmp olt`(r24, 1073741824:32)
          r26:32 = zext r25
          return r26
    "#]],
    );
}

#[test]
fn arithmetic() {
    let source = "\
int arithmetic(int a, int b, unsigned u) {
  int sum, product;
  if (__builtin_sadd_overflow(a, b, &sum) | __builtin_smul_overflow(a, b, &product))
    return 0;
  return sum + product + (u / 3) + (u >> 2) + (a >> 2) + a % b + __builtin_bswap16(u);
}
";
    check(
        "arithmetic.c",
        source,
        &[],
        &expect![[r#"
            arithmetic(r0:32, r1:32, r2:32) -> 32 enters
            b0():
              r4:32 = add r0, r1
              r5:32 = xor r0, r4
              r6:32 = xor r1, r4
              r7:32 = and r5, r6
              r8:1 = slt r7, 0:32
              r9:32 = zext r8
              r10:32 = mul r0, r1
              r11:64 = sext r0
              r12:64 = sext r1
              r13:64 = sext r10
              r14:64 = mul r11, r12
              r15:1 = ne r14, r13
              r16:32 = zext r15
              r17:32 = or r9, r16
              r18:1 = ne r17, 0:32
              branch r18, b1(), b2()  ; 3
            b1():
              jump b3(0:32)
            b2():
              r19:32 = add r4, r10
              r20:32 = udiv r2, 3:32  ; 5
              r21:32 = add r19, r20
              r22:32 = lshr r2, 2:32
              r23:32 = add r21, r22
              r24:32 = ashr r0, 2:32
              r25:32 = add r23, r24
              r26:32 = srem r0, r1  ; 5
              r27:32 = add r25, r26
              r28:16 = trunc r2
              r29:16 = lshr r28, 0:16
              r30:16 = and r29, 255:16
              r31:16 = shl r30, 8:16
              r32:16 = lshr r28, 8:16
              r33:16 = and r32, 255:16
              r34:16 = shl r33, 0:16
              r35:16 = or r31, r34
              r36:32 = zext r35
              r37:32 = add r27, r36
              jump b3(r37)
            b3(r3:32):
              return r3
        "#]],
    );
}

#[test]
fn constant_conditions_and_expressions() {
    let source = "\
int a[4], b;
extern _Thread_local int own;
long constants(void) {
  while (1) {
    if (b)
      return (long)&a[3] - (long)&b + own;
    *(int *)((char *)a - 8) = 1;
  }
}
";
    check(
        "constants.c",
        source,
        &[],
        &expect![[r#"
            constants() -> 64 enters
            b0():
              jump b1()
            b1():
              r0:32 = load4 @b  ; 5
              r1:1 = ne r0, 0:32
              branch r1, b2(), b3()  ; 5
            b2():
              r2:64 = opaque `llvm.threadlocal.address.p0 own`(?:64)
              r3:32 = load4 r2  ; 6
              r4:64 = sext r3
              r5:64 = sub @a+12, @b
              r6:64 = add r5, r4
              return r6
            b3():
              store4 @a-8, 1:32  ; 7
              jump b1()
        "#]],
    );
}

#[test]
fn intrinsics() {
    let source = "\
unsigned shared;
int intrinsics(int a, unsigned u, unsigned long l) {
  __builtin_assume(a > 0);
  if (__builtin_expect(a == 3, 0))
    __builtin_trap();
  shared = __builtin_rotateleft32(u, 7);
  l = __builtin_popcountl(l) + __builtin_elementwise_max(l, 3ul);
  return __builtin_elementwise_sub_sat(u, 5u) + __builtin_abs(a) + l;
}
";
    check(
        "intrinsics.c",
        source,
        &[],
        &expect![[r#"
        intrinsics(r0:32, r1:32, r2:64) -> 32 enters
        b0():
          r3:1 = slt 0:32, r0
          r4:1 = eq r0, 3:32
          r5:32 = zext r4
          r6:64 = sext r5
          r7:1 = ne r6, 0:64
          branch r7, b1() fails, b2()  ; 4
        b1():
          unreachable
        b2():
          r8:32 = shl r1, 7:32
          r9:32 = lshr r1, 25:32
          r10:32 = or r8, r9
          store4 @shared, r10  ; 6
          r11:64 = opaque `llvm.ctpop.i64`(r2)
          r12:32 = trunc r11
          r13:64 = sext r12
          r14:1 = ult 3:64, r2
          r15:64 = select r14, r2, 3:64
          r16:64 = add r13, r15
          r17:32 = sub r1, 5:32
          r18:1 = ult r1, 5:32
          r19:32 = select r18, 0:32, r17
          r20:32 = sub 0:32, r0
          r21:1 = slt r0, 0:32
          r22:32 = select r21, r20, r0
          r23:32 = add r19, r22
          r24:64 = zext r23
          r25:64 = add r24, r16
          r26:32 = trunc r25
          return r26
    "#]],
    );
}
