// As `entrance`, but by threads of threads: their numbers depend on the schedule, whose children they are does not.
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int in[2], inside;

static void enter(int me) {
  pthread_mutex_lock(&m);
  int other = in[1 - me];
#ifndef TWIN
  pthread_mutex_unlock(&m);
  pthread_mutex_lock(&m);
#endif
  if (other == 0)
    in[me] = 1;
  pthread_mutex_unlock(&m);
  if (other == 0)
    inside++;
}

static void *left_child(void *unused) { enter(0); return unused; }
static void *right_child(void *unused) { enter(1); return unused; }

static void *parent(void *child) {
  pthread_t thread;
  pthread_create(&thread, 0, child == NULL ? left_child : right_child, 0);
  pthread_join(thread, 0);
  return 0;
}

int main(void) {
  pthread_t one, two;
  pthread_create(&one, 0, parent, NULL);
  pthread_create(&two, 0, parent, &m);
  pthread_join(one, 0);
  pthread_join(two, 0);
  return 0;
}
