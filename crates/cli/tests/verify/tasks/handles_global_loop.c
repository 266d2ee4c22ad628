// -DGOOD: proved
// -DBUG: bug
#include "task.h"
#include <pthread.h>

pthread_t ids[4];
int cnt;
void *f(void *a) {
  __atomic_fetch_add(&cnt, 1, 5);
  return 0;
}
void start(int n) {
  for (int i = 0; i < n; i++) pthread_create(ids + i, 0, f, 0);
}
void stop(int n) {
  for (int i = 0; i < n; i++) pthread_join(ids[i], 0);
}
int main() {
  start(3);
  stop(3);
#ifdef BUG
  __VERIFIER_assert(cnt == 2);
#else
  __VERIFIER_assert(cnt == 3);
#endif
  return 0;
}
