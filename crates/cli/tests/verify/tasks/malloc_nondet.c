// -DGOOD: proved
// -DBUG: bug
#include "task.h"
#include <pthread.h>
#include <stdlib.h>
int *A;
int n;
void *f(void *x) {
  for (int i = 0; i < n; i++) A[i] = i;
  return 0;
}
int main() {
  n = __VERIFIER_nondet_int();
  assume_abort_if_not(n > 0 && n < 4);
  A = malloc(n * sizeof(int));
  pthread_t t;
  pthread_create(&t, 0, f, 0);
  pthread_join(t, 0);
#ifdef BUG
  __VERIFIER_assert(A[n - 1] != 2);
#else
  __VERIFIER_assert(A[n - 1] == n - 1);
#endif
  return 0;
}
