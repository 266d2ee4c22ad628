// : proved
// -DBUG: bug
/* The address of an element that an input chooses lies in shared memory. */
#include "task.h"
#include <pthread.h>

struct cell {
  struct cell *next;
  int value;
} cells[2], *top;
int used[2];

static void *push(void *unused) {
  int i = __VERIFIER_nondet_int();
  __VERIFIER_atomic_begin();
  assume_abort_if_not(0 <= i && i < 2 && !used[i]);
  used[i] = 1;
  struct cell *own = &cells[i];
  own->value = i + 1;
  own->next = top;
  top = own;
  __VERIFIER_atomic_end();
  return unused;
}

int main(void) {
  pthread_t first, second;
  pthread_create(&first, 0, push, 0);
  pthread_create(&second, 0, push, 0);
  pthread_join(first, 0);
  pthread_join(second, 0);
#ifdef BUG
  __VERIFIER_assert(top->value == 1);
#else
  __VERIFIER_assert(top->value + top->next->value == 3 && !top->next->next);
#endif
  return 0;
}
