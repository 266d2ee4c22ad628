/* Threads that see each other through the kernel, in many ways. What each way hands over is handed over rightly, except where it says so. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "check.h"

static int ends[2], back[2], counter;
static sigset_t signals;
static int data, other;
static char block[4096];

void foreign(int);

static void *start(void *(*first)(void *), void *(*second)(void *)) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, first, NULL);
  pthread_create(&threads[1], NULL, second, NULL);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  return NULL;
}

/* What is written behind the byte that is read does not matter to the reader: a race on `data`, none on `other`. */
static void *writes_twice(void *unused) {
  other = 1;
  CHECK(write(ends[1], "a", 1) == 1);
  data = 1;
  CHECK(write(ends[1], "b", 1) == 1);
  return unused;
}

static void *reads_once(void *unused) {
  char byte;
  CHECK(read(ends[0], &byte, 1) == 1 && byte == 'a');
  CHECK(data + other >= 0);
  return unused;
}

/* More than fits: the writer goes on only when the reader has made room. No race on `other`. */
static void *fills(void *unused) {
  for (int i = 0; i < 20; i++)
    CHECK(write(ends[1], block, sizeof block) == sizeof block);
  CHECK(other == 1);
  return unused;
}

static void *drains(void *unused) {
  static char to[4096];
  other = 1;
  for (int left = 20 * (int)sizeof to; left > 0;) {
    ssize_t got = read(ends[0], to, sizeof to);
    CHECK(got > 0);
    left -= (int)got;
  }
  return unused;
}

/* A reader that wants more than there is notices what is not there yet. */
static void *reads_short(void *unused) {
  char bytes[8];
  ssize_t got = read(ends[0], bytes, sizeof bytes);
  CHECK(got == 1 || got == 2);
  if (got == 1)
    data = 1; /* Before the second byte is written, if that follows the data of the other thread. */
  return unused;
}

static void *writes_apart(void *unused) {
  CHECK(write(ends[1], "a", 1) == 1);
  CHECK(write(ends[1], "b", 1) == 1);
  return unused;
}

/* poll with a time limit, select, and a byte at last. */
static void *polls(void *unused) {
  struct pollfd ready = {ends[0], POLLIN, 0};
  int turns = 0;
  while (poll(&ready, 1, 50) == 0)
    CHECK(++turns < 100000);
  fd_set set;
  FD_ZERO(&set);
  FD_SET(ends[0], &set);
  CHECK(select(ends[0] + 1, &set, NULL, NULL, NULL) == 1 && FD_ISSET(ends[0], &set));
  char byte;
  CHECK(read(ends[0], &byte, 1) == 1);
  CHECK(data == 1);
  return unused;
}

static void *sends_late(void *unused) {
  struct timespec pause = {1, 0};
  nanosleep(&pause, NULL);
  data = 1;
  CHECK(write(ends[1], "x", 1) == 1);
  return unused;
}

/* Who finds a counter ready knows what came before the addition. */
static void *adds(void *unused) {
  other = 1;
  CHECK(eventfd_write(counter, 1) == 0);
  return unused;
}

static void *asks(void *unused) {
  struct pollfd ready = {counter, POLLIN, 0};
  CHECK(poll(&ready, 1, -1) == 1);
  CHECK(other == 1);
  return unused;
}

/* Who finds a number closed knows what came before that, and who finds it open again as well. */
static void *closes(void *unused) {
  other = 1;
  CHECK(close(back[0]) == 0);
  return unused;
}

static void *finds_closed(void *unused) {
  char byte;
  do
    errno = 0;
  while (read(back[0], &byte, 1) >= 0 || errno != EBADF);
  CHECK(other == 1);
  return unused;
}

static void *reopens(void *unused) {
  CHECK(close(back[0]) == 0);
  other = 1;
  CHECK(open("/dev/zero", O_RDONLY) == back[0]);
  return unused;
}

static void *finds_open(void *unused) {
  char byte;
  while (read(back[0], &byte, 1) != 1)
    sched_yield();
  CHECK(other == 1);
  return unused;
}

/* Nothing comes in time, and then there is a race. */
static void *waits_in_vain(void *unused) {
  struct pollfd ready = {ends[0], POLLIN, 0};
  if (poll(&ready, 1, 5) == 0)
    data = 1;
  return unused;
}

static void *sends_later(void *unused) {
  struct timespec pause = {1, 0};
  nanosleep(&pause, NULL);
  data = 2;
  CHECK(write(ends[1], "x", 1) == 1);
  data = 3;
  return unused;
}

/* A signal comes, and then there is a race. */
static void *awaits_signal(void *unused) {
  int signal;
  CHECK(sigwait(&signals, &signal) == 0);
  data = 1;
  return unused;
}

static void *sends_signal(void *unused) {
  kill(getpid(), SIGUSR1);
  data = 2;
  return unused;
}

/* A handler, and what its sender did before. */
static volatile sig_atomic_t handled;

static void handler(int signal) {
  (void)signal;
  handled = data;
}

static void *is_interrupted(void *unused) {
  while (!handled)
    usleep(100);
  return unused;
}

static void *passes(void *unused) { return unused; }

/* Two calls of a function that nobody knows. */
static void *calls_before(void *unused) {
  data = 1;
  foreign(1);
  return unused;
}

static void *calls_behind(void *unused) {
  foreign(0);
  CHECK(data == 1);
  return unused;
}

/* Nobody feeds the pipe. */
static void *starves(void *unused) {
  char byte;
  CHECK(read(ends[0], &byte, 1) == 1);
  return unused;
}

int main(int count, char **arguments) {
  const char *way = count > 1 ? arguments[1] : "";
  CHECK(pipe(ends) == 0 && pipe(back) == 0);
  if (strcmp(way, "stream") == 0)
    start(writes_twice, reads_once);
  else if (strcmp(way, "pair") == 0) {
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    start(writes_twice, reads_once);
  } else if (strcmp(way, "full") == 0)
    start(fills, drains);
  else if (strcmp(way, "short") == 0)
    start(writes_apart, reads_short);
  else if (strcmp(way, "poll") == 0)
    start(sends_late, polls);
  else if (strcmp(way, "unknown") == 0)
    start(calls_before, calls_behind);
  else if (strcmp(way, "starve") == 0)
    start(starves, passes);
  else if (strcmp(way, "counter") == 0) {
    counter = eventfd(0, 0);
    start(asks, adds);
  } else if (strcmp(way, "closed") == 0) {
    fcntl(back[0], F_SETFL, O_NONBLOCK);
    start(finds_closed, closes);
  } else if (strcmp(way, "reopened") == 0) {
    fcntl(back[0], F_SETFL, O_NONBLOCK);
    start(finds_open, reopens);
  } else if (strcmp(way, "in vain") == 0)
    start(waits_in_vain, sends_later);
  else if (strcmp(way, "sigwait") == 0) {
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    start(awaits_signal, sends_signal);
  } else if (strcmp(way, "signal") == 0) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    CHECK(sigaction(SIGUSR1, NULL, &action) == 0 && action.sa_handler == handler);
    pthread_t thread;
    pthread_create(&thread, NULL, is_interrupted, NULL);
    data = 1;
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, NULL);
  }
  return 0;
}
