/* Two threads add to each other's variable; how large can the results be? */
#include <assert.h>
#include <pthread.h>

#define ROUNDS 4

int i = 1, j = 1;

static void *add_to_i(void *unused) {
  for (int k = 0; k < ROUNDS; k++) i += j;
  return unused;
}

static void *add_to_j(void *unused) {
  for (int k = 0; k < ROUNDS; k++) j += i;
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
  pthread_join(first, 0);
  pthread_join(second, 0);
  int most = fibonacci(2 * ROUNDS + 2);
#ifdef BUG
  assert(i < most && j < most);
#else
  assert(i <= most && j <= most);
#endif
  return 0;
}
