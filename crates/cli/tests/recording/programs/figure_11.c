// Paper 000, Fig. 11: the assertion fails only if both threads go through their first arm, and no run in which one of them is first does that.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y;

static void *foo(void *unused) {
  int a = y;
  if (a == 0) {
    x = 1;
    a = x + 1;
    x = a;
  } else {
    x = 0;
  }
  return unused;
}

static void *bar(void *unused) {
  int b = x;
  if (b == 0) {
    y = 1;
    b = y + 1;
    y = b;
  } else {
    y = 0;
  }
  return unused;
}

int main(void) {
  pthread_t one, two;
  pthread_create(&one, 0, foo, 0);
  pthread_create(&two, 0, bar, 0);
  pthread_join(one, 0);
  pthread_join(two, 0);
  int p = x, q = y;
#ifdef TWIN
  assert(p <= 2 && q <= 2);
#else
  assert(p != q);
#endif
  return 0;
}
