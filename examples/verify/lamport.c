/* Lamport's fast lock (A fast mutual exclusion algorithm, 1987), for two threads. With BUG a thread
   that finds somebody before it does not wait for those who are on their way. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef ROUNDS
#define ROUNDS 2
#endif

static _Atomic int x, y, busy[2];

static void lock(int me) {
  for (;;) {
    busy[me] = 1;
    x = me + 1;
    if (y != 0) {
      busy[me] = 0;
      while (y != 0)
        ;
      continue;
    }
    y = me + 1;
    if (x == me + 1) return;
    busy[me] = 0;
#ifndef BUG
    while (busy[1 - me])
      ;
#endif
    if (y == me + 1) return;
    while (y != 0)
      ;
  }
}

static void unlock(int me) {
  y = 0;
  busy[me] = 0;
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
