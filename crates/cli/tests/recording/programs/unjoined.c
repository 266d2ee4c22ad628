/* A process that ends while its threads could still run. The first argument says how it ends, the second what the threads do. */

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static const char *work;
static int done;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t never = PTHREAD_MUTEX_INITIALIZER;
static atomic_int flag;
static volatile int plain;

static int is(const char *text, const char *wanted) { return strcmp(text, wanted) == 0; }

static void *works(void *argument) {
  int steps = *(int *)argument;
  CHECK(steps == 20);
  for (int step = 0; step < steps; step++) {
    pthread_mutex_lock(&lock);
    done++;
    pthread_mutex_unlock(&lock);
  }
  if (is(work, "spin"))
    while (!atomic_load(&flag))
      ;
  if (is(work, "loop"))
    while (!plain)
      ;
  if (is(work, "yield"))
    for (;;)
      sched_yield();
  if (is(work, "compute"))
    for (;;)
      __asm__ volatile("");
  if (is(work, "sleep"))
    for (;;)
      sleep(1);
  if (is(work, "pause"))
    for (;;)
      pause();
  if (is(work, "lock"))
    pthread_mutex_lock(&never);
  return NULL;
}

int main(int count, char **arguments) {
  CHECK(count == 3);
  const char *end = arguments[1];
  work = arguments[2];
  /* A variable of this function, as in many programs; it is used when that has returned. */
  int steps = 20;
  pthread_mutex_lock(&never);
  for (int thread = 0; thread < 3; thread++) {
    pthread_t handle;
    CHECK(pthread_create(&handle, NULL, works, &steps) == 0);
    if (thread == 1)
      pthread_detach(handle);
  }
  if (is(end, "exit"))
    exit(6);
  if (is(end, "_exit"))
    _exit(6);
  if (is(end, "quick_exit"))
    quick_exit(6);
  return 6;
}
