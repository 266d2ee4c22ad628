// : unknown
// -DNULL_ONLY: proved
#include "task.h"
#include <pthread.h>
#include <stdlib.h>

/* Where blocks lie is made up by the interpreter: what it leads to there need not happen. */
unsigned long where;
void *worker(void *arg) {
  where = (unsigned long)arg;
  return 0;
}
int main() {
  pthread_t t;
  char *block = malloc(8);
  pthread_create(&t, 0, worker, block);
  pthread_join(t, 0);
#ifdef NULL_ONLY
  __VERIFIER_assert(where != 0);
#else
  __VERIFIER_assert(where >> 36 != 1);
#endif
  return 0;
}
