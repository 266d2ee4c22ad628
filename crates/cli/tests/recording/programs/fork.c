/* Copies of the process: with locks held, with handlers, and with another program. */

#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "check.h"

extern char **environ;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t readers = PTHREAD_RWLOCK_INITIALIZER;
static int shared, before, in_parent, in_child;

static void prepare(void) { pthread_mutex_lock(&other), before++; }
static void parent(void) { pthread_mutex_unlock(&other), in_parent++; }
static void child(void) { pthread_mutex_unlock(&other), in_child++; }

static void *works(void *unused) {
  for (int i = 0; i < 5; i++) {
    pthread_mutex_lock(&lock);
    shared++;
    pthread_mutex_unlock(&lock);
  }
  return unused;
}

static int status_of(pid_t pid) {
  int status;
  CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
  return WEXITSTATUS(status);
}

int main(int count, char **arguments) {
  pthread_t threads[2];
  pid_t pid;
  if (count > 1 && strcmp(arguments[1], "child") == 0) { /* Started by itself. */
    pthread_create(&threads[0], NULL, works, NULL);
    pthread_create(&threads[1], NULL, works, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return shared == 10 ? 11 : 99;
  }
  pthread_atfork(prepare, parent, child);
  pthread_create(&threads[0], NULL, works, NULL);

  pthread_mutex_lock(&lock);
  pthread_rwlock_rdlock(&readers);
  pid = fork();
  if (pid == 0) { /* The child holds what its parent held, and can create threads of its own. */
    CHECK(before == 1 && in_child == 1);
    CHECK(pthread_mutex_trylock(&lock) != 0 && pthread_rwlock_trywrlock(&readers) != 0);
    pthread_mutex_unlock(&lock);
    pthread_rwlock_unlock(&readers);
    CHECK(pthread_rwlock_trywrlock(&readers) == 0);
    CHECK(pthread_mutex_trylock(&other) == 0);
    shared = 0;
    pthread_create(&threads[1], NULL, works, NULL);
    pthread_join(threads[1], NULL);
    exit(shared == 5 ? 10 : 99);
  }
  pthread_rwlock_unlock(&readers);
  pthread_mutex_unlock(&lock);
  CHECK(in_parent == 1 && status_of(pid) == 10);
  pthread_join(threads[0], NULL);
  CHECK(shared == 5);

  if (count > 1 && strcmp(arguments[1], "exec") == 0) {
    char *again[] = {arguments[0], "child", NULL};
    pid = fork();
    if (pid == 0) {
      execv(arguments[0], again);
      _exit(99);
    }
    CHECK(status_of(pid) == 11);
    CHECK(posix_spawn(&pid, arguments[0], NULL, NULL, again, environ) == 0);
    CHECK(status_of(pid) == 11);
    pid = vfork();
    if (pid == 0)
      _exit(12);
    CHECK(status_of(pid) == 12);
  }
  works(NULL);
  CHECK(shared == 10);
  return 0;
}
