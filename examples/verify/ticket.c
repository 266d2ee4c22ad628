/* A ticket lock (Mellor-Crummey and Scott, Algorithms for scalable synchronization on shared-memory
   multiprocessors, 1991), for three threads. With BUG a ticket is drawn in two steps. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define THREADS 3

static _Atomic unsigned next_ticket, serving;
static int inside;

static void lock(void) {
#ifdef BUG
  unsigned mine = next_ticket;
  next_ticket = mine + 1;
#else
  unsigned mine = atomic_fetch_add(&next_ticket, 1);
#endif
  while (serving != mine)
    ;
}

static void unlock(void) { serving = serving + 1; }

static void *run(void *unused) {
  lock();
  inside++;
  assert(inside == 1);
  inside--;
  unlock();
  return unused;
}

int main(void) {
  pthread_t threads[THREADS];
  for (int k = 0; k < THREADS; k++) pthread_create(&threads[k], 0, run, 0);
  for (int k = 0; k < THREADS; k++) pthread_join(threads[k], 0);
  return 0;
}
