// -DGOOD: proved
// -DBUG: bug
#include "task.h"
#include <pthread.h>

int sum(int n) {
  if (n <= 0) return 0;
  return n + sum(n - 1);
}
int main() {
  int n = __VERIFIER_nondet_int();
  assume_abort_if_not(n >= 0 && n < 5);
  int s = sum(n);
#ifdef BUG
  __VERIFIER_assert(s != 6);
#else
  __VERIFIER_assert(s == n * (n + 1) / 2);
#endif
  return 0;
}
