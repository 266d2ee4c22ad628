// -DGOOD: proved
// -DBUG: bug
#include "task.h"
#include <pthread.h>

int inc(int x) { return x + 1; }
int dec(int x) { return x - 1; }
struct ops {
  int (*op)(int);
} table[2] = {{inc}, {dec}};
int (*cur)(int);
int r;
void *f(void *a) {
  r = cur(5);
  return 0;
}
int main() {
  int i = __VERIFIER_nondet_int();
  assume_abort_if_not(i == 0 || i == 1);
  cur = table[i].op;
  pthread_t t;
  void *(*start)(void *) = f;
  pthread_create(&t, 0, start, 0);
  pthread_join(t, 0);
#ifdef BUG
  __VERIFIER_assert(r == 6);
#else
  __VERIFIER_assert(r == 6 && i == 0 || r == 4 && i == 1);
#endif
  return 0;
}
