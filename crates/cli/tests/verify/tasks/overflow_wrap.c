// -DGOOD: proved
// -DBUG: bug
#include "task.h"
#include <pthread.h>

unsigned u = 4294967295u;
int main() {
  u++;
  __VERIFIER_assert(u == 0);
  long long a = __VERIFIER_nondet_long();
  int b = (int)a;
#ifdef BUG
  __VERIFIER_assert(b == a);
#endif
  return 0;
}
