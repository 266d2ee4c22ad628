/* A signal handler runs while its thread waits for a semaphore, a condition variable or another
 * thread. What the sender did before comes before what the thread does when it has waited, if the
 * handler told it. The first argument says what it waits for; with a second one, the handler writes
 * to a variable of its own. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

static int x, goes_on, last;
static atomic_int is_handled;
static const char *way;
static pthread_t first;
static sem_t semaphore;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void handle(int signal) { is_handled = signal; }

static void store(int signal) {
  is_handled = signal;
  last = signal;
}

static int is(const char *name) { return strcmp(way, name) == 0; }

static void *send_signal(void *unused) {
  x = 1;
  CHECK(pthread_kill(first, SIGUSR1) == 0);
  return unused;
}

static void *release(void *unused) {
  for (int i = 0; i < 20; i++)
    sched_yield();
  CHECK(sem_post(&semaphore) == 0);
  pthread_mutex_lock(&lock);
  goes_on = 1;
  pthread_mutex_unlock(&lock);
  CHECK(pthread_cond_signal(&condition) == 0);
  return unused;
}

int main(int count, char **arguments) {
  struct sigaction action = {.sa_handler = count > 2 ? store : handle, .sa_flags = SA_RESTART};
  pthread_t threads[2];
  CHECK(count >= 2);
  way = arguments[1];
  first = pthread_self();
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0 && sem_init(&semaphore, 0, 0) == 0);
  CHECK(pthread_create(&threads[0], NULL, send_signal, NULL) == 0);
  CHECK(pthread_create(&threads[1], NULL, release, NULL) == 0);
  if (is("semaphore"))
    CHECK(sem_wait(&semaphore) == 0);
  else if (is("condition")) {
    pthread_mutex_lock(&lock);
    while (!goes_on)
      pthread_cond_wait(&condition, &lock);
    pthread_mutex_unlock(&lock);
  } else
    CHECK(pthread_join(threads[1], NULL) == 0);
  if (is_handled)
    printf("x is %d\n", x);
  CHECK(pthread_join(threads[0], NULL) == 0);
  CHECK(is("thread") || pthread_join(threads[1], NULL) == 0);
  return 0;
}
