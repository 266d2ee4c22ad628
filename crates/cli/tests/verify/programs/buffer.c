// A buffer of one place. With ONE_CONDITION for both sides, a signal may wake the wrong one, and
// everybody waits.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static int place, used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
#ifdef ONE_CONDITION
#define emptied filled
#else
static pthread_cond_t emptied = PTHREAD_COND_INITIALIZER;
#endif

static void *put(void *unused) {
  pthread_mutex_lock(&lock);
  while (used)
    pthread_cond_wait(&emptied, &lock);
  place = 7;
  used = 1;
  pthread_cond_signal(&filled);
  pthread_mutex_unlock(&lock);
  return unused;
}

static void *take(void *unused) {
  pthread_mutex_lock(&lock);
  while (!used)
    pthread_cond_wait(&filled, &lock);
  assert(place == 7);
  used = 0;
  pthread_cond_signal(&emptied);
  pthread_mutex_unlock(&lock);
  return unused;
}

int main(void) {
  pthread_t threads[4];
  for (int number = 0; number < 4; number++)
    pthread_create(&threads[number], NULL, number % 2 ? put : take, NULL);
  for (int number = 0; number < 4; number++)
    pthread_join(threads[number], NULL);
  return 0;
}
