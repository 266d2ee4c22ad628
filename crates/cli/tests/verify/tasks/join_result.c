// -DGOOD: proved
// -DBUG: bug
// --property ../tasks/no-data-race.prp -DGOOD: proved
#include "task.h"
#include <pthread.h>

void *f(void *arg) {
  long n = (long)arg;
  return (void *)(n + 1);
}
int main() {
  pthread_t t;
  void *r;
  pthread_create(&t, 0, f, (void *)41L);
  pthread_join(t, &r);
#ifdef BUG
  __VERIFIER_assert((long)r == 41);
#else
  __VERIFIER_assert((long)r == 42);
#endif
  return 0;
}
