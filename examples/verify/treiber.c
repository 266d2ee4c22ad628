/* Treiber's stack (Systems programming: coping with parallelism, 1986). With BUG a node is pushed
   again after it was popped, and a slow pop takes the new stack for the old one (ABA). */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

struct node {
  struct node *_Atomic next;
  _Atomic int owners;
};

static struct node *_Atomic top;
static struct node nodes[3];

static void push(struct node *node) {
  struct node *first = top;
  do {
    node->next = first;
  } while (!atomic_compare_exchange_strong(&top, &first, node));
}

static struct node *pop(void) {
  struct node *first = top;
  while (first && !atomic_compare_exchange_strong(&top, &first, first->next))
    ;
  return first;
}

static void *taker(void *unused) {
  struct node *node = pop();
  if (node) assert(atomic_fetch_add(&node->owners, 1) == 0);
  node = pop();
  if (node) assert(atomic_fetch_add(&node->owners, 1) == 0);
  return unused;
}

static void *mixer(void *unused) {
  struct node *first = pop();
  struct node *second = pop();
  if (second) assert(atomic_fetch_add(&second->owners, 1) == 0);
#ifdef BUG
  if (first) push(first);
#else
  if (first) assert(atomic_fetch_add(&first->owners, 1) == 0);
  push(&nodes[2]);
#endif
  return unused;
}

int main(void) {
  pthread_t first, second;
  push(&nodes[0]);
  push(&nodes[1]);
  pthread_create(&first, 0, taker, 0);
  pthread_create(&second, 0, mixer, 0);
  pthread_join(first, 0);
  pthread_join(second, 0);
  return 0;
}
