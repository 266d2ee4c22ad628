// -DGOOD: proved
// -DBUG: bug
// --property ../tasks/no-data-race.prp -DGOOD: proved
// --property ../tasks/no-data-race.prp -DBUG: bug: race
#include "task.h"
#include <pthread.h>
#include <semaphore.h>
sem_t s;
int x;
void *f(void *a) {
  sem_wait(&s);
  x++;
  sem_post(&s);
  return 0;
}
int main() {
  pthread_t a, b;
  sem_init(&s, 0,
#ifdef BUG
           2
#else
           1
#endif
  );
  pthread_create(&a, 0, f, 0);
  pthread_create(&b, 0, f, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  __VERIFIER_assert(x == 2);
  sem_destroy(&s);
  return 0;
}
