// -DGOOD: proved
// -DBUG: bug
// --property ../tasks/no-data-race.prp -DGOOD: proved
#include "task.h"
#include <pthread.h>

int seen[3];
void *f(void *arg) {
  int i = (int)(long)arg;
  seen[i] = i + 1;
  return 0;
}
int main() {
  pthread_t t[3];
  for (long i = 0; i < 3; i++) pthread_create(&t[i], 0, f, (void *)i);
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
  __VERIFIER_assert(seen[0] == 1 && seen[1] == 2 &&
                    seen[2] ==
#ifdef BUG
                        2);
#else
                        3);
#endif
  return 0;
}
