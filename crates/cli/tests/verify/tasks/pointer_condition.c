// -DBUG: bug
// -DNULLED: proved
// -DBYTE: unknown
#include "task.h"
#include <pthread.h>
#include <stdlib.h>

/* A pointer where an int is expected: its lower half is a truth value. */
int g;
void *worker(void *arg) {
  g = 1;
  return 0;
}
int main() {
  int *block = malloc(4), *other = &g;
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  pthread_join(t, 0);
#ifdef BUG
  assume_abort_if_not(block);
  assume_abort_if_not(other);
  assume_abort_if_not(worker);
  reach_error();
#elif defined NULLED
  block = 0;
  assume_abort_if_not(block);
  reach_error();
#elif defined BYTE
  if ((char)(long)block == 0) {
    reach_error();
  }
#endif
  return 0;
}
