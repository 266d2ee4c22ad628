// -DGOOD: proved
// -DBUG: bug
// --property ../tasks/no-data-race.prp -DBUG: bug: race
#include "task.h"
#include <pthread.h>

int x;
void *f(void *a) {
  x = 1;
  return 0;
}
int main() {
  pthread_t t;
  pthread_attr_t at;
  pthread_attr_init(&at);
  pthread_attr_setdetachstate(&at, 1);
  pthread_create(&t, &at, f, 0);
  pthread_attr_destroy(&at);
  pthread_t u;
  pthread_create(&u, 0, f, 0);
  pthread_detach(u);
#ifdef BUG
  __VERIFIER_assert(x == 0);
#else
  __VERIFIER_assert(x == 0 || x == 1);
#endif
  return 0;
}
