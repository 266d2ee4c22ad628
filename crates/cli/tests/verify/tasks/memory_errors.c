// -DGOOD: proved
// -DFREED: unknown
// -DOUTSIDE: unknown
// -DZERO: unknown
// -DUNLOCK: unknown
// -DDOUBLE: proved
// --property ../tasks/valid-memory.prp -DGOOD: proved
// --property ../tasks/valid-memory.prp -DFREED: bug: undefined behaviour
// --property ../tasks/valid-memory.prp -DOUTSIDE: bug: undefined behaviour
// --property ../tasks/valid-memory.prp -DZERO: unknown
// --check lock,assertion -DZERO: bug
/* Tasks are about what they name: behind other mistakes the answer is open. */
#include "task.h"
#include <pthread.h>
#include <stdlib.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int a[4];
int *p;
void *f(void *arg) {
  *p = 1;
  return 0;
}
int main() {
  pthread_t t;
  p = malloc(sizeof(int));
  pthread_create(&t, 0, f, 0);
#ifdef FREED
  free(p);
#endif
#ifdef OUTSIDE
  int i = __VERIFIER_nondet_int();
  assume_abort_if_not(i >= 0 && i <= 4);
  a[i] = 1;
#endif
#ifdef ZERO
  a[1] = 7 / __VERIFIER_nondet_int();
#endif
#ifdef UNLOCK
  pthread_mutex_unlock(&m);
#endif
#ifdef DOUBLE
  pthread_mutex_lock(&m);
  pthread_mutex_lock(&m);
  reach_error();
#endif
  pthread_join(t, 0);
  return 0;
}
