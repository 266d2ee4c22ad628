/* A set as a sorted list in which a thread locks the next node before it lets the last one go
   (Bayer and Schkolnick, Concurrency of operations on B-trees, 1977). With BUG it lets the last one
   go first. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct node {
  int key;
  struct node *next;
  pthread_mutex_t m;
};

static struct node *head;

static struct node *new_node(int key, struct node *next) {
  struct node *node = malloc(sizeof *node);
  node->key = key;
  node->next = next;
  pthread_mutex_init(&node->m, 0);
  return node;
}

static void add(int key) {
  struct node *before = head;
  pthread_mutex_lock(&before->m);
  struct node *here = before->next;
  pthread_mutex_lock(&here->m);
  while (here->key < key) {
    pthread_mutex_unlock(&before->m);
#ifdef BUG
    struct node *next = here->next;
    pthread_mutex_unlock(&here->m);
    pthread_mutex_lock(&here->m);
    before = here;
    here = next;
#else
    before = here;
    here = here->next;
#endif
    pthread_mutex_lock(&here->m);
  }
  if (here->key != key) before->next = new_node(key, here);
  pthread_mutex_unlock(&here->m);
  pthread_mutex_unlock(&before->m);
}

static void *add_two(void *unused) {
  add(2);
  return unused;
}

static void *add_three(void *unused) {
  add(3);
  return unused;
}

int main(void) {
  pthread_t first, second;
  head = new_node(0, new_node(1, new_node(9, 0)));
  pthread_create(&first, 0, add_two, 0);
  pthread_create(&second, 0, add_three, 0);
  pthread_join(first, 0);
  pthread_join(second, 0);
  int count = 0;
  for (struct node *node = head; node; node = node->next) count++;
  assert(count == 5);
  return 0;
}
