// -DGOOD: proved
// -DBUG: bug
#include "task.h"
#include <pthread.h>

int a[10];
void *f(void *x) {
  int i = __VERIFIER_nondet_int();
  assume_abort_if_not(i >= 0 && i < 10);
  a[i] = i;
  return 0;
}
int main() {
  pthread_t t;
  pthread_create(&t, 0, f, 0);
  pthread_join(t, 0);
  int j = __VERIFIER_nondet_int();
  assume_abort_if_not(j >= 0 && j < 10);
#ifdef BUG
  __VERIFIER_assert(a[j] == 0);
#else
  __VERIFIER_assert(a[j] == 0 || a[j] == j);
#endif
  return 0;
}
