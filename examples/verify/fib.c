/* Two threads add each other's variable to their own. How large can the results become? Exactly the
   Fibonacci numbers (Competition on Software Verification, pthread/fib_bench). */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef ROUNDS
#define ROUNDS 5
#endif

static _Atomic int i = 1, j = 1;

static void *add_to_i(void *unused) {
  for (int k = 0; k < ROUNDS; k++) i = i + j;
  return unused;
}

static void *add_to_j(void *unused) {
  for (int k = 0; k < ROUNDS; k++) j = j + i;
  return unused;
}

static int fibonacci(int n) {
  int a = 0, b = 1;
  for (int k = 0; k < n; k++) {
    int next = a + b;
    a = b;
    b = next;
  }
  return a;
}

int main(void) {
  pthread_t first, second;
  pthread_create(&first, 0, add_to_i, 0);
  pthread_create(&second, 0, add_to_j, 0);
  int most = fibonacci(2 * ROUNDS + 2);
#ifdef BUG
  assert(i < most && j < most);
#else
  assert(i <= most && j <= most);
#endif
  return 0;
}
