// -DGOOD: proved
// -DBUG: bug
#include "task.h"
#include <pthread.h>

int fact(int n) { return n <= 1 ? 1 : n * fact(n - 1); }
int g;
void *f(void *a) {
  g = fact(5);
  return 0;
}
int main() {
  pthread_t t;
  pthread_create(&t, 0, f, 0);
  pthread_join(t, 0);
#ifdef BUG
  __VERIFIER_assert(g == 24);
#else
  __VERIFIER_assert(g == 120);
#endif
  return 0;
}
