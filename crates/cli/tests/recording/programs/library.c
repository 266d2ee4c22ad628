/* A library, linked in one way or another: it has state that threads share. */

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int library_calls;

int library_count(void) {
  int now;
  pthread_mutex_lock(&lock);
  now = ++library_calls;
  pthread_mutex_unlock(&lock);
  return now;
}

/* Without the lock: a race that is in the library. */
int library_peek(void) { return library_calls; }
