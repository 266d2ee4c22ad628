// -DGOOD: proved
// -DBUG: bug
#include "task.h"
#include <pthread.h>

int g;
long v;
void *f(void *x) {
  v = (long)x;
  return (void *)(long)(int)v;
}
int main() {
  pthread_t t;
  pthread_create(&t, 0, f, (void *)(long)-3);
  void *r;
  pthread_join(t, &r);
#ifdef BUG
  __VERIFIER_assert(v == 3);
#else
  __VERIFIER_assert(v == -3 && (int)(long)r == -3);
#endif
  return 0;
}
