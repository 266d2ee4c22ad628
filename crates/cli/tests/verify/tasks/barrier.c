// -DGOOD: proved
// -DBUG: bug
// --property ../tasks/no-data-race.prp -DGOOD: proved
#include "task.h"
#include <pthread.h>

pthread_barrier_t b;
int x, y;
void *f(void *a) {
  x = 1;
  pthread_barrier_wait(&b);
  __VERIFIER_assert(y == 1);
  return 0;
}
int main() {
  pthread_t t;
  pthread_barrier_init(&b, 0, 2);
  pthread_create(&t, 0, f, 0);
#ifdef BUG
  pthread_barrier_wait(&b);
  y = 1;
#else
  y = 1;
  pthread_barrier_wait(&b);
#endif
  __VERIFIER_assert(x == 1);
  pthread_join(t, 0);
  pthread_barrier_destroy(&b);
  return 0;
}
