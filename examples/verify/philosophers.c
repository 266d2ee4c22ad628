/* Dining philosophers (Dijkstra, Hierarchical ordering of sequential processes, 1971). With BUG
   each takes the left fork first; otherwise the last one takes the right fork first. */
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

#ifndef SEATS
#define SEATS 3
#endif

static pthread_mutex_t forks[SEATS];
static int users[SEATS];

static void use(int fork) {
  users[fork]++;
  assert(users[fork] == 1);
}

static void eat(int left, int right) {
  pthread_mutex_lock(&forks[left]);
  pthread_mutex_lock(&forks[right]);
  use(left);
  use(right);
  users[left]--;
  users[right]--;
  pthread_mutex_unlock(&forks[right]);
  pthread_mutex_unlock(&forks[left]);
}

static void *philosopher(void *argument) {
  int seat = (int)(intptr_t)argument;
#ifndef BUG
  if (seat == SEATS - 1) {
    eat(0, seat);
    return 0;
  }
#endif
  eat(seat, (seat + 1) % SEATS);
  return 0;
}

int main(void) {
  pthread_t threads[SEATS];
  for (int k = 0; k < SEATS; k++) pthread_mutex_init(&forks[k], 0);
  for (int k = 0; k < SEATS; k++)
    pthread_create(&threads[k], 0, philosopher, (void *)(intptr_t)k);
  for (int k = 0; k < SEATS; k++) pthread_join(threads[k], 0);
  return 0;
}
