// -DGOOD: proved
// -DBUG: bug
#include "task.h"
#include <pthread.h>

int st;
void *f(void *a) {
  int i = 0;
again:
  switch (i) {
    case 0:
      st = 1;
      i++;
      goto again;
    case 1:
      st = 2;
      i = 5;
      goto again;
    case 5:
      break;
    default:
      reach_error();
  }
  return 0;
}
int main() {
  pthread_t t;
  pthread_create(&t, 0, f, 0);
#ifdef BUG
  __VERIFIER_assert(st != 1);
#endif
  pthread_join(t, 0);
  __VERIFIER_assert(st == 2);
  return 0;
}
