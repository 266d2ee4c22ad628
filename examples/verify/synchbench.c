/* After SynchBench of paper 003, Fig. 3: threads hand a token from one to the next through locks
   and condition flags, and count under two locks. With BUG the last one counts without a lock. */
#include <pthread.h>
#include <stdint.h>

#ifndef THREADS
#define THREADS 12
#endif

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
static int started, finished, sum, slots[THREADS];

static void *worker(void *argument) {
  int self = (int)(intptr_t)argument;
  pthread_mutex_lock(&m);
  started++;
  slots[self] = started;
  pthread_mutex_unlock(&m);
#ifdef BUG
  if (self == THREADS - 1) sum++;
#endif
  pthread_mutex_lock(&n);
  sum += self;
  pthread_mutex_unlock(&n);
  pthread_mutex_lock(&m);
  finished++;
  if (finished == THREADS) started = 0;
  pthread_mutex_unlock(&m);
  return 0;
}

int main(void) {
  pthread_t threads[THREADS];
  for (int k = 0; k < THREADS; k++)
    pthread_create(&threads[k], 0, worker, (void *)(intptr_t)k);
  for (int k = 0; k < THREADS; k++) pthread_join(threads[k], 0);
  return 0;
}
