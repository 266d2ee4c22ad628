// -DGOOD: proved
// -DBUG: bug
// --property ../tasks/no-data-race.prp -DGOOD: proved
#include "task.h"
#include <pthread.h>
#include <stdlib.h>
struct node {
  int v;
  struct node *next;
};
struct node *head;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void push(int v) {
  struct node *n = malloc(sizeof *n);
  n->v = v;
  pthread_mutex_lock(&m);
  n->next = head;
  head = n;
  pthread_mutex_unlock(&m);
}
int pop(void) {
  pthread_mutex_lock(&m);
  struct node *n = head;
  int v = -1;
  if (n) {
    head = n->next;
    v = n->v;
  }
  pthread_mutex_unlock(&m);
  free(n);
  return v;
}
void *f(void *x) {
  push(1);
  push(2);
  return 0;
}
int main() {
  pthread_t t;
  pthread_create(&t, 0, f, 0);
  int v = pop();
#ifdef BUG
  __VERIFIER_assert(v != 2);
#else
  __VERIFIER_assert(v >= -1 && v <= 2);
#endif
  pthread_join(t, 0);
  return 0;
}
