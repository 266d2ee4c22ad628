// -DGOOD: proved
// -DBUG: bug
// --property ../tasks/no-data-race.prp -DGOOD: proved
// --property ../tasks/no-data-race.prp -DBUG: bug: race
#include "task.h"
#include <pthread.h>

pthread_once_t o = PTHREAD_ONCE_INIT;
int n, v;
void init(void) {
  v = 7;
  n = n + 1;
}
void *f(void *a) {
  pthread_once(&o, init);
  __VERIFIER_assert(v == 7);
#ifdef BUG
  v = 8;
#endif
  return 0;
}
int main() {
  pthread_t a, b;
  pthread_create(&a, 0, f, 0);
  pthread_create(&b, 0, f, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  __VERIFIER_assert(n == 1);
  return 0;
}
