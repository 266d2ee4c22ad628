/* Peterson's lock for two threads (Myths about the mutual exclusion problem, 1981). With BUG a
   thread gives way before it says that it wants to enter. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef ROUNDS
#define ROUNDS 2
#endif

static _Atomic int wants[2], turn;

static void lock(int me) {
#ifdef BUG
  turn = 1 - me;
  wants[me] = 1;
#else
  wants[me] = 1;
  turn = 1 - me;
#endif
  while (wants[1 - me] && turn != me)
    ;
}

static void unlock(int me) { wants[me] = 0; }

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
