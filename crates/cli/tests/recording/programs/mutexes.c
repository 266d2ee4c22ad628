/* Mutexes of all kinds, and spin locks. */

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "check.h"

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t made[4];
static pthread_spinlock_t spin;
static int counter, under_spin;

static struct timespec after(clockid_t clock, int milliseconds) {
  struct timespec time;
  clock_gettime(clock, &time);
  time.tv_nsec += milliseconds * 1000000L;
  time.tv_sec += time.tv_nsec / 1000000000;
  time.tv_nsec %= 1000000000;
  return time;
}

/* While another thread holds them. */
static void *finds_them_taken(void *unused) {
  struct timespec real = after(CLOCK_REALTIME, 2), monotonic = after(CLOCK_MONOTONIC, 2);
  CHECK(pthread_mutex_trylock(&plain) == EBUSY);
  CHECK(pthread_mutex_timedlock(&plain, &real) == ETIMEDOUT);
  CHECK(pthread_mutex_clocklock(&plain, CLOCK_MONOTONIC, &monotonic) == ETIMEDOUT);
  CHECK(pthread_mutex_trylock(&recursive) == EBUSY);
  CHECK(pthread_mutex_unlock(&recursive) == EPERM);
  CHECK(pthread_mutex_unlock(&checking) == EPERM);
  CHECK(pthread_spin_trylock(&spin) == EBUSY);
  return unused;
}

static void *counts(void *unused) {
  struct timespec late = after(CLOCK_REALTIME, 1000000);
  for (int i = 0; i < 20; i++) {
    if (i % 2)
      CHECK(pthread_mutex_lock(&plain) == 0);
    else
      CHECK(pthread_mutex_timedlock(&plain, &late) == 0);
    counter++;
    CHECK(pthread_mutex_unlock(&plain) == 0);
    CHECK(pthread_spin_lock(&spin) == 0);
    under_spin++;
    CHECK(pthread_spin_unlock(&spin) == 0);
  }
  return unused;
}

int main(void) {
  static const int kinds[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
                              PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP};
  pthread_mutexattr_t attributes;
  pthread_t threads[3];

  CHECK(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE) == 0);
  CHECK(pthread_mutex_lock(&plain) == 0 && pthread_spin_lock(&spin) == 0);
  CHECK(pthread_mutex_lock(&recursive) == 0 && pthread_mutex_lock(&recursive) == 0);
  CHECK(pthread_mutex_lock(&checking) == 0);
  CHECK(pthread_mutex_lock(&checking) == EDEADLK);
  CHECK(pthread_mutex_trylock(&checking) == EBUSY);
  CHECK(pthread_mutex_trylock(&recursive) == 0);
  pthread_create(&threads[0], NULL, finds_them_taken, NULL);
  CHECK(pthread_join(threads[0], NULL) == 0);
  for (int i = 0; i < 3; i++)
    CHECK(pthread_mutex_unlock(&recursive) == 0);
  CHECK(pthread_mutex_unlock(&recursive) == EPERM);
  CHECK(pthread_mutex_unlock(&checking) == 0 && pthread_mutex_unlock(&checking) == EPERM);
  CHECK(pthread_mutex_unlock(&plain) == 0 && pthread_spin_unlock(&spin) == 0);

  for (int i = 0; i < 4; i++) {
    pthread_mutexattr_init(&attributes);
    CHECK(pthread_mutexattr_settype(&attributes, kinds[i]) == 0);
    CHECK(pthread_mutex_init(&made[i], &attributes) == 0);
    pthread_mutexattr_destroy(&attributes);
    CHECK(pthread_mutex_lock(&made[i]) == 0);
    CHECK(pthread_mutex_trylock(&made[i]) == (kinds[i] == PTHREAD_MUTEX_RECURSIVE ? 0 : EBUSY));
    if (kinds[i] == PTHREAD_MUTEX_RECURSIVE)
      CHECK(pthread_mutex_unlock(&made[i]) == 0);
    CHECK(pthread_mutex_destroy(&made[i]) == EBUSY);
    CHECK(pthread_mutex_unlock(&made[i]) == 0);
    CHECK(pthread_mutex_destroy(&made[i]) == 0);
  }

  for (int i = 0; i < 3; i++)
    pthread_create(&threads[i], NULL, counts, NULL);
  for (int i = 0; i < 3; i++)
    pthread_join(threads[i], NULL);
  CHECK(counter == 60 && under_spin == 60);
  CHECK(pthread_spin_destroy(&spin) == 0);
  return 0;
}
