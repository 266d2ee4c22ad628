/* A thread is cancelled where it waits, for input or for a condition; its clean-up handler reads what was written before. */

#include <pthread.h>

#include "check.h"

static int ends[2], data;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void look(void *unused) {
  (void)unused;
  CHECK(data > 0);
}

static void unlock(void *unused) {
  (void)unused;
  CHECK(data > 0);
  pthread_mutex_unlock(&lock);
}

static void *reads(void *unused) {
  char byte;
  pthread_cleanup_push(look, NULL);
  CHECK(read(ends[0], &byte, 1) == 1);
  pthread_cleanup_pop(0);
  return unused;
}

static void *waits(void *unused) {
  pthread_mutex_lock(&lock);
  pthread_cleanup_push(unlock, NULL);
  for (;;)
    pthread_cond_wait(&never, &lock);
  pthread_cleanup_pop(0);
  return unused;
}

int main(void) {
  pthread_t reader, waiter;
  CHECK(pipe(ends) == 0);
  pthread_create(&reader, NULL, reads, NULL);
  pthread_create(&waiter, NULL, waits, NULL);
  data = 1;
  pthread_cancel(reader);
  pthread_cancel(waiter);
  pthread_join(reader, NULL);
  pthread_join(waiter, NULL);
  return 0;
}
