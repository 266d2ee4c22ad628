/* Threads that block where nobody sees it: input, poll, pipes, sleep. */

#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "check.h"

static int there[2], back[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int handled;

static void *serves(void *unused) {
  char byte;
  while (read(there[0], &byte, 1) == 1 && byte != 'q') {
    pthread_mutex_lock(&lock);
    handled++;
    pthread_mutex_unlock(&lock);
    CHECK(write(back[1], &byte, 1) == 1);
  }
  return unused;
}

static void *polls(void *unused) {
  struct pollfd ready = {back[0], POLLIN, 0};
  char byte;
  for (int i = 0; i < 3; i++) {
    CHECK(poll(&ready, 1, -1) == 1);
    CHECK(read(back[0], &byte, 1) == 1);
  }
  return unused;
}

static void *sleeps(void *unused) {
  struct timespec day = {24 * 3600, 0}, before, after;
  clock_gettime(CLOCK_MONOTONIC, &before);
  nanosleep(&day, NULL);
  clock_gettime(CLOCK_MONOTONIC, &after);
  CHECK(after.tv_sec - before.tv_sec >= 24 * 3600 - 1);
  return unused;
}

int main(int count, char **arguments) {
  pthread_t server, poller, sleeper;
  char line[64];
  if (count > 1 && strcmp(arguments[1], "sleep") == 0) {
    pthread_create(&sleeper, NULL, sleeps, NULL);
    sleep(7);
    usleep(1000);
    pthread_join(sleeper, NULL);
    return 0;
  }
  CHECK(pipe(there) == 0 && pipe(back) == 0);
  pthread_create(&server, NULL, serves, NULL);
  pthread_create(&poller, NULL, polls, NULL);
  for (int i = 0; i < 3; i++)
    CHECK(write(there[1], "x", 1) == 1);
  CHECK(fgets(line, sizeof line, stdin) != NULL && strcmp(line, "hello\n") == 0);
  CHECK(write(there[1], "q", 1) == 1);
  pthread_join(server, NULL);
  pthread_join(poller, NULL);
  CHECK(handled == 3);
  return 0;
}
