/* What is not known: a function that nobody defines, or with LOOP how often a loop goes round. */
#include <assert.h>

extern int mystery(int);
extern int __VERIFIER_nondet_int(void);

int x;

int main(void) {
#ifdef LOOP
  int n = __VERIFIER_nondet_int();
  for (int k = 0; k < n; k++) x += 2;
  assert(x != 7);
#else
  if (__VERIFIER_nondet_int() == 3) x = mystery(1);
  assert(x == 0);
#endif
  return 0;
}
