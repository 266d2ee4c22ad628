// -DGOOD: proved
// -DBUG: bug
#include "task.h"
#include <pthread.h>

struct bf {
  unsigned a : 3;
  unsigned b : 5;
  int c : 4;
} s;
union u {
  int i;
  char c[4];
  float f;
} un;
void *f(void *x) {
  s.a = 5;
  s.b = 17;
  s.c = -2;
  un.i = 0x01020304;
  return 0;
}
int main() {
  pthread_t t;
  pthread_create(&t, 0, f, 0);
  pthread_join(t, 0);
  __VERIFIER_assert(s.a == 5 && s.b == 17 && s.c == -2);
#ifdef BUG
  __VERIFIER_assert(un.c[0] == 1);
#else
  __VERIFIER_assert(un.c[0] == 4);
#endif
  return 0;
}
