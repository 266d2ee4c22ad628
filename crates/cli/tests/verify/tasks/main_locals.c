// --property ../tasks/valid-memory.prp: proved
// --property ../tasks/no-data-race.prp: proved
// --property ../tasks/valid-memory.prp -DELSEWHERE: bug
/* The process ends where main returns: its variables live as long. Those of others do not. */
#include "task.h"
#include <pthread.h>

static void *writes(void *place) {
  *(int *)place = 1;
  return 0;
}

static void starts(void) {
  pthread_t thread;
  int local;
  pthread_create(&thread, 0, writes, &local);
}

int main(void) {
#ifdef ELSEWHERE
  starts();
#else
  pthread_t thread;
  int local;
  pthread_create(&thread, 0, writes, &local);
#endif
  return 0;
}
