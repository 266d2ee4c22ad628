/* Very many events: the first argument is their number, in thousands. Prints how much memory it took while it ran. */

#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned shared[64];
static long thousands;

static long resident(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

static void *works(void *unused) {
  for (long i = 0; i < thousands; i++) {
    pthread_mutex_lock(&lock);
    for (int j = 0; j < 249; j++)
      shared[j % 64]++;
    pthread_mutex_unlock(&lock);
  }
  return unused;
}

int main(int count, char **arguments) {
  pthread_t threads[2];
  long before;
  thousands = count > 1 ? atol(arguments[1]) : 100;
  works(NULL);
  before = resident();
  for (int i = 0; i < 2; i++)
    pthread_create(&threads[i], NULL, works, NULL);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  printf("%ld KiB before, %ld KiB after\n", before, resident());
  return 0;
}
