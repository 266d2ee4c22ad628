// -DGOOD: proved
// -DBUG: unknown
#include "task.h"
#include <pthread.h>
#include <time.h>
#include <errno.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
int x;
void *f(void *a) {
  struct timespec ts;
  clock_gettime(CLOCK_REALTIME, &ts);
  ts.tv_sec += 1;
  int r = pthread_mutex_timedlock(&m, &ts);
  if (r == 0) {
    r = pthread_cond_timedwait(&c, &m, &ts);
    x = 1;
    __VERIFIER_assert(r == 0 || r == ETIMEDOUT);
    x = 0;
    pthread_mutex_unlock(&m);
  }
#ifdef BUG
  else
    reach_error();
#endif
  return 0;
}
int main() {
  pthread_t a, b;
  pthread_create(&a, 0, f, 0);
  pthread_create(&b, 0, f, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  __VERIFIER_assert(x == 0);
  return 0;
}
