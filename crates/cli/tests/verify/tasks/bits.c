// : proved
// -DBUG: bug
#include "task.h"

int main(void) {
  unsigned x = __VERIFIER_nondet_uint();
  unsigned char small = __VERIFIER_nondet_uchar();
  __VERIFIER_assert(__builtin_ctz(8) == 3 && __builtin_clz(1) == 31 && __builtin_ffs(0) == 0);
  __VERIFIER_assert(__builtin_popcountll(~0ull) == 64 && __builtin_clzll(1) == 63);
  __VERIFIER_assert(x == 0 || (x >> __builtin_ctz(x)) % 2 == 1);
#ifdef BUG
  __VERIFIER_assert(__builtin_popcount(small) < 8);
#else
  __VERIFIER_assert(__builtin_popcount(small) <= 8);
#endif
  return 0;
}
