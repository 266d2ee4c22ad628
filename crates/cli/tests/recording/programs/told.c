/* Threads race when a signal has told them to stop. The first argument says how the main thread waits for the signal: SIGTERM
   from outside with `sigwait` or `pause`, or SIGALRM of its own timer with `timer`. */

#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t told = PTHREAD_COND_INITIALIZER;
static int over, left;
static volatile sig_atomic_t came;

static void handle(int signal) { came = signal; }

static void *wait_for_it(void *unused) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
  pthread_mutex_lock(&lock);
  while (!over)
    pthread_cond_wait(&told, &lock);
  pthread_mutex_unlock(&lock);
  left++; /* Here is the race. */
  return unused;
}

int main(int count, char **arguments) {
  const char *way = count > 1 ? arguments[1] : "";
  struct sigaction action;
  struct itimerval soon = {{0, 0}, {0, 20000}};
  pthread_t threads[2];
  sigset_t set;
  int signal = 0;
  memset(&action, 0, sizeof action);
  action.sa_handler = handle;
  CHECK(sigaction(SIGTERM, &action, NULL) == 0 && sigaction(SIGALRM, &action, NULL) == 0);
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  if (strcmp(way, "sigwait") == 0)
    pthread_sigmask(SIG_BLOCK, &set, NULL);
  for (int i = 0; i < 2; i++)
    CHECK(pthread_create(&threads[i], NULL, wait_for_it, NULL) == 0);
  printf("ready\n");
  fflush(stdout);
  if (strcmp(way, "sigwait") == 0) {
    CHECK(sigwait(&set, &signal) == 0 && signal == SIGTERM);
  } else {
    if (strcmp(way, "timer") == 0)
      CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
    while (!came)
      pause();
  }
  pthread_mutex_lock(&lock);
  over = 1;
  pthread_cond_broadcast(&told);
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  return 0;
}
