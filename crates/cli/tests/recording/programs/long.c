/* A long run before a race: the first argument is its length in thousands of accesses. */

#include <pthread.h>
#include <stdlib.h>

#include "check.h"

static volatile int work[2][64], shared;
static long thousands;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *goes(void *argument) {
  int me = *(int *)argument;
  for (long i = 0; i < thousands; i++) {
    pthread_mutex_lock(&lock);
    for (int j = 0; j < 100; j++)
      work[0][(j + me) % 64]++;
    pthread_mutex_unlock(&lock);
  }
  shared = me;
  return NULL;
}

int main(int count, char **arguments) {
  pthread_t threads[2];
  int numbers[2] = {0, 1};
  thousands = count > 1 ? atol(arguments[1]) : 10;
  for (int i = 0; i < 2; i++)
    pthread_create(&threads[i], NULL, goes, &numbers[i]);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  return 0;
}
