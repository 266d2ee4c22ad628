// -DGOOD: proved
// -DBUG: bug
// --property ../tasks/no-data-race.prp -DBUG: bug: race
#include "task.h"
#include <pthread.h>

void *f(void *a) {
  int *p = a;
  *p = *p + 1;
  return 0;
}
int main() {
  pthread_t t;
  int x = 0;
  pthread_create(&t, 0, f, &x);
#ifdef BUG
  x = x + 1;
#endif
  pthread_join(t, 0);
#ifdef BUG
  __VERIFIER_assert(x == 2);
#else
  __VERIFIER_assert(x == 1);
#endif
  return 0;
}
