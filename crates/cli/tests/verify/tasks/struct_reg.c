// -DGOOD: proved
// -DBUG: bug
#include "task.h"
#include <pthread.h>

struct pair {
  int a, b;
};
struct three {
  long a, b, c;
};
struct two {
  long a, b;
};
struct pair mk(int a, int b) {
  struct pair p = {a, b};
  return p;
}
struct two mk2(long a) {
  struct two t = {a, a + 1};
  return t;
}
struct three mk3(long a) {
  struct three t = {a, a + 1, a + 2};
  return t;
}
int sum(struct pair p) { return p.a + p.b; }
long sum2(struct two t) { return t.a + t.b; }
long sum3(struct three t) { return t.a + t.b + t.c; }
int main() {
  int n = __VERIFIER_nondet_int();
  assume_abort_if_not(n > 0 && n < 100);
  __VERIFIER_assert(sum(mk(n, 1)) == n + 1);
  __VERIFIER_assert(sum2(mk2(n)) == 2 * n + 1);
#ifdef BUG
  __VERIFIER_assert(sum3(mk3(n)) != 33);
#else
  __VERIFIER_assert(sum3(mk3(n)) == 3 * n + 3);
#endif
  return 0;
}
