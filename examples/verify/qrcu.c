/* Queue-based read-copy update (McKenney, Using Promela and Spin to verify parallel algorithms,
   2007): when the updater returns, no reader that had begun before it is still reading. With BUG
   the updater overlooks a single reader. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define READERS 2

static _Atomic int index_now, counter[2] = {1, 0}, progress[READERS];
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *reader(void *argument) {
  int me = argument != 0, mine;
  for (;;) {
    mine = index_now;
    int value = counter[mine];
    if (value > 0 && atomic_compare_exchange_strong(&counter[mine], &value, value + 1)) break;
  }
  progress[me] = 1;
  progress[me] = 2;
  atomic_fetch_sub(&counter[mine], 1);
  return 0;
}

static int sum_up(void) {
  int sum = counter[0];
  return sum + counter[1];
}

static void *updater(void *unused) {
  int begun[READERS];
  for (int k = 0; k < READERS; k++) begun[k] = progress[k];
  int sum = sum_up();
  if (sum <= 1) sum = sum_up();
#ifdef BUG
  if (sum > 2) {
#else
  if (sum > 1) {
#endif
    pthread_mutex_lock(&m);
    int old = index_now;
    atomic_fetch_add(&counter[1 - old], 1);
    index_now = 1 - old;
    atomic_fetch_sub(&counter[old], 1);
    while (counter[old] > 0)
      ;
    pthread_mutex_unlock(&m);
  }
  for (int k = 0; k < READERS; k++) assert(!(begun[k] == 1 && progress[k] == 1));
  return unused;
}

int main(void) {
  pthread_t readers[READERS], update;
  pthread_create(&readers[0], 0, reader, 0);
  pthread_create(&readers[1], 0, reader, (void *)1);
  pthread_create(&update, 0, updater, 0);
  return 0;
}
