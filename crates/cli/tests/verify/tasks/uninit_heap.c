// -DGOOD: proved
// -DBUG: bug
#include "task.h"
#include <pthread.h>
#include <stdlib.h>
struct n {
  int a, b;
};
struct n *p;
void *f(void *x) {
  p->a = 1;
  return 0;
}
int main() {
  pthread_t t;
  p = malloc(sizeof *p);
  pthread_create(&t, 0, f, 0);
  pthread_join(t, 0);
  __VERIFIER_assert(p->a == 1);
#ifdef BUG
  __VERIFIER_assert(p->b == 0);
#else
  int b = p->b;
  if (b > 0) b = 0;
  __VERIFIER_assert(b <= 0);
#endif
  return 0;
}
