/* One thread waits for whichever child ends: a copy of the process, or another program, which is killed. In another schedule both have ended when it asks for the first time. The threads race. */

#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static int total;
static pid_t copy, program;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *reaps(void *unused) {
  for (int i = 0; i < 2; i++) {
    int status;
    pid_t ended = wait(&status);
    CHECK(ended == copy ? WEXITSTATUS(status) == 4 : ended == program && WTERMSIG(status) == SIGKILL);
  }
  total++; /* Here is the race. */
  return unused;
}

int main(void) {
  pthread_t thread;
  int ends[2];
  pid_t said;
  CHECK(pipe(ends) == 0);
  copy = fork();
  if (copy == 0) {
    said = getpid();
    _exit(write(ends[1], &said, sizeof said) == sizeof said ? 4 : 5);
  }
  CHECK(close(ends[1]) == 0 && read(ends[0], &said, sizeof said) == sizeof said && said == copy);
  program = fork();
  if (program == 0) {
    execlp("sleep", "sleep", "1000", (char *)NULL);
    _exit(1);
  }
  CHECK(pthread_create(&thread, NULL, reaps, NULL) == 0);
  usleep(1000);
  CHECK(kill(program, SIGKILL) == 0);
  for (int i = 0; i < copy % 31; i++) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
  }
  total++;
  pthread_join(thread, NULL);
  printf("drawn %d %d\n", copy, program);
  return 0;
}
