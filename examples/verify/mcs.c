/* The list-based queueing lock of Mellor-Crummey and Scott (1991), for three threads. With BUG a
   thread joins the queue in two steps. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define THREADS 3

struct node {
  struct node *_Atomic next;
  _Atomic int waits;
};

static struct node *_Atomic tail;
static struct node nodes[THREADS];
static int inside;

static void lock(struct node *mine) {
  mine->next = 0;
#ifdef BUG
  struct node *before = tail;
  tail = mine;
#else
  struct node *before = atomic_exchange(&tail, mine);
#endif
  if (before) {
    mine->waits = 1;
    before->next = mine;
    while (mine->waits)
      ;
  }
}

static void unlock(struct node *mine) {
  if (!mine->next) {
    struct node *expected = mine;
    if (atomic_compare_exchange_strong(&tail, &expected, 0)) return;
    while (!mine->next)
      ;
  }
  mine->next->waits = 0;
}

static void *run(void *argument) {
  struct node *mine = argument;
  lock(mine);
  inside++;
  assert(inside == 1);
  inside--;
  unlock(mine);
  return 0;
}

int main(void) {
  pthread_t threads[THREADS];
  for (int k = 0; k < THREADS; k++) pthread_create(&threads[k], 0, run, &nodes[k]);
  for (int k = 0; k < THREADS; k++) pthread_join(threads[k], 0);
  return 0;
}
