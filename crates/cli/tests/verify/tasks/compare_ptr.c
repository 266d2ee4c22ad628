// -DGOOD: unknown
// -DBUG: bug
#include "task.h"
#include <pthread.h>

int a[4], *p, *q;
void *f(void *x) {
  q = &a[2];
  return 0;
}
int main() {
  p = a;
  q = a;
  pthread_t t;
  pthread_create(&t, 0, f, 0);
  pthread_join(t, 0);
#ifdef BUG
  __VERIFIER_assert(q - p == 1);
#else
  __VERIFIER_assert(p < q && q - p == 2);
#endif
  return 0;
}
