/* Threads that race on a counter, and what they leave behind depends on the schedule. With an argument, the threads
   do one thing more. */

#include <pthread.h>

#include "check.h"

static volatile int counter, extra;

static void *adds(void *unused) {
  for (int i = 0; i < 20; i++)
    counter++;
  return unused;
}

static void *more(void *unused) {
  extra = counter;
  counter++;
  return adds(unused);
}

int main(int count, char **arguments) {
  pthread_t threads[3];
  (void)arguments;
  for (int i = 0; i < 3; i++)
    pthread_create(&threads[i], NULL, count > 1 ? more : adds, NULL);
  for (int i = 0; i < 3; i++)
    pthread_join(threads[i], NULL);
  CHECK(counter <= 61 && extra <= 61);
  return 0;
}
