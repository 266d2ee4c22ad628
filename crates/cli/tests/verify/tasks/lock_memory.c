// --property ../tasks/valid-memory.prp -DCASE=0: proved
// --property ../tasks/valid-memory.prp -DCASE=1: bug
// --property ../tasks/valid-memory.prp -DCASE=2: bug
// --property ../tasks/valid-memory.prp -DCASE=3: bug
// --property ../tasks/valid-memory.prp -DCASE=4: bug
/* Locks and the like in memory that is not live, or nowhere. */
#include "task.h"
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

struct guarded {
  pthread_mutex_t lock;
  int value;
} *guarded;
pthread_mutex_t locks[3];

static void *adds(void *unused) {
  pthread_mutex_lock(&guarded->lock);
  pthread_mutex_unlock(&guarded->lock);
  return unused;
}

int main(void) {
  pthread_t thread;
  guarded = malloc(sizeof *guarded);
  pthread_mutex_init(&guarded->lock, 0);
  pthread_create(&thread, 0, adds, 0);
#if CASE == 1
  free(guarded);
#endif
  pthread_join(thread, 0);
#if CASE == 2
  pthread_mutex_lock(&locks[3]);
#elif CASE == 3
  pthread_mutex_t *none = 0;
  pthread_mutex_lock(none);
#elif CASE == 4
  sem_post(0);
#else
  pthread_mutex_lock(&locks[2]);
#endif
  return 0;
}
