/* Szymanski's lock (A simple solution to Lamport's concurrent programming problem with linear wait,
   1988), for two threads. With BUG nobody waits for those with smaller numbers. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef ROUNDS
#define ROUNDS 2
#endif

static _Atomic int flag[2];

static void lock(int me) {
  int other = 1 - me;
  flag[me] = 1;
  while (flag[other] >= 3)
    ;
  flag[me] = 3;
  if (flag[other] == 1) {
    flag[me] = 2;
    while (flag[other] != 4)
      ;
  }
  flag[me] = 4;
#ifndef BUG
  if (me == 1)
    while (flag[0] >= 2)
      ;
#endif
}

static void unlock(int me) {
  int its;
  if (me == 0)
    do its = flag[1];
    while (its == 2 || its == 3);
  flag[me] = 0;
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
