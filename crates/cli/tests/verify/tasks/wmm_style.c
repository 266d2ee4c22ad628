// -DGOOD: proved
// -DBUG: bug
// --property ../tasks/no-data-race.prp -DGOOD: proved
#include "task.h"
#include <pthread.h>

int __unbuffered_cnt = 0;
int x = 0, y = 0;
int r0 = 0, r1 = 0;
_Bool x$buf_used;
int x$buf;
_Bool main$g;
_Bool choice;
void *P0(void *arg) {
  __VERIFIER_atomic_begin();
  choice = __VERIFIER_nondet_bool();
  x$buf = 1;
  x$buf_used = 1;
  __VERIFIER_atomic_end();
  __VERIFIER_atomic_begin();
  r0 = y;
  __VERIFIER_atomic_end();
  __VERIFIER_atomic_begin();
  x = x$buf_used ? x$buf : x;
  x$buf_used = x$buf_used ? (_Bool)0 : x$buf_used;
  __VERIFIER_atomic_end();
  __VERIFIER_atomic_begin();
  __unbuffered_cnt = __unbuffered_cnt + 1;
  __VERIFIER_atomic_end();
  return 0;
}
void *P1(void *arg) {
  __VERIFIER_atomic_begin();
  y = 1;
  __VERIFIER_atomic_end();
  __VERIFIER_atomic_begin();
  r1 = x;
  __VERIFIER_atomic_end();
  __VERIFIER_atomic_begin();
  __unbuffered_cnt = __unbuffered_cnt + 1;
  __VERIFIER_atomic_end();
  return 0;
}
int main() {
  pthread_t t0, t1;
  pthread_create(&t0, 0, P0, 0);
  pthread_create(&t1, 0, P1, 0);
  __VERIFIER_atomic_begin();
  main$g = __unbuffered_cnt == 2;
  __VERIFIER_atomic_end();
  assume_abort_if_not(main$g);
#ifdef BUG
  __VERIFIER_assert(!(r0 == 0 && r1 == 0));
#else
  __VERIFIER_assert(r0 <= 1 && r1 <= 1);
#endif
  return 0;
}
