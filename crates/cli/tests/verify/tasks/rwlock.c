// -DGOOD: proved
// -DBUG: bug
// --property ../tasks/no-data-race.prp -DGOOD: proved
// --property ../tasks/no-data-race.prp -DBUG: bug: race
#include "task.h"
#include <pthread.h>

pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
int x, y;
void *w(void *a) {
  pthread_rwlock_wrlock(&l);
  x = 3;
  y = 3;
  pthread_rwlock_unlock(&l);
  return 0;
}
void *r(void *a) {
#ifdef BUG
  __VERIFIER_assert(x == y);
#else
  pthread_rwlock_rdlock(&l);
  __VERIFIER_assert(x == y);
  pthread_rwlock_unlock(&l);
#endif
  return 0;
}
int main() {
  pthread_t a, b, c;
  pthread_create(&a, 0, w, 0);
  pthread_create(&b, 0, r, 0);
  pthread_create(&c, 0, r, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  pthread_join(c, 0);
  return 0;
}
