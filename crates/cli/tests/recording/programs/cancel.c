/* Deferred cancellation, where a thread runs and where it waits. */

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t ready, empty;
static int cleaned, waiting;

static void clean(void *mutex) {
  cleaned++; /* The mutex is held here, also after a wait. */
  CHECK(pthread_mutex_unlock(mutex) == 0);
}

static void *waits_on_condition(void *unused) {
  pthread_mutex_lock(&lock);
  pthread_cleanup_push(clean, &lock);
  waiting = 1;
  for (;;)
    pthread_cond_wait(&never, &lock);
  pthread_cleanup_pop(1);
  return unused;
}

static void *tests(void *unused) {
  sem_post(&ready);
  for (;;)
    pthread_testcancel(), sched_yield();
  return unused;
}

static void *waits_on_semaphore(void *unused) {
  sem_post(&ready);
  sem_wait(&empty);
  return unused;
}

static void *sleeps(void *unused) {
  sem_post(&ready);
  for (;;)
    sleep(1000);
  return unused;
}

static void *joins(void *other) {
  sem_post(&ready);
  pthread_join(*(pthread_t *)other, NULL);
  return NULL;
}

static void *refuses(void *unused) {
  int old;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
  sem_post(&ready);
  sem_wait(&empty);
  return unused;
}

static void *result_of(pthread_t thread) {
  void *result;
  CHECK(pthread_join(thread, &result) == 0);
  return result;
}

int main(void) {
  pthread_t thread, other;
  sem_init(&ready, 0, 0);
  sem_init(&empty, 0, 0);

  pthread_create(&thread, NULL, waits_on_condition, NULL);
  for (int seen = 0; !seen; sched_yield()) {
    pthread_mutex_lock(&lock);
    seen = waiting;
    pthread_mutex_unlock(&lock);
  }
  CHECK(pthread_cancel(thread) == 0);
  CHECK(result_of(thread) == PTHREAD_CANCELED);
  CHECK(cleaned == 1);
  CHECK(pthread_mutex_trylock(&lock) == 0); /* It was given back. */
  pthread_mutex_unlock(&lock);

  void *(*starts[])(void *) = {tests, waits_on_semaphore, sleeps};
  for (int i = 0; i < 3; i++) {
    pthread_create(&thread, NULL, starts[i], NULL);
    sem_wait(&ready);
    CHECK(pthread_cancel(thread) == 0);
    CHECK(result_of(thread) == PTHREAD_CANCELED);
  }

  /* A join is a cancellation point; the thread that it waited for can still be joined. */
  pthread_create(&other, NULL, refuses, &other);
  sem_wait(&ready);
  pthread_create(&thread, NULL, joins, &other);
  sem_wait(&ready);
  CHECK(pthread_cancel(thread) == 0);
  CHECK(result_of(thread) == PTHREAD_CANCELED);
  CHECK(pthread_cancel(other) == 0);
  sem_post(&empty);
  CHECK(result_of(other) == &other);
  return 0;
}
