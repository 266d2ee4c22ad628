// -DBUG: bug
// --property ../tasks/no-data-race.prp -DBUG: bug
#include "task.h"
#include <pthread.h>

/* Threads for ever: two of them are enough. */
int x;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *worker(void *arg) {
#ifndef BUG
  pthread_mutex_lock(&m);
#endif
  x = 0;
  x = x + 1;
  __VERIFIER_assert(x == 1);
#ifndef BUG
  pthread_mutex_unlock(&m);
#endif
  return 0;
}
int main() {
  pthread_t t;
  while (1) {
    pthread_create(&t, 0, worker, 0);
  }
}
