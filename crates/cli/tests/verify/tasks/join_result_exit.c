// -DGOOD: proved
// -DBUG: bug
#include "task.h"
#include <pthread.h>

int g;
void *f(void *arg) {
  if (__VERIFIER_nondet_int()) pthread_exit((void *)&g);
  return arg;
}
int main() {
  pthread_t t;
  void *r;
  pthread_create(&t, 0, f, 0);
  pthread_join(t, &r);
#ifdef BUG
  __VERIFIER_assert(r == 0);
#else
  __VERIFIER_assert(r == 0 || r == &g);
#endif
  return 0;
}
