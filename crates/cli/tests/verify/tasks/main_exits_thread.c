// -DGOOD: proved
// -DBUG: bug
#include "task.h"
#include <pthread.h>

int x;
void *f(void *a) {
  x = x + 1;
#ifdef BUG
  __VERIFIER_assert(x == 0);
#endif
  return 0;
}
int main() {
  pthread_t t;
  pthread_create(&t, 0, f, 0);
  pthread_exit(0);
  reach_error();
}
