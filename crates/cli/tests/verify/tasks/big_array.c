// -DGOOD: proved
// -DBUG: bug
#include "task.h"
#include <pthread.h>

int a[100000];
static char b[1 << 20];
void *f(void *x) {
  a[99999] = 1;
  a[5] = 2;
  b[7] = 3;
  return 0;
}
int main() {
  pthread_t t;
  pthread_create(&t, 0, f, 0);
  pthread_join(t, 0);
#ifdef BUG
  __VERIFIER_assert(a[5] == 1);
#else
  __VERIFIER_assert(a[99999] == 1 && a[5] == 2 && b[7] == 3 && a[17] == 0);
#endif
  return 0;
}
