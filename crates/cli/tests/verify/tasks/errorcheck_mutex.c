// -DGOOD: proved
// -DBUG: bug
#define _GNU_SOURCE
#include "task.h"
#include <pthread.h>

#include <errno.h>
pthread_mutex_t m;
int x;
void *f(void *a) {
  int r = pthread_mutex_lock(&m);
  __VERIFIER_assert(r == 0);
  r = pthread_mutex_lock(&m);
  __VERIFIER_assert(r == EDEADLK);
  x = 1;
  x = 0;
  pthread_mutex_unlock(&m);
#ifndef BUG
  r = pthread_mutex_unlock(&m);
  __VERIFIER_assert(r == EPERM);
#else
  __VERIFIER_assert(x == 0);
#endif
  return 0;
}
int main() {
  pthread_t a, b;
  pthread_mutexattr_t at;
  pthread_mutexattr_init(&at);
  pthread_mutexattr_settype(&at, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&m, &at);
  pthread_create(&a, 0, f, 0);
  pthread_create(&b, 0, f, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
