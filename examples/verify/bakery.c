/* Lamport's bakery (A new solution of Dijkstra's concurrent programming problem, 1974), for two
   threads. With BUG a thread does not wait while the other one draws its number. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef ROUNDS
#define ROUNDS 2
#endif

static _Atomic int choosing[2], number[2];

static void lock(int me) {
  int other = 1 - me;
  choosing[me] = 1;
  number[me] = number[other] + 1;
  choosing[me] = 0;
#ifndef BUG
  while (choosing[other])
    ;
#endif
  for (;;) {
    int its = number[other], mine = number[me];
    if (its == 0 || its > mine || (its == mine && me < other)) return;
  }
}

static void unlock(int me) { number[me] = 0; }

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
