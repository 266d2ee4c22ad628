// -DGOOD: proved
// -DBUG: bug
// --property ../tasks/no-data-race.prp -DGOOD: proved
// --property ../tasks/no-data-race.prp -DBUG: bug: race
#include "task.h"
#include <pthread.h>

int l, x;
void __VERIFIER_atomic_acquire() {
  assume_abort_if_not(l == 0);
  l = 1;
}
void __VERIFIER_atomic_release() { l = 0; }
int __VERIFIER_atomic_cas(int *v, int e, int u) {
  if (*v == e) {
    *v = u;
    return 1;
  }
  return 0;
}
void *f(void *a) {
#ifndef BUG
  __VERIFIER_atomic_acquire();
#endif
  x = 0;
  x++;
  __VERIFIER_assert(x >= 1);
  x--;
#ifndef BUG
  __VERIFIER_atomic_release();
#endif
  int y = 0;
  __VERIFIER_assert(__VERIFIER_atomic_cas(&y, 0, 1));
  return 0;
}
int main() {
  pthread_t a, b;
  pthread_create(&a, 0, f, 0);
  pthread_create(&b, 0, f, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
