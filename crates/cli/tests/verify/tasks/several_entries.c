// : proved
// -DBUG: bug
/* A loop that is entered in two places. */
#include "task.h"
#include <pthread.h>

_Atomic int stop;

static void *turns(void *unused) {
  int i = 0;
  if (__VERIFIER_nondet_bool())
    goto second;
first:
  i++;
second:
  i += 2;
  if (i < 5 && !stop)
    goto first;
#ifdef BUG
  __VERIFIER_assert(i != 5);
#else
  __VERIFIER_assert(i == 2 || i == 3 || i == 5 || i == 6);
#endif
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, turns, 0);
  stop = 1;
  pthread_join(thread, 0);
  return 0;
}
