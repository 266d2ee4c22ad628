/* Processes that would outlive their program.
 *
 * survivors FILE HOW END: starts another process (HOW: child, setsid, daemon), appends a line "own-pid parent's-pid other's-pid"
 * to FILE, and then ends, stays, or races (END: ends, stays, races). Neither process minds being asked to end. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "check.h"

static int shared;

static void *adds(void *unused) {
  shared++;
  return unused;
}

static void stay(void) {
  for (;;)
    pause();
}

/* Stays, in another process, and says which one it is. */
static void survive(int pipe) {
  pid_t own = getpid();
  CHECK(write(pipe, &own, sizeof own) == sizeof own);
  close(pipe);
  stay();
}

static void start(const char *how, int pipe) {
  pid_t child = fork();
  CHECK(child >= 0);
  if (child > 0) {
    if (strcmp(how, "daemon") == 0)
      CHECK(waitpid(child, NULL, 0) == child);
    return;
  }
  if (strcmp(how, "child") != 0)
    CHECK(setsid() > 0);
  if (strcmp(how, "daemon") == 0 && fork() > 0)
    _exit(0);
  survive(pipe);
}

int main(int count, char **arguments) {
  CHECK(count == 4);
  for (int which = SIGHUP; which <= SIGTERM; which++)
    if (which == SIGHUP || which == SIGINT || which == SIGQUIT || which == SIGTERM)
      signal(which, SIG_IGN);

  int ends[2];
  CHECK(pipe(ends) == 0);
  start(arguments[2], ends[1]);
  pid_t other;
  CHECK(read(ends[0], &other, sizeof other) == sizeof other);

  char line[64];
  int length = snprintf(line, sizeof line, "%d %d %d\n", (int)getpid(), (int)getppid(), (int)other);
  int file = open(arguments[1], O_WRONLY | O_CREAT | O_APPEND, 0600);
  CHECK(file >= 0 && write(file, line, (size_t)length) == length);

  if (strcmp(arguments[3], "stays") == 0)
    stay();
  if (strcmp(arguments[3], "races") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, adds, NULL);
    shared++;
    pthread_join(thread, NULL);
  }
  return 7;
}
