// -DGOOD: proved
// -DBUG: bug
#include "task.h"
#include <pthread.h>

int main() {
  char c = __VERIFIER_nondet_char();
  unsigned char u = __VERIFIER_nondet_uchar();
  short s = __VERIFIER_nondet_short();
  long l = __VERIFIER_nondet_long();
  unsigned long ul = __VERIFIER_nondet_ulong();
  _Bool b = __VERIFIER_nondet_bool();
  void *p = __VERIFIER_nondet_pointer();
  unsigned v = __VERIFIER_nondet_uint();
  __VERIFIER_assert(b == 0 || b == 1);
  __VERIFIER_assert(u <= 255);
  __VERIFIER_assert(c >= -128 && c <= 127);
#ifdef BUG
  __VERIFIER_assert(s != 12345);
#endif
  return 0;
}
