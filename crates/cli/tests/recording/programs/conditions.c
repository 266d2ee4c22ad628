/* Condition variables: signals, broadcasts, waits that time out. */

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t full = PTHREAD_COND_INITIALIZER, monotonic, go = PTHREAD_COND_INITIALIZER;
static int items, gone, woken;

static struct timespec after(clockid_t clock, int milliseconds) {
  struct timespec time;
  clock_gettime(clock, &time);
  time.tv_nsec += milliseconds * 1000000L;
  time.tv_sec += time.tv_nsec / 1000000000;
  time.tv_nsec %= 1000000000;
  return time;
}

static void *takes(void *unused) {
  struct timespec late = after(CLOCK_REALTIME, 1000000);
  for (int i = 0; i < 5; i++) {
    pthread_mutex_lock(&lock);
    while (items == 0)
      if (i % 2)
        CHECK(pthread_cond_wait(&full, &lock) == 0);
      else
        CHECK(pthread_cond_timedwait(&full, &lock, &late) == 0);
    items--;
    pthread_mutex_unlock(&lock);
  }
  return unused;
}

static void *puts_(void *unused) {
  for (int i = 0; i < 10; i++) {
    pthread_mutex_lock(&lock);
    items++;
    pthread_cond_signal(&full);
    pthread_mutex_unlock(&lock);
  }
  return unused;
}

static void *starts(void *unused) {
  pthread_mutex_lock(&lock);
  while (!gone)
    pthread_cond_wait(&go, &lock);
  woken++;
  pthread_mutex_unlock(&lock);
  return unused;
}

static void *wakes_recursive(void *unused) {
  CHECK(pthread_mutex_lock(&recursive) == 0);
  gone = 2;
  pthread_cond_signal(&full);
  pthread_mutex_unlock(&recursive);
  return unused;
}

int main(void) {
  pthread_t threads[4];
  pthread_condattr_t attributes;
  struct timespec time;

  /* Nobody signals. */
  pthread_condattr_init(&attributes);
  CHECK(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0);
  CHECK(pthread_cond_init(&monotonic, &attributes) == 0);
  pthread_condattr_destroy(&attributes);
  pthread_mutex_lock(&lock);
  time = after(CLOCK_MONOTONIC, 2);
  CHECK(pthread_cond_timedwait(&monotonic, &lock, &time) == ETIMEDOUT);
  time = after(CLOCK_REALTIME, 2);
  CHECK(pthread_cond_timedwait(&full, &lock, &time) == ETIMEDOUT);
  time = after(CLOCK_MONOTONIC, 2);
  CHECK(pthread_cond_clockwait(&full, &lock, CLOCK_MONOTONIC, &time) == ETIMEDOUT);
  CHECK(pthread_cond_timedwait(&full, &lock, &time) == ETIMEDOUT); /* Long past. */
  CHECK(pthread_cond_signal(&full) == 0 && pthread_cond_broadcast(&full) == 0);
  pthread_mutex_unlock(&lock);
  CHECK(pthread_cond_destroy(&monotonic) == 0);

  for (int i = 0; i < 3; i++)
    pthread_create(&threads[i], NULL, i < 2 ? takes : puts_, NULL);
  for (int i = 0; i < 3; i++)
    pthread_join(threads[i], NULL);
  CHECK(items == 0);

  for (int i = 0; i < 4; i++)
    pthread_create(&threads[i], NULL, starts, NULL);
  pthread_mutex_lock(&lock);
  gone = 1;
  pthread_cond_broadcast(&go);
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], NULL);
  CHECK(woken == 4);

  /* Recursive mutexes can be waited with, too. */
  pthread_mutex_lock(&recursive);
  pthread_create(&threads[0], NULL, wakes_recursive, NULL);
  while (gone != 2)
    pthread_cond_wait(&full, &recursive);
  CHECK(pthread_mutex_unlock(&recursive) == 0);
  CHECK(pthread_mutex_unlock(&recursive) == EPERM);
  pthread_join(threads[0], NULL);
  return 0;
}
