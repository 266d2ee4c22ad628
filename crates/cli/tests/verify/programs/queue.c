/* A producer and a consumer with a condition variable; with BUG the consumer trusts its wake-up. */
#include <assert.h>
#include <pthread.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
int ready, data;

static void *produce(void *unused) {
  pthread_mutex_lock(&m);
  data = 42;
  ready = 1;
  pthread_cond_signal(&c);
  pthread_mutex_unlock(&m);
  return unused;
}

int main(void) {
  pthread_t producer;
  pthread_create(&producer, 0, produce, 0);
  pthread_mutex_lock(&m);
#ifdef BUG
  if (!ready) pthread_cond_wait(&c, &m);
#else
  while (!ready) pthread_cond_wait(&c, &m);
#endif
  assert(data == 42);
  pthread_mutex_unlock(&m);
  pthread_join(producer, 0);
  return 0;
}
