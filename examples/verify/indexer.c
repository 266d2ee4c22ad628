/* The indexer of paper 003, Fig. 3 (Flanagan and Godefroid, Dynamic partial-order reduction, 2005):
   threads insert four messages each into a hash table of 256 entries (the paper's has 128) with
   linear probing. Beyond 11 threads they meet at entries. One entry is watched: nothing comes into
   it; with BUG, something does. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#ifndef THREADS
#define THREADS 12
#endif

enum { ENTRIES = 256, MESSAGES = 4 };

#ifdef BUG
enum { WATCHED = 129 }; /* for the last message of the last thread */
#undef THREADS
#define THREADS 12
#else
enum { WATCHED = 0 };
#endif

static _Atomic int table[ENTRIES];

static void *insert(void *argument) {
  int self = (int)(intptr_t)argument;
  for (int k = 0; k < MESSAGES; k++) {
    int message = (k + 1) * 11 + self;
    int entry = message * 7 % ENTRIES;
    int empty = 0;
    while (!atomic_compare_exchange_strong(&table[entry], &empty, message)) {
      entry = (entry + 1) % ENTRIES;
      empty = 0;
    }
  }
  return 0;
}

int main(void) {
  pthread_t threads[THREADS];
  for (int k = 0; k < THREADS; k++)
    pthread_create(&threads[k], 0, insert, (void *)(intptr_t)k);
  assert(table[WATCHED] == 0);
  return 0;
}
