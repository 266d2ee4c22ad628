/* A reader-writer lock of one atomic number: how many readers there are, or -1 for a writer. With
   BUG a reader comes in in two steps. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static _Atomic int state;
static int value, copy;

static void lock_shared(void) {
  for (;;) {
    int now = state;
    if (now < 0) continue;
#ifdef BUG
    state = now + 1;
    return;
#else
    if (atomic_compare_exchange_strong(&state, &now, now + 1)) return;
#endif
  }
}

static void unlock_shared(void) { atomic_fetch_sub(&state, 1); }

static void lock_exclusive(void) {
  for (;;) {
    int free = 0;
    if (atomic_compare_exchange_strong(&state, &free, -1)) return;
  }
}

static void unlock_exclusive(void) { state = 0; }

static void *writer(void *unused) {
  lock_exclusive();
  value++;
  copy++;
  unlock_exclusive();
  return unused;
}

static void *reader(void *unused) {
  lock_shared();
  assert(value == copy);
  unlock_shared();
  return unused;
}

int main(void) {
  pthread_t threads[4];
  pthread_create(&threads[0], 0, writer, 0);
  pthread_create(&threads[1], 0, reader, 0);
  pthread_create(&threads[2], 0, reader, 0);
  pthread_create(&threads[3], 0, writer, 0);
  for (int k = 0; k < 4; k++) pthread_join(threads[k], 0);
  return 0;
}
