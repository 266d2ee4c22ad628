// -DGOOD: proved
// -DBUG: bug
// --property ../tasks/no-data-race.prp -DGOOD: proved
// --property ../tasks/no-data-race.prp -DBUG: bug: race
#include "task.h"
#include <pthread.h>

pthread_mutex_t m[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
int x[2];
void *f(void *a) {
  int i = __VERIFIER_nondet_int();
  assume_abort_if_not(i >= 0 && i < 2);
  pthread_mutex_lock(&m[i]);
  int l = x[i];
  x[i] = 1;
  x[i] = l;
#ifdef BUG
  __VERIFIER_assert(x[1 - i] == 0);
#else
  __VERIFIER_assert(x[i] == 0);
#endif
  pthread_mutex_unlock(&m[i]);
  return 0;
}
int main() {
  pthread_t a, b;
  pthread_create(&a, 0, f, 0);
  pthread_create(&b, 0, f, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
