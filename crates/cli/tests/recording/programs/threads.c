/* Creating, joining, detaching and ending threads. */

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"

static int total;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t gate, detached_done;

static void *returns(void *argument) {
  pthread_mutex_lock(&lock);
  total++;
  pthread_mutex_unlock(&lock);
  return argument;
}

static void deep(void *value) { pthread_exit(value); }

static void *exits(void *argument) {
  deep(argument);
  return NULL;
}

static void *waits(void *argument) {
  sem_wait(&gate);
  return argument;
}

static void *detaches_itself(void *argument) {
  CHECK(pthread_detach(pthread_self()) == 0);
  sem_post(&detached_done);
  return argument;
}

static void *posts(void *argument) {
  sem_post(&detached_done);
  return argument;
}

static void *nests(void *argument) {
  pthread_t child;
  void *result;
  CHECK(pthread_create(&child, NULL, returns, argument) == 0);
  CHECK(pthread_join(child, &result) == 0);
  return result;
}

int main(void) {
  pthread_t thread;
  void *result;
  int value;
  struct timespec soon;
  pthread_attr_t attributes;

  CHECK(sem_init(&gate, 0, 0) == 0 && sem_init(&detached_done, 0, 0) == 0);

  CHECK(pthread_create(&thread, NULL, returns, &value) == 0);
  CHECK(pthread_join(thread, &result) == 0 && result == &value);
  CHECK(pthread_create(&thread, NULL, exits, &total) == 0);
  CHECK(pthread_join(thread, &result) == 0 && result == &total);
  CHECK(pthread_create(&thread, NULL, nests, &lock) == 0);
  CHECK(pthread_join(thread, &result) == 0 && result == &lock);
  CHECK(total == 2);

  /* Joins that do not wait, or not for ever. */
  CHECK(pthread_create(&thread, NULL, waits, &value) == 0);
  CHECK(pthread_tryjoin_np(thread, &result) == EBUSY);
  clock_gettime(CLOCK_REALTIME, &soon);
  soon.tv_nsec += 3000000;
  if (soon.tv_nsec >= 1000000000)
    soon.tv_sec++, soon.tv_nsec -= 1000000000;
  CHECK(pthread_timedjoin_np(thread, &result, &soon) == ETIMEDOUT);
  sem_post(&gate);
  soon.tv_sec += 1000;
  CHECK(pthread_timedjoin_np(thread, &result, &soon) == 0 && result == &value);
  CHECK(pthread_create(&thread, NULL, waits, &total) == 0);
  sem_post(&gate);
  while ((value = pthread_tryjoin_np(thread, &result)) == EBUSY)
    sched_yield();
  CHECK(value == 0 && result == &total);

  /* Detached in all three ways. */
  CHECK(pthread_create(&thread, NULL, detaches_itself, NULL) == 0);
  CHECK(pthread_create(&thread, NULL, posts, NULL) == 0 && pthread_detach(thread) == 0);
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 256 * 1024);
  CHECK(pthread_create(&thread, &attributes, posts, NULL) == 0);
  pthread_attr_destroy(&attributes);
  for (int i = 0; i < 3; i++)
    sem_wait(&detached_done);

  CHECK(pthread_join(pthread_self(), &result) == EDEADLK);
  return 0;
}
