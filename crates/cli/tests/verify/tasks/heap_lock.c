// -DGOOD: proved
// -DBUG: bug
// --property ../tasks/no-data-race.prp -DGOOD: proved
#include "task.h"
#include <pthread.h>
#include <stdlib.h>
struct acc {
  pthread_mutex_t m;
  int bal;
};
struct acc *shared;
void *f(void *arg) {
  struct acc *p = shared;
  pthread_mutex_lock(&p->m);
  int b = p->bal;
  p->bal = b + 1;
  pthread_mutex_unlock(&p->m);
  return 0;
}
int main() {
  pthread_t a, b;
  shared = malloc(sizeof *shared);
  pthread_mutex_init(&shared->m, 0);
  shared->bal = 0;
  pthread_create(&a, 0, f, 0);
  pthread_create(&b, 0, f, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
#ifdef BUG
  __VERIFIER_assert(shared->bal == 1);
#else
  __VERIFIER_assert(shared->bal == 2);
#endif
  free(shared);
  return 0;
}
