// -DGOOD: proved
// -DBUG: bug
// --property ../tasks/no-data-race.prp -DGOOD: proved
#include "task.h"
#include <pthread.h>

int x;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *f(void *arg) {
  pthread_mutex_lock(&m);
  x++;
  pthread_mutex_unlock(&m);
  return 0;
}
int main() {
  int n = __VERIFIER_nondet_int();
  assume_abort_if_not(n >= 0 && n <= 3);
  pthread_t t[3];
  for (int i = 0; i < n; i++) pthread_create(&t[i], 0, f, 0);
  for (int i = 0; i < n; i++) pthread_join(t[i], 0);
#ifdef BUG
  __VERIFIER_assert(x < 3);
#else
  __VERIFIER_assert(x == n);
#endif
  return 0;
}
