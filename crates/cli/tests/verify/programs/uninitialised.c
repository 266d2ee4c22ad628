/* A variable that is read before it is written. */
#include <assert.h>

extern int __VERIFIER_nondet_int(void);

int main(void) {
  int x;
  if (__VERIFIER_nondet_int()) x = 1;
  assert(x == 1);
  return 0;
}
