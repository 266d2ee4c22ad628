/* Semaphores: unnamed and named. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "check.h"

static sem_t items, room;
static int buffer[2], got;

static struct timespec after(clockid_t clock, int milliseconds) {
  struct timespec time;
  clock_gettime(clock, &time);
  time.tv_nsec += milliseconds * 1000000L;
  time.tv_sec += time.tv_nsec / 1000000000;
  time.tv_nsec %= 1000000000;
  return time;
}

static void *produces(void *unused) {
  struct timespec late = after(CLOCK_REALTIME, 1000000);
  for (int i = 0; i < 8; i++) {
    CHECK((i % 2 ? sem_wait(&room) : sem_timedwait(&room, &late)) == 0);
    buffer[i % 2] = i;
    CHECK(sem_post(&items) == 0);
  }
  return unused;
}

static void *consumes(void *unused) {
  for (int i = 0; i < 8; i++) {
    CHECK(sem_wait(&items) == 0);
    got += buffer[i % 2];
    CHECK(sem_post(&room) == 0);
  }
  return unused;
}

static void *posts(void *semaphore) {
  CHECK(sem_post(semaphore) == 0);
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  struct timespec time;
  char name[64];
  int count;
  sem_t *named;

  CHECK(sem_init(&items, 0, 0) == 0 && sem_init(&room, 0, 2) == 0);
  CHECK(sem_trywait(&items) == -1 && errno == EAGAIN);
  time = after(CLOCK_REALTIME, 2);
  CHECK(sem_timedwait(&items, &time) == -1 && errno == ETIMEDOUT);
  time = after(CLOCK_MONOTONIC, 2);
  CHECK(sem_clockwait(&items, CLOCK_MONOTONIC, &time) == -1 && errno == ETIMEDOUT);
  CHECK(sem_getvalue(&room, &count) == 0 && count == 2);
  CHECK(sem_trywait(&room) == 0 && sem_getvalue(&room, &count) == 0 && count == 1);
  CHECK(sem_post(&room) == 0 && sem_getvalue(&room, &count) == 0 && count == 2);

  pthread_create(&threads[0], NULL, produces, NULL);
  pthread_create(&threads[1], NULL, consumes, NULL);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  CHECK(got == 28);
  CHECK(sem_destroy(&items) == 0 && sem_destroy(&room) == 0);

  snprintf(name, sizeof name, "/foretrace-test-%d", getpid());
  named = sem_open(name, O_CREAT | O_EXCL, 0600, 1);
  CHECK(named != SEM_FAILED && sem_unlink(name) == 0);
  CHECK(sem_getvalue(named, &count) == 0 && count == 1);
  CHECK(sem_wait(named) == 0 && sem_trywait(named) == -1);
  pthread_create(&threads[0], NULL, posts, named);
  CHECK(sem_wait(named) == 0);
  pthread_join(threads[0], NULL);
  CHECK(sem_close(named) == 0);
  return 0;
}
