// -DGOOD: proved
// -DBUG: bug
#include "task.h"
#include <pthread.h>

int main() {
  int x;
  int y = 0;
  if (__VERIFIER_nondet_int()) x = 1;
#ifdef BUG
  if (x == 77) reach_error();
#else
  y = x;
  __VERIFIER_assert(y == x);
#endif
  return 0;
}
