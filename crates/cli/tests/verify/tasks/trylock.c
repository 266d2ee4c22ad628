// -DGOOD: proved
// -DBUG: bug
// --property ../tasks/no-data-race.prp -DGOOD: proved
#include "task.h"
#include <pthread.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int x;
void *f(void *a) {
  if (!pthread_mutex_trylock(&m)) {
    x = 1;
    __VERIFIER_assert(x == 1);
    x = 2;
    pthread_mutex_unlock(&m);
  }
#ifdef BUG
  else
    reach_error();
#endif
  return 0;
}
int main() {
  pthread_t a, b;
  pthread_create(&a, 0, f, 0);
  pthread_create(&b, 0, f, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
