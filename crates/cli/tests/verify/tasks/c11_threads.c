// -DGOOD: proved
// -DBUG: bug
#include "task.h"
#include <pthread.h>
#include <threads.h>
mtx_t m;
int x;
int f(void *a) {
#ifndef BUG
  mtx_lock(&m);
#endif
  x++;
#ifndef BUG
  mtx_unlock(&m);
#endif
  return 3;
}
int main() {
  thrd_t a, b;
  int r;
  mtx_init(&m, mtx_plain);
  thrd_create(&a, f, 0);
  thrd_create(&b, f, 0);
  thrd_join(a, &r);
  thrd_join(b, 0);
  __VERIFIER_assert(x == 2 && r == 3);
  mtx_destroy(&m);
  return 0;
}
