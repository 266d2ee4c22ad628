/* A thread reads what code that is not instrumented has written. */

#include <pthread.h>

#include "check.h"

void foreign_write(int *to, int value);

static int mail, seen, after;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *reads(void *unused) {
  pthread_mutex_lock(&lock);
  seen = mail; /* Nobody is seen to write what it reads. */
  pthread_mutex_unlock(&lock);
  after = seen;
  return unused;
}

int main(void) {
  pthread_t thread;
  mail = 1;
  pthread_mutex_lock(&lock);
  foreign_write(&mail, 7);
  pthread_mutex_unlock(&lock);
  pthread_create(&thread, NULL, reads, NULL);
  after = 0; /* A race, which comes after that read. */
  pthread_join(thread, NULL);
  CHECK(seen == 7);
  return 0;
}
