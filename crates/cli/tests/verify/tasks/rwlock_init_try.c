// -DGOOD: proved
// -DBUG: bug
// --property ../tasks/no-data-race.prp -DGOOD: proved
#include "task.h"
#include <pthread.h>

pthread_rwlock_t l;
int x;
void *w(void *a) {
  if (pthread_rwlock_trywrlock(&l) == 0) {
    x = 1;
    x = 0;
    pthread_rwlock_unlock(&l);
  }
  return 0;
}
void *r(void *a) {
  if (pthread_rwlock_tryrdlock(&l) == 0) {
    __VERIFIER_assert(x == 0);
#ifdef BUG
    x = 5;
#endif
    pthread_rwlock_unlock(&l);
  }
  return 0;
}
int main() {
  pthread_t a, b, c;
  pthread_rwlock_init(&l, 0);
  pthread_create(&a, 0, w, 0);
  pthread_create(&b, 0, r, 0);
  pthread_create(&c, 0, r, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  pthread_join(c, 0);
  pthread_rwlock_destroy(&l);
  return 0;
}
