// -DGOOD: unknown
// -DBUG: bug
#include "task.h"
#include <pthread.h>

double d = 1.5;
float fl;
void *f(void *x) {
  fl = 2.0f;
  d = d + fl;
  return 0;
}
int main() {
  pthread_t t;
  pthread_create(&t, 0, f, 0);
  pthread_join(t, 0);
#ifdef BUG
  __VERIFIER_assert(d == 1.5);
#else
  __VERIFIER_assert(d == 3.5);
#endif
  return 0;
}
