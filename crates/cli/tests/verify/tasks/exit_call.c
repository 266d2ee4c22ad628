// -DGOOD: proved
// -DBUG: bug
#include "task.h"
#include <pthread.h>
#include <stdlib.h>
int x;
void *f(void *a) {
  if (x == 0) exit(0);
#ifdef BUG
  __VERIFIER_assert(x == 2);
#endif
  return 0;
}
int main() {
  pthread_t t;
  pthread_create(&t, 0, f, 0);
  x = 1;
  pthread_join(t, 0);
  return 0;
}
