/* A work-stealing deque (Chase and Lev, Dynamic circular work-stealing deque, 2005), without
   growing: nobody gets an item that another thread has. With BUG the owner takes the last item
   without asking. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define ITEMS 2
#define NOTHING 0

static _Atomic int top, bottom, items[4], taken[ITEMS + 1];

static void push(int item) {
  int at = bottom;
  items[at % 4] = item;
  bottom = at + 1;
}

static int pop(void) {
  int at = bottom - 1;
  bottom = at;
  int first = top;
  if (at < first) {
    bottom = first;
    return NOTHING;
  }
  int item = items[at % 4];
  if (at > first) return item;
#ifndef BUG
  if (!atomic_compare_exchange_strong(&top, &first, first + 1)) item = NOTHING;
#endif
  bottom = at + 1;
  return item;
}

static int steal(void) {
  int first = top;
  if (first >= bottom) return NOTHING;
  int item = items[first % 4];
  if (!atomic_compare_exchange_strong(&top, &first, first + 1)) return NOTHING;
  return item;
}

static void use(int item) {
  if (item != NOTHING) assert(atomic_fetch_add(&taken[item], 1) == 0);
}

static void *thief(void *unused) {
  use(steal());
  return unused;
}

int main(void) {
  pthread_t thieves[2];
  push(1);
  for (int k = 0; k < 2; k++) pthread_create(&thieves[k], 0, thief, 0);
  push(2);
  use(pop());
  use(pop());
  for (int k = 0; k < 2; k++) pthread_join(thieves[k], 0);
  return 0;
}
