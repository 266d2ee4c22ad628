// Every type that takes its own way through the hooks.
#include <complex.h>
#include <stdio.h>

typedef float floats __attribute__((vector_size(16)));
typedef int ints __attribute__((vector_size(8)));

struct {
  unsigned a : 3, b : 7, c : 21;
  signed d : 5;
  _Bool e : 1;
} bits;

struct {
  int value : 24;
} __attribute__((packed)) packed;

long double extended = 1.25L;
__int128 wide;
floats four;
ints two;
_Bool flag;
double complex number = 1 + 2 * I;
_Float16 half;
unsigned _BitInt(37) odd;
unsigned _BitInt(129) huge;
volatile int counted;
static _Thread_local int own;
_Thread_local int exported;
union {
  int i;
  float f;
} either;

static void set(int zero) {
  bits.a = 5, bits.b = 100, bits.c = 12345, bits.d = -3, bits.e = 1;
  packed.value = -77;
  extended = extended * 3;
  wide = ((__int128)1 << 100) + 5;
  four = (floats){1, 2, 3, 4};
  four *= four;
  two = (ints){3, 4};
  two += two;
  flag = !zero;
  number *= number;
  half = 1.5;
  half += 1;
  odd = 123456789012;
  odd++;
  huge = 7;
  huge <<= 120;
  counted++;
  own += 2;
  exported = own + counted;
  either.f = 1.5f;
}

int main(int argc, char **argv) {
  set(argc - 1);
  printf("%d %d %d %d %d %d\n", bits.a, bits.b, bits.c, bits.d, bits.e, packed.value);
  printf("%Lg %lx %lx\n", extended, (long)(wide >> 64), (long)wide);
  printf("%g %g %d %d\n", four[2], four[3], two[1], flag);
  printf("%g %g %g\n", creal(number), cimag(number), (double)half);
  printf("%lu %lx %d %d %x\n", (long)odd, (long)(huge >> 100), own, exported, either.i);
  return 0;
}
