// -DGOOD: proved
// -DBUG: bug
#include "task.h"
#include <pthread.h>
#include <stdlib.h>
void *f(void *arg) {
  int *p = malloc(sizeof(int));
  *p = *(int *)arg + 1;
  return p;
}
int main() {
  pthread_t t[2];
  int a[2] = {1, 2};
  int sum = 0;
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, f, &a[i]);
  for (int i = 0; i < 2; i++) {
    int *r;
    pthread_join(t[i], (void **)&r);
    sum += *r;
    free(r);
  }
#ifdef BUG
  __VERIFIER_assert(sum == 4);
#else
  __VERIFIER_assert(sum == 5);
#endif
  return 0;
}
