/* A bounded stack behind a lock: one thread pushes, one pops what is there (Competition on Software
   Verification, pthread/stack). */
#include <assert.h>
#include <pthread.h>

#ifndef SIZE
#define SIZE 5
#endif

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int stack[SIZE], top, pushed;

static void push(int value) {
  assert(top < SIZE);
  stack[top] = value;
  top++;
}

static int pop(void) {
  assert(top > 0);
  top--;
  return stack[top];
}

static void *pusher(void *unused) {
  for (int k = 0; k < SIZE; k++) {
    pthread_mutex_lock(&m);
    push(k + 1);
    pushed = 1;
    pthread_mutex_unlock(&m);
  }
  return unused;
}

static void *popper(void *unused) {
  for (int k = 0; k < SIZE; k++) {
    pthread_mutex_lock(&m);
#ifdef BUG
    if (pushed) assert(pop() > 0);
#else
    if (top > 0) assert(pop() > 0);
#endif
    pthread_mutex_unlock(&m);
  }
  return unused;
}

int main(void) {
  pthread_t first, second;
  pthread_create(&first, 0, pusher, 0);
  pthread_create(&second, 0, popper, 0);
  pthread_join(first, 0);
  pthread_join(second, 0);
  return 0;
}
