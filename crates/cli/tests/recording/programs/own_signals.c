/* Threads of one process send signals to each other. The first argument says how the thread that gets them waits.
   `total` has a race on purpose; which operation of the thread the handler follows depends on the schedule. */

#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>

#include "check.h"

static int ends[2];
static const char *way;
static volatile int came, total;
static volatile int steps[8];
static pthread_t worker;

static void handle(int signal) {
  (void)signal;
  came++;
  CHECK(write(ends[1], "x", 1) == 1);
}

static void wait_for_signal(void) {
  struct pollfd one = {.fd = ends[0], .events = POLLIN};
  struct epoll_event event = {.events = EPOLLIN};
  int epoll = epoll_create1(0);
  CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event) == 0);
  if (strcmp(way, "poll") == 0) {
    while (poll(&one, 1, -1) != 1)
      CHECK(errno == EINTR);
  } else if (strcmp(way, "epoll") == 0) {
    while (epoll_wait(epoll, &event, 1, -1) != 1)
      CHECK(errno == EINTR);
  }
}

static void *works(void *unused) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  for (int i = 0; i < 8; i++)
    steps[i] = i;
  wait_for_signal();
  char byte;
  while (read(ends[0], &byte, 1) != 1)
    CHECK(errno == EINTR);
  total += 1;
  return unused;
}

static void *watches(void *unused) {
  int seen = 0;
  for (int i = 0; i < 8; i++)
    seen += steps[i];
  total += 2;
  return seen < 0 ? NULL : unused;
}

int main(int count, char **arguments) {
  struct sigaction action;
  pthread_t watcher;
  sigset_t set;
  way = count > 1 ? arguments[1] : "";
  CHECK(pipe(ends) == 0);
  memset(&action, 0, sizeof action);
  action.sa_handler = handle;
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  /* Nobody but the worker can get it. */
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
  CHECK(pthread_create(&worker, NULL, works, NULL) == 0);
  CHECK(pthread_create(&watcher, NULL, watches, NULL) == 0);
  if (count > 2) {
    CHECK(pthread_kill(worker, SIGUSR1) == 0);
  } else {
    CHECK(kill(getpid(), SIGUSR1) == 0);
  }
  CHECK(pthread_join(worker, NULL) == 0);
  CHECK(pthread_join(watcher, NULL) == 0);
  CHECK(came == 1);
  return 0;
}
