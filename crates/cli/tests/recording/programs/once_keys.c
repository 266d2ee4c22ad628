/* Initialisation by the first that comes; values of threads, with destructors. */

#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

#include "check.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static int made, destroyed, again;

static void destroy(void *value) {
  pthread_mutex_lock(&lock);
  destroyed += *(int *)value;
  pthread_mutex_unlock(&lock);
  if (*(int *)value == 3 && !again) { /* Destructors may set values anew. */
    again = 1;
    pthread_setspecific(key, value);
    return;
  }
  free(value);
}

static void make(void) {
  CHECK(pthread_key_create(&key, destroy) == 0);
  made++;
}

static void *uses(void *argument) {
  int *value;
  CHECK(pthread_once(&once, make) == 0);
  CHECK(made == 1 && pthread_getspecific(key) == NULL);
  value = malloc(sizeof *value);
  *value = *(int *)argument;
  CHECK(pthread_setspecific(key, value) == 0);
  CHECK(*(int *)pthread_getspecific(key) == *(int *)argument);
  return NULL;
}

int main(void) {
  pthread_t threads[3];
  int numbers[3] = {1, 2, 3};
  for (int i = 0; i < 3; i++)
    pthread_create(&threads[i], NULL, uses, &numbers[i]);
  for (int i = 0; i < 3; i++)
    pthread_join(threads[i], NULL);
  CHECK(pthread_once(&once, make) == 0 && made == 1);
  CHECK(destroyed == 9); /* And what destructors did is ordered before the join. */
  return 0;
}
