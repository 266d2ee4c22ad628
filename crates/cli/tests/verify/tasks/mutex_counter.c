// -DGOOD: proved
// -DBUG: bug
// --property ../tasks/no-data-race.prp -DGOOD: proved
// --property ../tasks/no-data-race.prp -DBUG: bug: race
// --property ../tasks/unreach-call.prp -DGOOD: proved
// --property ../tasks/unreach-call.prp -DBUG: bug
// --property ../tasks/termination.prp -DGOOD: unknown
// --property ../tasks/valid-memory.prp -DGOOD: proved
#include "task.h"
#include <pthread.h>

int x;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *inc(void *arg) {
#ifndef BUG
  pthread_mutex_lock(&m);
#endif
  int l = x;
  x = l + 1;
#ifndef BUG
  pthread_mutex_unlock(&m);
#endif
  return 0;
}
int main() {
  pthread_t a, b;
  pthread_create(&a, 0, inc, 0);
  pthread_create(&b, 0, inc, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  __VERIFIER_assert(x == 2);
  return 0;
}
