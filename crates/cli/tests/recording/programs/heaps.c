/* Says where the blocks of threads are. Trees and locks are often ordered by such addresses. */

#include <pthread.h>
#include <stdlib.h>

#include "check.h"

enum { THREADS = 40 }; /* More than the C library has heaps, if nobody asks for more. */

static void *blocks[THREADS];
static pthread_barrier_t barrier;

static void *works(void *block) {
  *(void **)block = malloc(100);
  pthread_barrier_wait(&barrier); /* A thread that ends leaves its heap to others. */
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  pthread_barrier_init(&barrier, NULL, THREADS);
  for (int i = 0; i < THREADS; i++)
    CHECK(pthread_create(&threads[i], NULL, works, &blocks[i]) == 0);
  for (int i = 0; i < THREADS; i++) {
    CHECK(pthread_join(threads[i], NULL) == 0);
    printf("block %d is at %p\n", i, blocks[i]);
  }
  return 0;
}
