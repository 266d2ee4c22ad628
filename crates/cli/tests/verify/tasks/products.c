// --property ../tasks/no-overflow.prp -DSMALL: proved
// --property ../tasks/no-overflow.prp -DNEGATED: bug
// --property ../tasks/no-overflow.prp -DLARGE: bug
// --property ../tasks/no-overflow.prp -DLOWEST: proved
// --property ../tasks/no-overflow.prp -DSHIFTED: unknown
#include "task.h"

/* Products of words of 64 bits. */
int main() {
  long a = __VERIFIER_nondet_long(), b = __VERIFIER_nondet_long();
#ifdef SMALL
  assume_abort_if_not(-100000 <= a && a <= 100000 && -5 <= b && b <= 5);
#elif defined NEGATED
  assume_abort_if_not(a == -1);
#elif defined LARGE
  assume_abort_if_not(3037000500L <= a && a <= 3037000600L && a == b);
#elif defined LOWEST
  assume_abort_if_not(a == -2 && b == 1L << 62);
#elif defined SHIFTED
  /* Beyond the sign: C does not say what that is. */
  assume_abort_if_not(0 <= b && b < 64);
  return 1L << b;
#endif
  long c = a * b;
  return c != 0;
}
