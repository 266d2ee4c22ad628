/* 200 threads at once. */

#define _GNU_SOURCE
#include <pthread.h>

#include "check.h"

enum { THREADS = 200 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_there = PTHREAD_COND_INITIALIZER;
static int there, sum;

static void *comes(void *argument) {
  pthread_mutex_lock(&lock);
  sum += *(int *)argument;
  if (++there == THREADS)
    pthread_cond_broadcast(&all_there);
  while (there < THREADS)
    pthread_cond_wait(&all_there, &lock);
  pthread_mutex_unlock(&lock);
  return NULL;
}

int main(void) {
  static pthread_t threads[THREADS];
  static int numbers[THREADS];
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 * 1024);
  for (int i = 0; i < THREADS; i++) {
    numbers[i] = i;
    CHECK(pthread_create(&threads[i], &small, comes, &numbers[i]) == 0);
  }
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  CHECK(sum == THREADS * (THREADS - 1) / 2);
  return 0;
}
