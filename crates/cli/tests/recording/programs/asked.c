/* One thread lets another know through a child process that it has written x: in a file, in a pipe,
 * in the memory of which the child is a copy, in the environment, or by a descriptor that the child
 * inherits. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static const char *way, *name;
static int x, file, ends[2];
static atomic_int is_written;

static int is(const char *name) { return strcmp(way, name) == 0; }

static void *tell(void *unused) {
  x = 1;
  if (is("file"))
    CHECK(write(file, "yes\n", 4) == 4);
  else if (is("pipe"))
    CHECK(write(ends[1], "yes\n", 4) == 4);
  else if (is("memory"))
    atomic_store(&is_written, 1);
  else if (is("environment"))
    CHECK(setenv("IS_WRITTEN", "yes", 1) == 0);
  else
    CHECK(close(ends[1]) == 0);
  return unused;
}

/* What a copy of the process finds. */
static int found(void) {
  char byte;
  if (is("memory"))
    return atomic_load(&is_written);
  if (is("descriptor"))
    return fcntl(ends[1], F_GETFD) < 0;
  return read(ends[0], &byte, 1) == 1;
}

static void *ask(void *unused) {
  char command[1024];
  int status;
  snprintf(command, sizeof command, "grep -q yes '%s'", name);
  if (is("file"))
    status = system(command);
  else if (is("environment"))
    status = system("test -n \"$IS_WRITTEN\"");
  else {
    pid_t child = fork();
    if (child == 0)
      _exit(!found());
    CHECK(waitpid(child, &status, 0) == child);
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    printf("x is %d\n", x);
  return unused;
}

int main(int count, char **arguments) {
  pthread_t threads[2];
  CHECK(count == 3);
  way = arguments[1];
  name = arguments[2];
  file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
  CHECK(file >= 0 && pipe2(ends, is("pipe") ? O_NONBLOCK : 0) == 0);
  CHECK(pthread_create(&threads[0], NULL, tell, NULL) == 0);
  CHECK(pthread_create(&threads[1], NULL, ask, NULL) == 0);
  CHECK(pthread_join(threads[0], NULL) == 0 && pthread_join(threads[1], NULL) == 0);
  return 0;
}
