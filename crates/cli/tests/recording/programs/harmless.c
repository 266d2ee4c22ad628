// A race that the programmer wants.
#include "foretrace.h"
#include <pthread.h>

static int count;

static void *work(void *unused) {
  count++;
  return unused;
}

int main(void) {
  FORETRACE_BENIGN_RACE(&count, sizeof count, "a rough count is enough");
  pthread_t one, two;
  pthread_create(&one, 0, work, 0);
  pthread_create(&two, 0, work, 0);
  pthread_join(one, 0);
  pthread_join(two, 0);
  return 0;
}
