/* Two threads push to a list of heap nodes; with BUG without the lock. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct node {
  int value;
  struct node *next;
};

struct node *head;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *push(void *unused) {
  struct node *node = malloc(sizeof *node);
  node->value = 1;
#ifndef BUG
  pthread_mutex_lock(&m);
#endif
  node->next = head;
  head = node;
#ifndef BUG
  pthread_mutex_unlock(&m);
#endif
  return unused;
}

int main(void) {
  pthread_t threads[2];
  for (int k = 0; k < 2; k++) pthread_create(&threads[k], 0, push, 0);
  for (int k = 0; k < 2; k++) pthread_join(threads[k], 0);
  int sum = 0;
  for (struct node *node = head; node; node = node->next) sum += node->value;
  assert(sum == 2);
  return 0;
}
