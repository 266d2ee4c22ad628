/* Loops that wait for others: with atomics, with plain volatile memory, giving way and not. */

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "check.h"

static atomic_int turn;
static volatile int plain;

static void *plays(void *argument) {
  int me = *(int *)argument;
  for (int round = 0; round < 5; round++) {
    while (atomic_load(&turn) % 2 != me)
      if (round % 2)
        sched_yield();
    atomic_fetch_add(&turn, 1);
  }
  return argument;
}

static void *sets(void *argument) {
  sched_yield();
  plain = 1;
  return argument;
}

int main(void) {
  pthread_t threads[2];
  int numbers[2] = {0, 1};
  for (int i = 0; i < 2; i++)
    pthread_create(&threads[i], NULL, plays, &numbers[i]);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  CHECK(turn == 10);
  pthread_create(&threads[0], NULL, sets, NULL);
  while (!plain)
    sched_yield();
  pthread_join(threads[0], NULL);
  return 0;
}
