// -DGOOD: proved
// -DBUG: bug
#include "task.h"
#include <pthread.h>
#include <stdlib.h>
int main() {
  int n = 3;
  int *p = calloc(n, sizeof(int));
  __VERIFIER_assert(p[2] == 0);
  p[0] = 7;
#ifdef BUG
  __VERIFIER_assert(p[0] == 8);
#else
  __VERIFIER_assert(p[0] == 7);
#endif
  free(p);
  return 0;
}
