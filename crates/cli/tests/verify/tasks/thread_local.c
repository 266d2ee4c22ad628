// -DGOOD: proved
// -DBUG: bug
// --property ../tasks/no-data-race.prp -DGOOD: proved
#include "task.h"
#include <pthread.h>

_Thread_local int tls = 5;
static __thread int other;
void *f(void *a) {
  __VERIFIER_assert(tls == 5 && other == 0);
  tls++;
  other = 3;
  __VERIFIER_assert(tls == 6);
  return 0;
}
int main() {
  pthread_t a, b;
  tls = 1;
  pthread_create(&a, 0, f, 0);
  pthread_create(&b, 0, f, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
#ifdef BUG
  __VERIFIER_assert(tls == 6);
#else
  __VERIFIER_assert(tls == 1);
#endif
  return 0;
}
