/* Each thread sets its variable to one more than the other's: the two climb like stairs
   (Competition on Software Verification, pthread/triangular). */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef ROUNDS
#define ROUNDS 10
#endif

static _Atomic int i = 3, j = 6;

static void *step_i(void *unused) {
  for (int k = 0; k < ROUNDS; k++) i = j + 1;
  return unused;
}

static void *step_j(void *unused) {
  for (int k = 0; k < ROUNDS; k++) j = i + 1;
  return unused;
}

int main(void) {
  pthread_t first, second;
  pthread_create(&first, 0, step_i, 0);
  pthread_create(&second, 0, step_j, 0);
#ifdef BUG
  int most = 2 * ROUNDS + 6;
#else
  int most = 2 * ROUNDS + 7;
#endif
  assert(i < most && j < most);
  return 0;
}
