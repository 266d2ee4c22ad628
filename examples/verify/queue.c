/* The queue of Michael and Scott (Simple, fast, and practical non-blocking and blocking concurrent
   queue algorithms, 1996): what is put in comes out. With BUG a node is linked without comparing.
   */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

struct node {
  struct node *_Atomic next;
  int value;
};

static struct node nodes[3];
static struct node *_Atomic head = &nodes[0], *_Atomic tail = &nodes[0];

static void enqueue(struct node *node) {
  node->next = 0;
  for (;;) {
    struct node *last = tail, *next = last->next;
    if (last != tail) continue;
    if (next) {
      atomic_compare_exchange_strong(&tail, &last, next);
      continue;
    }
#ifdef BUG
    last->next = node;
#else
    struct node *none = 0;
    if (!atomic_compare_exchange_strong(&last->next, &none, node)) continue;
#endif
    atomic_compare_exchange_strong(&tail, &last, node);
    return;
  }
}

static int dequeue(void) {
  for (;;) {
    struct node *first = head, *last = tail, *next = first->next;
    if (first != head) continue;
    if (!next) return 0;
    if (first == last) {
      atomic_compare_exchange_strong(&tail, &last, next);
      continue;
    }
    int value = next->value;
    if (atomic_compare_exchange_strong(&head, &first, next)) return value;
  }
}

static void *producer(void *argument) {
  enqueue(argument);
  return 0;
}

int main(void) {
  pthread_t first, second;
  nodes[1].value = 1;
  nodes[2].value = 2;
  pthread_create(&first, 0, producer, &nodes[1]);
  pthread_create(&second, 0, producer, &nodes[2]);
  int one = dequeue();
  pthread_join(first, 0);
  pthread_join(second, 0);
  int two = dequeue();
  int three = dequeue();
  assert(one + two + three == 3);
  return 0;
}
