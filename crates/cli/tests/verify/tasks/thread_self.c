// -DGOOD: proved
// -DBUG: bug
#include "task.h"
#include <pthread.h>

pthread_t me;
void *f(void *a) {
  me = pthread_self();
  return 0;
}
int main() {
  pthread_t t;
  pthread_create(&t, 0, f, 0);
  pthread_join(t, 0);
#ifdef BUG
  __VERIFIER_assert(!pthread_equal(me, t));
#else
  __VERIFIER_assert(pthread_equal(me, t) && !pthread_equal(me, pthread_self()));
#endif
  return 0;
}
