// -DPETERSON: proved
// -DPETERSON -DBUG: bug
// -DCALL: proved
// -DCALL -DBUG: bug
// -DFLAG: proved
// -DFLAG -DBUG: bug
#include "task.h"
#include <pthread.h>
#include <stdatomic.h>

int inside;
#ifdef PETERSON
int flags[2], turn;
void lock(int own) {
  flags[own] = 1;
  turn = !own;
  int other = flags[!own];
  int whose = turn;
  while (other == 1 && whose == !own) {
    other = flags[!own];
    whose = turn;
  }
}
void unlock(int own) { flags[own] = 0; }
#elif defined CALL
int taken;
int __VERIFIER_atomic_take(int *place) {
  if (*place == 0) {
    *place = 1;
    return 1;
  }
  return 0;
}
void lock(int own) {
  while (!__VERIFIER_atomic_take(&taken)) {
  }
}
void unlock(int own) { taken = 0; }
#else
atomic_flag flag = ATOMIC_FLAG_INIT;
void lock(int own) {
  while (atomic_flag_test_and_set(&flag)) {
  }
}
void unlock(int own) { atomic_flag_clear(&flag); }
#endif
void work(int own) {
#ifdef BUG
  if (own == 0)
#endif
    lock(own);
  inside++;
  __VERIFIER_assert(inside == 1);
  inside--;
  unlock(own);
}
void *f(void *x) {
  work(1);
  return 0;
}
int main() {
  pthread_t t;
  pthread_create(&t, 0, f, 0);
  work(0);
  pthread_join(t, 0);
  return 0;
}
