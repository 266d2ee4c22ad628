// -DGOOD: proved
// -DBUG: bug
#include "task.h"
#include <pthread.h>

/* Many turns of loops that count under one lock: what is left behind the joins is a sum. */
int count;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *worker(void *arg) {
  for (int i = 0; i < 40; i++) {
    pthread_mutex_lock(&m);
    count++;
    pthread_mutex_unlock(&m);
  }
  return 0;
}
int main() {
  pthread_t a, b;
  pthread_create(&a, 0, worker, 0);
  pthread_create(&b, 0, worker, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
#ifdef BUG
  __VERIFIER_assert(count < 80);
#else
  __VERIFIER_assert(count == 80);
#endif
  return 0;
}
