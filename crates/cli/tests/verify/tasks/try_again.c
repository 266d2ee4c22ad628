// --property ../tasks/no-data-race.prp -DGOOD: proved
// --property ../tasks/no-data-race.prp -DBUG: bug
// --property ../tasks/no-data-race.prp -DFEW: bug
#include <pthread.h>
#include <semaphore.h>

/* Loops that try until they get a lock wait for it. With BUG one of them looks at what the lock
 * protects while it tries, with FEW it gives up after three attempts. */
int counter, seen;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
sem_t tokens;

void *worker(void *unused) {
  int tries = 0;
  while (pthread_mutex_trylock(&lock)) {
#ifdef BUG
    seen = counter;
#endif
#ifdef FEW
    if (++tries == 3) {
      counter++;
      return 0;
    }
#endif
  }
  counter += tries + 1;
  pthread_mutex_unlock(&lock);
  while (sem_trywait(&tokens))
    ;
  seen++;
  sem_post(&tokens);
  return 0;
}

int main(void) {
  pthread_t thread;
  sem_init(&tokens, 0, 1);
  pthread_create(&thread, 0, worker, 0);
  pthread_mutex_lock(&lock);
  counter++;
  pthread_mutex_unlock(&lock);
  while (sem_trywait(&tokens))
    ;
  seen++;
  sem_post(&tokens);
  pthread_join(thread, 0);
  return 0;
}
