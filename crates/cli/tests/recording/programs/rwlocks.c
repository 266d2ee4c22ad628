/* Reader-writer locks. */

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "check.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER, made;
static int a, b;

static struct timespec after(clockid_t clock, int milliseconds) {
  struct timespec time;
  clock_gettime(clock, &time);
  time.tv_nsec += milliseconds * 1000000L;
  time.tv_sec += time.tv_nsec / 1000000000;
  time.tv_nsec %= 1000000000;
  return time;
}

static void *beside_a_reader(void *unused) {
  struct timespec real = after(CLOCK_REALTIME, 2), monotonic = after(CLOCK_MONOTONIC, 2);
  CHECK(pthread_rwlock_tryrdlock(&made) == 0 && pthread_rwlock_unlock(&made) == 0);
  CHECK(pthread_rwlock_rdlock(&made) == 0 && pthread_rwlock_unlock(&made) == 0);
  CHECK(pthread_rwlock_trywrlock(&made) == EBUSY);
  CHECK(pthread_rwlock_timedwrlock(&made, &real) == ETIMEDOUT);
  CHECK(pthread_rwlock_clockwrlock(&made, CLOCK_MONOTONIC, &monotonic) == ETIMEDOUT);
  return unused;
}

static void *beside_a_writer(void *unused) {
  struct timespec real = after(CLOCK_REALTIME, 2), monotonic = after(CLOCK_MONOTONIC, 2);
  CHECK(pthread_rwlock_tryrdlock(&made) == EBUSY && pthread_rwlock_trywrlock(&made) == EBUSY);
  CHECK(pthread_rwlock_timedrdlock(&made, &real) == ETIMEDOUT);
  CHECK(pthread_rwlock_clockrdlock(&made, CLOCK_MONOTONIC, &monotonic) == ETIMEDOUT);
  return unused;
}

static void *writes(void *unused) {
  struct timespec late = after(CLOCK_REALTIME, 1000000);
  for (int i = 0; i < 10; i++) {
    CHECK((i % 2 ? pthread_rwlock_wrlock(&lock) : pthread_rwlock_timedwrlock(&lock, &late)) == 0);
    a++;
    b++;
    CHECK(pthread_rwlock_unlock(&lock) == 0);
  }
  return unused;
}

static void *reads(void *unused) {
  struct timespec late = after(CLOCK_REALTIME, 1000000);
  for (int i = 0; i < 10; i++) {
    CHECK((i % 2 ? pthread_rwlock_rdlock(&lock) : pthread_rwlock_timedrdlock(&lock, &late)) == 0);
    CHECK(a == b);
    CHECK(pthread_rwlock_unlock(&lock) == 0);
  }
  return unused;
}

int main(void) {
  pthread_t threads[4];
  CHECK(pthread_rwlock_init(&made, NULL) == 0);
  CHECK(pthread_rwlock_rdlock(&made) == 0 && pthread_rwlock_rdlock(&made) == 0);
  pthread_create(&threads[0], NULL, beside_a_reader, NULL);
  pthread_join(threads[0], NULL);
  CHECK(pthread_rwlock_unlock(&made) == 0 && pthread_rwlock_unlock(&made) == 0);
  CHECK(pthread_rwlock_wrlock(&made) == 0);
  CHECK(pthread_rwlock_rdlock(&made) == EDEADLK && pthread_rwlock_wrlock(&made) == EDEADLK);
  CHECK(pthread_rwlock_tryrdlock(&made) == EBUSY && pthread_rwlock_trywrlock(&made) == EBUSY);
  pthread_create(&threads[0], NULL, beside_a_writer, NULL);
  pthread_join(threads[0], NULL);
  CHECK(pthread_rwlock_unlock(&made) == 0);
  CHECK(pthread_rwlock_destroy(&made) == 0);
  for (int i = 0; i < 4; i++)
    pthread_create(&threads[i], NULL, i % 2 ? reads : writes, NULL);
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], NULL);
  CHECK(a == 20 && b == 20);
  return 0;
}
