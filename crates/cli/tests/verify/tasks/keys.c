// -DGOOD: proved
// -DBUG: bug
// --property ../tasks/no-data-race.prp -DGOOD: proved
#include "task.h"
#include <pthread.h>

pthread_key_t k;
int d;
void *f(void *a) {
  pthread_setspecific(k, a);
  __VERIFIER_assert(pthread_getspecific(k) == a);
  return 0;
}
int main() {
  pthread_t t;
  int x;
  pthread_key_create(&k, 0);
  pthread_create(&t, 0, f, &x);
  pthread_join(t, 0);
#ifdef BUG
  __VERIFIER_assert(pthread_getspecific(k) == &x);
#else
  __VERIFIER_assert(pthread_getspecific(k) == 0);
#endif
  return 0;
}
