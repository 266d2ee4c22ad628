/* Two threads allocate memory; the address of one block is what an epoll object says of standard input. In another schedule the block is
   elsewhere, and the event that comes from outside must lead to it all the same. `total` has a race. */

#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "check.h"

struct source {
  int descriptor;
  int number;
};

static struct source *_Atomic here;
static volatile int total;
static void *volatile kept[64];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Whoever comes first gets the lower address. */
static void *allocate(void) {
  void *block;
  pthread_mutex_lock(&lock);
  block = malloc(2000000);
  pthread_mutex_unlock(&lock);
  return block;
}

static void *allocates(void *unused) {
  for (int i = 0; i < 3; i++)
    kept[i] = allocate();
  total += 2;
  return unused;
}

static void *waits(void *unused) {
  struct epoll_event event = {.events = EPOLLIN};
  int epoll = epoll_create1(0);
  char bytes[16];
  struct source *source = allocate();
  source->descriptor = 0;
  source->number = 3;
  event.data.ptr = source;
  CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, 0, &event) == 0);
  CHECK(epoll_wait(epoll, &event, 1, -1) == 1);
  source = event.data.ptr;
  CHECK(read(source->descriptor, bytes, sizeof bytes) > 0);
  total += source->number;
  here = source;
  return unused;
}

int main(void) {
  pthread_t threads[2];
  CHECK(pthread_create(&threads[0], NULL, waits, NULL) == 0);
  CHECK(pthread_create(&threads[1], NULL, allocates, NULL) == 0);
  CHECK(pthread_join(threads[0], NULL) == 0 && pthread_join(threads[1], NULL) == 0);
  CHECK(here->number == 3);
  return 0;
}
