// --property ../tasks/valid-memsafety.prp: proved
// --property ../tasks/valid-memsafety.prp -DHEAP: unknown
// --property ../tasks/valid-memsafety.prp -DOUTSIDE: bug
#include "task.h"
#include <pthread.h>
#include <stdlib.h>

int table[4];
void *f(void *x) {
  int at = __VERIFIER_nondet_int();
#ifdef OUTSIDE
  assume_abort_if_not(at >= 0 && at <= 4);
#else
  assume_abort_if_not(at >= 0 && at < 4);
#endif
  table[at] = 1;
#ifdef HEAP
  x = malloc(4);
#endif
  return 0;
}
int main() {
  pthread_t t;
  pthread_create(&t, 0, f, 0);
  pthread_join(t, 0);
  return 0;
}
