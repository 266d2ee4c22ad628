// -DGOOD: proved
// -DBUG: bug
// --property ../tasks/valid-memory.prp -DGOOD: proved
// --property ../tasks/valid-memory.prp -DOUTSIDE: bug
#include "task.h"
#include <pthread.h>

/* Several indices that depend on data in one address; a pointer minus an index; constants for
   parameters of a function that is called through a pointer. */
short table[3][4];
int list[8] = {0, 1, 2, 3, 4, 5, 6, 7};
int wide(int x) {
  return x;
}
long narrow(short x) {
  return x + 1;
}
long (*functions[2])(short) = {narrow, narrow};
void *worker(void *arg) {
  unsigned i = __VERIFIER_nondet_uint() % 3, j = __VERIFIER_nondet_uint() % 4;
#ifdef OUTSIDE
  j += 2;
#endif
  table[i][j] += 5;
  int *end = &list[7];
  __VERIFIER_assert(*(end - (long)(i + j)) == 7 - (int)(i + j));
  __VERIFIER_assert(functions[i & 1](-3) == -2);
#ifdef BUG
  __VERIFIER_assert(table[2][3] == 0);
#else
  __VERIFIER_assert(table[i][j] == 5 && table[i][j ^ 1] == 0);
#endif
  return 0;
}
int main() {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  pthread_join(t, 0);
  return wide(0);
}
