// -DGOOD: proved
// -DBUG: bug
// --property ../tasks/no-data-race.prp -DGOOD: proved
// --property ../tasks/no-data-race.prp -DBUG: bug: race
#define _GNU_SOURCE
#include "task.h"
#include <pthread.h>

pthread_mutex_t m;
int x;
void *f(void *a) {
  pthread_mutex_lock(&m);
  pthread_mutex_lock(&m);
  x++;
  pthread_mutex_unlock(&m);
#ifdef BUG
  pthread_mutex_unlock(&m);
  x++;
#else
  x--;
  pthread_mutex_unlock(&m);
#endif
  return 0;
}
int main() {
  pthread_t a, b;
  pthread_mutexattr_t at;
  pthread_mutexattr_init(&at);
  pthread_mutexattr_settype(&at, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&m, &at);
  pthread_create(&a, 0, f, 0);
  pthread_create(&b, 0, f, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
#ifdef BUG
  __VERIFIER_assert(x == 4);
#else
  __VERIFIER_assert(x == 0);
#endif
  return 0;
}
