// -DGOOD: proved
// -DBUG: bug
// --property ../tasks/no-data-race.prp -DGOOD: proved
// --property ../tasks/no-data-race.prp -DBUG: bug: race
#include "task.h"
#include <pthread.h>

struct d {
  pthread_mutex_t *m;
  int *x;
};
pthread_mutex_t m1 = PTHREAD_MUTEX_INITIALIZER, m2 = PTHREAD_MUTEX_INITIALIZER;
int x;
void *f(void *arg) {
  struct d *p = arg;
  pthread_mutex_lock(p->m);
  *p->x = *p->x + 1;
  pthread_mutex_unlock(p->m);
  return 0;
}
int main() {
  pthread_t a, b;
  struct d d1 = {&m1, &x}, d2 = {&m1, &x};
#ifdef BUG
  d2.m = &m2;
#endif
  pthread_create(&a, 0, f, &d1);
  pthread_create(&b, 0, f, &d2);
  pthread_join(a, 0);
  pthread_join(b, 0);
  __VERIFIER_assert(x == 2);
  return 0;
}
