/* A message is passed with relaxed atomics: right under sequential consistency, wrong under weaker models. */

#include <pthread.h>
#include <stdatomic.h>

#include "check.h"

static int data;
static atomic_int flag;

static void *sends(void *unused) {
  data = 1;
  atomic_store_explicit(&flag, 1, memory_order_relaxed);
  return unused;
}

static void *receives(void *unused) {
  if (atomic_load_explicit(&flag, memory_order_relaxed))
    CHECK(data == 1);
  return unused;
}

int main(void) {
  pthread_t threads[2];
  CHECK(pthread_create(&threads[0], NULL, sends, NULL) == 0);
  CHECK(pthread_create(&threads[1], NULL, receives, NULL) == 0);
  CHECK(pthread_join(threads[0], NULL) == 0);
  CHECK(pthread_join(threads[1], NULL) == 0);
  return 0;
}
