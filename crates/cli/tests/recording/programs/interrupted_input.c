/* A signal comes while a thread waits for input: its handler runs, and the call goes on or fails with EINTR, as was asked for. */

#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static int ends[2];
static volatile sig_atomic_t came;
static int results[3];
static char handled[3];

static void handle(int signal) {
  (void)signal;
  came++;
}

static void *reads(void *which) {
  char byte = 0;
  int *result = which;
  *result = (int)read(ends[0], &byte, 1);
  if (*result < 0) {
    CHECK(errno == EINTR);
    CHECK(read(ends[0], &byte, 1) == 1);
  }
  handled[result - results] = (char)came;
  return NULL;
}

static void *polls(void *which) {
  struct pollfd one = {.fd = ends[0], .events = POLLIN};
  char byte;
  int *result = which;
  *result = poll(&one, 1, 60000);
  if (*result < 0)
    CHECK(errno == EINTR && poll(&one, 1, 60000) == 1);
  CHECK(read(ends[0], &byte, 1) == 1);
  handled[result - results] = (char)came;
  return NULL;
}

static void interrupt(void *(*start)(void *), int which, int flags) {
  struct sigaction action;
  pthread_t thread;
  memset(&action, 0, sizeof action);
  action.sa_handler = handle;
  action.sa_flags = flags;
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  CHECK(pthread_create(&thread, NULL, start, &results[which]) == 0);
  usleep(20000);
  CHECK(pthread_kill(thread, SIGUSR1) == 0);
  usleep(20000);
  CHECK(write(ends[1], "x", 1) == 1);
  CHECK(pthread_join(thread, NULL) == 0);
}

int main(void) {
  CHECK(pipe(ends) == 0);
  interrupt(reads, 0, SA_RESTART);
  interrupt(reads, 1, 0);
  interrupt(polls, 2, SA_RESTART); /* That makes no difference to poll. */
  CHECK(results[0] == 1 && results[1] == -1 && results[2] == -1);
  CHECK(handled[0] == 1 && handled[1] == 2 && handled[2] == 3);
  return 0;
}
