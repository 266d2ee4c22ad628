/* One thread writes x and tells somebody outside of the process, by output, a file or a page of
 * one. He answers, by input, a signal or a file, and only then another thread reads x. The first
 * argument says how he is told or answers, the second is the name of the file. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

static int x;
static const char *way, *name;
static sigset_t signals;
static char *page;
static int known;

static int is(const char *name) { return strcmp(way, name) == 0; }

static void *tell(void *unused) {
  x = 1;
  if (is("output") || is("appears") || is("polled")) {
    printf("ready\n");
    fflush(stdout);
  } else if (is("errors"))
    CHECK(write(STDERR_FILENO, "ready\n", 6) == 6);
  else if (is("page"))
    *page = 'r';
  else {
    char number[16], new[1024];
    snprintf(new, sizeof new, "%s.new", name);
    int file = open(new, O_CREAT | O_WRONLY, 0600);
    int size = snprintf(number, sizeof number, "%d", getpid());
    CHECK(file >= 0 && write(file, number, (size_t)size) == size && close(file) == 0);
    CHECK(rename(new, name) == 0);
  }
  return unused;
}

static void *hear(void *unused) {
  char answer;
  int signal;
  if (is("signal"))
    CHECK(sigwait(&signals, &signal) == 0);
  else if (is("appears"))
    while (access(name, F_OK) != 0)
      usleep(1000);
  else if (is("polled"))
    while (pread(known, &answer, 1, 0) != 1)
      usleep(1000);
  else
    CHECK(read(STDIN_FILENO, &answer, 1) == 1);
  CHECK(x == 1);
  return unused;
}

int main(int count, char **arguments) {
  pthread_t threads[2];
  CHECK(count == 3);
  way = arguments[1];
  name = arguments[2];
  if (is("page")) {
    int file = open(name, O_CREAT | O_RDWR, 0600);
    CHECK(file >= 0 && ftruncate(file, 1) == 0);
    page = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(page != MAP_FAILED);
  }
  if (is("polled"))
    CHECK((known = open(name, O_RDONLY)) >= 0);
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  CHECK(pthread_sigmask(SIG_BLOCK, &signals, NULL) == 0);
  CHECK(pthread_create(&threads[0], NULL, hear, NULL) == 0);
  CHECK(pthread_create(&threads[1], NULL, tell, NULL) == 0);
  CHECK(pthread_join(threads[0], NULL) == 0 && pthread_join(threads[1], NULL) == 0);
  return 0;
}
