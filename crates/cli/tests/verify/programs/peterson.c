/* Peterson's lock for two threads; with BUG nobody gives way. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int wants[2], turn;
int inside;

static void *enter(void *number) {
  int me = number != 0, other = 1 - me;
  wants[me] = 1;
#ifndef BUG
  turn = other;
#endif
  while (wants[other] == 1 && turn == other) {
  }
  inside++;
  assert(inside == 1);
  inside--;
  wants[me] = 0;
  return 0;
}

int main(void) {
  pthread_t first, second;
  pthread_create(&first, 0, enter, 0);
  pthread_create(&second, 0, enter, &inside);
  pthread_join(first, 0);
  pthread_join(second, 0);
  return 0;
}
