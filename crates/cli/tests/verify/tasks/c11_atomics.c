// -DGOOD: proved
// -DBUG: bug
#include "task.h"
#include <pthread.h>
#include <stdatomic.h>
atomic_int x;
_Atomic int y;
atomic_flag fl = ATOMIC_FLAG_INIT;
int z;
atomic_bool bb;
_Atomic(int *) ptr;
int t;
void *f(void *a) {
  atomic_fetch_add(&x, 1);
  y += 2;
  while (atomic_flag_test_and_set(&fl));
  z = z + 1;
  atomic_flag_clear(&fl);
  int e = 0;
  atomic_compare_exchange_strong(&ptr, (int *[]){0}, &t);
  atomic_store(&bb, 1);
  return 0;
}
int main() {
  pthread_t a, b;
  pthread_create(&a, 0, f, 0);
  pthread_create(&b, 0, f, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
#ifdef BUG
  __VERIFIER_assert(atomic_load(&x) == 2 && y == 2);
#else
  __VERIFIER_assert(atomic_load(&x) == 2 && y == 4 && z == 2 && bb && ptr == &t);
#endif
  return 0;
}
