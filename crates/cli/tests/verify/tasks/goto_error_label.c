// -DGOOD: proved
// -DBUG: bug
#include "task.h"
#include <pthread.h>

int turn, f0, f1, x;
void *t0(void *a) {
  f0 = 1;
  turn = 1;
  while (f1 == 1 && turn == 1) {
  }
  x = 0;
  if (x > 0) goto ERROR;
  f0 = 0;
  return 0;
ERROR: {
  reach_error();
  abort();
}
  return 0;
}
void *t1(void *a) {
  f1 = 1;
#ifndef BUG
  turn = 0;
#endif
  while (f0 == 1 && turn == 0) {
  }
  x = 1;
  if (x < 1) goto ERROR;
  f1 = 0;
  return 0;
ERROR: {
  reach_error();
  abort();
}
  return 0;
}
int main() {
  pthread_t a, b;
  pthread_create(&a, 0, t0, 0);
  pthread_create(&b, 0, t1, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
