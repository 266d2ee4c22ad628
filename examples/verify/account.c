/* The account of paper 003, Fig. 3: threads pay into accounts, from which one thread at a time may
   transfer; every access holds the lock. With BUG one thread looks at a balance without it. */
#include <pthread.h>
#include <stdint.h>

#ifndef THREADS
#define THREADS 10
#endif

enum { ACCOUNTS = 4 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int balance[ACCOUNTS], paid[ACCOUNTS], transfers;

static void deposit(int account, int amount) {
  pthread_mutex_lock(&m);
  balance[account] += amount;
  paid[account] += amount;
  pthread_mutex_unlock(&m);
}

static void transfer(int from, int to, int amount) {
  pthread_mutex_lock(&m);
  if (balance[from] >= amount) {
    balance[from] -= amount;
    balance[to] += amount;
    transfers++;
  }
  pthread_mutex_unlock(&m);
}

static void *customer(void *argument) {
  int self = (int)(intptr_t)argument;
  int own = self % ACCOUNTS, other = (self + 1) % ACCOUNTS;
  deposit(own, 10);
  transfer(own, other, 5);
#ifdef BUG
  if (self == THREADS - 1 && balance[own] < 0) return 0;
#endif
  return 0;
}

int main(void) {
  pthread_t threads[THREADS];
  for (int k = 0; k < THREADS; k++)
    pthread_create(&threads[k], 0, customer, (void *)(intptr_t)k);
  for (int k = 0; k < THREADS; k++) pthread_join(threads[k], 0);
  return 0;
}
