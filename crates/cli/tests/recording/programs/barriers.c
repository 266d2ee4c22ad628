/* Barriers: several rounds, one serial thread in each. */

#define _GNU_SOURCE
#include <pthread.h>

#include "check.h"

enum { THREADS = 4, ROUNDS = 5 };

static pthread_barrier_t barrier;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int phase[THREADS], serial[ROUNDS];

static void *goes(void *argument) {
  int me = *(int *)argument;
  for (int round = 0; round < ROUNDS; round++) {
    phase[me] = round;
    int status = pthread_barrier_wait(&barrier);
    CHECK(status == 0 || status == PTHREAD_BARRIER_SERIAL_THREAD);
    for (int other = 0; other < THREADS; other++)
      CHECK(phase[other] == round);
    if (status == PTHREAD_BARRIER_SERIAL_THREAD) {
      pthread_mutex_lock(&lock);
      serial[round]++;
      pthread_mutex_unlock(&lock);
    }
    pthread_barrier_wait(&barrier);
  }
  return argument;
}

int main(void) {
  pthread_t threads[THREADS];
  int numbers[THREADS];
  CHECK(pthread_barrier_init(&barrier, NULL, THREADS) == 0);
  for (int i = 0; i < THREADS; i++) {
    numbers[i] = i;
    pthread_create(&threads[i], NULL, goes, &numbers[i]);
  }
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < ROUNDS; i++)
    CHECK(serial[i] == 1);
  CHECK(pthread_barrier_destroy(&barrier) == 0);
  return 0;
}
