/* Signals: handlers that post semaphores and write to memory. The first argument says who waits. */

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include "check.h"

static sem_t posted;
static volatile sig_atomic_t came;

static void handle(int signal) {
  (void)signal;
  came++;
  sem_post(&posted);
}

static void soon(void) {
  struct itimerval timer = {{0, 0}, {0, 5000}};
  setitimer(ITIMER_REAL, &timer, NULL);
}

static void *waits(void *unused) {
  while (sem_wait(&posted) != 0)
    CHECK(errno == EINTR);
  return unused;
}

static void *works(void *unused) {
  for (int i = 0; i < 100; i++)
    sched_yield();
  return unused;
}

int main(int count, char **arguments) {
  const char *way = count > 1 ? arguments[1] : "";
  struct sigaction action;
  pthread_t threads[2];
  memset(&action, 0, sizeof action);
  action.sa_handler = handle;
  sem_init(&posted, 0, 0);
  CHECK(sigaction(SIGALRM, &action, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);

  raise(SIGUSR1); /* At once, in this thread. */
  CHECK(came == 1 && sem_wait(&posted) == 0);

  if (strcmp(way, "alone") == 0) { /* The only thread waits for a handler that runs in it. */
    soon();
    while (sem_wait(&posted) != 0)
      CHECK(errno == EINTR);
  } else if (strcmp(way, "pause") == 0) {
    soon();
    CHECK(pause() == -1 && errno == EINTR && came == 2);
  } else if (strcmp(way, "spin") == 0) {
    soon();
    while (came < 2)
      ;
  } else if (strcmp(way, "other") == 0) { /* All threads wait: one for the semaphore, one for the other. */
    pthread_create(&threads[0], NULL, waits, NULL);
    pthread_create(&threads[1], NULL, works, NULL);
    soon();
    pthread_join(threads[1], NULL);
    pthread_join(threads[0], NULL);
  } else { /* To a certain thread, which waits for it. */
    pthread_create(&threads[0], NULL, waits, NULL);
    CHECK(pthread_kill(threads[0], SIGUSR1) == 0);
    pthread_join(threads[0], NULL);
  }
  CHECK(came == 2);
  return 0;
}
