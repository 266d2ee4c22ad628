/* Dekker's lock for two threads (Dijkstra, Cooperating sequential processes, 1965). With BUG a
   thread that waits for its turn does not take its wish back. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef ROUNDS
#define ROUNDS 2
#endif

static _Atomic int wants[2], turn;

static void lock(int me) {
  wants[me] = 1;
  while (wants[1 - me]) {
    if (turn != me) {
      wants[me] = 0;
      while (turn != me)
        ;
#ifdef BUG
      break;
#else
      wants[me] = 1;
#endif
    }
  }
}

static void unlock(int me) {
  turn = 1 - me;
  wants[me] = 0;
}

static int inside;

static void critical_section(void) {
  inside++;
  assert(inside == 1);
  inside--;
}

static void *run(void *argument) {
  int me = argument != 0;
  for (int k = 0; k < ROUNDS; k++) {
    lock(me);
    critical_section();
    unlock(me);
  }
  return 0;
}

int main(void) {
  pthread_t other;
  pthread_create(&other, 0, run, (void *)1);
  run(0);
  pthread_join(other, 0);
  return 0;
}
