/* A signal from outside ends a sleep of the main thread while another thread polls a socket. What
   the handler writes races with that thread, and so does what follows. The first argument says how
   the main thread sleeps. */

#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static volatile sig_atomic_t came;
static int left;

static void handle(int signal) { came = signal; }

static void *serve(void *number) {
  struct pollfd asked = {*(int *)number, POLLIN, 0};
  while (!came)
    poll(&asked, 1, 200);
  left++;
  return NULL;
}

/* A sleep that only the signal can end. */
static void sleep_long(const char *way) {
  struct timespec length = {100, 0}, rest = {0, 0};
  if (strcmp(way, "sleep") == 0) {
    CHECK(sleep(100) > 0);
  } else if (strcmp(way, "usleep") == 0) {
    CHECK(usleep(100000000) == -1 && errno == EINTR);
  } else if (strcmp(way, "nanosleep") == 0) {
    CHECK(nanosleep(&length, &rest) == -1 && errno == EINTR);
    CHECK(rest.tv_sec > 50 && rest.tv_sec <= 100 && rest.tv_nsec < 1000000000);
  } else {
    CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &length, &rest) == EINTR && rest.tv_sec > 50);
  }
}

int main(int count, char **arguments) {
  const char *way = count > 1 ? arguments[1] : "";
  struct sockaddr_in anywhere;
  struct sigaction action;
  pthread_t server;
  sigset_t set;
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  memset(&anywhere, 0, sizeof anywhere);
  anywhere.sin_family = AF_INET;
  CHECK(bind(listener, (struct sockaddr *)&anywhere, sizeof anywhere) == 0);
  CHECK(listen(listener, 5) == 0);
  memset(&action, 0, sizeof action);
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  CHECK(sigaction(SIGTERM, &action, NULL) == 0);
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  CHECK(pthread_create(&server, NULL, serve, &listener) == 0);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  printf("ready\n");
  fflush(stdout);
  if (!came)
    sleep_long(way);
  CHECK(came == SIGTERM);
  left++; /* Here is the race. */
  pthread_join(server, NULL);
  return 0;
}
