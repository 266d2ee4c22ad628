/* Two threads without a bug, and an end: `outcome status N`, `outcome signal N`. `outcome alone` has one thread,
 * and in `outcome races` they race twice. */

#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static int shared, unguarded[2];
static int races;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *adds(void *unused) {
  pthread_mutex_lock(&lock);
  shared++;
  pthread_mutex_unlock(&lock);
  if (races) {
    unguarded[0] = 1;
    unguarded[1] = 1;
  }
  return unused;
}

int main(int count, char **arguments) {
  CHECK(count >= 2);
  if (strcmp(arguments[1], "alone") == 0) {
    adds(NULL);
    return 0;
  }
  races = strcmp(arguments[1], "races") == 0;
  CHECK(races || count == 3);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, adds, NULL) == 0);
  adds(NULL);
  CHECK(pthread_join(thread, NULL) == 0);
  if (strcmp(arguments[1], "signal") == 0) {
    int number = atoi(arguments[2]);
    if (number != SIGKILL)
      signal(number, SIG_DFL); /* whoever started the tests may ignore it, `nohup` for instance */
    raise(number);
  }
  return races ? 0 : atoi(arguments[2]);
}
