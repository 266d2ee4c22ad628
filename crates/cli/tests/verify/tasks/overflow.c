// --property ../tasks/no-overflow.prp: proved
// --property ../tasks/no-overflow.prp -DBUG: bug: signed overflow
// --property ../tasks/no-overflow.prp -DNEGATE: bug: signed overflow
// --property ../tasks/no-overflow.prp -DPRODUCT: bug: signed overflow
// --property ../tasks/no-overflow.prp -DQUOTIENT: bug: signed overflow
// --property ../tasks/no-overflow.prp -DSMALL: proved
// --overflow --check assertion -DBUG: bug: signed overflow
// --check assertion -DBUG: proved
#include "task.h"
#include <pthread.h>

int total;
short low = 32767;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *f(void *x) {
  for (int i = 0; i < 2; i++) {
    pthread_mutex_lock(&m);
    total = total + 1;
    pthread_mutex_unlock(&m);
  }
  unsigned wraps = 4294967295u;
  wraps++;
  return 0;
}
int main() {
  pthread_t a, b;
  int n = __VERIFIER_nondet_int();
#ifdef BUG
  total = 2147483644;
#elif defined NEGATE
  total = -n;
#elif defined PRODUCT
  assume_abort_if_not(n > 0);
  total = n * 3;
#elif defined QUOTIENT
  total = n / -1;
#elif defined SMALL
  low++;
#endif
  assume_abort_if_not(total < 2147483645);
  pthread_create(&a, 0, f, 0);
  pthread_create(&b, 0, f, 0);
  return 0;
}
