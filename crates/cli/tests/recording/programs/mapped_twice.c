/* One page at two addresses: with `lock`, a lock in it is used at both; with `segment`, the page is one of System V's; with `apart`, the lock is in a page that is there once. */

#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include "check.h"

static int total;

static void *adds(void *lock) {
  for (int i = 0; i < 3; i++) {
    pthread_mutex_lock(lock);
    total++;
    pthread_mutex_unlock(lock);
  }
  return NULL;
}

int main(int count, char **arguments) {
  CHECK(count == 2);
  char *pages[2];
  pthread_t threads[2];
  pthread_mutexattr_t shared;
  pthread_mutexattr_init(&shared);
  pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  int file = memfd_create("pages", 0), segment = shmget(IPC_PRIVATE, 8192, 0600);
  CHECK(file >= 0 && segment >= 0 && ftruncate(file, 8192) == 0);
  for (int i = 0; i < 2; i++) {
    size_t size = strcmp(arguments[1], "apart") == 0 && i == 1 ? 4096 : 8192;
    if (strcmp(arguments[1], "segment") == 0)
      pages[i] = shmat(segment, NULL, 0);
    else
      pages[i] = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(pages[i] != MAP_FAILED);
    if (i == 0)
      CHECK(pthread_mutex_init((pthread_mutex_t *)(pages[0] + 4096), &shared) == 0);
  }
  shmctl(segment, IPC_RMID, NULL);
  if (strcmp(arguments[1], "apart") == 0)
    pages[1] = pages[0];
  for (int i = 0; i < 2; i++)
    CHECK(pthread_create(&threads[i], NULL, adds, pages[i] + 4096) == 0);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  return total == 6 ? 0 : 1;
}
