// -DGOOD: proved
// -DBUG: bug
#include "task.h"
#include <pthread.h>

int x, l, c;
void *f(void *a) {
  __sync_fetch_and_add(&x, 1);
  while (__sync_lock_test_and_set(&l, 1));
  c++;
  __sync_lock_release(&l);
  int e = 0;
  while (!__atomic_compare_exchange_n(&e, &e, 0, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  __atomic_fetch_add(&x, 1, __ATOMIC_ACQ_REL);
  __sync_synchronize();
  int o;
  do {
    o = __atomic_load_n(&x, __ATOMIC_RELAXED);
  } while (!__sync_bool_compare_and_swap(&x, o, o + 1));
  return 0;
}
int main() {
  pthread_t a, b;
  pthread_create(&a, 0, f, 0);
  pthread_create(&b, 0, f, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
#ifdef BUG
  __VERIFIER_assert(x == 5);
#else
  __VERIFIER_assert(x == 6 && c == 2);
#endif
  return 0;
}
