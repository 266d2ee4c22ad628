/* A worker that was woken by a signal sleeps later, while the main thread waits: the sleep has to end. */

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "check.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t go = PTHREAD_COND_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static int work, finished;
static sem_t never;

static void *worker(void *unused) {
  pthread_mutex_lock(&m);
  while (!work) pthread_cond_wait(&go, &m);
  pthread_mutex_unlock(&m);
  struct timespec time = {0, 1000000};
  nanosleep(&time, 0);
  clock_gettime(CLOCK_REALTIME, &time);
  time.tv_sec += 1;
  CHECK(sem_timedwait(&never, &time) != 0 && errno == ETIMEDOUT);
  pthread_mutex_lock(&m);
  finished = 1;
  pthread_cond_signal(&done);
  pthread_mutex_unlock(&m);
  return unused;
}

int main(void) {
  pthread_t thread;
  sem_init(&never, 0, 0);
  pthread_create(&thread, 0, worker, 0);
  struct timespec time = {0, 50000000}; /* mostly, the worker waits then */
  nanosleep(&time, 0);
  pthread_mutex_lock(&m);
  work = 1;
  pthread_cond_signal(&go);
  while (!finished) pthread_cond_wait(&done, &m);
  pthread_mutex_unlock(&m);
  pthread_join(thread, 0);
  return 0;
}
