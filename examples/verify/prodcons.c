/* A buffer of one place with a lock and condition variables. With BUG a consumer that was woken
   does not look again. */
#include <assert.h>
#include <pthread.h>

#ifndef ITEMS
#define ITEMS 2
#endif

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static int full, item;

static void *producer(void *unused) {
  for (int k = 1; k <= ITEMS; k++) {
    pthread_mutex_lock(&m);
    while (full) pthread_cond_wait(&emptied, &m);
    item = k;
    full = 1;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&m);
  }
  return unused;
}

static void *consumer(void *unused) {
  for (int k = 1; k <= ITEMS; k++) {
    pthread_mutex_lock(&m);
#ifdef BUG
    if (!full) pthread_cond_wait(&filled, &m);
#else
    while (!full) pthread_cond_wait(&filled, &m);
#endif
    assert(item == k);
    full = 0;
    pthread_cond_signal(&emptied);
    pthread_mutex_unlock(&m);
  }
  return unused;
}

int main(void) {
  pthread_t first, second;
  pthread_create(&first, 0, producer, 0);
  pthread_create(&second, 0, consumer, 0);
  pthread_join(first, 0);
  pthread_join(second, 0);
  return 0;
}
