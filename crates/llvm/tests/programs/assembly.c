// Inline assembly as people write it. Without the plugin the processor says what it does.

#include <stdint.h>
#include <stdio.h>
#include <xmmintrin.h>

#define ASM __asm__ __volatile__
#define LOCK_PREFIX                                                                            \
  ".pushsection .smp_locks,\"a\"\n.balign 4\n.long 671f - .\n.popsection\n671:\n\tlock; "

static uint8_t byte = 200;
static uint16_t half = 65000;
static uint32_t word = 4000000000u;
static uint64_t wide = 0x0123456789abcdefull;
static uint64_t bits[4];
static void *pointer = &byte;

#define PRINT(value) printf("%d: %llx\n", __LINE__, (unsigned long long)(value))
#define SHOW() printf("%d: %x %x %x %llx\n", __LINE__, byte, half, word, (unsigned long long)wide)

#define EXCHANGE(Type, name, suffix, constraint)                                               \
  static Type exchange_##name(Type *p, Type v) {                                               \
    ASM("xchg" suffix " %0, %1" : "+" constraint(v), "+m"(*p)::"memory");                      \
    return v;                                                                                  \
  }                                                                                            \
  static Type add_##name(Type *p, Type v) {                                                    \
    ASM("lock; xadd" suffix " %1, %0" : "+m"(*p), "+" constraint(v)::"memory", "cc");          \
    return v;                                                                                  \
  }                                                                                            \
  static Type compare_##name(Type *p, Type old, Type new) {                                    \
    ASM("lock; cmpxchg" suffix " %2, %1" : "+a"(old), "+m"(*p) : constraint(new) : "memory");  \
    return old;                                                                                \
  }                                                                                            \
  static _Bool swap_##name(Type *p, Type old, Type new) {                                      \
    _Bool done;                                                                                \
    ASM("lock cmpxchg" suffix " %3, %0; setz %1"                                               \
        : "+m"(*p), "=a"(done) : "a"(old), constraint(new) : "memory", "cc");                  \
    return done;                                                                               \
  }                                                                                            \
  static _Bool flag_##name(Type *p, Type *old, Type new) {                                     \
    _Bool done;                                                                                \
    ASM("lock cmpxchg" suffix " %3, %0"                                                        \
        : "+m"(*p), "=@ccz"(done), "+a"(*old) : constraint(new) : "memory", "cc");             \
    return done;                                                                               \
  }                                                                                            \
  static void change_##name(Type *p, Type v) {                                                 \
    ASM("lock; add" suffix " %1, %0" : "+m"(*p) : "e" constraint(v) : "memory");               \
    ASM("lock or" suffix " %1, %0" : "+m"(*p) : constraint(v));                                \
    ASM("sub" suffix " $5, %0" : "+m"(*p));                                                    \
    ASM("xor" suffix " %1, (%0)" ::"r"(p), constraint(v) : "memory");                          \
    ASM("lock; and" suffix " %1, %0" : "=m"(*p) : "e" constraint((Type)~v), "m"(*p));          \
    ASM("lock not" suffix " %0" : "+m"(*p));                                                   \
    ASM("neg" suffix " %0" : "+m"(*p));                                                        \
    ASM("lock; inc" suffix " %0\n\tlock; dec" suffix " %0\n\tdec" suffix " %0" : "+m"(*p));    \
  }                                                                                            \
  static Type copy_##name(Type *to, const Type *from) {                                        \
    Type seen;                                                                                 \
    ASM("mov" suffix " %1, %0" : "=" constraint(seen) : "m"(*from) : "memory");                \
    ASM("mov" suffix " %1, %0" : "=m"(*to) : "e" constraint(seen) : "memory");                 \
    return seen;                                                                               \
  }                                                                                            \
  static void check_##name(Type *p, Type v) {                                                  \
    Type old = v + 1, other;                                                                   \
    PRINT(exchange_##name(p, v));                                                              \
    PRINT(add_##name(p, v));                                                                   \
    PRINT(compare_##name(p, v, 1));                                                            \
    PRINT(compare_##name(p, v + v, 2));                                                        \
    PRINT(swap_##name(p, 7, 3));                                                               \
    PRINT(swap_##name(p, 2, v));                                                               \
    PRINT(flag_##name(p, &old, 9));                                                            \
    PRINT(old);                                                                                \
    PRINT(flag_##name(p, &old, 9));                                                            \
    change_##name(p, v);                                                                       \
    PRINT(copy_##name(&other, p));                                                             \
    PRINT(other);                                                                              \
    SHOW();                                                                                    \
  }

EXCHANGE(uint8_t, 8, "b", "q")
EXCHANGE(uint16_t, 16, "w", "r")
EXCHANGE(uint32_t, 32, "l", "r")
EXCHANGE(uint64_t, 64, "q", "r")

// The flags, read in all the ways there are.
static void flags(uint32_t *p, int v) {
  unsigned char c, z;
  int small;
  _Bool f, g;
  ASM("lock; subl %2, %0; sete %1" : "+m"(*p), "=qm"(c) : "ir"(v) : "memory");
  PRINT(c);
  ASM("lock; addl %3, %0\n\tsetc %1\n\tsets %2" : "+m"(*p), "=q"(c), "=q"(z) : "r"(v));
  PRINT(c * 2 + z);
  ASM(LOCK_PREFIX "decl %0" : "+m"(*p), "=@ccz"(f), "=@ccs"(g)::"memory");
  PRINT(f * 2 + g);
  ASM("lock; decl %0\n\tsete %b1\n\tmovzbl %b1, %k1" : "+m"(*p), "=&q"(small)::"memory", "cc");
  PRINT(small);
  ASM("subl %3, %0" : "+m"(*p), "=@ccb"(f), "=@cca"(g) : "r"(v));
  PRINT(f * 2 + g);
  ASM("andl $0, %0; setnz %1" : "+m"(*p), "=q"(c));
  PRINT(c);
  ASM("lock; xaddl %0, %1; setne %2" : "+r"(v), "+m"(*p), "=q"(z)::"cc");
  PRINT(v * 2 + z);
  ASM("lock; cmpxchgl %3, %1\n\tsetne %2" : "+a"(v), "+m"(*p), "=q"(z) : "r"(1) : "cc");
  PRINT(v * 2 + z);
  ASM("negl %0; setc %1" : "+m"(*p), "=q"(c));
  PRINT(c);
  ASM("cmpl %2, %1" : "=@ccbe"(f) : "m"(*p), "r"(v));
  PRINT(f);
}

static void single_bits(long far, int near) {
  _Bool f;
  unsigned char c;
  ASM("lock btsq %2, %0" : "+m"(bits[1]), "=@ccc"(f) : "Ir"(far) : "memory");
  PRINT(f);
  ASM("lock; btsq %2, %0; setc %1" : "+m"(bits[1]), "=qm"(c) : "Ir"(3l) : "memory");
  PRINT(c);
  ASM("btcl %1, %0" : "+m"(bits[0]) : "r"(near));
  ASM("lock; btrq %2, %0; setnc %1" : "+m"(bits[1]), "=q"(c) : "r"(far));
  PRINT(c);
  ASM("btq %1, %2" : "=@ccc"(f) : "r"(3l), "m"(bits[1]));
  PRINT(f);
  ASM("lock btsq $40, %0" : "+m"(bits[2]));
  printf("%llx %llx %llx %llx\n", (unsigned long long)bits[0], (unsigned long long)bits[1],
         (unsigned long long)bits[2], (unsigned long long)bits[3]);
}

static int hidden(int value) {
  __asm__("" : "+r"(value));
  return value;
}

struct pair {
  uint32_t first, second;
};

static uint64_t counter;

static void more(struct pair *pair) {
  void *old = &half;
  uint32_t a = 5, b;
  ASM("xchgq %0, %1" : "+m"(*(char *)&pointer), "+q"(old)::"memory");
  PRINT(old == &byte && pointer == &half);
  ASM("lock; addl %k1, 4(%0)" ::"r"(pair), "r"(7ul) : "memory");
  ASM("{lock; xaddl %k0, %1|lock xadd %1, %k0}" : "+r"(a), "+m"(pair->first));
  ASM("lock; xadd %[by], %[at]" : [by] "+r"(a), [at] "+m"(pair->second));
  PRINT(a);
  ASM("movl $17, %%ecx; movl %%ecx, %0 # a comment\n\t/* and another one */" : "=r"(b)::"ecx");
  PRINT(b + pair->first + pair->second);
  ASM("mfence; lfence; sfence" ::: "memory");
  ASM("lock; addl $0,0(%%rsp)" ::: "memory");
  ASM("lock; orq $0, -8(%%rsp)" ::: "memory", "cc");
  ASM("rep; nop" ::: "memory");
  ASM("pause");
  _mm_pause();
  _mm_sfence();
  ASM("" ::: "memory");
  ASM("" : "+m"(*pair) : "r"(pair) : "memory");
  PRINT(hidden(12));
  ASM("prefetcht0 %0" ::"m"(*pair));
  ASM("990: nop\n.pushsection .note.test, \"\"\n.8byte 990b\n.popsection");
}

// What is not understood stays as it is.
static void opaque(struct pair *pair) {
  uint64_t low = 1, high = 2, sum = 3;
  ASM("mulq %3" : "+a"(low), "=d"(high) : "a"(low), "r"(sum));
  PRINT(low + high);
  __attribute__((aligned(16))) static uint64_t two[2] = {5, 6};
  _Bool done;
  low = 5, high = 6;
  ASM("lock cmpxchg16b %0; setz %1"
      : "+m"(*two), "=q"(done), "+a"(low), "+d"(high) : "b"(7ull), "c"(8ull) : "memory", "cc");
  PRINT(done * 100 + two[0] * 10 + two[1]);
  ASM("lock; negl %0" : "+m"(pair->first)::"memory");
  PRINT(pair->first);
  ASM goto("lock; decl %0\n\tjz %l1" : : "m"(pair->second) : "memory", "cc" : zero);
  PRINT(1);
zero:
  PRINT(pair->second);
  ASM("1: lock; incq %0\n\tcmpq $9, %0\n\tjne 1b" : "+m"(counter)::"memory", "cc");
  PRINT(counter);
}

int main(void) {
  struct pair pair = {1, 2};
  SHOW();
  check_8(&byte, 0x7f);
  check_16(&half, 0x1234);
  check_32(&word, 0x87654321);
  check_64(&wide, 0xfedcba9876543210);
  flags(&word, 3);
  flags(&word, 0);
  single_bits(70, 35);
  single_bits(-60, 2);
  more(&pair);
  opaque(&pair);
}
